// A client's streams and events, and what blocking copies promised to all of them (fences).
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "protocol/calls.h"
#include "server/driver.h"

namespace gpucast::remote::server {

// An event that lives as long as someone waits for it; counted while it does, if it is to be.
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

  // The stream, behind all that the program takes for done (fence). DriverError if there is none.
  CUstream stream(Id id);
  // Makes all later work of every stream wait for the present work of this one.
  void fence(Id stream);
  // What the last one waits for; nothing where there is none.
  std::shared_ptr<Event> last_fence() const { return fence_; }
  std::shared_ptr<Event> event(Id id) const { return named(events_, id); }
  // Events behind all that every stream holds, those included that are destroyed: the same list for
  // all who ask until there is new work. Who sees that an event is done takes it off.
  std::shared_ptr<Events> record_all();
  // Something was queued since, on any stream.
  void new_work() { all_.reset(); }
  // Whether another such list fits beside those that are still waited for.
  bool has_room_for_waits() const;
  std::shared_ptr<Event> record(CUstream stream);
  void give_back(std::shared_ptr<Event> event);

  // Whether what one is given waits for what the other holds.
  bool wait_for_one_another(Id first, Id second) const;
  // All are gone; nothing uses them any more.
  void reset();

  // The driver's word on whether all is done: CUDA_ERROR_NOT_READY where it is not.
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
  std::size_t own_events_ = 0;  // of this process's making, wherever they are
  std::unordered_map<Id, Stream> streams_;
  Events left_;  // behind what destroyed streams held
  std::weak_ptr<Events> all_;
  std::size_t prune_at_;
  std::unordered_map<Id, std::shared_ptr<Event>> events_;
  Events idle_events_;
  std::shared_ptr<Event> fence_;
  Id fenced_stream_ = 0;
  std::uint64_t fences_ = 0;
};

}  // namespace gpucast::remote::server
