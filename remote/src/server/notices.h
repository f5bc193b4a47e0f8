// What a client is told of copies that nobody waits for, once their streams have come to them. The
// driver is asked for the first of each stream only: those behind it are not done before.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "server/gpu.h"

namespace gpucast::remote::server {

class Notices {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  void add(CUstream stream, Id transfer, std::shared_ptr<Event> event) {
    streams_[stream].push_back({.transfer = transfer, .event = std::move(event)});
    ++size_;
  }
  // Tells those that the GPU has come to while there is room; whether there was any.
  bool finish(Gpu& gpu, const std::function<bool()>& room,
              const std::function<void(Id, CUresult)>& tell) {
    bool any = false;
    for (auto stream = streams_.begin(); stream != streams_.end();) {
      std::deque<Notice>& waiting = stream->second;
      while (!waiting.empty() && room()) {
        Notice& first = waiting.front();
        const CUresult status = gpu.driver().cuEventQuery(first.event->get());
        if (status == CUDA_ERROR_NOT_READY) break;
        tell(first.transfer, status);
        gpu.streams().give_back(std::move(first.event));
        waiting.pop_front();
        --size_;
        any = true;
      }
      stream = waiting.empty() ? streams_.erase(stream) : std::next(stream);
    }
    return any;
  }

 private:
  struct Notice {
    Id transfer = 0;
    std::shared_ptr<Event> event;
  };
  std::map<CUstream, std::deque<Notice>> streams_;
  std::size_t size_ = 0;
};

}  // namespace gpucast::remote::server
