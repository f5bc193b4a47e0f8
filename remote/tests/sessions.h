// Clients' sessions by the protocol alone, for tests of servers.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "client/control_connection.h"
#include "client/handshake.h"
#include "security/secret.h"
#include "tests/own_folder.h"
#include "tests/server_process.h"
#include "transport/address.h"
#include "transport/sockets.h"

namespace gpucast::remote {

// A client's session.
class Speaker {
 public:
  explicit Speaker(const ServerProcess& server) {
    const Deadline deadline = Clock::now() + std::chrono::seconds(10);
    client::Session session;
    auto connection = client::shake_hands(
        connect_to(parse_endpoint(server.address()), deadline), {Purpose::control}, session,
        {.secret = read_secret(std::getenv("GPUCAST_REMOTE_SECRET_FILE"))}, deadline);
    control_ = std::make_unique<client::ControlConnection>(std::move(connection), receives_,
                                                           std::chrono::microseconds(0));
    Opened opened;
    call(Open{}, opened);
    group_ = opened.device.group;
  }

  template <class Message>
  Status call(const Message& message, ResultOf<Message>& result) {
    const client::Answered answer = control_->call(message);
    if (answer.status == 0) result = decode<ResultOf<Message>>(answer.body);
    return answer.status;
  }
  template <class Message>
  Status call(const Message& message) {
    ResultOf<Message> result;
    return call(message, result);
  }
  // With memory.
  Status give(const SegmentMap& message, const SharedMemory& memory) {
    return control_->call_with(message, memory).status;
  }
  // Whatever comes with it.
  template <class Message>
  Status status_of(const Message& message) {
    return control_->call(message).status;
  }
  const std::string& group() const { return group_; }

  // Allocated and shared.
  Shared share(std::uint64_t bytes, Address& address) {
    Allocated allocated;
    EXPECT_EQ(call(MemAlloc{.bytes = bytes}, allocated), 0U);
    address = allocated.address;
    Shared shared;
    EXPECT_EQ(call(Share{.address = address + bytes - 1}, shared), 0U);
    EXPECT_EQ(shared.bytes, bytes);
    return shared;
  }

 private:
  client::PendingReceives receives_;
  std::unique_ptr<client::ControlConnection> control_;
  std::string group_;
};

class Sessions : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("GPUCAST_FAKE_DEVICES", "2", 1);
    folder_.use();
  }

  OwnFolder folder_;
};

}  // namespace gpucast::remote
