#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <random>
#include <thread>

#include "checks.h"
#include "gpucast/devices/clock.h"
#include "gpucast/devices/cuda/resources.h"
#include "kernels.h"
#include "memory.h"

namespace gpucast::probe {
namespace {

using devices::Clock;
using devices::cuda::Event;
using devices::cuda::Stream;

// One thread's work on one device; it sometimes copies to and from `other`.
class Worker {
 public:
  Worker(int device, int other, unsigned seed) : device_(device), other_(other), random_(seed) {}

  void round() {
    use_device(device_);
    const Stream stream = Stream::independent();
    switch (below(4)) {
      case 0:
        return there_and_back(stream);
      case 1:
        return compute(stream);
      case 2:
        return by_other_device(stream);
      default:
        return ask(stream);
    }
  }

 private:
  std::size_t below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
  }
  // Usually small: a power of two plus a little.
  std::size_t bytes() {
    const std::size_t power = std::size_t{1} << below(22);
    return power + below(power);
  }

  void there_and_back(const Stream& stream) {
    const std::size_t size = bytes();
    const auto seed = static_cast<unsigned>(random_());
    const auto on_device = cleared<std::uint8_t>(size);
    const Pinned pinned(size);
    fill(pinned.data(), size, seed);
    copy_async(on_device.data(), pinned.data(), size, stream);
    if (below(2) == 0) {
      synchronize(stream);
      return require_holds(on_device, seed, "a copy there and back");
    }
    const Pinned back(size);
    copy_async(back.data(), on_device.data(), size, stream);
    synchronize(stream);
    require(holds(back.data(), size, seed), "an asynchronous copy there and back");
  }

  void compute(const Stream& stream) {
    const int n = 1 + static_cast<int>(below(5000));
    const int times = 1 + static_cast<int>(below(50));
    std::vector<float> values(static_cast<std::size_t>(n), 1);
    const auto x = cleared<float>(values.size());
    const auto y = cleared<float>(values.size());
    copy(x.data(), values.data(), x.bytes());
    synchronize(Stream());
    const Event begin(cudaEventDefault);
    const Event end(cudaEventDefault);
    require(cudaEventRecord(begin.get(), stream.get()), "cudaEventRecord");
    for (int k = 0; k < times; ++k)
      queue_saxpy(n, 2, x.data(), y.data(), stream.get());
    require(cudaEventRecord(end.get(), stream.get()), "cudaEventRecord");
    require(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
    float milliseconds = -1;
    require(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
    require(milliseconds >= 0, "time goes on");
    copy(values.data(), y.data(), y.bytes());
    const auto expected = static_cast<float>(2 * times);
    require(std::ranges::all_of(values, [=](float value) { return value == expected; }),
            "kernels add up");
  }

  void by_other_device(const Stream& stream) {
    const std::size_t size = bytes();
    const auto seed = static_cast<unsigned>(random_());
    const auto here = cleared<std::uint8_t>(size);
    use_device(other_);
    const auto there = cleared<std::uint8_t>(size);
    use_device(device_);
    std::vector<std::uint8_t> data(size);
    fill(data.data(), size, seed);
    copy(here.data(), data.data(), size);
    if (below(2) == 0) {
      copy_peer(there.data(), other_, here.data(), device_, size);
    } else {
      copy_peer_async(there.data(), other_, here.data(), device_, size, stream);
      synchronize(stream);
    }
    require_holds(there, seed, "a copy by another device");
  }

  void ask(const Stream& stream) {
    const std::size_t size = bytes();
    const auto memory = cleared<std::uint8_t>(size);
    require(cudaMemsetAsync(memory.data(), 7, size, stream.get()), "cudaMemsetAsync");
    std::size_t free = 0;
    std::size_t total = 0;
    require(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    require(free < total, "some memory is taken");
    const cudaError_t status = cudaStreamQuery(stream.get());
    require(status == cudaSuccess || status == cudaErrorNotReady, "cudaStreamQuery");
    std::vector<std::uint8_t> data(size);
    synchronize(stream);
    copy(data.data(), memory.data(), size);
    require(std::ranges::all_of(data, [](std::uint8_t byte) { return byte == 7; }), "memset");
  }

  int device_;
  int other_;
  std::mt19937_64 random_;
};

}  // namespace

std::uint64_t soak(double seconds) {
  constexpr int threads_of_a_device = 2;
  const int count = device_count();
  const auto begin = Clock::now();
  std::atomic<std::uint64_t> rounds = 0;
  std::exception_ptr failure;
  std::mutex failing;
  std::atomic<bool> failed = false;
  {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(count) * threads_of_a_device);
    for (int k = 0; k < count * threads_of_a_device; ++k) {
      threads.emplace_back([&, k] {
        Worker worker(k % count, (k + 1) % count, static_cast<unsigned>(k));
        try {
          while (!failed && devices::seconds_since(begin) < seconds) {
            worker.round();
            ++rounds;
          }
        } catch (...) {
          const std::lock_guard lock(failing);
          failure = std::current_exception();
          failed = true;
        }
      });
    }
  }
  if (failure) std::rethrow_exception(failure);
  return rounds;
}

}  // namespace gpucast::probe
