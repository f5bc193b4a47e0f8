#include <algorithm>
#include <array>

#include "engine/cuda/open.h"

namespace gpucast::microbench::cuda {
namespace {

using devices::cuda::Destroy;

using Graph = std::unique_ptr<CUgraph_st, Destroy<cudaGraphDestroy>>;
using Executable = std::unique_ptr<CUgraphExec_st, Destroy<cudaGraphExecDestroy>>;

// A chain of empty kernels.
Executable chain(int arguments, int count) {
  cudaGraph_t made = nullptr;
  check(cudaGraphCreate(&made, 0), "cudaGraphCreate");
  const Graph graph(made);
  double value = 0;
  std::array<void*, most_arguments> pointers{};
  pointers.fill(&value);
  cudaKernelNodeParams node{};
  node.func = const_cast<void*>(empty_kernel(arguments));
  node.gridDim = dim3(1);
  node.blockDim = dim3(1);
  node.kernelParams = pointers.data();
  cudaGraphNode_t last = nullptr;
  for (int k = 0; k < count; ++k) {
    cudaGraphNode_t next = nullptr;
    check(cudaGraphAddKernelNode(&next, made, k == 0 ? nullptr : &last, k == 0 ? 0 : 1, &node),
          "cudaGraphAddKernelNode");
    last = next;
  }
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, made, 0), "cudaGraphInstantiate");
  return Executable(executable);
}

class CudaLaunches : public Launches {
 public:
  CudaLaunches(const StreamRing& streams, int device, int arguments)
      : device_(device), arguments_(arguments), streams_(streams) {
    use();
    timer_ = std::make_unique<GatedTimer>();
  }

  void next_queue() override { ++turn_; }
  double submit(int count) override {
    use();
    const auto begin = Clock::now();
    for (int k = 0; k < count; ++k)
      queue_empty(arguments_, stream());
    const double taken = seconds_since(begin);
    wait();
    return taken;
  }
  double sync(int count) override {
    use();
    const auto begin = Clock::now();
    for (int k = 0; k < count; ++k)
      queue_empty(arguments_, stream());
    wait();
    return seconds_since(begin);
  }
  double gated(int count) override {
    use();
    timer_->close(stream());
    timer_->begin(stream());
    for (int k = 0; k < count; ++k)
      queue_empty(arguments_, stream());
    timer_->end(stream());
    timer_->open();
    return timer_->seconds();
  }
  double graph(int count) override {
    use();
    auto& graph = graphs_[count];
    if (!graph) {
      graph = chain(arguments_, count);
      check(cudaGraphUpload(graph.get(), stream()), "cudaGraphUpload");
      wait();
    }
    const auto begin = Clock::now();
    check(cudaGraphLaunch(graph.get(), stream()), "cudaGraphLaunch");
    wait();
    return seconds_since(begin);
  }

 private:
  void use() const { check(cudaSetDevice(device_), "cudaSetDevice"); }
  cudaStream_t stream() const { return streams_.at(turn_); }
  void wait() const { check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize"); }

  int device_;
  int arguments_;
  const StreamRing& streams_;
  std::size_t turn_ = 0;
  std::unique_ptr<GatedTimer> timer_;
  std::map<int, Executable> graphs_;
};

class CudaOverlaps : public Overlaps {
 public:
  CudaOverlaps(BufferPool& pool, int device, std::int64_t bytes)
      : device_(device),
        bytes_(static_cast<std::size_t>(bytes)),
        up_from_(pool.on_host(device, records::Memory::pinned, Role::source, 0, bytes_)),
        up_to_(pool.on_gpu(device, Role::destination, 0, bytes_)),
        down_from_(pool.on_gpu(device, Role::source, 0, bytes_)),
        down_to_(pool.on_host(device, records::Memory::pinned, Role::destination, 0, bytes_)) {
    up_to_.seed.reset();
    down_to_.seed.reset();
    use();
    for (Stream& stream : streams_)
      stream = Stream::independent();
    main_ = Stream::independent();
    timer_ = std::make_unique<GatedTimer>();
    for (std::size_t k = 0; k < streams_.size(); ++k)
      ended_.emplace_back(cudaEventDisableTiming);
    using Part = records::OverlapPart;
    for (int k = 0; k < 3; ++k)
      for (const Part part : {Part::h2d, Part::d2h})
        kernel_seconds_ = std::max(kernel_seconds_, together({&part, 1}));
  }

  double together(std::span<const records::OverlapPart> parts) override {
    use();
    timer_->close(main_.get());
    timer_->begin(main_.get());
    for (const auto part : parts) {
      const auto k = static_cast<std::size_t>(part);
      cudaStream_t stream = streams_.at(k).get();
      timer_->hold_until_begin(stream);
      queue(part, stream);
      ended_[k].record(stream);
    }
    for (const auto part : parts)
      ended_[static_cast<std::size_t>(part)].hold(main_.get());
    timer_->end(main_.get());
    timer_->open();
    return timer_->seconds();
  }

 private:
  void use() const { check(cudaSetDevice(device_), "cudaSetDevice"); }

  void queue(records::OverlapPart part, cudaStream_t stream) const {
    using Part = records::OverlapPart;
    if (part == Part::kernel) {
      queue_spin(kernel_seconds_, stream);
      return;
    }
    const Buffer& to = part == Part::h2d ? up_to_ : down_to_;
    const Buffer& from = part == Part::h2d ? up_from_ : down_from_;
    check(cudaMemcpyAsync(to.data(), from.data(), bytes_, cudaMemcpyDefault, stream),
          "cudaMemcpyAsync");
  }

  int device_;
  std::size_t bytes_;
  Buffer& up_from_;
  Buffer& up_to_;
  Buffer& down_from_;
  Buffer& down_to_;
  std::array<Stream, 3> streams_;
  Stream main_;
  std::unique_ptr<GatedTimer> timer_;
  std::vector<Event> ended_;
  double kernel_seconds_ = 0;
};

}  // namespace

std::unique_ptr<Launches> CudaEngine::launches(int device, int arguments) {
  return std::make_unique<CudaLaunches>(streams_.of(device), device, arguments);
}

std::unique_ptr<Overlaps> CudaEngine::overlaps(int device, std::int64_t bytes) {
  return std::make_unique<CudaOverlaps>(pool_, device, bytes);
}

}  // namespace gpucast::microbench::cuda
