#include "engine/cuda/copies.h"

#include <algorithm>
#include <vector>

#include "engine/cuda/gate.h"
#include "engine/cuda/kernels.h"
#include "gpucast/devices/clock.h"
#include "gpucast/devices/cuda/check.h"
#include "gpucast/devices/cuda/resources.h"

namespace gpucast::microbench::cuda {
namespace {

using devices::Clock;
using devices::seconds_since;
using devices::cuda::check;
using devices::cuda::Event;

// What one copy of a set works with.
class Lane {
 public:
  Lane(BufferPool& pool, const StreamRing& streams, const Copy& copy, std::size_t number)
      : pool_(pool), copy_(copy), device_(issuer(copy)), streams_(streams), turn_(number) {
    const auto bytes = static_cast<std::size_t>(copy.bytes);
    source_ = &buffer(pool, copy.from, Role::source, number, bytes);
    destination_ = &buffer(pool, copy.to, Role::destination, number, bytes);
    if (copy.staged) {
      between_ = &pool.on_host(device_, copy.memory, Role::destination, number, bytes);
    }
    seed_ = static_cast<std::uint32_t>(number);
    if (source_->seed != seed_) {
      pool.fill(*source_, source_->bytes(), seed_, copy.from == host ? copy.to : copy.from);
      source_->seed = seed_;
    }
    constexpr std::uint32_t other = 0x5bd1e995;
    pool.fill(*destination_, bytes, seed_ ^ other, copy.to == host ? copy.from : copy.to);
    destination_->seed.reset();
    check(cudaSetDevice(device_), "cudaSetDevice");
  }

  const Copy& copy() const { return copy_; }
  int device() const { return device_; }
  cudaStream_t stream() const { return streams_.at(turn_); }
  void take_next_stream() { ++turn_; }

  void queue() const {
    const auto bytes = static_cast<std::size_t>(copy_.bytes);
    if (copy_.engine == records::Engine::kernel) {
      queue_copy(destination_->data(), source_->data(), copy_.bytes, stream());
    } else {
      check(cudaMemcpyAsync(destination_->data(), source_->data(), bytes, cudaMemcpyDefault,
                            stream()),
            "cudaMemcpyAsync");
    }
  }

  // As a program waits for it that knows no streams.
  void block() const {
    const auto bytes = static_cast<std::size_t>(copy_.bytes);
    if (between_ != nullptr) {
      check(cudaMemcpy(between_->data(), source_->data(), bytes, cudaMemcpyDefault), "cudaMemcpy");
      check(cudaMemcpy(destination_->data(), between_->data(), bytes, cudaMemcpyDefault),
            "cudaMemcpy");
    } else if (copy_.engine == records::Engine::kernel) {
      queue_copy(destination_->data(), source_->data(), copy_.bytes, stream());
      check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    } else {
      check(cudaMemcpy(destination_->data(), source_->data(), bytes, cudaMemcpyDefault),
            "cudaMemcpy");
      // Copies within and between GPUs return before they have ended.
      if (copy_.from != host && copy_.to != host) {
        check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
      }
    }
  }

  bool correct() const {
    return pool_.holds(*destination_, static_cast<std::size_t>(copy_.bytes), seed_,
                       copy_.to == host ? copy_.from : copy_.to);
  }

 private:
  Buffer& buffer(BufferPool& pool, int where, Role role, std::size_t number,
                 std::size_t bytes) const {
    return where == host ? pool.on_host(device_, copy_.memory, role, number, bytes)
                         : pool.on_gpu(where, role, number, bytes);
  }

  BufferPool& pool_;
  Copy copy_;
  int device_;
  std::uint32_t seed_ = 0;
  const StreamRing& streams_;
  std::size_t turn_;
  Buffer* source_ = nullptr;
  Buffer* destination_ = nullptr;
  Buffer* between_ = nullptr;
};

class CudaCopies : public CopySet {
 public:
  CudaCopies(BufferPool& pool, StreamRings& streams, std::span<const Copy> copies) {
    for (std::size_t k = 0; k < copies.size(); ++k) {
      const StreamRing& ring = streams.of(issuer(copies[k]));
      lanes_.push_back(std::make_unique<Lane>(pool, ring, copies[k], k));
    }
    const Copy& one = copies.front();
    alike_ = std::ranges::all_of(copies, [&one](const Copy& copy) {
      return route(copy) == route(one) && copy.bytes == one.bytes;
    });
    use(*lanes_.front());
    begin_ = std::make_unique<Event>(cudaEventDefault);
    end_ = std::make_unique<Event>(cudaEventDefault);
    open_ = std::make_unique<Event>(cudaEventDisableTiming);
    for (std::size_t k = 1; k < lanes_.size(); ++k) {
      use(*lanes_[k]);
      others_end_.emplace_back(cudaEventDisableTiming);
    }
  }

  void next_queue() override {
    for (const auto& lane : lanes_)
      lane->take_next_stream();
  }

  double call() override {
    const Lane& lane = *lanes_.front();
    use(lane);
    const auto begin = Clock::now();
    lane.block();
    return seconds_since(begin);
  }

  double gated(int count) override {
    for (;;) {
      const double seconds = gated_once(count);
      if (others_outlasted_) return seconds;
      // The others ended early: their bandwidth was free for the last of the timed copies.
      constexpr int most_times = 8;
      if (2 * times_ > most_times || queued(2 * times_, count) > most_queued) return seconds;
      times_ *= 2;
    }
  }

  double between_kernels(int count, Payload payload, int before) override {
    const Lane& lane = *lanes_.front();
    use(lane);
    gate_.close(lane.stream());
    for (int k = 0; k < before; ++k) {
      lane.queue();
      queue_empty(0, lane.stream());
    }
    check(cudaEventRecord(begin_->get(), lane.stream()), "cudaEventRecord");
    // Behind the event a copy from another GPU takes 7 us longer than behind a kernel.
    queue_empty(0, lane.stream());
    for (int k = 0; k < count; ++k) {
      if (payload == Payload::copies) lane.queue();
      queue_empty(0, lane.stream());
    }
    check(cudaEventRecord(end_->get(), lane.stream()), "cudaEventRecord");
    gate_.open();
    check(cudaStreamSynchronize(lane.stream()), "cudaStreamSynchronize");
    gate_.require_opened_in_time();
    return elapsed();
  }

  Batch batch() const override {
    if (lanes_.size() == 1) return {};
    constexpr double much_longer_than_starts_differ = 2e-3;
    return {.seconds = much_longer_than_starts_differ,
            .most = std::max(1, most_queued / (1 + times_ * (most_on_one_gpu() - 1)))};
  }

  bool correct() override {
    for (const auto& lane : lanes_) {
      if (!lane->correct()) return false;
    }
    return true;
  }

 private:
  static void use(const Lane& lane) { check(cudaSetDevice(lane.device()), "cudaSetDevice"); }

  // A queue that is full waits for the gate, which waits for all to be queued.
  static constexpr int most_queued = 100;

  int queued(int times, int count) const { return count * (1 + times * (most_on_one_gpu() - 1)); }

  int on_gpu(int device) const {
    return static_cast<int>(std::ranges::count_if(
        lanes_, [device](const auto& lane) { return lane->device() == device; }));
  }
  int most_on_one_gpu() const {
    int most = 1;
    for (const auto& lane : lanes_)
      most = std::max(most, on_gpu(lane->device()));
    return most;
  }
  void end_here(const Lane& lane) const {
    use(lane);
    check(cudaEventRecord(end_->get(), lane.stream()), "cudaEventRecord");
  }

  static void queue(const Lane& lane) {
    use(lane);
    lane.queue();
  }

  double gated_once(int count) {
    const Lane& first = *lanes_.front();
    use(first);
    gate_.close(first.stream());
    check(cudaEventRecord(open_->get(), first.stream()), "cudaEventRecord");
    for (std::size_t k = 1; k < lanes_.size(); ++k) {
      use(*lanes_[k]);
      check(cudaStreamWaitEvent(lanes_[k]->stream(), open_->get(), 0), "cudaStreamWaitEvent");
    }
    use(first);
    check(cudaEventRecord(begin_->get(), first.stream()), "cudaEventRecord");
    // In turn, as engines that serve several streams may take them in this order.
    const int others = alike_ ? count : times_ * count;
    for (int j = 0; j < others; ++j) {
      if (j < count) queue(first);
      if (j + 1 == count && !alike_) end_here(first);
      for (std::size_t k = 1; k < lanes_.size(); ++k)
        queue(*lanes_[k]);
    }
    for (std::size_t k = 1; k < lanes_.size(); ++k) {
      use(*lanes_[k]);
      check(cudaEventRecord(others_end_[k - 1].get(), lanes_[k]->stream()), "cudaEventRecord");
    }
    if (alike_ || count == 0) {
      use(first);
      for (const Event& end : others_end_)
        check(cudaStreamWaitEvent(first.stream(), end.get(), 0), "cudaStreamWaitEvent");
      end_here(first);
    }
    gate_.open();
    check(cudaEventSynchronize(end_->get()), "cudaEventSynchronize");
    others_outlasted_ = true;
    for (const Event& end : others_end_) {
      const cudaError_t status = cudaEventQuery(end.get());
      if (status == cudaSuccess) {
        others_outlasted_ = false;
      } else if (status != cudaErrorNotReady) {
        check(status, "cudaEventQuery");
      }
    }
    for (const auto& lane : lanes_)
      check(cudaStreamSynchronize(lane->stream()), "cudaStreamSynchronize");
    gate_.require_opened_in_time();
    if (alike_ || count == 0) others_outlasted_ = true;
    return elapsed();
  }

  double elapsed() const { return devices::cuda::seconds_between(*begin_, *end_); }

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<Event> begin_, end_, open_;
  std::vector<Event> others_end_;
  Gate gate_;
  int times_ = 2;  // as many copies as are timed are queued on each of the others' streams
  bool others_outlasted_ = false;
  bool alike_ = true;  // one route, one size
};

}  // namespace

std::unique_ptr<CopySet> open_copies(BufferPool& pool, StreamRings& streams,
                                     std::span<const Copy> copies) {
  return std::make_unique<CudaCopies>(pool, streams, copies);
}

}  // namespace gpucast::microbench::cuda
