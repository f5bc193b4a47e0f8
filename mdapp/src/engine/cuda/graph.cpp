#include "engine/cuda/graph.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/cuda/cuda.h"

namespace gpucast::mdapp::cuda {
namespace {

class Graph {
 public:
  Graph() = default;
  ~Graph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void end_capture(cudaStream_t stream) {
    check(cudaStreamEndCapture(stream, &graph_), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&executable_, graph_, 0), "cudaGraphInstantiate");
  }
  void launch(cudaStream_t stream) const {
    check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch");
  }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

// Ends a capture that an exception left open; its graph is worth nothing.
class CaptureGuard {
 public:
  explicit CaptureGuard(cudaStream_t stream) : stream_(stream) {}
  ~CaptureGuard() {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(stream_, &status) == cudaSuccess &&
        status != cudaStreamCaptureStatusNone) {
      cudaGraph_t left = nullptr;
      cudaStreamEndCapture(stream_, &left);
      if (left != nullptr) cudaGraphDestroy(left);
    }
  }
  CaptureGuard(const CaptureGuard&) = delete;
  CaptureGuard& operator=(const CaptureGuard&) = delete;

 private:
  cudaStream_t stream_;
};

void use(const CudaDevice& device) { check(cudaSetDevice(device.device()), "cudaSetDevice"); }

Event untimed() { return Event(cudaEventDisableTiming); }

class GraphRecording : public Recording {
 public:
  GraphRecording(std::span<CudaDevice* const> devices, const std::function<void()>& queue)
      : devices_(devices.begin(), devices.end()) {
    std::vector<Traffic> before;
    before.reserve(devices_.size());
    for (const CudaDevice* device : devices_)
      before.push_back(device->traffic());
    capture(queue);
    // Nothing was copied yet.
    for (std::size_t g = 0; g < devices_.size(); ++g) {
      const Traffic after = devices_[g]->traffic();
      each_.push_back({.h2d = after.h2d - before[g].h2d,
                       .d2h = after.d2h - before[g].d2h,
                       .exchange = after.exchange - before[g].exchange});
      devices_[g]->count(
          {.h2d = -each_[g].h2d, .d2h = -each_[g].d2h, .exchange = -each_[g].exchange});
    }
  }

  // Behind all that the devices' streams hold, as far as it was waited for: schedules wait for
  // every device before and after.
  void replay() override {
    use(*devices_.front());
    graph_.launch(devices_.front()->stream());
    for (std::size_t g = 0; g < devices_.size(); ++g)
      devices_[g]->count(each_[g]);
  }

 private:
  // The first device's stream forks into the others' and joins them again.
  void capture(const std::function<void()>& queue) {
    CudaDevice& origin = *devices_.front();
    use(origin);
    const cudaError_t begun =
        cudaStreamBeginCapture(origin.stream(), cudaStreamCaptureModeThreadLocal);
    if (begun == cudaErrorNotSupported) {
      cudaGetLastError();
      throw std::runtime_error("this CUDA runtime records no graphs");
    }
    check(begun, "cudaStreamBeginCapture");
    const CaptureGuard guard(origin.stream());
    const Event fork = untimed();
    check(cudaEventRecord(fork.get(), origin.stream()), "cudaEventRecord");
    for (CudaDevice* device : others()) {
      use(*device);
      check(cudaStreamWaitEvent(device->stream(), fork.get(), 0), "cudaStreamWaitEvent");
    }
    queue();
    std::vector<Event> joins;
    for (CudaDevice* device : others()) {
      use(*device);
      joins.push_back(untimed());
      check(cudaEventRecord(joins.back().get(), device->stream()), "cudaEventRecord");
      check(cudaStreamWaitEvent(origin.stream(), joins.back().get(), 0), "cudaStreamWaitEvent");
    }
    use(origin);
    graph_.end_capture(origin.stream());
  }

  std::span<CudaDevice* const> others() const { return std::span(devices_).subspan(1); }

  std::vector<CudaDevice*> devices_;
  std::vector<Traffic> each_;  // of one replay
  Graph graph_;
};

}  // namespace

std::unique_ptr<Recording> record_graph(std::span<CudaDevice* const> devices,
                                        const std::function<void()>& queue) {
  return std::make_unique<GraphRecording>(devices, queue);
}

}  // namespace gpucast::mdapp::cuda
