#include "engine/cuda/open.h"
#include "engine/loop.h"

namespace gpucast::microbench::cuda {
namespace {

void require(bool holds, const char* otherwise) {
  if (!holds) throw DeviceError(otherwise);
}

template <class Call>
bool throws(Call call) {
  try {
    call();
  } catch (const DeviceError&) {
    return true;
  }
  return false;
}

void use_up_a_stream(cudaStream_t stream) {
  queue_empty(0, stream);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

void gate_opens_itself(int device) {
  check(cudaSetDevice(device), "cudaSetDevice");
  const Stream stream = Stream::independent();
  constexpr double soon = 0.05;
  GatedTimer timer(soon);
  const auto time_nothing = [&] {
    timer.close(stream.get());
    timer.begin(stream.get());
    timer.end(stream.get());
  };
  time_nothing();
  use_up_a_stream(stream.get());
  require(throws([&] { timer.seconds(); }), "a gate that nobody opened went unnoticed");
  time_nothing();
  timer.open();
  use_up_a_stream(stream.get());
  timer.seconds();
}

void gate_opens_when_left(int device) {
  check(cudaSetDevice(device), "cudaSetDevice");
  const Stream stream = Stream::independent();
  {
    GatedTimer timer;
    timer.close(stream.get());
    queue_empty(0, stream.get());
  }
  use_up_a_stream(stream.get());
}

void wrong_bytes_are_seen(BufferPool& pool, int device) {
  constexpr std::size_t size = 100003;
  constexpr std::uint32_t seed = 7;
  Buffer& buffer = pool.on_gpu(device, Role::destination, 0, size);
  auto* bytes = static_cast<unsigned char*>(buffer.data());
  pool.fill(buffer, size, seed, device);
  require(pool.holds(buffer, size, seed, device), "the pattern is not found where it was written");
  require(!pool.holds(buffer, size, seed + 1, device),
          "the pattern of another seed is taken for right");
  for (const std::size_t place : {std::size_t{0}, size / 2, size - 1}) {
    const int wrong = 0xff ^ pattern(place, seed);
    check(cudaMemset(bytes + place, wrong, 1), "cudaMemset");
    require(!pool.holds(buffer, size, seed, device), "a wrong byte went unnoticed");
    check(cudaMemset(bytes + place, pattern(place, seed), 1), "cudaMemset");
  }
  require(pool.holds(buffer, size, seed, device), "right bytes are taken for wrong");
}

void memory_runs_out_without_harm(BufferPool& pool, int device) {
  constexpr std::size_t too_much = std::size_t{1} << 50;
  constexpr std::size_t number = 99;  // used by no other test
  require(throws([&] { pool.on_gpu(device, Role::destination, number, too_much); }),
          "a pebibyte of GPU memory was given");
  require(throws([&] { host_buffer(device, records::Memory::pinned, too_much); }),
          "a pebibyte of pinned memory was given");
  const Stream stream = Stream::independent();
  use_up_a_stream(stream.get());
  constexpr std::size_t little = 1024;
  require(pool.on_gpu(device, Role::destination, number, little).bytes() >= little,
          "no memory is left");
}

}  // namespace

std::vector<SelfTest> CudaEngine::self_tests() {
  const std::string no_gates = maps_host_memory_ ? "" : no_mapped_memory;
  std::vector<SelfTest> tests;
  for (int device = 0; device < count_; ++device) {
    const std::string on = " on " + place(device);
    tests.push_back({"a gate that is not opened opens itself, as an error" + on,
                     [device] { gate_opens_itself(device); }, no_gates});
    tests.push_back(
        {"a gate that is left opens" + on, [device] { gate_opens_when_left(device); }, no_gates});
    tests.push_back(
        {"wrong bytes are seen" + on, [this, device] { wrong_bytes_are_seen(pool_, device); }});
    tests.push_back({"memory runs out without harm" + on,
                     [this, device] { memory_runs_out_without_harm(pool_, device); }});
  }
  return tests;
}

}  // namespace gpucast::microbench::cuda
