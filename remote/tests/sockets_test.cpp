// Addresses, and connections to listeners that behave badly.
#include "transport/sockets.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>

#include "tests/own_folder.h"
#include "tests/pairs.h"

namespace gpucast::remote {
namespace {

TEST(Address, HostsPortsAndPaths) {
  EXPECT_EQ(parse_endpoint("node7:9700").host, "node7");
  EXPECT_EQ(parse_endpoint("node7:9700").port, "9700");
  EXPECT_EQ(parse_endpoint("[::1]:0").host, "::1");
  EXPECT_EQ(parse_endpoint("[::1]:0").text(), "[::1]:0");
  EXPECT_EQ(parse_endpoint("unix:/tmp/gpu").path, "/tmp/gpu");
  EXPECT_EQ(parse_endpoints("a:1,unix:/b,c:3").size(), 3U);
}

TEST(Address, BlanksAroundThemDoNotCount) {
  const auto endpoints = parse_endpoints(" a:1, b:2\t,unix:/with blank ");
  ASSERT_EQ(endpoints.size(), 3U);
  EXPECT_EQ(endpoints[0].host, "a");
  EXPECT_EQ(endpoints[1].text(), "b:2");
  EXPECT_EQ(endpoints[2].path, "/with blank");
}

TEST(Address, WhatIsNoneIsRefused) {
  for (const char* text : {"", "node7", "node7:", ":9700", "node7:70000", "node7:-1", "node7:9x",
                           "::1:9700", "ucx:node7:9700", "unix:", "a:1,", ","})
    EXPECT_THROW(parse_endpoints(text), std::invalid_argument) << text;
}

using support::Descriptor;
using namespace std::chrono_literals;

Deadline in(std::chrono::milliseconds time) { return Clock::now() + time; }

// A listener that accepts nobody, and whose queue is full.
class FullListener {
 public:
  explicit FullListener(sa_family_t family) : socket_(::socket(family, SOCK_STREAM, 0)) {
    if (family == AF_UNIX) {
      endpoint_.path = folder_.path() + "/socket";
      sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
      endpoint_.path.copy(address.sun_path, sizeof address.sun_path - 1);
      listen(address);
    } else {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      listen(address);
      endpoint_ = {.host = "127.0.0.1", .port = std::to_string(ntohs(address.sin_port))};
    }
  }
  const Endpoint& endpoint() const { return endpoint_; }

 private:
  template <class Name>
  void listen(Name& name) {
    auto* address = reinterpret_cast<sockaddr*>(&name);
    socklen_t size = sizeof name;
    EXPECT_EQ(::bind(socket_.get(), address, size), 0);
    EXPECT_EQ(::listen(socket_.get(), 0), 0);
    EXPECT_EQ(::getsockname(socket_.get(), address, &size), 0);
    for (int k = 0; k < 4; ++k) {
      waiting_.emplace_back(::socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0));
      const bool let_in = ::connect(waiting_.back().get(), address, size) == 0;
      EXPECT_TRUE(let_in || errno == EINPROGRESS || errno == EAGAIN);
    }
  }

  OwnFolder folder_;
  Descriptor socket_;
  std::vector<Descriptor> waiting_;
  Endpoint endpoint_;
};

class FullListeners : public testing::TestWithParam<sa_family_t> {};
INSTANTIATE_TEST_SUITE_P(Kinds, FullListeners, testing::Values(AF_INET, AF_UNIX));

TEST_P(FullListeners, AreGivenUpAtTheDeadline) {
  const FullListener listener(GetParam());
  const auto begin = Clock::now();
  EXPECT_THROW(connect_to(listener.endpoint(), in(200ms)), ConnectionLost);
  EXPECT_GE(Clock::now() - begin, 150ms);
  EXPECT_THROW(connect_to(listener.endpoint(), in(-1000ms)), ConnectionLost);
}

TEST(Connections, AreNotInherited) {
  Lines lines;
  const int descriptor = lines.here.get();
  const auto here = adopt_descriptor(lines.here.release());
  EXPECT_NE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0);
}

}  // namespace
}  // namespace gpucast::remote
