#include "server/host_functions.h"

#include <array>
#include <exception>
#include <memory>
#include <utility>

#include "protocol/handshake.h"

namespace gpucast::remote::server {

HostFunctions::~HostFunctions() {
  if (connection_) connection_->shut_down();
  if (listener_.joinable()) listener_.join();
}

void HostFunctions::add(std::unique_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  if (connection_) return;
  connection_ = std::move(connection);
  listener_ = std::thread([this] { listen(); });
  changed_.notify_all();
}

void HostFunctions::queue(const Driver& driver, Streams& streams, const LaunchHost& call) {
  struct Turn {
    HostFunctions* functions;
    Id function;
  };
  const CUresult status = status_of([&] {
    auto turn = std::make_unique<Turn>(Turn{.functions = this, .function = call.function});
    check(driver.cuLaunchHostFunc(
        streams.stream(call.stream),
        [](void* data) {
          const std::unique_ptr<Turn> its(static_cast<Turn*>(data));
          its->functions->run(its->function);
        },
        turn.get()));
    [[maybe_unused]] const Turn* const given = turn.release();  // to the driver's thread
  });
  if (status == CUDA_SUCCESS) return;
  tell({.function = call.function, .status = status});
  throw DriverError(status);
}

void HostFunctions::run(Id function) {
  tell({.function = function});
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return broken_ || done_.contains(function); });
  done_.erase(function);
}

void HostFunctions::tell(const HostTurn& turn) {
  Connection* connection = nullptr;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return broken_ || connection_; });
    if (broken_) return;
    connection = connection_.get();
  }
  const std::lock_guard telling(telling_);
  try {
    write_all(*connection, packed(turn));
  } catch (const std::exception&) {
    connection->shut_down();  // its listener says so
  }
}

void HostFunctions::listen() noexcept {
  try {
    for (;;) {
      std::array<std::byte, HostDone::size> said{};
      read_all(*connection_, said);
      const auto done = decode<HostDone>(said);
      const std::lock_guard lock(mutex_);
      done_.insert(done.function);
      changed_.notify_all();
    }
  } catch (const std::exception&) {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    changed_.notify_all();
  }
}

}  // namespace gpucast::remote::server
