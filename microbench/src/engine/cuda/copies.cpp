#include <algorithm>
#include <ranges>

#include "engine/cuda/open.h"

namespace gpucast::microbench::cuda {
namespace {

// The resources of one copy of a set.
class Lane {
 public:
  Lane(BufferPool& pool, const StreamRing& streams, const Copy& copy, std::size_t number)
      : pool_(pool),
        copy_(copy),
        device_(issuer(copy)),
        seed_(static_cast<std::uint32_t>(number)),
        streams_(streams),
        turn_(number),
        source_(buffer(copy.from, Role::source, number)),
        destination_(buffer(copy.to, Role::destination, number)),
        between_(copy.staged ? &buffer(host, Role::destination, number) : nullptr) {
    if (source_.seed != seed_) {
      pool.fill(source_, source_.bytes(), seed_, gpu_of(copy.from, copy.to));
      source_.seed = seed_;
    }
    constexpr std::uint32_t other = 0x5bd1e995;
    pool.fill(destination_, bytes(), seed_ ^ other, gpu_of(copy.to, copy.from));
    destination_.seed.reset();
    use();
    end_ = std::make_unique<Event>(cudaEventDisableTiming);
  }

  void use() const { check(cudaSetDevice(device_), "cudaSetDevice"); }
  cudaStream_t stream() const { return streams_.at(turn_); }
  void take_next_stream() { ++turn_; }

  void wait_for(const Event& event) const {
    use();
    event.hold(stream());
  }
  // Records the end of the copies that are queued so far.
  const Event& record_end() const {
    use();
    end_->record(stream());
    return *end_;
  }
  bool has_ended() const {
    const cudaError_t status = cudaEventQuery(end_->get());
    if (status != cudaErrorNotReady) check(status, "cudaEventQuery");
    return status == cudaSuccess;
  }

  void queue() const {
    if (copy_.engine == records::Engine::kernel) {
      queue_copy(destination_.data(), source_.data(), copy_.bytes, stream());
    } else {
      check(cudaMemcpyAsync(destination_.data(), source_.data(), bytes(), cudaMemcpyDefault,
                            stream()),
            "cudaMemcpyAsync");
    }
  }

  // Waits like a program that does not use streams.
  void block() const {
    if (copy_.staged) {
      block(*between_, source_);
      block(destination_, *between_);
    } else if (copy_.engine == records::Engine::kernel) {
      queue();
      check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    } else {
      block(destination_, source_);
      // Copies within and between GPUs return before they have ended.
      if (copy_.from != host && copy_.to != host)
        check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    }
  }

  bool correct() const {
    return pool_.holds(destination_, bytes(), seed_, gpu_of(copy_.to, copy_.from));
  }

 private:
  std::size_t bytes() const { return static_cast<std::size_t>(copy_.bytes); }

  // The GPU of a place or, if that is the host, of the copy's other end.
  static int gpu_of(int where, int other) { return where == host ? other : where; }

  Buffer& buffer(int where, Role role, std::size_t number) const {
    return where == host ? pool_.on_host(device_, copy_.memory, role, number, bytes())
                         : pool_.on_gpu(where, role, number, bytes());
  }

  void block(const Buffer& to, const Buffer& from) const {
    check(cudaMemcpy(to.data(), from.data(), bytes(), cudaMemcpyDefault), "cudaMemcpy");
  }

  BufferPool& pool_;
  Copy copy_;
  int device_;
  std::uint32_t seed_;
  const StreamRing& streams_;
  std::size_t turn_;
  Buffer& source_;
  Buffer& destination_;
  Buffer* between_;
  std::unique_ptr<Event> end_;
};

class CudaCopies : public CopySet {
 public:
  CudaCopies(BufferPool& pool, StreamRings& streams, std::span<const Copy> copies) {
    std::map<int, int> on_gpu;
    for (std::size_t k = 0; k < copies.size(); ++k) {
      const int device = issuer(copies[k]);
      most_on_one_gpu_ = std::max(most_on_one_gpu_, ++on_gpu[device]);
      lanes_.push_back(std::make_unique<Lane>(pool, streams.of(device), copies[k], k));
    }
    const Copy& one = copies.front();
    same_ = std::ranges::all_of(copies, [&one](const Copy& copy) {
      return route(copy) == route(one) && copy.bytes == one.bytes;
    });
    lanes_.front()->use();
    timer_ = std::make_unique<GatedTimer>();
    open_ = std::make_unique<Event>(cudaEventDisableTiming);
  }

  void next_queue() override {
    for (const auto& lane : lanes_)
      lane->take_next_stream();
  }

  double call() override {
    const Lane& lane = *lanes_.front();
    lane.use();
    const auto begin = Clock::now();
    lane.block();
    return seconds_since(begin);
  }

  double gated(int count) override {
    for (;;) {
      const double seconds = gated_once(count);
      if (others_outlasted_) return seconds;
      // If the others had ended early, their bandwidth would have been free for the last timed
      // copies.
      constexpr int most_times = 8;
      if (2 * times_ > most_times || queued(2 * times_, count) > most_queued) return seconds;
      times_ *= 2;
    }
  }

  double between_kernels(int count, Payload payload, int before) override {
    const Lane& lane = *lanes_.front();
    lane.use();
    timer_->close(lane.stream());
    for (int k = 0; k < before; ++k) {
      lane.queue();
      queue_empty(0, lane.stream());
    }
    timer_->begin(lane.stream());
    // A copy from another GPU that follows the event takes 7 us longer than one that follows a
    // kernel.
    queue_empty(0, lane.stream());
    for (int k = 0; k < count; ++k) {
      if (payload == Payload::copies) lane.queue();
      queue_empty(0, lane.stream());
    }
    timer_->end(lane.stream());
    timer_->open();
    return timer_->seconds();
  }

  Batch batch() const override {
    if (lanes_.size() == 1) return {};
    constexpr double much_longer_than_starts_differ = 2e-3;
    return {.seconds = much_longer_than_starts_differ,
            .most = std::max(1, most_queued / (1 + times_ * (most_on_one_gpu_ - 1)))};
  }

  bool correct() override {
    return std::ranges::all_of(lanes_, [](const auto& lane) { return lane->correct(); });
  }

 private:
  auto others() const { return lanes_ | std::views::drop(1); }

  // A full queue waits for the gate, and the gate for the end of queueing.
  static constexpr int most_queued = 100;

  int queued(int times, int count) const { return count * (1 + times * (most_on_one_gpu_ - 1)); }

  void end_here(const Lane& lane) const {
    lane.use();
    timer_->end(lane.stream());
  }

  static void queue(const Lane& lane) {
    lane.use();
    lane.queue();
  }

  double gated_once(int count) {
    const Lane& first = *lanes_.front();
    first.use();
    timer_->close(first.stream());
    open_->record(first.stream());
    for (const auto& other : others())
      other->wait_for(*open_);
    first.use();
    timer_->begin(first.stream());
    // In turn, since engines that serve several streams may process them in this order.
    const int rounds = same_ ? count : times_ * count;
    for (int j = 0; j < rounds; ++j) {
      if (j < count) queue(first);
      if (j + 1 == count && !same_) end_here(first);
      for (const auto& other : others())
        queue(*other);
    }
    const bool until_all_end = same_ || count == 0;
    for (const auto& other : others()) {
      const Event& end = other->record_end();
      if (until_all_end) first.wait_for(end);
    }
    if (until_all_end) end_here(first);
    timer_->open();
    timer_->wait_for_end();
    others_outlasted_ = until_all_end || std::ranges::none_of(others(), [](const auto& other) {
                          return other->has_ended();
                        });
    for (const auto& lane : lanes_)
      check(cudaStreamSynchronize(lane->stream()), "cudaStreamSynchronize");
    return timer_->seconds();
  }

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<GatedTimer> timer_;
  std::unique_ptr<Event> open_;
  int times_ = 2;  // copies on each of the other streams per timed copy
  bool others_outlasted_ = false;
  int most_on_one_gpu_ = 0;
  bool same_ = true;  // one route, one size
};

}  // namespace

std::unique_ptr<CopySet> CudaEngine::open(std::span<const Copy> copies) {
  return std::make_unique<CudaCopies>(pool_, streams_, copies);
}

}  // namespace gpucast::microbench::cuda
