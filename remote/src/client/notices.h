// What a server tells of copies that no answer tells of: that their memory is used no more.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "protocol/calls.h"

namespace gpucast::remote::client {

// From any thread.
class Notices {
 public:
  void expect(Id transfer) {
    const std::lock_guard lock(mutex_);
    expected_[transfer] = std::nullopt;
  }
  // What came; false where it was not expected.
  bool take(Id transfer, Status status) {
    const std::lock_guard lock(mutex_);
    const auto found = expected_.find(transfer);
    if (found == expected_.end() || found->second) return false;
    found->second = status;
    return true;
  }
  // The status of one that has come, which is then forgotten.
  std::optional<Status> come(Id transfer) {
    const std::lock_guard lock(mutex_);
    const auto found = expected_.find(transfer);
    if (found == expected_.end()) return std::nullopt;
    const std::optional<Status> status = found->second;
    if (status) expected_.erase(found);
    return status;
  }

 private:
  std::mutex mutex_;
  std::map<Id, std::optional<Status>> expected_;
};

}  // namespace gpucast::remote::client
