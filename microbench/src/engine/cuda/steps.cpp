#include <cstring>
#include <mutex>
#include <tuple>

#include "engine/cuda/open.h"
#include "gpucast/support/median.h"

namespace gpucast::microbench::cuda {
namespace {

// Blocking copies use the default stream, like a program that does not use streams.
class CudaSkeleton : public Skeleton {
 public:
  CudaSkeleton(BufferPool& pool, const StepShape& shape)
      : Skeleton(shape),
        up_floats_(floats_of(shape.h2d_bytes)),
        down_floats_(floats_of(shape.gpus() * shape.d2h_bytes)),
        up_(pool.on_host(shape.devices.front(), shape.memory, Role::source, 0,
                         up_floats_ * sizeof(float))),
        down_(pool.on_host(shape.devices.front(), shape.memory, Role::destination, 0,
                           down_floats_ * sizeof(float))) {
    up_.seed.reset();
    down_.seed.reset();
    for (std::size_t k = 0; k < shape.devices.size(); ++k) {
      use(k);
      streams_.push_back(blocking() ? Stream() : Stream::independent());
      received_.emplace_back(up_bytes());
      held_.emplace_back(down_bytes());
      check(cudaMemset(held_.back().data(), std::to_integer<int>(mark(k)), down_bytes()),
            "cudaMemset");
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
  }

  // With events around the kernel, as programs time it.
  double kernel_seconds() override {
    use(0);
    const Event begin(cudaEventDefault);
    const Event end(cudaEventDefault);
    constexpr std::size_t several = 15;
    std::vector<double> seconds(several);
    for (double& sample : seconds) {
      begin.record(stream(0));
      queue_spin(shape().busy, stream(0));
      end.record(stream(0));
      end.wait();
      sample = devices::cuda::seconds_between(begin, end);
    }
    return support::median(seconds);
  }

 private:
  void use(std::size_t k) const { check(cudaSetDevice(shape().devices[k]), "cudaSetDevice"); }
  cudaStream_t stream(std::size_t k) const { return streams_[k].get(); }

  void copy(std::size_t k, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    use(k);
    if (blocking())
      check(cudaMemcpy(to, from, bytes, kind), "cudaMemcpy");
    else
      check(cudaMemcpyAsync(to, from, bytes, kind, stream(k)), "cudaMemcpyAsync");
  }
  void upload(std::size_t k) override {
    copy(k, received_[k].data(), up_.data(), up_bytes(), cudaMemcpyHostToDevice);
  }
  void compute(std::size_t k) override {
    use(k);
    queue_spin(shape().busy, stream(k));
  }
  void download(std::size_t k) override {
    copy(k, static_cast<std::byte*>(down_.data()) + k * down_bytes(), held_[k].data(), down_bytes(),
         cudaMemcpyDeviceToHost);
  }
  void wait(std::size_t k) override {
    if (blocking()) return;  // the last copy has arrived
    use(k);
    check(cudaStreamSynchronize(stream(k)), "cudaStreamSynchronize");
  }
  std::span<float> sent() override { return {static_cast<float*>(up_.data()), up_floats_}; }
  std::span<float> received() override { return {static_cast<float*>(down_.data()), down_floats_}; }
  std::vector<std::byte> arrived(std::size_t k) override {
    std::vector<std::byte> bytes(up_bytes());
    use(k);
    check(cudaMemcpy(bytes.data(), received_[k].data(), up_bytes(), cudaMemcpyDeviceToHost),
          "cudaMemcpy");
    return bytes;
  }

  std::size_t up_floats_, down_floats_;
  Buffer& up_;  // on the host
  Buffer& down_;
  std::vector<Stream> streams_;
  std::vector<DeviceArray<std::byte>> received_, held_;
};

// The buffers of a call's bytes. Programs have several arrays: copies of one kind alternate between
// several buffers, so that one need not wait for another with the same buffer.
struct Place {
  void* on_host = nullptr;
  void* on_device = nullptr;
};

class CudaTracedSteps : public TracedSteps {
 public:
  explicit CudaTracedSteps(TracedProgram program) : TracedSteps(std::move(program)) {
    for (const TracedStream& stream : this->program().streams)
      streams_.push_back(made(stream));
    for (int device = 0; device < this->program().devices; ++device) {
      use(device);
      past_.emplace_back(cudaEventDisableTiming);
      past_.back().record(nullptr);
    }
    give_events();
    give_places();
    settle();
  }

 private:
  static void use(int device) { check(cudaSetDevice(device), "cudaSetDevice"); }

  static Stream made(const TracedStream& stream) {
    use(stream.device);
    switch (stream.kind) {
      case StreamKind::blocking:
        return Stream::blocking();
      case StreamKind::non_blocking:
        return Stream::independent();
      default:
        return {};
    }
  }
  cudaStream_t stream(const TracedCall& call) const {
    const auto at = static_cast<std::size_t>(call.stream);
    return program().streams[at].kind == StreamKind::per_thread ? cudaStreamPerThread
                                                                : streams_[at].get();
  }

  // Each event belongs to the device whose streams record it.
  void give_events() {
    std::vector<int> device(static_cast<std::size_t>(program().events), 0);
    for (const TracedCall& call : program().calls)
      if (call.operation == Operation::record)
        device[static_cast<std::size_t>(call.event)] = call.device;
    for (const int number : device) {
      use(number);
      events_.emplace_back(cudaEventDisableTiming);
    }
  }
  // An event that was never recorded counts as complete.
  const Event& event(const TracedCall& call) const {
    return call.event == TracedCall::none ? past_[static_cast<std::size_t>(call.device)]
                                          : events_[static_cast<std::size_t>(call.event)];
  }

  void give_places() {
    constexpr std::size_t most = 8;
    constexpr std::size_t most_bytes = std::size_t{1} << 28;
    using Key = std::tuple<int, int, Direction, bool>;  // device, stream
    std::map<Key, std::size_t> largest;
    const auto key = [](const TracedCall& call) {
      return Key(call.device, call.stream, call.direction, call.pinned);
    };
    for (const TracedCall& call : program().calls) {
      std::size_t& bytes = largest[key(call)];
      bytes = std::max(bytes, static_cast<std::size_t>(call.bytes));
    }
    std::map<Key, std::vector<Place>> rings;
    std::map<Key, std::size_t> turn;
    for (const TracedCall& call : program().calls) {
      Place place;
      if (call.operation == Operation::copy || call.operation == Operation::set) {
        const std::size_t bytes = std::max<std::size_t>(largest[key(call)], 1);
        std::vector<Place>& ring = rings[key(call)];
        const std::size_t size = std::clamp<std::size_t>(most_bytes / bytes, 1, most);
        if (ring.size() < size) ring.push_back(new_place(call, bytes));
        place = ring[turn[key(call)]++ % ring.size()];
      }
      places_.push_back(place);
    }
  }
  Place new_place(const TracedCall& call, std::size_t bytes) {
    use(call.device);
    const bool within = call.direction == Direction::local || call.direction == Direction::peer;
    const auto memory = call.pinned ? records::Memory::pinned : records::Memory::pageable;
    on_device_.emplace_back(bytes);
    Place place{.on_host = nullptr, .on_device = on_device_.back().data()};
    if (within) {
      use(call.direction == Direction::peer ? other_than(call.device) : call.device);
      on_device_.emplace_back(bytes);
      place.on_host = on_device_.back().data();
    } else if (call.operation == Operation::copy) {
      on_host_.push_back(host_buffer(call.device, memory, bytes));
      place.on_host = on_host_.back().data();
    }
    return place;
  }
  int other_than(int device) const { return (device + 1) % program().devices; }

  void make_call(const TracedCall& call, std::size_t number) override {
    // Threads start with the first device.
    thread_local int current = 0;
    thread_local const CudaTracedSteps* last = nullptr;
    if (std::exchange(last, this) != this || current != call.device) use(current = call.device);
    switch (call.operation) {
      case Operation::launch:
        return queue_spin(std::max(0.0, call.busy - empty_kernel_seconds), stream(call));
      case Operation::copy:
        return copy(call, places_[number]);
      case Operation::set:
        return check(cudaMemsetAsync(places_[number].on_device, 0, size_of(call), stream(call)),
                     "cudaMemsetAsync");
      case Operation::record:
        return event(call).record(stream(call));
      case Operation::wait_stream_event:
        return event(call).hold(stream(call));
      case Operation::sync_stream:
        return check(cudaStreamSynchronize(stream(call)), "cudaStreamSynchronize");
      case Operation::sync_event:
        return event(call).wait();
      case Operation::sync_device:
        return check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      case Operation::alloc:
        return allocate(call);
      case Operation::release:
        return release();
      case Operation::query:
        return query(call);
      case Operation::other:
        break;
    }
  }

  static std::size_t size_of(const TracedCall& call) {
    return static_cast<std::size_t>(call.bytes);
  }
  void copy(const TracedCall& call, const Place& place) const {
    const bool down = call.direction == Direction::d2h;
    void* to = down ? place.on_host : place.on_device;
    const void* from = down ? place.on_device : place.on_host;
    if (call.direction == Direction::within_host) {
      std::memcpy(to, from, size_of(call));
      return;
    }
    if (call.direction == Direction::peer && program().devices > 1) {
      check(cudaMemcpyPeerAsync(place.on_host, other_than(call.device), place.on_device,
                                call.device, size_of(call), stream(call)),
            "cudaMemcpyPeerAsync");
      return;
    }
    const auto kind = call.direction == Direction::h2d ? cudaMemcpyHostToDevice
                      : down                           ? cudaMemcpyDeviceToHost
                                                       : cudaMemcpyDeviceToDevice;
    const auto at = static_cast<std::size_t>(call.stream);
    if (call.blocking && program().streams[at].kind == StreamKind::legacy) {
      check(cudaMemcpy(to, from, size_of(call), kind), "cudaMemcpy");
      return;
    }
    check(cudaMemcpyAsync(to, from, size_of(call), kind, stream(call)), "cudaMemcpyAsync");
    if (call.blocking && call.pinned)
      check(cudaStreamSynchronize(stream(call)), "cudaStreamSynchronize");
  }
  void allocate(const TracedCall& call) {
    void* data = nullptr;
    check(cudaMalloc(&data, std::max<std::size_t>(size_of(call), 1)), "cudaMalloc");
    DeviceMemory memory(data);
    const std::scoped_lock lock(mutex_);
    allocated_.push_back(std::move(memory));
  }
  // Frees the last allocation; the program's own ones are not distinguished.
  void release() {
    DeviceMemory memory;
    const std::scoped_lock lock(mutex_);
    if (allocated_.empty()) return;
    memory = std::move(allocated_.back());
    allocated_.pop_back();
  }
  void query(const TracedCall& call) const {
    const cudaError_t status = call.stream == TracedCall::none ? cudaEventQuery(event(call).get())
                                                               : cudaStreamQuery(stream(call));
    if (status != cudaErrorNotReady) check(status, "query");
    cudaGetLastError();  // not ready is no error
  }
  void settle() override {
    for (int device = 0; device < program().devices; ++device) {
      use(device);
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    use(0);
  }

  // Memory allocated like the program's, without setting it.
  using DeviceMemory = std::unique_ptr<void, devices::cuda::Destroy<cudaFree>>;

  std::vector<Stream> streams_;
  std::vector<Event> past_, events_;
  std::vector<DeviceArray<std::byte>> on_device_;
  std::vector<Buffer> on_host_;
  std::vector<Place> places_;
  std::mutex mutex_;
  std::vector<DeviceMemory> allocated_;
};

}  // namespace

std::unique_ptr<Skeleton> CudaEngine::skeleton(const StepShape& shape) {
  return std::make_unique<CudaSkeleton>(pool_, shape);
}

std::unique_ptr<TracedSteps> CudaEngine::traced_steps(const TracedProgram& program) {
  return std::make_unique<CudaTracedSteps>(program);
}

}  // namespace gpucast::microbench::cuda
