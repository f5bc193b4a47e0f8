#include "engine/cuda/copies.h"

#include <chrono>
#include <vector>

#include "engine/cuda/gate.h"
#include "engine/cuda/kernels.h"
#include "gpucast/devices/cuda/check.h"
#include "gpucast/devices/cuda/resources.h"

namespace gpucast::microbench::cuda {
namespace {

using devices::cuda::check;
using devices::cuda::Event;
using Clock = std::chrono::steady_clock;

constexpr double milli = 1e-3;

// What one copy of a set works with.
class Lane {
 public:
  Lane(BufferPool& pool, const StreamRing& streams, const Copy& copy, std::size_t number)
      : copy_(copy), device_(issuer(copy)), streams_(streams), turn_(number) {
    const auto bytes = static_cast<std::size_t>(copy.bytes);
    source_ = &buffer(pool, copy.from, Role::source, number, bytes);
    destination_ = &buffer(pool, copy.to, Role::destination, number, bytes);
    if (copy.staged) {
      between_ = &pool.on_host(device_, copy.memory, Role::destination, number, bytes);
    }
    seed_ = static_cast<std::uint32_t>(number);
    const int gpu = copy.from == host ? copy.to : copy.from;
    if (source_->seed != seed_) {
      fill(source_->data(), source_->bytes(), seed_, gpu);
      source_->seed = seed_;
    }
    constexpr std::uint32_t other = 0x5bd1e995;
    fill(destination_->data(), bytes, seed_ ^ other, copy.to == host ? copy.from : copy.to);
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
    return holds(destination_->data(), static_cast<std::size_t>(copy_.bytes), seed_,
                 copy_.to == host ? copy_.from : copy_.to);
  }

 private:
  Buffer& buffer(BufferPool& pool, int where, Role role, std::size_t number,
                 std::size_t bytes) const {
    return where == host ? pool.on_host(device_, copy_.memory, role, number, bytes)
                         : pool.on_gpu(where, role, number, bytes);
  }

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
    use(*lanes_.front());
    begin_ = std::make_unique<Event>(cudaEventDefault);
    end_ = std::make_unique<Event>(cudaEventDefault);
    open_ = std::make_unique<Event>(cudaEventDisableTiming);
    for (std::size_t k = 1; k < lanes_.size(); ++k) {
      use(*lanes_[k]);
      others_end_.emplace_back(cudaEventDisableTiming);
    }
  }

  double call() override {
    take_next_streams();
    const Lane& lane = *lanes_.front();
    use(lane);
    const auto begin = Clock::now();
    lane.block();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  double gated(int count) override {
    for (;;) {
      const double seconds = gated_once(count);
      if (others_outlasted_) return seconds;
      // The others ended early: their bandwidth was free for the last of the timed copies.
      constexpr int most_queued = 128;  // a stream whose queue is full would wait for the gate
      if (2 * times_ * count > most_queued) return seconds;
      times_ *= 2;
    }
  }

  double between_kernels(int count, Payload payload) override {
    take_next_streams();
    const Lane& lane = *lanes_.front();
    use(lane);
    gate_.close(lane.stream());
    // Work that a copy waits for, as later copies wait for the kernel behind the one before.
    queue_empty(0, lane.stream());
    check(cudaEventRecord(begin_->get(), lane.stream()), "cudaEventRecord");
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

  double window() const override {
    constexpr double clock_is_fine_enough = 100e-6;
    constexpr double all_have_begun = 1e-3;
    constexpr double many_turns = 20e-3;  // a turn on a copy engine is a millisecond or two
    if (lanes_.size() == 1) return clock_is_fine_enough;
    const Lane& first = *lanes_.front();
    for (std::size_t k = 1; k < lanes_.size(); ++k) {
      const bool between = first.copy().from != host && first.copy().to != host &&
                           lanes_[k]->copy().from != host && lanes_[k]->copy().to != host;
      if (between && lanes_[k]->device() == first.device()) return many_turns;
    }
    return all_have_begun;
  }

  bool correct() override {
    for (const auto& lane : lanes_) {
      if (!lane->correct()) return false;
    }
    return true;
  }

 private:
  static void use(const Lane& lane) { check(cudaSetDevice(lane.device()), "cudaSetDevice"); }

  static void queue(const Lane& lane) {
    use(lane);
    lane.queue();
  }

  void take_next_streams() {
    for (const auto& lane : lanes_)
      lane->take_next_stream();
  }

  double gated_once(int count) {
    take_next_streams();
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
    for (int j = 0; j < times_ * count; ++j) {
      if (j < count) queue(first);
      if (j + 1 == count) check(cudaEventRecord(end_->get(), first.stream()), "cudaEventRecord");
      for (std::size_t k = 1; k < lanes_.size(); ++k)
        queue(*lanes_[k]);
    }
    if (count == 0) check(cudaEventRecord(end_->get(), first.stream()), "cudaEventRecord");
    for (std::size_t k = 1; k < lanes_.size(); ++k) {
      use(*lanes_[k]);
      check(cudaEventRecord(others_end_[k - 1].get(), lanes_[k]->stream()), "cudaEventRecord");
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
    if (count == 0) others_outlasted_ = true;
    return elapsed();
  }

  double elapsed() const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_->get(), end_->get()), "cudaEventElapsedTime");
    return milli * static_cast<double>(milliseconds);
  }

  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<Event> begin_, end_, open_;
  std::vector<Event> others_end_;
  Gate gate_;
  int times_ = 2;  // as many copies as are timed are queued on each of the others' streams
  bool others_outlasted_ = false;
};

}  // namespace

std::unique_ptr<CopySet> open_copies(BufferPool& pool, StreamRings& streams,
                                     std::span<const Copy> copies) {
  return std::make_unique<CudaCopies>(pool, streams, copies);
}

}  // namespace gpucast::microbench::cuda
