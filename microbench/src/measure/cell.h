// What one measurement is about.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "copies/copy.h"
#include "engine/engine.h"
#include "gpucast/records/records.h"
#include "gpucast/schema/words.h"

namespace gpucast::microbench {

// The first copy, with the others under way.
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

// What is timed of an array in host memory.
enum class HostPhase { allocate, first_touch, copy, loop };

struct HostMemoryCell {
  int device = 0;
  records::Memory memory = records::Memory::pageable;
  std::int64_t bytes = 0;
  HostPhase phase = HostPhase::loop;
  LoopPattern pattern = LoopPattern::sequential;  // of a loop
  Runner runner = Runner::cpu;                    // of a loop
};

// As it stands in records; "none" for what is no loop.
std::string pattern_name(const HostMemoryCell& cell);
// Who is needed: a GPU for copies and its own loops, the CPU for the rest.
Runner runner_of(const HostMemoryCell& cell);

using Cell = std::variant<TransferCell, LaunchCell, OverlapCell, SkeletonCell, HostMemoryCell>;

// One line, for progress and notes.
std::string describe(const Cell& cell);

}  // namespace gpucast::microbench

namespace gpucast::schema {

template <>
inline constexpr Words<microbench::HostPhase, 4> words<microbench::HostPhase>{
    {{microbench::HostPhase::allocate, "allocate"},
     {microbench::HostPhase::first_touch, "first_touch"},
     {microbench::HostPhase::copy, "copy"},
     {microbench::HostPhase::loop, "loop"}}};
template <>
inline constexpr Words<microbench::LoopPattern, 3> words<microbench::LoopPattern>{
    {{microbench::LoopPattern::sequential, "sequential"},
     {microbench::LoopPattern::indirect, "indirect"},
     {microbench::LoopPattern::random, "random"}}};
template <>
inline constexpr Words<microbench::Runner, 2> words<microbench::Runner>{
    {{microbench::Runner::gpu, "gpu"}, {microbench::Runner::cpu, "cpu"}}};

}  // namespace gpucast::schema
