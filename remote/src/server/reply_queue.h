// Messages to the client that its connection has not accepted yet.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "protocol/calls.h"
#include "server/driver.h"
#include "transport/connection.h"

namespace gpucast::remote::server {

class ReplyQueue {
 public:
  explicit ReplyQueue(Connection& control) : control_(control) {}

  // Sends as much as the connection accepts now; returns whether that was anything.
  bool send() {
    if (unsent() == 0) return false;
    const std::size_t sent = control_.try_write(Bytes(out_).subspan(begin_), {}, MemoryOf::library);
    begin_ += sent;
    if (unsent() == 0) {
      forget();
    } else if (begin_ >= std::max(most_sent, unsent())) {
      out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(begin_));
      begin_ = 0;
    }
    return sent > 0;
  }
  std::size_t unsent() const { return out_.size() - begin_; }

  // Reports success if an answer was requested.
  template <class Result>
  void reply(const Header& header, Result result, Bytes tail = {}) {
    if (header.request == 0) return;
    put(Reply<Result>{.latched = std::exchange(latched_, CUDA_SUCCESS),
                      .result = std::move(result),
                      .tail = {tail}},
        header.request);
  }
  // Sends the status to the request, or latches it if there is none.
  void report(const Header& header, CUresult status) {
    if (header.request != 0) {
      put(Reply<>{.status = status, .latched = std::exchange(latched_, CUDA_SUCCESS)},
          header.request);
    } else if (latched_ == CUDA_SUCCESS) {
      latched_ = status;
    }
  }
  void data(const Data& data) { put(data, 0); }

 private:
  // Sent bytes that are kept at the front, so that data is rarely moved if the client reads
  // steadily.
  static constexpr std::size_t most_sent = std::size_t{4} << 20;

  void forget() {
    out_.clear();
    begin_ = 0;
  }
  template <class Message>
  void put(const Message& message, std::uint32_t request) {
    encode(out_, message, request);
    Bytes tail = tail_of(message);
    // Data that is accepted at once is sent without copying it into the queue.
    constexpr std::size_t worth_a_call = 4096;
    if (tail.size() >= worth_a_call) {
      const Bytes before = Bytes(out_).subspan(begin_);
      const std::size_t sent = control_.try_write(before, tail, MemoryOf::library);
      begin_ += std::min(sent, before.size());
      tail = tail.subspan(sent - std::min(sent, before.size()));
    }
    out_.insert(out_.end(), tail.begin(), tail.end());
    if (unsent() == 0) forget();
  }

  Connection& control_;
  std::vector<std::byte> out_;
  std::size_t begin_ = 0;
  CUresult latched_ = CUDA_SUCCESS;
};

}  // namespace gpucast::remote::server
