#include "client/arrivals.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace gpucast::remote::client {

void Arrivals::expect(const Arrival& arrival, bool over_lane) {
  const std::lock_guard lock(mutex_);
  (over_lane ? over_lane_ : over_channels_)[arrival.transfer] = {.arrival = arrival,
                                                                 .left = arrival.bytes};
}

Arrivals::Transfer* Arrivals::find(Id transfer) {
  for (Transfers* each : {&over_lane_, &over_channels_}) {
    if (const auto found = each->find(transfer); found != each->end()) return &found->second;
  }
  return nullptr;
}

Arrivals::Landing::Landing(Arrivals& arrivals, Id transfer, std::uint64_t offset, std::size_t bytes)
    : arrivals_(arrivals), transfer_(transfer) {
  const std::lock_guard lock(arrivals.mutex_);
  Transfer* entry = arrivals.find(transfer);
  if (entry == nullptr || entry->failed || arrivals.given_up_) return;
  const Arrival& arrival = entry->arrival;
  if (offset > arrival.bytes || bytes > arrival.bytes - offset || bytes > entry->left) return;
  entry->left -= bytes;
  ++entry->landings;
  ++arrivals.landings_;
  to_ = arrival.to + offset;
}

Arrivals::Landing::~Landing() {
  if (to_ == nullptr) return;
  const std::lock_guard lock(arrivals_.mutex_);
  Transfer* entry = arrivals_.find(transfer_);
  --entry->landings;
  --arrivals_.landings_;
  if (!done_) entry->failed = true;
  arrivals_.end_if_over(*entry);
}

void Arrivals::failed(Id transfer, Status status) {
  const std::lock_guard lock(mutex_);
  Transfer* entry = find(transfer);
  if (entry == nullptr) return;
  if (failure_ == 0) failure_ = status;
  entry->failed = true;
  end_if_over(*entry);
}

void Arrivals::note_failure(Status status) {
  const std::lock_guard lock(mutex_);
  if (failure_ == 0) failure_ = status;
}

// Other channels may still write what came before the failure.
void Arrivals::end_if_over(const Transfer& transfer) {
  if (transfer.landings == 0 && (transfer.failed || transfer.left == 0)) {
    const Id id = transfer.arrival.transfer;
    over_lane_.erase(id);
    over_channels_.erase(id);
  }
  changed_.notify_all();
}

void Arrivals::give_up() {
  const std::lock_guard lock(mutex_);
  given_up_ = true;
  changed_.notify_all();
}

bool Arrivals::none(const Transfers& transfers, const Which& which) {
  return std::ranges::none_of(transfers,
                              [&](const auto& each) { return which(each.second.arrival); });
}

bool Arrivals::nothing() const {
  const std::lock_guard lock(mutex_);
  return over_lane_.empty() && over_channels_.empty();
}

bool Arrivals::none_over_lane(const Which& which) const {
  const std::lock_guard lock(mutex_);
  return none(over_lane_, which);
}

bool Arrivals::none(const Which& which) const {
  const std::lock_guard lock(mutex_);
  return none(over_lane_, which) && none(over_channels_, which);
}

bool Arrivals::wait_for_channels(const Which& which, const std::function<void()>& meanwhile) {
  constexpr std::chrono::milliseconds moment(1);
  std::unique_lock lock(mutex_);
  const auto over = [&] { return none(over_channels_, which) || (given_up_ && landings_ == 0); };
  while (!changed_.wait_for(lock, moment, over)) {
    lock.unlock();
    meanwhile();
    lock.lock();
  }
  return none(over_channels_, which);
}

void Arrivals::wait_for_landings() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return landings_ == 0; });
}

Status Arrivals::take_failure() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failure_, 0);
}

}  // namespace gpucast::remote::client
