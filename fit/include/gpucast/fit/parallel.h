// Independent pieces of work on all cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace gpucast::fit {

// Calls work(i) for i = 0 ... count - 1 from `threads` threads (0: one per core), `grain`
// consecutive i at a time. The first exception is rethrown once all threads have stopped.
template <class Work>
void parallel_for(std::size_t count, unsigned threads, std::size_t grain, const Work& work) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failure(threads);
  const auto run = [&](unsigned self) {
    try {
      for (std::size_t begin = next.fetch_add(grain); begin < count; begin = next.fetch_add(grain))
        for (std::size_t i = begin; i < std::min(count, begin + grain); ++i)
          work(i);
    } catch (...) {
      failure[self] = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned self = 1; self < threads; ++self)
      helpers.emplace_back(run, self);
    run(0);
  }
  for (const auto& exception : failure)
    if (exception) std::rethrow_exception(exception);
}

}  // namespace gpucast::fit
