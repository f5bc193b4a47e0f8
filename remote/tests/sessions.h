// Clients' sessions that use the protocol directly, for tests of servers.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/hostile_client.h"
#include "tests/own_folder.h"

namespace gpucast::remote {

// A client whose GPU is open.
class Speaker : public HostileClient {
 public:
  explicit Speaker(const ServerProcess& server) : HostileClient(server) {
    group_ = ask(Open{}).device.group;
  }
  const std::string& group() const { return group_; }

  // Allocates and shares memory.
  Shared share(std::uint64_t bytes, Address& address) {
    address = ask(MemAlloc{.bytes = bytes}).address;
    const auto shared = ask(Share{.address = address + bytes - 1});
    EXPECT_EQ(shared.bytes, bytes);
    return shared;
  }

 private:
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
