// The questions, as lists of cells.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpucast/schema/words.h"
#include "measure/cell.h"

namespace gpucast::microbench {

// What a run asks, in the order that users see.
enum class Question { transfers, concurrent, launches, overlap, skeleton, host_memory };

struct Suite {
  std::vector<int> devices;
  std::vector<records::Memory> memories;  // of the host
  std::int64_t largest = 0;               // bytes
  // Bytes of copies that are under way together, with the host and between devices; each is also
  // measured alone.
  std::int64_t together = 0;
  std::int64_t together_between = 0;
  std::int64_t skeleton = 0;  // sent to each device by the largest skeleton of a step
  std::int64_t loop = 0;      // of each array of a loop over host memory
  // Between CPU devices there is one way to copy, on GPUs several.
  bool gpus = false;
};

// A few cells of each kind, quick to measure: what fresh runs repeat.
std::vector<Cell> probes_of(const Suite& suite);

// The most informative first: a budget may end before the list does. Cells of one set of copies
// stand together, the largest first.
std::vector<Cell> cells_of(std::span<const Question> questions, const Suite& suite);

}  // namespace gpucast::microbench

namespace gpucast::schema {

template <>
inline constexpr Words<microbench::Question, 6> words<microbench::Question>{
    {{microbench::Question::transfers, "transfers"},
     {microbench::Question::concurrent, "concurrent"},
     {microbench::Question::launches, "launches"},
     {microbench::Question::overlap, "overlap"},
     {microbench::Question::skeleton, "skeleton"},
     {microbench::Question::host_memory, "host-memory"}}};

}  // namespace gpucast::schema
