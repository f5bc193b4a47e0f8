// Marks that a GPU sets in pinned memory as it comes past them on a stream. Who waits for one looks
// at memory: events are asked for through the driver, which takes 3 to 5 us a time and lets one
// thread in at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "protocol/limits.h"
#include "server/driver.h"
#include "server/streams.h"

namespace gpucast::remote::server {

class GpuMarks;

class GpuMark {
 public:
  using Word = std::atomic<std::uint32_t>;
  // Not every system's GPUs write words; an event is asked for there.
  GpuMark(GpuMarks& marks, Word& word, std::unique_ptr<Event> event = nullptr)
      : marks_(marks), word_(word), event_(std::move(event)) {}
  // Its memory is used again where the GPU has set it, and never otherwise: it may still do so.
  ~GpuMark();
  GpuMark(const GpuMark&) = delete;
  GpuMark& operator=(const GpuMark&) = delete;

  // Whether the GPU has done all that was queued before it on its stream.
  bool is_set() const;

 private:
  GpuMarks& marks_;
  Word& word_;
  std::unique_ptr<Event> event_;
};

// From any thread that uses the GPU. Outlives its marks.
class GpuMarks {
 public:
  // Those that can wait at once: of pieces both ways.
  static constexpr std::size_t most = std::size_t{2} * most_bulk_connections * (most_in_ring + 1);

  // DriverError.
  explicit GpuMarks(const Driver& driver);
  ~GpuMarks();
  GpuMarks(const GpuMarks&) = delete;
  GpuMarks& operator=(const GpuMarks&) = delete;

  // Behind what the stream holds. DriverError; not for want of memory, which is there before.
  std::shared_ptr<const GpuMark> queue(CUstream stream);
  // Waits until the GPU has set it: on a core for `spin`, and asleep then. What the driver says of
  // the GPU where that never will be; CUDA_ERROR_NOT_READY where `ended` is true before.
  CUresult wait(const GpuMark& mark, std::chrono::microseconds spin,
                const std::function<bool()>& ended) const;

 private:
  friend class GpuMark;
  GpuMark::Word& take();
  void give_back(GpuMark::Word& word);

  CUresult health() const;

  const Driver& driver_;
  // Asked for what has become of the GPU.
  CUstream stream_ = nullptr;
  Event probe_;
  std::mutex mutex_;
  std::vector<GpuMark::Word*> free_;
};

}  // namespace gpucast::remote::server
