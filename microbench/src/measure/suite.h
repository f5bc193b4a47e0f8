// The subject of one measurement, and the questions as lists of such cells.
#pragma once

#include <variant>

#include "engine/engine.h"
#include "gpucast/schema/words.h"

namespace gpucast::microbench {

// Times the first copy while the others are in progress.
struct TransferCell {
  std::vector<Copy> copies;
  records::TransferMethod method = records::TransferMethod::call;
};

struct LaunchCell {
  int device = 0;
  records::LaunchMethod method = records::LaunchMethod::submit;
  int count = 1;
  int arguments = 0;
};

struct OverlapCell {
  int device = 0;
  std::int64_t bytes = 0;
  std::vector<records::OverlapPart> parts;
};

struct SkeletonCell {
  StepShape shape;
};

// What is timed for an array in host memory.
enum class HostPhase { allocate, first_touch, copy, loop };

struct HostMemoryCell {
  int device = 0;
  records::Memory memory = records::Memory::pageable;
  std::int64_t bytes = 0;
  HostPhase phase = HostPhase::loop;
  LoopPattern pattern = LoopPattern::sequential;  // of a loop
  Runner runner = Runner::cpu;                    // of a loop
};

// Its spelling in records; "none" for phases that are no loop.
std::string pattern_name(const HostMemoryCell& cell);
// The processor that is needed: a GPU for copies and its own loops, the CPU for the rest.
Runner runner_of(const HostMemoryCell& cell);

using Cell = std::variant<TransferCell, LaunchCell, OverlapCell, SkeletonCell, HostMemoryCell>;

// One line, for progress and notes.
std::string describe(const Cell& cell);

// The questions of a run, in the order of the help.
enum class Question { transfers, concurrent, launches, overlap, skeleton, host_memory };

struct Suite {
  std::vector<int> devices;
  std::vector<records::Memory> memories;  // of the host
  std::int64_t largest = 0;               // bytes
  // Bytes of concurrent copies with the host and between devices; each is also measured alone.
  std::int64_t together = 0;
  std::int64_t together_between = 0;
  std::int64_t skeleton = 0;  // sent to each device by the largest skeleton of a step
  std::int64_t loop = 0;      // of each array of a loop over host memory
  // CPU devices have one way to copy between them, GPUs several.
  bool gpus = false;
};

// A few cells of each kind that are quick to measure: new runs repeat them.
std::vector<Cell> probes_of(const Suite& suite);

// The most informative first: a budget may end before the list does. Cells of one set of copies are
// adjacent, the largest first.
std::vector<Cell> cells_of(std::span<const Question> questions, const Suite& suite);

}  // namespace gpucast::microbench

namespace gpucast::schema {

template <>
inline constexpr auto words<microbench::HostPhase> =
    in_order<microbench::HostPhase>("allocate", "first_touch", "copy", "loop");
template <>
inline constexpr auto words<microbench::LoopPattern> =
    in_order<microbench::LoopPattern>("sequential", "indirect", "random");
template <>
inline constexpr auto words<microbench::Runner> = in_order<microbench::Runner>("gpu", "cpu");
template <>
inline constexpr auto words<microbench::Question> = in_order<microbench::Question>(
    "transfers", "concurrent", "launches", "overlap", "skeleton", "host-memory");

}  // namespace gpucast::schema
