// A CUDA graph: data to the GPU, two chains of n kernels side by side, and data back, launched by
// one call.

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

constexpr unsigned count = 1024;
constexpr unsigned threads = 128;

__global__ void scramble_once(std::uint32_t* data) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = scrambled(data[i], 1);
}

class Graph : public Program {
 public:
  explicit Graph(const Cell& cell) : kernels_(cell.n) {
    for (std::uint32_t i = 0; i < 2 * count; ++i)
      sent_[i] = i + 1;
    // Loads the kernel, which is not allowed while a stream is captured.
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    scramble_once<<<1, 1>>>(data_.data());
    check(cudaGetLastError(), "launch of scramble_once");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const auto graph = described();
    cudaGraphExec_t ready = nullptr;
    check(cudaGraphInstantiate(&ready, graph.get(), 0), "cudaGraphInstantiate");
    ready_.reset(ready);
  }

  void step() override {
    check(cudaGraphLaunch(ready_.get(), stream_.get()), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
  }

  std::string wrong() override {
    for (std::uint32_t i = 0; i < 2 * count; ++i)
      received_[i] = 0;
    step();
    for (std::uint32_t i = 0; i < 2 * count; ++i)
      if (received_[i] != scrambled(i + 1, kernels_)) return "number " + std::to_string(i);
    return "";
  }

 private:
  using Description = std::unique_ptr<CUgraph_st, devices::cuda::Destroy<cudaGraphDestroy>>;

  Description described() {
    const Stream main_stream = Stream::independent();
    const Stream side = Stream::independent();
    const Event copied(cudaEventDisableTiming);
    const Event done(cudaEventDisableTiming);
    const cudaStream_t main = main_stream.get();
    check(cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    queue_to_gpu(data_.data(), sent_.data(), sent_.bytes(), main);
    copied.record(main);
    copied.hold(side.get());
    for (std::int64_t k = 0; k < kernels_; ++k) {
      scramble_once<<<count / threads, threads, 0, main>>>(data_.data());
      scramble_once<<<count / threads, threads, 0, side.get()>>>(data_.data() + count);
      check(cudaGetLastError(), "launch of scramble_once");
    }
    done.record(side.get());
    done.hold(main);
    queue_to_host(received_.data(), data_.data(), sent_.bytes(), main);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(main, &graph), "cudaStreamEndCapture");
    return Description(graph);
  }

  std::int64_t kernels_;
  Stream stream_ = Stream::independent();
  DeviceArray<std::uint32_t> data_{2 * std::size_t{count}};
  PinnedArray<std::uint32_t> sent_{2 * std::size_t{count}}, received_{2 * std::size_t{count}};
  std::unique_ptr<CUgraphExec_st, devices::cuda::Destroy<cudaGraphExecDestroy>> ready_;
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<Graph>(cell); }
const About about{
    .name = "graph",
    .what = "A CUDA graph of two chains of n kernels between a copy to the GPU and one back.",
    .unit = "kernels",
    .sizes = "5,50,500"};

}  // namespace gpucast::trace
