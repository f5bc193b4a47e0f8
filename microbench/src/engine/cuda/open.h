// The CUDA engine, with a source for each of its measurements, and their common parts: buffers,
// kept between measurements (pinning a gigabyte takes a second), streams, gates.
#pragma once

#include <atomic>
#include <compare>
#include <map>
#include <utility>

#include "engine/cuda/kernels.h"
#include "engine/engine.h"
#include "gpucast/devices/cuda/gpus.h"
#include "gpucast/support/human.h"

namespace gpucast::microbench::cuda {

class Buffer {
 public:
  Buffer() = default;  // of nothing
  Buffer(std::shared_ptr<void> memory, std::size_t bytes, bool on_gpu)
      : memory_(std::move(memory)), bytes_(bytes), on_gpu_(on_gpu) {}

  void* data() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }
  bool on_gpu() const { return on_gpu_; }

  // The pattern in the whole buffer, if it was filled and not written since.
  std::optional<std::uint32_t> seed = std::nullopt;

 private:
  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
  bool on_gpu_ = false;
};

// The purpose of a buffer: sources keep their content, destinations are written; scratch belongs to
// the pool.
enum class Role { source, destination, scratch };

// Host memory that GPUs can access.
bool is_mapped(records::Memory memory);

// Touched host memory, near a GPU if the system knows the distances. Throws DeviceError or
// std::bad_alloc if there is not enough.
Buffer host_buffer(int device, records::Memory memory, std::size_t bytes);

// The requested node of a host buffer, and the node of its first page; nothing: unknown.
struct Placement {
  int device = 0;
  records::Memory memory = records::Memory::pinned;
  std::optional<int> wanted;
  std::optional<int> obtained;
};

class BufferPool {
 public:
  // `number` distinguishes buffers that are in use together.
  Buffer& on_host(int device, records::Memory memory, Role role, std::size_t number,
                  std::size_t bytes);
  Buffer& on_gpu(int device, Role role, std::size_t number, std::size_t bytes);

  // Writes, or checks, the pattern of a seed in the first `bytes` of a buffer by a GPU: the
  // buffer's own, or any one for host memory. CPUs may read write-combined memory sixty times more
  // slowly.
  void fill(Buffer& buffer, std::size_t bytes, std::uint32_t seed, int device);
  bool holds(const Buffer& buffer, std::size_t bytes, std::uint32_t seed, int device);

  // The placement of the first buffer of each kind near each GPU.
  const std::vector<Placement>& placements() const { return placements_; }

 private:
  struct Key {
    int node;    // of the host's memory
    int device;  // -1: the host
    records::Memory memory;
    Role role;
    std::size_t number;
    auto operator<=>(const Key&) const = default;
  };
  // The system is queried once per device, not for each buffer.
  std::optional<int> node_near(int device);
  void note_placement(int device, records::Memory memory, const Buffer& buffer);

  std::map<Key, Buffer> buffers_;
  std::vector<Placement> placements_;
  std::map<int, std::optional<int>> nodes_;
};

// Streams of each GPU, used in turn. The time of a small copy or kernel differs by a few percent
// between hardware queues; a stream keeps its queue, and another run of the program gets another
// one. Samples on all of them show what to expect of any.
class StreamRing {
 public:
  explicit StreamRing(int device) {
    check(cudaSetDevice(device), "cudaSetDevice");
    for (std::size_t k = 0; k < size; ++k)
      streams_.push_back(Stream::independent());
  }
  // Streams less than `size` apart are different ones.
  cudaStream_t at(std::size_t turn) const { return streams_[turn % size].get(); }

  static constexpr std::size_t size = 32;  // the maximum of CUDA_DEVICE_MAX_CONNECTIONS

 private:
  std::vector<Stream> streams_;
};

class StreamRings {
 public:
  const StreamRing& of(int device) { return rings_.try_emplace(device, device).first->second; }

 private:
  std::map<int, StreamRing> rings_;
};

// Times work that is queued behind a closed gate, by the clock of the device that was current when
// this was made: call close, begin, end, open and seconds in this order, and queue the timed work
// between begin and end.
//
// The gate is closed from close() to open(); it is always opened in the end, so that an error in
// between never leaves a stream waiting.
class GatedTimer {
 public:
  // The gate opens by itself `timeout` seconds after the stream has reached it.
  explicit GatedTimer(double timeout = 10) : timeout_(timeout) {}
  ~GatedTimer() {
    if (flags_ == nullptr) return;
    open();
    cudaFreeHost(flags_);
  }
  GatedTimer(const GatedTimer&) = delete;
  GatedTimer& operator=(const GatedTimer&) = delete;

  void close(cudaStream_t stream) {
    if (flags_ == nullptr) {
      void* memory = nullptr;
      check(cudaHostAlloc(&memory, 2 * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable),
            "cudaHostAlloc");
      flags_ = static_cast<int*>(memory);
    }
    std::atomic_ref<int>(flags_[0]).store(0);
    std::atomic_ref<int>(flags_[1]).store(0);
    queue_gate(flags_, flags_ + 1, timeout_, stream);
  }
  void begin(cudaStream_t stream) const { begin_.record(stream); }
  void end(cudaStream_t stream) const { end_.record(stream); }
  // Makes another stream of the device wait for the beginning.
  void hold_until_begin(cudaStream_t stream) const { begin_.hold(stream); }
  void open() noexcept { std::atomic_ref<int>(flags_[0]).store(1); }
  void wait_for_end() const { end_.wait(); }
  // Waits for the end. Throws DeviceError if the gate opened by itself after the timeout: the
  // measurement is then invalid.
  double seconds() const {
    wait_for_end();
    if (std::atomic_ref<int>(flags_[1]).load() != 0) {
      throw support::DeviceError("the gate in front of queued work did not open within " +
                                 support::figure("%g s", timeout_));
    }
    return devices::cuda::seconds_between(begin_, end_);
  }

 private:
  double timeout_;
  // Pinned and mapped: open, timed out. Allocated at the first close: remote GPUs have no such
  // memory.
  int* flags_ = nullptr;
  Event begin_{cudaEventDefault};
  Event end_{cudaEventDefault};
};

class CudaEngine : public Engine {
 public:
  explicit CudaEngine(int count);

  schema::Path path() const override { return devices::cuda::path(); }
  int count() const override { return count_; }
  std::vector<records::Gpu> devices() const override { return devices::cuda::describe_all(count_); }
  std::string driver() const override { return devices::cuda::driver_version(); }
  std::string runtime() const override { return devices::cuda::runtime_version(); }
  std::optional<std::string> transport() const override {
    return devices::cuda::remote_transport();
  }
  nlohmann::ordered_json topology() const override;

  std::optional<std::string> refuses(const Copy& copy,
                                     records::TransferMethod method) const override;
  std::optional<std::string> refuses(records::LaunchMethod method) const override;
  std::optional<std::string> refuses_overlap() const override {
    return refuses(records::LaunchMethod::gated);
  }
  std::optional<std::string> refuses_loops(records::Memory memory, Runner runner) const override;

  void warm_up(double seconds) override;

  std::unique_ptr<CopySet> open(std::span<const Copy> copies) override;
  std::unique_ptr<Launches> launches(int device, int arguments) override;
  std::unique_ptr<Overlaps> overlaps(int device, std::int64_t bytes) override;
  std::unique_ptr<Skeleton> skeleton(const StepShape& shape) override;
  std::unique_ptr<TracedSteps> traced_steps(const TracedProgram& program) override;
  std::unique_ptr<HostLoops> host_loops(int device, records::Memory memory,
                                        std::int64_t bytes) override;

  std::vector<nlohmann::ordered_json> placements() const override;
  // Tests of the properties that measurements on GPUs rely on: gates cannot hang, wrong bytes are
  // detected, and exhausted memory does no harm.
  std::vector<SelfTest> self_tests() override;

 private:
  int count_;
  bool has_graphs_;
  bool maps_host_memory_ = true;  // gates need it, too
  BufferPool pool_;
  StreamRings streams_;
};

inline constexpr const char* no_mapped_memory = "the devices do not reach the host's memory";

}  // namespace gpucast::microbench::cuda
