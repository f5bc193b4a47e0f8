// Clients' sessions by the protocol alone, for tests of servers.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "client/greet.h"
#include "client/lane.h"
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
    auto connection = connect_to(parse_endpoint(server.address()), deadline);
    Hello hello;
    client::greet(*connection, hello, "", deadline);
    lane_ = std::make_unique<client::Lane>(std::move(connection), arrivals_,
                                           std::chrono::microseconds(0));
    Opened opened;
    ask(Open{}, opened);
    group_ = opened.device.group;
  }

  template <class Message>
  Status ask(const Message& message, Message::Result& result) {
    const client::Answered answer = lane_->ask(message);
    if (answer.status == 0) result = decode<typename Message::Result>(answer.body);
    return answer.status;
  }
  template <class Message>
  Status ask(const Message& message) {
    typename Message::Result result;
    return ask(message, result);
  }
  // With data behind the fields.
  template <class Message>
  Status ask(const Message& message, Bytes tail) {
    return lane_->ask(message, tail).status;
  }
  const std::string& group() const { return group_; }

  // Allocated and shared.
  Shared share(std::uint64_t bytes, Address& address) {
    Allocated allocated;
    EXPECT_EQ(ask(MemAlloc{.bytes = bytes}, allocated), 0U);
    address = allocated.address;
    Shared shared;
    EXPECT_EQ(ask(Share{.address = address + bytes - 1}, shared), 0U);
    EXPECT_EQ(shared.bytes, bytes);
    return shared;
  }

 private:
  client::Arrivals arrivals_;
  std::unique_ptr<client::Lane> lane_;
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
