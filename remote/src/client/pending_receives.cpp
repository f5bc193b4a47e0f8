#include "client/pending_receives.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "transport/patience.h"

namespace gpucast::remote::client {

void PendingReceives::expect(const PendingReceive& arrival, bool over_control) {
  const std::lock_guard lock(mutex_);
  (over_control ? over_control_ : over_bulk_)[arrival.transfer] = {.arrival = arrival,
                                                                   .left = arrival.bytes};
}

PendingReceives::Transfer* PendingReceives::find(Id transfer) {
  for (Transfers* each : {&over_control_, &over_bulk_}) {
    if (const auto found = each->find(transfer); found != each->end()) return &found->second;
  }
  return nullptr;
}

PendingReceives::Landing::Landing(PendingReceives& receives, Id transfer, std::uint64_t offset,
                                  std::size_t bytes)
    : receives_(receives), transfer_(transfer) {
  const std::lock_guard lock(receives.mutex_);
  Transfer* entry = receives.find(transfer);
  if (entry == nullptr || entry->failed || receives.given_up_) return;
  const PendingReceive& arrival = entry->arrival;
  if (offset > arrival.bytes || bytes > arrival.bytes - offset || bytes > entry->left) return;
  entry->left -= bytes;
  ++entry->landings;
  ++receives.landings_;
  to_ = arrival.to + offset;
  is_last_ = entry->left == 0;
}

PendingReceives::Landing::~Landing() {
  if (to_ == nullptr) return;
  const std::lock_guard lock(receives_.mutex_);
  Transfer* entry = receives_.find(transfer_);
  --entry->landings;
  --receives_.landings_;
  if (!done_) entry->failed = true;
  receives_.end_if_over(*entry);
}

void PendingReceives::failed(Id transfer, Status status) {
  const std::lock_guard lock(mutex_);
  Transfer* entry = find(transfer);
  if (entry == nullptr) return;
  if (failure_ == 0) failure_ = status;
  entry->failed = true;
  end_if_over(*entry);
}

void PendingReceives::note_failure(Status status) {
  const std::lock_guard lock(mutex_);
  if (failure_ == 0) failure_ = status;
}

// Other bulk connections may still write what came before the failure.
void PendingReceives::end_if_over(const Transfer& transfer) {
  if (transfer.landings == 0 && (transfer.failed || transfer.left == 0)) {
    const Id id = transfer.arrival.transfer;
    over_control_.erase(id);
    over_bulk_.erase(id);
  }
  tell();
}

void PendingReceives::arrived(const Which& which) {
  const std::lock_guard lock(mutex_);
  const auto selected = [&](const auto& each) { return which(each.second.arrival); };
  std::erase_if(over_control_, selected);
  std::erase_if(over_bulk_, selected);
}

void PendingReceives::give_up() {
  const std::lock_guard lock(mutex_);
  given_up_ = true;
  tell();
}

bool PendingReceives::none(const Transfers& transfers, const Which& which) {
  return std::ranges::none_of(transfers,
                              [&](const auto& each) { return which(each.second.arrival); });
}

bool PendingReceives::nothing() const {
  const std::lock_guard lock(mutex_);
  return over_control_.empty() && over_bulk_.empty();
}

bool PendingReceives::none_over_control(const Which& which) const {
  const std::lock_guard lock(mutex_);
  return none(over_control_, which);
}

bool PendingReceives::none(const Which& which) const {
  const std::lock_guard lock(mutex_);
  return none(over_control_, which) && none(over_bulk_, which);
}

bool PendingReceives::wait_for_bulk(const Which& which, const std::function<void()>& meanwhile,
                                    std::chrono::microseconds spin) {
  constexpr std::chrono::milliseconds moment(1);
  const auto over = [&] { return none(over_bulk_, which) || (given_up_ && landings_ == 0); };
  // Asked again only where something has changed, so that who brings the data is not held up.
  std::optional<std::uint64_t> seen;
  look_for(spin, meanwhile, [&] {
    const std::uint64_t now = changes_;
    if (seen == now) return false;
    seen = now;
    const std::lock_guard lock(mutex_);
    return over();
  });
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, moment, over)) {
    lock.unlock();
    meanwhile();
    lock.lock();
  }
  return none(over_bulk_, which);
}

void PendingReceives::wait_for_landings() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return landings_ == 0; });
}

Status PendingReceives::take_failure() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failure_, 0);
}

}  // namespace gpucast::remote::client
