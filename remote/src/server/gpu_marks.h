// Words in pinned memory that a GPU writes when it reaches a point of a stream. Waiting threads
// poll memory: querying an event through the driver takes 3 to 5 us and lets only one thread in at
// a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "protocol/limits.h"
#include "server/driver.h"
#include "server/streams.h"
#include "transport/patience.h"

namespace gpucast::remote::server {

class GpuMarks;

class GpuMark {
 public:
  using Word = std::atomic<std::uint32_t>;
  // An event is used on systems whose GPUs cannot write words.
  GpuMark(GpuMarks& marks, Word& word, std::unique_ptr<Event> event = nullptr)
      : marks_(marks), word_(word), event_(std::move(event)) {}
  // The word is reused only if the GPU has written it, since it may still do so.
  ~GpuMark();

  // Whether the GPU has finished everything that was queued before the mark.
  bool is_set() const;

 private:
  GpuMarks& marks_;
  Word& word_;
  std::unique_ptr<Event> event_;
};

// May be used by any thread that uses the GPU. Outlives its marks.
class GpuMarks {
 public:
  // The maximum of marks in use: for pieces in both directions.
  static constexpr std::size_t most = std::size_t{2} * most_bulk_connections * (most_in_ring + 1);

  // DriverError.
  explicit GpuMarks(const Driver& driver)
      : driver_(driver), probe_(driver, CU_EVENT_DISABLE_TIMING) {
    constexpr std::size_t apart = 64;  // bytes between words: a cache line
    check(driver.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0));
    void* memory = nullptr;
    // Never freed: the process ends with the client.
    check(driver.cuMemHostAlloc(&memory, most * apart, 0));
    free_.reserve(most);
    for (std::size_t k = 0; k < most; ++k)
      free_.push_back(new (static_cast<std::byte*>(memory) + k * apart) GpuMark::Word(0));
  }
  ~GpuMarks() { driver_.cuStreamDestroy(stream_); }

  // Queues a mark behind the stream's work. Throws DriverError, but not for lack of memory, which
  // is reserved.
  std::shared_ptr<const GpuMark> queue(CUstream stream) {
    GpuMark::Word& word = take();
    std::unique_ptr<Event> event;
    const CUresult status = status_of([&] {
      const CUresult written = driver_.cuStreamWriteValue32(
          stream, reinterpret_cast<CUdeviceptr>(&word), 1, CU_STREAM_WRITE_VALUE_DEFAULT);
      if (written != CUDA_ERROR_NOT_SUPPORTED) return check(written);
      event = std::make_unique<Event>(driver_, CU_EVENT_DISABLE_TIMING);
      check(driver_.cuEventRecord(event->get(), stream));
    });
    if (status != CUDA_SUCCESS) give_back(word);
    check(status);
    return std::make_shared<const GpuMark>(*this, word, std::move(event));
  }
  // Waits until the GPU has set the mark: polls for `spin`, then sleeps. Returns the driver's error
  // if that will never happen, and CUDA_ERROR_NOT_READY if `ended` becomes true before.
  CUresult wait(const GpuMark& mark, std::chrono::microseconds spin,
                const std::function<bool()>& ended) const {
    if (look_for(spin, [&] { return mark.is_set() || ended(); }))
      return mark.is_set() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    constexpr std::chrono::microseconds first_nap(20);
    constexpr std::chrono::microseconds longest_nap(1000);
    constexpr std::chrono::milliseconds between_questions(20);  // a kernel may take hours
    auto asked = Clock::now();
    for (auto nap = first_nap; !mark.is_set(); nap = std::min(nap * 5 / 4, longest_nap)) {
      if (ended()) return CUDA_ERROR_NOT_READY;
      if (Clock::now() - asked > between_questions) {
        if (const CUresult status = health(); status != CUDA_SUCCESS) return status;
        asked = Clock::now();
      }
      std::this_thread::sleep_for(nap);
    }
    return CUDA_SUCCESS;
  }

 private:
  friend class GpuMark;
  GpuMark::Word& take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
    GpuMark::Word* const word = free_.back();
    free_.pop_back();
    word->store(0, std::memory_order_relaxed);
    return *word;
  }
  void give_back(GpuMark::Word& word) {
    const std::lock_guard lock(mutex_);
    free_.push_back(&word);
  }
  // A GPU that has failed accepts no more work, or never reaches it.
  CUresult health() const {
    if (const CUresult status = driver_.cuEventRecord(probe_.get(), stream_);
        status != CUDA_SUCCESS)
      return status;
    const CUresult status = driver_.cuEventQuery(probe_.get());
    return status == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : status;
  }

  const Driver& driver_;
  // Used to query whether the GPU has failed.
  CUstream stream_ = nullptr;
  Event probe_;
  std::mutex mutex_;
  std::vector<GpuMark::Word*> free_;
};

inline GpuMark::~GpuMark() {
  if (is_set()) marks_.give_back(word_);
}

inline bool GpuMark::is_set() const {
  if (event_) return marks_.driver_.cuEventQuery(event_->get()) == CUDA_SUCCESS;
  return word_.load(std::memory_order_acquire) != 0;
}

}  // namespace gpucast::remote::server
