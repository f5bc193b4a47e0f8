#include "server/gpu_marks.h"

#include <algorithm>
#include <new>
#include <thread>

#include "transport/patience.h"

namespace gpucast::remote::server {
namespace {

constexpr std::size_t apart = 64;  // bytes: a cache line each
constexpr std::size_t at_once = 256;

}  // namespace

GpuMark::~GpuMark() {
  if (is_set()) marks_.give_back(word_);
}

GpuMarks::GpuMarks(const Driver& driver) : driver_(driver) {
  check(driver.cuEventCreate(&never_recorded_, CU_EVENT_DISABLE_TIMING));
}

GpuMarks::~GpuMarks() { driver_.cuEventDestroy(never_recorded_); }

// Of pinned memory that is never freed: the process ends with the client.
GpuMark::Word& GpuMarks::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    void* memory = nullptr;
    check(driver_.cuMemHostAlloc(&memory, at_once * apart, 0));
    for (std::size_t k = 0; k < at_once; ++k)
      free_.push_back(new (static_cast<std::byte*>(memory) + k * apart) GpuMark::Word(0));
  }
  GpuMark::Word* const word = free_.back();
  free_.pop_back();
  word->store(0, std::memory_order_relaxed);
  return *word;
}

void GpuMarks::give_back(GpuMark::Word& word) {
  const std::lock_guard lock(mutex_);
  free_.push_back(&word);
}

std::shared_ptr<const GpuMark> GpuMarks::queue(CUstream stream) {
  GpuMark::Word& word = take();
  CUresult status = driver_.cuStreamWriteValue32(stream, reinterpret_cast<CUdeviceptr>(&word), 1,
                                                 CU_STREAM_WRITE_VALUE_DEFAULT);
  // Not every system has these, and all can call a function, which takes longer.
  if (status == CUDA_ERROR_NOT_SUPPORTED) {
    const auto set = [](void* at) {
      static_cast<GpuMark::Word*>(at)->store(1, std::memory_order_release);
    };
    status = driver_.cuLaunchHostFunc(stream, set, &word);
  }
  if (status != CUDA_SUCCESS) give_back(word);
  check(status);
  return std::make_shared<const GpuMark>(*this, word);
}

CUresult GpuMarks::wait(const GpuMark& mark, std::chrono::microseconds spin,
                        const std::function<bool()>& ended) const {
  if (look_for(spin, [&] { return mark.is_set() || ended(); }))
    return mark.is_set() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  constexpr std::chrono::microseconds first_nap(20);
  constexpr std::chrono::microseconds longest_nap(1000);
  for (auto nap = first_nap; !mark.is_set(); nap = std::min(nap * 5 / 4, longest_nap)) {
    if (ended()) return CUDA_ERROR_NOT_READY;
    const CUresult status = driver_.cuEventQuery(never_recorded_);
    if (status != CUDA_SUCCESS) return status;
    std::this_thread::sleep_for(nap);
  }
  return CUDA_SUCCESS;
}

}  // namespace gpucast::remote::server
