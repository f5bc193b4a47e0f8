#include "client/host_functions.h"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "client/quiet_thread.h"
#include "protocol/handshake.h"

namespace gpucast::remote::client {
namespace {

bool& runs_one() {
  static thread_local bool result = false;
  return result;
}

}  // namespace

bool HostFunctions::in_one() { return runs_one(); }

void HostFunctions::open(const std::function<std::unique_ptr<Connection>()>& connect, Arrive arrive,
                         std::function<void(const std::string&)> lost) {
  const std::lock_guard lock(mutex_);
  if (connection_ || over_) return;
  connection_ = connect();
  arrive_ = std::move(arrive);
  lost_ = std::move(lost);
  thread_ = quiet_thread([this] { serve(); });
}

void HostFunctions::expect(const PendingReceive& place, Which data, Body body) {
  const std::lock_guard lock(mutex_);
  if (over_) return;
  expected_[place.transfer] = {.place = place, .data = std::move(data), .body = std::move(body)};
  count_ = expected_.size();
}

void HostFunctions::wait_for(const Which& which) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return over_ || std::ranges::none_of(
                        expected_, [&](const auto& each) { return which(each.second.place); });
  });
}

void HostFunctions::forget(const Which& which) {
  if (!any()) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(expected_, [&](const auto& each) { return which(each.second.place); });
  count_ = expected_.size();
  changed_.notify_all();
}

void HostFunctions::remove_locked(Id id) {
  expected_.erase(id);
  count_ = expected_.size();
  changed_.notify_all();
}

// The function counts as not run until the server knows, so that who waits for it may then wait for
// the GPU.
void HostFunctions::serve() {
  try {
    for (;;) {
      std::array<std::byte, HostTurn::size> said{};
      read_all(*connection_, said);
      const auto turn = decode<HostTurn>(said);
      Body body;
      Which data;
      {
        const std::lock_guard lock(mutex_);
        const auto found = expected_.find(turn.function);
        if (found != expected_.end()) {
          body = found->second.body;
          data = found->second.data;
        }
      }
      if (body) {
        if (turn.status == 0) arrive_(data);
        {
          const std::lock_guard lock(mutex_);
          if (over_) return;
          running_ = true;
        }
        runs_one() = true;
        body(turn.status);
        runs_one() = false;
      }
      if (turn.status == 0) write_all(*connection_, packed(HostDone{.function = turn.function}));
      const std::lock_guard lock(mutex_);
      running_ = false;
      remove_locked(turn.function);
      if (over_) return;
    }
  } catch (const std::exception& error) {
    lost_(error.what());
  }
}

void HostFunctions::shut_down() noexcept {
  const std::lock_guard lock(mutex_);
  over_ = true;
  expected_.clear();
  count_ = 0;
  changed_.notify_all();
  if (connection_) connection_->shut_down();
}

void HostFunctions::close() noexcept {
  shut_down();
  bool busy = false;
  {
    const std::lock_guard lock(mutex_);
    busy = running_;
  }
  if (!thread_.joinable()) return;
  if (busy) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

}  // namespace gpucast::remote::client
