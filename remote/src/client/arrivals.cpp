#include "client/arrivals.h"

#include <utility>

namespace gpucast::remote {

void Arrivals::expect(Id transfer, void* to, std::size_t bytes, bool over_lane) {
  const std::lock_guard lock(mutex_);
  (over_lane ? over_lane_ : over_channels_)[transfer] = {
      .to = static_cast<std::byte*>(to), .bytes = bytes, .left = bytes};
}

Arrivals::Transfer* Arrivals::find(Id transfer) {
  for (Transfers* each : {&over_lane_, &over_channels_}) {
    if (const auto found = each->find(transfer); found != each->end()) return &found->second;
  }
  return nullptr;
}

std::byte* Arrivals::place(Id transfer, std::uint64_t offset, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const Transfer* entry = find(transfer);
  if (entry == nullptr) return nullptr;
  const bool inside =
      offset <= entry->bytes && bytes <= entry->bytes - offset && bytes <= entry->left;
  return inside ? entry->to + offset : nullptr;
}

void Arrivals::arrived(Id transfer, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  Transfer* entry = find(transfer);
  if (entry == nullptr) return;
  entry->left -= bytes;
  if (entry->left == 0) end(transfer);
}

void Arrivals::failed(Id transfer, Status status) {
  const std::lock_guard lock(mutex_);
  if (find(transfer) == nullptr) return;
  if (failure_ == 0) failure_ = status;
  end(transfer);
}

void Arrivals::end(Id transfer) {
  over_lane_.erase(transfer);
  over_channels_.erase(transfer);
  changed_.notify_all();
}

bool Arrivals::none_over_lane(Id limit) const {
  const std::lock_guard lock(mutex_);
  return none(over_lane_, limit);
}

bool Arrivals::none(Id limit) const {
  const std::lock_guard lock(mutex_);
  return none(over_lane_, limit) && none(over_channels_, limit);
}

bool Arrivals::wait_for_channels(Id limit, const std::function<bool()>& lost) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return lost() || none(over_channels_, limit); });
  return none(over_channels_, limit);
}

void Arrivals::wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

Status Arrivals::take_failure() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failure_, 0);
}

}  // namespace gpucast::remote
