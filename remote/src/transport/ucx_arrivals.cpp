#include "transport/ucx_arrivals.h"

namespace gpucast::remote {
namespace {

// Short messages are copied: UCX's memory of one is much longer.
constexpr std::size_t least_held = 4096;

}  // namespace

UcxArrivals::~UcxArrivals() {
  for (auto& [begin, arrival] : arrivals_) {
    if (arrival.held != nullptr) opened_ucx().am_data_release(worker_, arrival.held);
  }
}

ucs_status_t UcxArrivals::add(std::uint64_t begin, void* data, std::size_t bytes,
                              std::uint64_t attributes) {
  const bool fits = begin >= read_ && begin - read_ < ucx_window && bytes > 0 &&
                    bytes <= ucx_window && begin - read_ + ucx_cost(bytes) <= ucx_window;
  if (!fits || arrivals_.contains(begin) || (attributes & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0)
    throw ConnectionLost("the other end sends more than was agreed on");
  Arrival& arrival = arrivals_[begin];
  arrival.data = {static_cast<const std::byte*>(data), bytes};
  if ((attributes & UCP_AM_RECV_ATTR_FLAG_DATA) != 0 && bytes >= least_held) {
    arrival.held = data;
    return UCS_INPROGRESS;
  }
  arrival.copy.assign(arrival.data.begin(), arrival.data.end());
  arrival.data = arrival.copy;
  return UCS_OK;
}

std::span<const std::byte> UcxArrivals::front() const {
  if (arrivals_.empty() || arrivals_.begin()->first != read_) return {};
  const Arrival& first = arrivals_.begin()->second;
  return first.data.subspan(first.popped);
}

void UcxArrivals::pop(std::size_t bytes) {
  Arrival& first = arrivals_.begin()->second;
  first.popped += bytes;
  if (first.popped != first.data.size()) return;
  read_ += ucx_cost(first.data.size());
  if (first.held != nullptr) ucx().am_data_release(worker_, first.held);
  arrivals_.erase(arrivals_.begin());
}

}  // namespace gpucast::remote
