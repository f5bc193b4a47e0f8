// Batches on three streams in turn: the host prepares each in pageable memory, sends it
// asynchronously, lets a kernel change it, and collects it when its stream is needed again.
#include <vector>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

using Byte = unsigned char;
constexpr std::size_t streams = 3;
constexpr int batches = 6;

__global__ void change(Byte* data, std::int64_t n, Byte by) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) data[i] = static_cast<Byte>(data[i] * 3 + by);
}

struct Lane {
  explicit Lane(std::size_t n) : stream(Stream::independent()), given(n), made(n), on_gpu(n) {}
  Stream stream;
  Event done{cudaEventDisableTiming};
  std::vector<Byte> given;
  PinnedArray<Byte> made;
  DeviceArray<Byte> on_gpu;
};

class Batches : public Program {
 public:
  explicit Batches(const Cell& cell) : n_(cell.n) {
    for (std::size_t k = 0; k < streams; ++k)
      lanes_.push_back(std::make_unique<Lane>(static_cast<std::size_t>(n_)));
  }

  void step() override {
    sum_ = 0;
    for (int batch = 0; batch < batches + static_cast<int>(streams); ++batch) {
      Lane& lane = *lanes_[static_cast<std::size_t>(batch) % streams];
      if (batch >= static_cast<int>(streams)) collect(lane);
      if (batch < batches) send(lane, batch);
    }
  }

  std::string wrong() override {
    step();
    std::uint32_t expected = 0;
    for (int batch = 0; batch < batches; ++batch)
      for (std::int64_t i = 0; i < n_; ++i)
        expected += static_cast<Byte>(static_cast<Byte>(i + batch) * 3 + batch);
    return sum_ == expected ? "" : "batches add up to something else";
  }

 private:
  void send(Lane& lane, int batch) {
    for (std::int64_t i = 0; i < n_; ++i)
      lane.given[static_cast<std::size_t>(i)] = static_cast<Byte>(i + batch);
    const auto stream = lane.stream.get();
    queue_to_gpu(lane.on_gpu.data(), lane.given.data(), lane.given.size(), stream);
    change<<<blocks_of(n_, usual_threads), usual_threads, 0, stream>>>(lane.on_gpu.data(), n_,
                                                                       static_cast<Byte>(batch));
    check_launch("change");
    queue_to_host(lane.made.data(), lane.on_gpu.data(), lane.made.bytes(), stream);
    lane.done.record(stream);
  }
  void collect(Lane& lane) {
    lane.done.wait();
    for (std::size_t i = 0; i < lane.made.size(); ++i)
      sum_ += lane.made[i];
  }

  std::int64_t n_;
  std::uint32_t sum_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<Batches>(cell); }
const About about{
    .name = "batches",
    .what = "Six batches of n bytes over three streams, each behind the host's own work on it.",
    .unit = "bytes",
    .sizes = "4096,65536,1048576"};

}  // namespace gpucast::trace
