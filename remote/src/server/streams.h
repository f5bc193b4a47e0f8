// A client's streams and events, and what blocking copies promised to all of them (fences).
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "protocol/calls.h"
#include "server/driver.h"

namespace gpucast::remote::server {

// An event that lives as long as someone waits for it.
class Event {
 public:
  Event(const Driver& driver, unsigned flags) : driver_(&driver) {
    check(driver.cuEventCreate(&event_, flags));
  }
  ~Event() { driver_->cuEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  CUevent get() const { return event_; }

 private:
  const Driver* driver_;
  CUevent event_ = nullptr;
};

class Streams {
 public:
  explicit Streams(const Driver& driver);

  // The stream, behind all that the program takes for done (fence). DriverError if there is none.
  CUstream stream(Id id);
  // Makes all later work of every stream wait for the present work of this one.
  void fence(Id stream);
  // What the last one waits for; nothing where there is none.
  std::shared_ptr<Event> last_fence() const { return fence_; }
  std::shared_ptr<Event> event(Id id) const;
  // Events behind all that every stream holds, those included that are destroyed.
  std::vector<std::shared_ptr<Event>> record_all();
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
  std::unordered_map<Id, Stream> streams_;
  std::vector<std::shared_ptr<Event>> left_;  // behind what destroyed streams held
  std::size_t prune_at_;
  std::unordered_map<Id, std::shared_ptr<Event>> events_;
  std::vector<std::shared_ptr<Event>> idle_events_;
  std::shared_ptr<Event> fence_;
  Id fenced_stream_ = 0;
  std::uint64_t fences_ = 0;
};

}  // namespace gpucast::remote::server
