#include "server/answers.h"

#include <algorithm>

namespace gpucast::remote::server {
namespace {

// Bytes that were sent and are kept, so that few are moved where the client reads steadily.
constexpr std::size_t most_sent = std::size_t{4} << 20;

}  // namespace

bool Answers::send() {
  if (unsent() == 0) return false;
  const std::size_t sent = lane_.try_write(Bytes(out_).subspan(begin_), {});
  begin_ += sent;
  if (unsent() == 0) {
    out_.clear();
    begin_ = 0;
  } else if (begin_ >= std::max(most_sent, unsent())) {
    out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
  return sent > 0;
}

void Answers::report(const Header& header, CUresult status) {
  if (header.request != 0) {
    reply(header.request, status, Nothing{});
  } else if (latched_ == CUDA_SUCCESS) {
    latched_ = status;
  }
}

void Answers::data(const Data& head, Bytes data) {
  encode(out_, head, 0, data.size());
  out_.insert(out_.end(), data.begin(), data.end());
}

}  // namespace gpucast::remote::server
