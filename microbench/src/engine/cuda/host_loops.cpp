
#include "engine/cuda/open.h"
#include "engine/loop.h"
#include "engine/numa.h"

namespace gpucast::microbench::cuda {
namespace {

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
}

// A list in the CPU's memory and in the GPU's.
struct List {
  std::vector<Index> on_cpu;
  DeviceArray<Index> on_gpu;
};

class CudaHostLoops : public HostLoops {
 public:
  CudaHostLoops(int device, records::Memory memory, std::int64_t bytes)
      : device_(device),
        memory_(memory),
        count_(floats_of_array(bytes)),
        mapped_(is_mapped(memory)),
        in_(host_buffer(device, memory, bytes_of())),
        out_(host_buffer(device, memory, bytes_of())) {
    check(cudaSetDevice(device_), "cudaSetDevice");
    const std::vector<float> inputs = loop_inputs(count_);
    copy_bytes(in_.data(), inputs.data(), bytes_of());
    if (!mapped_) copy();
  }

  double allocate() override {
    if (memory_ == records::Memory::pageable) return seconds_to_allocate(bytes_of());
    const auto begin = Clock::now();
    const auto array = host_buffer(device_, memory_, bytes_of());
    return seconds_since(begin);
  }

  double first_touch() override {
    if (memory_ == records::Memory::pageable) return seconds_to_touch(bytes_of());
    const auto array = host_buffer(device_, memory_, bytes_of());
    return touch_pages(array.data(), bytes_of());
  }

  double copy() override {
    check(cudaSetDevice(device_), "cudaSetDevice");
    if (in_on_gpu_.size() == 0) {  // mapped memory needs none, but can be copied
      in_on_gpu_ = DeviceArray<float>(count_);
      out_on_gpu_ = DeviceArray<float>(count_);
    }
    const auto begin = Clock::now();
    copy_bytes(in_on_gpu_.data(), in_.data(), bytes_of());
    copy_bytes(out_.data(), out_on_gpu_.data(), bytes_of());
    return seconds_since(begin);
  }

  double loop(LoopPattern pattern, Runner runner) override {
    check(cudaSetDevice(device_), "cudaSetDevice");
    const List& list = list_of(pattern);
    last_list_ = &list;
    last_runner_ = runner;
    const auto begin = Clock::now();
    if (runner == Runner::cpu) {
      run_loop(static_cast<float*>(out_.data()), static_cast<const float*>(in_.data()), list.on_cpu,
               count_);
    } else {
      queue_loop(out_of_gpu(), in_of_gpu(), list.on_gpu.data(), count_, nullptr);
      check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    }
    return seconds_since(begin);
  }

  bool correct() override {
    check(cudaSetDevice(device_), "cudaSetDevice");
    const void* where = last_runner_ == Runner::gpu ? out_of_gpu() : out_.data();
    std::vector<float> out(count_);
    copy_bytes(out.data(), where, bytes_of());
    const bool right = last_list_ != nullptr && loop_is_correct(out, last_list_->on_cpu);
    // The next loop must not find the old results.
    out.assign(count_, -1);
    copy_bytes(const_cast<void*>(where), out.data(), bytes_of());
    return right;
  }

 private:
  std::size_t bytes_of() const { return count_ * sizeof(float); }

  // The GPU's address of host memory.
  static float* as_seen_by_gpu(const Buffer& buffer) {
    void* pointer = nullptr;
    check(cudaHostGetDevicePointer(&pointer, buffer.data(), 0), "cudaHostGetDevicePointer");
    return static_cast<float*>(pointer);
  }
  const float* in_of_gpu() const { return mapped_ ? as_seen_by_gpu(in_) : in_on_gpu_.data(); }
  float* out_of_gpu() const { return mapped_ ? as_seen_by_gpu(out_) : out_on_gpu_.data(); }

  const List& list_of(LoopPattern pattern) {
    const auto [entry, is_new] = lists_.try_emplace(pattern);
    List& list = entry->second;
    if (is_new && pattern != LoopPattern::sequential) {
      list.on_cpu = loop_list(pattern, count_);
      list.on_gpu = DeviceArray<Index>(count_);
      copy_bytes(list.on_gpu.data(), list.on_cpu.data(), list.on_gpu.bytes());
    }
    return list;
  }

  int device_;
  records::Memory memory_;
  std::size_t count_;
  bool mapped_;
  Buffer in_, out_;
  DeviceArray<float> in_on_gpu_, out_on_gpu_;
  std::map<LoopPattern, List> lists_;
  const List* last_list_ = nullptr;
  Runner last_runner_ = Runner::cpu;
};

}  // namespace

std::unique_ptr<HostLoops> CudaEngine::host_loops(int device, records::Memory memory,
                                                  std::int64_t bytes) {
  return std::make_unique<CudaHostLoops>(device, memory, bytes);
}

}  // namespace gpucast::microbench::cuda
