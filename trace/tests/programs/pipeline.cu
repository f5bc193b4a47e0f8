// A double-buffered pipeline: chunks of n numbers are copied to the GPU on one stream while the
// previous chunk is processed and copied back on another. Events order the two; all memory is
// pinned, and the host waits once a step.
#include <array>

#include "program.h"
#include "random.h"

namespace gpucast::trace {
namespace {

constexpr std::size_t chunks = 8;
constexpr std::size_t buffers = 2;
constexpr unsigned threads = 256;
constexpr std::int64_t rounds = 256;  // about as long as the chunk's copy takes on an H200

__global__ void work(std::uint32_t* out, const std::uint32_t* in, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) out[i] = scrambled(in[i], rounds);
}

class Pipeline : public Program {
 public:
  explicit Pipeline(const Cell& cell)
      : n_(cell.n), sent_(chunks * size()), received_(chunks * size()) {
    for (std::size_t k = 0; k < sent_.size(); ++k)
      sent_[k] = static_cast<std::uint32_t>(k) + 1;
    // A chunk's buffer is also free before the first step.
    for (const Event& freed : freed_)
      freed.record(working_.get());
  }

  void step() override {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      upload(chunk);
      compute(chunk);
    }
    check(cudaStreamSynchronize(working_.get()), "cudaStreamSynchronize");
  }

  std::string wrong() override {
    for (std::size_t k = 0; k < received_.size(); ++k)
      received_[k] = 0;
    step();
    // Only some are checked: the host is slow.
    constexpr std::size_t looked_at = 20000;
    for (std::size_t k = 0; k < received_.size(); k += received_.size() / looked_at + 1)
      if (received_[k] != scrambled(sent_[k], rounds)) return "number " + std::to_string(k);
    return "";
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(n_); }
  std::size_t bytes() const { return size() * sizeof(std::uint32_t); }

  void upload(std::size_t chunk) {
    const std::size_t buffer = chunk % buffers;
    const cudaStream_t stream = uploading_.get();
    freed_.at(buffer).hold(stream);
    queue_to_gpu(in_.at(buffer).data(), sent_.data() + chunk * size(), bytes(), stream);
    filled_.at(buffer).record(stream);
  }
  void compute(std::size_t chunk) {
    const std::size_t buffer = chunk % buffers;
    const cudaStream_t stream = working_.get();
    filled_.at(buffer).hold(stream);
    work<<<blocks_of(n_, threads), threads, 0, stream>>>(out_.data(), in_.at(buffer).data(), n_);
    check(cudaGetLastError(), "launch of work");
    freed_.at(buffer).record(stream);
    queue_to_host(received_.data() + chunk * size(), out_.data(), bytes(), stream);
  }

  using Events = std::array<Event, buffers>;
  static Events events() { return {Event(cudaEventDisableTiming), Event(cudaEventDisableTiming)}; }

  std::int64_t n_;
  Stream uploading_ = Stream::independent(), working_ = Stream::independent();
  Events filled_ = events(), freed_ = events();
  PinnedArray<std::uint32_t> sent_, received_;
  std::array<DeviceArray<std::uint32_t>, buffers> in_{DeviceArray<std::uint32_t>(size()),
                                                      DeviceArray<std::uint32_t>(size())};
  DeviceArray<std::uint32_t> out_{size()};
};

}  // namespace

std::unique_ptr<Program> make(const Cell& cell) { return std::make_unique<Pipeline>(cell); }
const About about{
    .name = "pipeline",
    .what = "Eight chunks of n numbers through a double-buffered pipeline of two streams.",
    .unit = "numbers",
    .sizes = "4096,65536,524288,2097152"};

}  // namespace gpucast::trace
