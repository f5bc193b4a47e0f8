// A client's streams and events, and the promises of its blocking copies to all of them (fences).
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "protocol/calls.h"
#include "server/driver.h"

namespace gpucast::remote::server {

// An event, which lives as long as someone waits for it; it may be counted during its life.
class Event {
 public:
  Event(const Driver& driver, unsigned flags, std::size_t* count = nullptr)
      : driver_(&driver), count_(count) {
    check(driver.cuEventCreate(&event_, flags));
    if (count_ != nullptr) ++*count_;
  }
  ~Event() {
    driver_->cuEventDestroy(event_);
    if (count_ != nullptr) --*count_;
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  CUevent get() const { return event_; }

 private:
  const Driver* driver_;
  std::size_t* count_;
  CUevent event_ = nullptr;
};
using Events = std::vector<std::shared_ptr<Event>>;

class Streams {
 public:
  explicit Streams(const Driver& driver);

  // Returns the stream, which waits for everything that the program considers finished (fence).
  // Throws DriverError if there is none.
  CUstream stream(Id id);
  // Makes all later work of every stream wait for the present work of this one.
  void fence(Id stream);
  // Returns the event of the last fence; nothing if there is none.
  std::shared_ptr<Event> last_fence() const { return fence_; }
  std::shared_ptr<Event> event(Id id) const { return named(events_, id); }
  // Returns events after the work of every stream, including destroyed ones: the same list for all
  // callers until there is new work. A caller that finds an event completed removes it.
  std::shared_ptr<Events> record_all();
  // Something was queued since, on any stream.
  void new_work() { all_.reset(); }
  // Whether another such list fits in addition to those that are still waited for.
  bool has_room_for_waits() const;
  std::shared_ptr<Event> record(CUstream stream);
  void give_back(std::shared_ptr<Event> event);

  // Whether new work of one stream waits for the work of the other.
  bool wait_for_one_another(Id first, Id second) const;
  // Destroys everything; nothing uses it any more.
  void reset();

  // Returns the driver's status: CUDA_ERROR_NOT_READY while work is unfinished.
  CUresult query_stream(Id id) { return driver_.cuStreamQuery(stream(id)); }
  CUresult query_event(Id id) const { return driver_.cuEventQuery(event(id)->get()); }

  void run(const StreamCreate&);
  void run(const StreamDestroy&);
  void run(const StreamWaitEvent&);
  void run(const EventCreate&);
  void run(const EventDestroy&);
  void run(const EventRecord&);
  Elapsed run(const EventElapsed&) const;
  Elapsed elapsed(const std::vector<EventPair>& pairs) const;

 private:
  struct Stream {
    CUstream handle = nullptr;
    bool blocking = false;
    std::uint64_t fences_seen = 0;
  };

  void leave(CUstream stream);
  void forget_what_is_done();

  const Driver& driver_;
  std::size_t own_events_ = 0;  // that this process has made, wherever they are
  std::unordered_map<Id, Stream> streams_;
  Events left_;  // after the work of destroyed streams
  std::weak_ptr<Events> all_;
  std::size_t prune_at_;
  std::unordered_map<Id, std::shared_ptr<Event>> events_;
  Events idle_events_;
  std::shared_ptr<Event> fence_;
  Id fenced_stream_ = 0;
  std::uint64_t fences_ = 0;
};

}  // namespace gpucast::remote::server
