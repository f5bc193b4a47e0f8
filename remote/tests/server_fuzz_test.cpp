// A server whose client knows the secret and sends anything: in messages, over TLS, and on the bulk
// connections. Sanitizers find the errors (make test-rest); the server goes on, and another
// client's memory stays unchanged. GPUCAST_FUZZ_MESSAGES=1000000 takes minutes.
#include <gtest/gtest.h>

#include "tests/hostile_client.h"
#include "tests/noise.h"
#include "tests/sessions.h"

namespace gpucast::remote {
namespace {

// The fake's kernels without pointers: pointers are not checked within kernels (docs/remote.md).
constexpr std::array kernels = {"_Z5emptyv", "_Z5county"};

// Numbers of rows in messages: the fake processes as many as a GPU would.
constexpr std::uint64_t row_counts[] = {0, 1, 1, 1, 2, 3, 300};

constexpr std::array<std::uint32_t, 4> container = {0xba55ed50, 0x00100001, 0, 0};

class Fuzz {
 public:
  explicit Fuzz(std::uint64_t seed) : noise_(seed) {
    noise_.names.assign(kernels.begin(), kernels.end());
  }

  // Sends random messages and, in every other session, damaged ones at the end.
  void session(const ServerProcess& server) {
    HostileClient client(server);
    begin(client);
    const std::size_t count = 200 + noise_.below(1300);
    const bool damages = noise_.one_in(2);
    for (std::size_t k = 0; k < count; ++k)
      say_one(client);
    client.ask(Ping{});  // everything so far follows the protocol
    ++whole_;
    try {
      for (int k = 0; k < 40 && damages; ++k)
        say_damaged(client);
      client.hear();
    } catch (const ConnectionLost&) {
      return;  // this may happen
    }
  }
  std::size_t sent() const { return sent_; }
  std::size_t whole() const { return whole_; }

 private:
  void begin(HostileClient& client) {
    client.ask(Open{});
    constexpr std::uint64_t sizes[] = {1U << 20, 65536, 3U << 20};
    for (const std::uint64_t bytes : sizes)
      client.say(MemAlloc{.bytes = bytes});
    client.say(ModulePiece{.module = 1, .tail = {std::as_bytes(std::span(container))}}, false);
    client.say(ModuleLoad{.module = 1});
    client.say(ModuleKernels{.module = 1, .first = 16, .names = noise_.names});
    for (const Id id : {Id{16}, Id{17}})
      client.say(StreamCreate{.stream = id, .flags = static_cast<std::uint32_t>(id - 16)});
    client.ask(Ping{});
    noise_.known = client.allocated();
  }

  void say_one(HostileClient& client) {
    ++sent_;
    for (const Address address : client.allocated())
      noise_.known.push_back(address);
    constexpr std::size_t most_known = 20;
    if (noise_.known.size() > most_known) noise_.known.erase(noise_.known.begin());
    using Say = void (Fuzz::*)(HostileClient&);
    static constexpr Say calls[] = {
#define GPUCAST_SAY(Message, ...) &Fuzz::say<Message>,
        GPUCAST_CALLS(GPUCAST_SAY)
#undef GPUCAST_SAY
    };
    (this->*noise_.any_of(calls))(client);
  }

  template <class Message>
  void say(HostileClient& client) {
    auto message = noise_.message<Message>();
    if constexpr (std::is_same_v<Message, Open>) return;  // one is enough
    // The session would wait for the connection that the client has to open, like its own stream.
    if constexpr (std::is_same_v<Message, LaunchHost>) return;
    // Memory is not shared over TCP: a client that maps some is disconnected.
    if constexpr (std::is_same_v<Message, SegmentMap>) return;
    if constexpr (std::is_same_v<Message, CopyFrom>) {
      message.connections = 1;
      const bool in_answer = message.bytes <= most_inline && noise_.one_in(2);
      message.piece = in_answer ? 0 : static_cast<std::uint32_t>(piece_of(message.bytes, 1));
    }
    if constexpr (std::is_same_v<Message, Reset>) {
      if (!noise_.one_in(20)) return;
    }
    if constexpr (requires { message.height; }) message.height = noise_.any_of(row_counts);
    if constexpr (std::is_same_v<Message, ModulePiece>) {
      if (noise_.one_in(2)) message.tail.data = std::as_bytes(std::span(container));
    }
    const bool asked = !noise_.one_in(3);
    if constexpr (std::is_same_v<Message, CopyToBulk>)
      say_bulk(client, message, asked);
    else
      client.say(message, asked);
  }

  void say_bulk(HostileClient& client, CopyToBulk message, bool asked) {
    constexpr std::size_t sizes[] = {1, 4096, 65537, (1U << 20) + 1};
    message.bytes = noise_.any_of(sizes);
    message.transfer = ++transfers_;
    client.say(message, asked);
    for (std::uint64_t begin = 0; begin < message.bytes; begin += piece_bytes) {
      const std::size_t size = std::min<std::uint64_t>(message.bytes - begin, piece_bytes);
      client.say_piece(bulk_piece(message.transfer, begin, Noise::bytes(size)));
    }
  }
  void say_damaged(HostileClient& client) {
    ++sent_;
    std::vector<std::byte> bytes;
    if (noise_.one_in(8)) {
      bytes = bulk_piece(transfers_ + noise_.below(3), noise_.number(),
                         Noise::bytes(noise_.below(5000)));
      noise_.damage(bytes);
      return client.say_piece(bytes);
    }
    const auto make = [&](const auto& message) { encode(bytes, message, 77); };
    switch (noise_.below(5)) {
      case 0:
        make(noise_.message<ModuleKernels>());
        break;
      case 1:
        make(noise_.message<StreamSync>());
        break;
      case 2:
        make(noise_.message<Attach>());
        break;
      case 3:
        make(noise_.message<EventSync>());
        break;
      default:
        make(noise_.message<Memset>());
    }
    if (!noise_.one_in(4)) noise_.damage(bytes);
    client.say_bytes(bytes);
  }

  Noise noise_;
  Id transfers_ = 1000;
  std::size_t sent_ = 0;
  std::size_t whole_ = 0;
};

// Another client of the same server.
class Victim {
 public:
  explicit Victim(const ServerProcess& server) : client_(server), content_(bytes, std::byte{86}) {
    client_.ask(Open{});
    address_ = client_.ask(MemAlloc{.bytes = bytes}).address;
    client_.say(CopyTo{.to = address_, .tail = {content_}});
  }
  Address address() const { return address_; }
  bool is_as_it_was() {
    return client_.answer(client_.say(CopyFrom{.from = address_, .bytes = bytes})) == content_;
  }

 private:
  static constexpr std::uint64_t bytes = 1U << 20;
  HostileClient client_;
  std::vector<std::byte> content_;
  Address address_ = 0;
};

TEST_F(Sessions, HostileMessagesHarmNobodyElse) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a server whose driver maps memory at an address in use";
#endif
  ::setenv("GPUCAST_FAKE_KERNELS", GPUCAST_TEST_KERNELS, 1);
  ::setenv("GPUCAST_FAKE_MEMORY", "268435456", 1);
  ::setenv("GPUCAST_FAKE_REACHES_ALL", "1", 1);
  // The server reports the sanitizer's errors, too.
  ::setenv("ASAN_OPTIONS", "abort_on_error=1:allocator_may_return_null=1", 1);
  ::setenv("UBSAN_OPTIONS", "halt_on_error=1:abort_on_error=1:print_stacktrace=1", 1);
  testing::internal::CaptureStderr();
  std::size_t sessions = 0;
  Fuzz fuzz(22);
  {
    const ServerProcess server(0, {"--max-silence", "0"});  // the victim is silent meanwhile
    Victim victim(server);
    try {
      for (; fuzz.sent() < fuzz_messages(); ++sessions)
        fuzz.session(server);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "session " << sessions << ": " << error.what();
    }
    EXPECT_TRUE(victim.is_as_it_was());
    EXPECT_TRUE(server.has_clients(1));  // eventually
  }
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(printed.find("by signal"), std::string::npos) << printed;
  EXPECT_EQ(printed.find("Sanitizer"), std::string::npos) << printed;
  EXPECT_EQ(printed.find("runtime error"), std::string::npos) << printed;
  EXPECT_EQ(fuzz.whole(), sessions);
  EXPECT_FALSE(HasFailure()) << printed;
  std::printf("%zu messages in %zu sessions\n", fuzz.sent(), sessions);
}

}  // namespace
}  // namespace gpucast::remote
