// The contents of a device's streams, in CUDA's order: the operations of a stream run one after
// another; the legacy stream and the blocking ones wait for one another; the others wait for
// nobody. Operations that may overlap do.
#pragma once

#include <cuda.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace gpucast::fake {

struct Operation;
using Work = std::shared_ptr<Operation>;  // null: finished

struct Stream {
  bool blocking = true;
  Work last = {};  // of its operations; only Queues uses it
};

class Queues {
 public:
  ~Queues();

  Stream& legacy() { return legacy_; }
  // Queues the body behind the stream's work and `also`.
  Work queue(Stream& stream, std::function<void()> body, const Work& also = {});
  Work last(const Stream& stream) const;
  bool done(const Work& work) const;
  void wait(const Work& work);
  // Waits for everything that is queued now.
  void wait_for_all();
  // The status of the first operation that threw; what follows it is skipped.
  CUresult failure() const;

 private:
  static void follow(const Work& work, const Work& before);
  void start(const Work& work);
  void finish(const Work& work);
  void work();

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // something has finished
  std::condition_variable wanted_;   // something can start
  Stream legacy_;
  // The last of each stream since the last work of the legacy stream.
  std::map<const Stream*, Work> blocking_;
  std::deque<Work> ready_;
  std::set<std::uint64_t> unfinished_;
  std::uint64_t queued_ = 0;
  CUresult failure_ = CUDA_SUCCESS;
  bool stop_ = false;
  std::size_t idle_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace gpucast::fake
