// What a client is told, until its connection has taken it.
#pragma once

#include <cstring>
#include <vector>

#include "protocol/calls.h"
#include "server/driver.h"
#include "transport/connection.h"

namespace gpucast::remote::server {

class Answers {
 public:
  explicit Answers(Connection& lane) : lane_(lane) {}

  // What the connection takes now; whether that was anything.
  bool send();
  std::size_t unsent() const { return out_.size() - begin_; }

  // The result goes only with success.
  template <class Result>
  void reply(std::uint32_t request, CUresult status, const Result& result, Bytes tail = {}) {
    const std::size_t begin = out_.size();
    Writer writer(out_);
    Header header{.call = Call::reply, .request = request};
    Reply head{.status = status, .latched = latched_};
    writer(header), writer(head);
    if (status == CUDA_SUCCESS) writer(result);
    out_.insert(out_.end(), tail.begin(), tail.end());
    const auto bytes = static_cast<std::uint32_t>(out_.size() - begin - Header::size);
    std::memcpy(out_.data() + begin, &bytes, sizeof bytes);
    latched_ = CUDA_SUCCESS;
  }
  // To the request, or latched where there is none.
  void report(const Header& header, CUresult status);
  void data(const Data& head, Bytes data);

 private:
  Connection& lane_;
  std::vector<std::byte> out_;
  std::size_t begin_ = 0;
  CUresult latched_ = CUDA_SUCCESS;
};

}  // namespace gpucast::remote::server
