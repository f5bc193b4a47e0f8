#include "server/gpu_marks.h"

#include <algorithm>
#include <new>
#include <thread>

#include "transport/patience.h"

namespace gpucast::remote::server {
namespace {

constexpr std::size_t apart = 64;  // bytes: a cache line each

}  // namespace

GpuMark::~GpuMark() {
  if (is_set()) marks_.give_back(word_);
}

bool GpuMark::is_set() const {
  if (event_) return marks_.driver_.cuEventQuery(event_->get()) == CUDA_SUCCESS;
  return word_.load(std::memory_order_acquire) != 0;
}

// The words lie in pinned memory that is never freed: the process ends with the client.
GpuMarks::GpuMarks(const Driver& driver)
    : driver_(driver), probe_(driver, CU_EVENT_DISABLE_TIMING) {
  check(driver.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, 0));
  void* memory = nullptr;
  check(driver.cuMemHostAlloc(&memory, most * apart, 0));
  free_.reserve(most);
  for (std::size_t k = 0; k < most; ++k)
    free_.push_back(new (static_cast<std::byte*>(memory) + k * apart) GpuMark::Word(0));
}

GpuMarks::~GpuMarks() { driver_.cuStreamDestroy(stream_); }

GpuMark::Word& GpuMarks::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
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

// A GPU that has failed takes no more work, or never comes to it.
CUresult GpuMarks::health() const {
  if (const CUresult status = driver_.cuEventRecord(probe_.get(), stream_); status != CUDA_SUCCESS)
    return status;
  const CUresult status = driver_.cuEventQuery(probe_.get());
  return status == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : status;
}

CUresult GpuMarks::wait(const GpuMark& mark, std::chrono::microseconds spin,
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

}  // namespace gpucast::remote::server
