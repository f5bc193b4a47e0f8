#include "checks.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <thread>

#include "gpucast/devices/cuda/resources.h"
#include "kernels.h"
#include "memory.h"

namespace gpucast::probe {
namespace {

using devices::cuda::DeviceArray;
using devices::cuda::Event;
using devices::cuda::Stream;

void check_devices() {
  for (int device = 0; device < device_count(); ++device) {
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    require(properties.name[0] != 0 && properties.totalGlobalMem > 0 && properties.warpSize == 32,
            "properties make sense");
    int sms = 0;
    require(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device),
            "cudaDeviceGetAttribute");
    require(sms == properties.multiProcessorCount, "attributes are the properties");
    use_device(device);
    int current = -1;
    require(cudaGetDevice(&current), "cudaGetDevice");
    require(current == device, "the device that was set");
    std::size_t free = 0;
    std::size_t total = 0;
    require(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    require(free > 0 && free <= total, "free memory is a part of all");
  }
  require(cudaSetDevice(device_count()) == cudaErrorInvalidDevice, "no device behind the last");
  require(cudaGetLastError() == cudaErrorInvalidDevice, "the last error is kept");
  require(cudaGetLastError() == cudaSuccess, "and forgotten once it was asked for");
}

void check_copies() {
  // Around every size at which the path changes.
  const std::size_t sizes[] = {
      1,       63,           4096, 65535, 65536, 65537, (1 << 20) - 1, 1 << 20, (1 << 20) + 1,
      3 << 20, (5 << 20) + 7};
  for (int device = 0; device < device_count(); ++device) {
    use_device(device);
    const Stream stream = Stream::independent();
    for (const std::size_t bytes : sizes) {
      const DeviceArray<std::uint8_t> on_device(bytes);
      const DeviceArray<std::uint8_t> other(bytes);
      std::vector<std::uint8_t> pageable(bytes);
      const Pinned pinned(bytes);
      fill(pageable.data(), bytes, 1);
      require(cudaMemcpy(on_device.data(), pageable.data(), bytes, cudaMemcpyHostToDevice),
              "cudaMemcpy");
      fill(pageable.data(), bytes, 2);  // the memory may be changed at once
      copy_async(other.data(), on_device.data(), bytes, stream);
      copy_async(pinned.data(), other.data(), bytes, stream, cudaMemcpyDeviceToHost);
      synchronize(stream);
      require(holds(pinned.data(), bytes, 1), "a copy there and back");
      fill(pinned.data(), bytes, 3);
      copy_async(on_device.data(), pinned.data(), bytes, stream);
      copy_async(pageable.data(), on_device.data(), bytes, stream);
      require(holds(pageable.data(), bytes, 3), "an asynchronous copy to pageable memory is there");
      copy_async(on_device.data(), pageable.data(), bytes, stream);
      std::ranges::fill(pageable, std::uint8_t{0});
      synchronize(stream);
      require_holds(on_device, 3, "pageable memory was read when it was to be");
      require(cudaMemsetAsync(on_device.data(), 0x5a, bytes, stream.get()), "cudaMemsetAsync");
      copy_async(pinned.data(), on_device.data(), bytes, stream);
      synchronize(stream);
      require(pinned.data()[0] == 0x5a && pinned.data()[bytes - 1] == 0x5a, "memset");
    }
  }
}

// The result of a blocking copy is visible to streams that do not wait for it.
void check_blocking_copies_are_done() {
  constexpr std::size_t bytes = 4096;
  const DeviceArray<std::uint8_t> on_device(bytes);
  const Pinned pinned(bytes);
  const Stream stream = Stream::independent();
  std::vector<std::uint8_t> back(bytes);
  for (unsigned seed = 0; seed < 50; ++seed) {
    fill(pinned.data(), bytes, seed);
    copy(on_device.data(), pinned.data(), bytes);
    copy_async(back.data(), on_device.data(), bytes, stream);
    synchronize(stream);
    require(holds(back.data(), bytes, seed), "the other stream finds the copy done");
  }
}

void check_rows() {
  constexpr std::size_t width = 100;
  constexpr std::size_t height = 37;
  void* data = nullptr;
  std::size_t pitch = 0;
  require(cudaMallocPitch(&data, &pitch, width, height), "cudaMallocPitch");
  std::vector<std::uint8_t> in(width * height);
  std::vector<std::uint8_t> out(width * height);
  fill(in.data(), in.size(), 5);
  require(cudaMemset2D(data, pitch, 0, width, height), "cudaMemset2D");
  require(cudaMemcpy2D(data, pitch, in.data(), width, width, height, cudaMemcpyHostToDevice),
          "cudaMemcpy2D");
  const DeviceArray<std::uint8_t> dense(width * height);
  require(cudaMemcpy2D(dense.data(), width, data, pitch, width, height, cudaMemcpyDeviceToDevice),
          "cudaMemcpy2D");
  copy(out.data(), dense.data(), out.size());
  require(in == out, "rows on the device");
  std::ranges::fill(out, std::uint8_t{0});
  require(cudaMemcpy2D(out.data(), width, data, pitch, width, height, cudaMemcpyDeviceToHost),
          "cudaMemcpy2D");
  require(in == out, "rows there and back");
  require(cudaFree(data), "cudaFree");
}

void check_kernels() {
  for (int device = 0; device < device_count(); ++device) {
    use_device(device);
    constexpr int n = 100'003;
    const DeviceArray<float> x(n);
    const DeviceArray<float> y(n);
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), 0.0F);
    copy(x.data(), values.data(), x.bytes());
    copy(y.data(), values.data(), y.bytes());
    queue_saxpy(n, 2, x.data(), y.data(), nullptr);
    require(cudaGetLastError(), "launch");
    copy(values.data(), y.data(), y.bytes());
    for (int k = 0; k < n; ++k)
      require(values[static_cast<std::size_t>(k)] == 3.0F * static_cast<float>(k), "saxpy");

    const DeviceArray<double> sum(1);
    Mixed mixed{.byte = 1, .real = 0.25, .half = 300, .wide = {1000, 20000, 300000}};
    queue_mixed(7, mixed, -5, 0.5, sum.data(), nullptr);
    double result = 0;
    copy(&result, sum.data(), sizeof result);
    require(result == 7 + 1 + 0.25 + 300 + 321000 - 5 + 0.5, "arguments arrive as they are");

    queue_empty(nullptr);
    queue_empty_old(nullptr);
    queue_empty_with_attributes(nullptr);
    require(cudaGetLastError(), "launches of each kind");
    synchronize_device();
    cudaFuncAttributes attributes{};
    require(cudaFuncGetAttributes(&attributes, saxpy_symbol()), "cudaFuncGetAttributes");
    require(attributes.maxThreadsPerBlock >= 256, "a block of the kernel");
    int blocks = 0;
    require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, saxpy_symbol(), 256, 0),
            "occupancy");
    require(blocks >= 1, "a block fits");
  }
}

void check_symbols() {
  const double values[4] = {1, 2, 3, 4};
  require(cudaMemcpyToSymbol(factors_symbol(), values, sizeof values, 0, cudaMemcpyHostToDevice),
          "cudaMemcpyToSymbol");
  const DeviceArray<double> result(4);
  queue_factors(result.data(), nullptr);
  double back[4] = {};
  copy(back, result.data(), sizeof back);
  require(std::equal(values, values + 4, back), "the kernel finds the constants");
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  require(cudaMemcpyFromSymbol(&before, counter_symbol(), sizeof before, 0, cudaMemcpyDeviceToHost),
          "cudaMemcpyFromSymbol");
  queue_count(42, nullptr);
  void* address = nullptr;
  require(cudaGetSymbolAddress(&address, counter_symbol()), "cudaGetSymbolAddress");
  copy(&after, address, sizeof after);
  require(after == before + 42, "the variable counts");
  std::size_t bytes = 0;
  require(cudaGetSymbolSize(&bytes, counter_symbol()), "cudaGetSymbolSize");
  require(bytes == sizeof(std::uint64_t), "the variable's size");
}

void check_events() {
  const Stream stream = Stream::independent();
  const Stream other = Stream::independent();
  const Event begin(cudaEventDefault);
  const Event end(cudaEventDefault);
  require(cudaEventQuery(end.get()), "an event that was never recorded is done");
  for (int k = 0; k < 3; ++k) {
    require(cudaEventRecord(begin.get(), stream.get()), "cudaEventRecord");
    queue_empty(stream.get());
    require(cudaEventRecord(end.get(), stream.get()), "cudaEventRecord");
    require(cudaStreamWaitEvent(other.get(), end.get(), 0), "cudaStreamWaitEvent");
    synchronize(other);
    require(cudaEventQuery(end.get()), "what the other stream has waited for is done");
    float milliseconds = -1;
    require(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
    require(milliseconds >= 0 && milliseconds < 1e4F, "a kernel takes a while");
  }
  const Event untimed(cudaEventDisableTiming);
  require(cudaEventRecord(untimed.get(), stream.get()), "cudaEventRecord");
  require(cudaEventSynchronize(untimed.get()), "cudaEventSynchronize");
  float milliseconds = 0;
  require(cudaEventElapsedTime(&milliseconds, untimed.get(), end.get()) ==
              cudaErrorInvalidResourceHandle,
          "an event without timing has no time");
  cudaGetLastError();
}

// A copy on the receiver's stream that waits for another stream of the sender.
void check_copy_after_event(int from, int to, std::size_t bytes) {
  std::vector<std::uint8_t> data(bytes);
  use_device(from);
  const DeviceArray<std::uint8_t> source(bytes);
  const Stream stream = Stream::independent();
  const Event filled(cudaEventDisableTiming);
  fill(data.data(), bytes, static_cast<unsigned>(from));
  copy_async(source.data(), data.data(), bytes, stream);
  require(cudaEventRecord(filled.get(), stream.get()), "cudaEventRecord");
  use_device(to);
  const DeviceArray<std::uint8_t> destination(bytes);
  const Stream receiving = Stream::independent();
  require(cudaStreamWaitEvent(receiving.get(), filled.get(), 0), "cudaStreamWaitEvent");
  copy_peer_async(destination.data(), to, source.data(), from, bytes, receiving);
  synchronize(receiving);
  require_holds(destination, static_cast<unsigned>(from), "a copy between devices");
  cudaPointerAttributes where{};
  require(cudaPointerGetAttributes(&where, destination.data()), "cudaPointerGetAttributes");
  require(where.type == cudaMemoryTypeDevice && where.device == to, "whose memory it is");
  require(cudaPointerGetAttributes(&where, source.data()), "cudaPointerGetAttributes");
  require(where.device == from, "whose memory it is");
}

// Copies the result of a blocking copy, on a stream of either device and blocking with either one
// set.
void check_copies_by(int device, int from, int to, std::size_t bytes) {
  const Pinned there(bytes);
  const auto expect = [&](const DeviceArray<std::uint8_t>& on_device, unsigned seed) {
    require_holds(on_device, seed,
                  std::to_string(bytes) + " bytes from device " + std::to_string(from) + " to " +
                      std::to_string(to) + " by " + std::to_string(device));
  };
  use_device(from);
  const auto source = cleared<std::uint8_t>(bytes);
  use_device(to);
  const auto destination = cleared<std::uint8_t>(bytes);
  use_device(device);
  const Stream stream = Stream::independent();
  for (unsigned seed = 0; seed < 3; ++seed) {
    fill(there.data(), bytes, seed);
    copy(source.data(), there.data(), bytes);
    copy_peer_async(destination.data(), to, source.data(), from, bytes, stream);
    synchronize(stream);
    expect(destination, seed);
  }
  fill(there.data(), bytes, 7);
  copy(source.data(), there.data(), bytes);
  copy_peer(destination.data(), to, source.data(), from, bytes);
  expect(destination, 7);
  use_device(from);
  require(cudaMemset(source.data(), 0, bytes), "cudaMemset");
  synchronize_device();
  use_device(device);
  copy(source.data(), destination.data(), bytes);
  expect(source, 7);
}

// Drivers allocate small arrays within one piece of memory.
void check_small_arrays(int from, int to) {
  constexpr std::size_t bytes = 1000;
  constexpr unsigned count = 20;
  std::vector<std::unique_ptr<DeviceArray<std::uint8_t>>> sources;
  std::vector<std::uint8_t> data(bytes);
  use_device(from);
  for (unsigned k = 0; k < count; ++k) {
    sources.push_back(std::make_unique<DeviceArray<std::uint8_t>>(bytes));
    fill(data.data(), bytes, k);
    copy(sources.back()->data(), data.data(), bytes);
  }
  use_device(to);
  const DeviceArray<std::uint8_t> destination(bytes);
  for (unsigned k = 0; k < count; ++k) {
    copy_peer(destination.data(), to, sources[k]->data(), from, bytes);
    require_holds(destination, k, "each small array is itself");
    sources[k].reset();  // others in the same piece are still in use
  }
}

// Copied memory is freed, and the allocation that replaces it is copied.
void check_freed_after_copy(int from, int to) {
  constexpr std::size_t bytes = std::size_t{16} << 20;
  const Pinned there(bytes);
  use_device(to);
  const DeviceArray<std::uint8_t> destination(bytes);
  const Stream receiving = Stream::independent();
  for (unsigned seed = 0; seed < 3; ++seed) {
    fill(there.data(), bytes, seed);
    use_device(from);
    const DeviceArray<std::uint8_t> source(bytes);
    copy(source.data(), there.data(), bytes);
    copy_peer_async(destination.data(), to, source.data(), from, bytes, receiving);
    synchronize(receiving);
    require_holds(destination, seed, "what takes freed memory's place is copied");
  }
}

void check_between_devices() {
  const int count = device_count();
  const std::size_t sizes[] = {1, 4097, (1 << 20) + 5, (std::size_t{20} << 20) + 3};
  for (int from = 0; from < count; ++from) {
    const int to = (from + 1) % count;
    if (to == from) continue;
    check_copy_after_event(from, to, (std::size_t{1} << 20) + 5);
    for (const std::size_t bytes : sizes) {
      check_copies_by(to, from, to, bytes);
      check_copies_by(from, from, to, bytes);
    }
    check_small_arrays(from, to);
    check_freed_after_copy(from, to);
  }
}

void check_threads() {
  const int count = device_count();
  std::vector<std::thread> threads;
  std::vector<std::string> failures(8);
  threads.reserve(failures.size());
  for (std::size_t k = 0; k < failures.size(); ++k) {
    threads.emplace_back([&, k] {
      try {
        use_device(static_cast<int>(k) % count);
        const Stream stream = Stream::independent();
        constexpr int n = 1000;
        const DeviceArray<float> x(n);
        const DeviceArray<float> y(n);
        std::vector<float> ones(n, 1);
        copy(x.data(), ones.data(), x.bytes());
        synchronize_device();
        for (int step = 0; step < 50; ++step) {
          queue_saxpy(n, 1, x.data(), y.data(), stream.get());
          if (step % 5 == 0) synchronize(stream);
        }
        copy_async(ones.data(), y.data(), y.bytes(), stream);
        require(std::ranges::all_of(ones, [](float value) { return value == 50; }),
                "each thread's work is its own");
      } catch (const std::exception& error) {
        failures[k] = error.what();
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const std::string& failure : failures)
    require(failure.empty(), failure);
}

void check_errors() {
  use_device(0);
  void* memory = nullptr;
  require(cudaMalloc(&memory, std::size_t{1} << 50) == cudaErrorMemoryAllocation,
          "too much memory is refused");
  require(std::string(cudaGetErrorString(cudaGetLastError())) == "out of memory", "in words");
  require(cudaFree(&memory) == cudaErrorInvalidValue, "what was not allocated is not freed");
  cudaGetLastError();
  const DeviceArray<float> array(16);
  float value = 0;
  require(cudaMemcpy(array.data() + 15, &value, 2 * sizeof value, cudaMemcpyHostToDevice) ==
              cudaErrorInvalidValue,
          "a copy beyond the end");
  cudaGetLastError();
  int n = 16;
  float* data = array.data();
  void* arguments[] = {&n, &value, &data, &data};
  std::string wrong;
  const auto refused = [&](dim3 grid, dim3 block, std::size_t shared, const std::string& what) {
    const cudaError_t status =
        cudaLaunchKernel(saxpy_symbol(), grid, block, arguments, shared, nullptr);
    if (status != cudaErrorInvalidValue) wrong += what + ": " + cudaGetErrorName(status) + "; ";
    if (cudaGetLastError() != status) wrong += what + ": is not the last error; ";
  };
  refused(dim3(1), dim3(4096), 0, "a block that is too large");
  refused(dim3(1), dim3(1, 1, 128), 0, "a block that is too deep");
  refused(dim3(1, 1 << 20), dim3(1), 0, "a grid that is too large");
  refused(dim3(0), dim3(1), 0, "a grid of nothing");
  refused(dim3(1), dim3(0), 0, "a block of nothing");
  refused(dim3(1), dim3(1), 1 << 20, "too much shared memory");
  require(wrong.empty(), wrong);
  require(cudaDeviceSynchronize(), "nothing is left behind");
}

}  // namespace

void require(bool right, const std::string& what) {
  if (!right) throw Failed(what);
}

void require(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw Failed(std::string(call) + ": " + cudaGetErrorString(status));
}

std::vector<Check> checks() {
  return {{"devices", check_devices},
          {"copies", check_copies},
          {"blocking copies are done", check_blocking_copies_are_done},
          {"rows", check_rows},
          {"kernels", check_kernels},
          {"symbols", check_symbols},
          {"events", check_events},
          {"between devices", check_between_devices},
          {"threads", check_threads},
          {"errors", check_errors}};
}

}  // namespace gpucast::probe
