// What happens next: events by time, and in the order of their making where times are equal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gpucast::replay {

enum class What : std::uint8_t {
  host,      // a thread goes on with its next call
  again,     // a call tries anew what it had to wait for
  eligible,  // an item has been asked for long enough
  finished,  // an item is done
  shares,    // the first of a shared engine's works is done, if `version` still holds
  upload,    // a large copy to a device begins to be sent
  uploaded,  // it is sent
  arrived,   // a call's message is at its server
  served,    // the server has done it
  seen,      // the server knows that what a call waits for is done
  answered,  // the answer is at the host
  data,      // data that comes by itself is there
};

struct Event {
  double time = 0;
  std::uint64_t order = 0;
  What what = What::host;
  std::int32_t about = 0;
  std::uint32_t version = 0;
};

class Agenda {
 public:
  void add(double time, What what, std::int32_t about, std::uint32_t version = 0) {
    events_.push_back({std::max(time, now_), ++made_, what, about, version});
    std::ranges::push_heap(events_, later);
  }
  bool empty() const { return events_.empty(); }
  // The next event; it is now then.
  Event next() {
    std::ranges::pop_heap(events_, later);
    const Event event = events_.back();
    events_.pop_back();
    now_ = event.time;
    return event;
  }
  double now() const { return now_; }

 private:
  static bool later(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.order > b.order;
  }
  std::vector<Event> events_;
  std::uint64_t made_ = 0;
  double now_ = 0;
};

}  // namespace gpucast::replay
