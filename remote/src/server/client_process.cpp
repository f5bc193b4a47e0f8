#include "server/client_process.h"

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <ostream>
#include <thread>

#include "transport/sockets.h"
#include "transport/tls_connection.h"

namespace gpucast::remote::server {
namespace {

constexpr std::chrono::seconds time_for_monitor(5);
constexpr std::chrono::seconds most_silence(7);  // of a monitor

// A signal of life to the client, and the other way round: the client's end is the process's, at
// once, whatever the session's thread waits for. Nothing of the client's is worth keeping.
void watch(std::unique_ptr<Connection> monitor) noexcept {
  constexpr std::chrono::seconds pause(1);
  try {
    const std::byte one{1};
    for (std::byte said{};;) {
      write_all(*monitor, {&one, 1});
      const auto next = Clock::now() + pause;
      // A client says nothing here.
      while (Clock::now() < next) {
        if (monitor->wait({.read = true}, next).read &&
            monitor->try_read({&said, 1}, MemoryOf::library) > 0)
          std::_Exit(1);
      }
    }
  } catch (const std::exception&) {
    std::_Exit(0);
  }
}

// As the client speaks, with the session's key.
std::unique_ptr<Connection> connect(const ClientProgram& client, int descriptor,
                                    const Identity& identity) {
  constexpr std::chrono::seconds time_for_handshake(5);
  auto connection = adopt_descriptor(descriptor);
  if (client.security == Security::plain) return connection;
  return secure(std::move(connection), TlsSide::server, client.key, identity,
                Clock::now() + time_for_handshake);
}

bool readable(int descriptor, const Deadline& deadline) {
  pollfd entry{.fd = descriptor, .events = POLLIN, .revents = 0};
  int count = 0;
  do {
    count = ::poll(&entry, 1, milliseconds_until(deadline));
  } while (count < 0);
  return count > 0;
}

// Brings the client's other connections to where they belong. Each shakes hands in a thread of its
// own: whoever heard the session's number may begin, and keeps nobody waiting.
class OtherConnections {
 public:
  OtherConnections(const ClientProgram& client, Bulk& bulk, std::ostream& log)
      : client_(client), bulk_(bulk), log_(log) {}

  // Until the listener's process is gone.
  void take() noexcept {
    const auto begun = Clock::now();
    for (;;) {
      if (!watched_ && !readable(client_.others.get(), begun + time_for_monitor) && !watched_) {
        log_ << "gpucast-gpu-server: a client was cut off: it opened no monitor" << '\n'
             << std::flush;
        std::_Exit(1);
      }
      auto passed = receive_descriptor(client_.others.get());
      if (!passed) return;
      try {
        if (client_.security == Security::plain) {
          take(*passed);
        } else if (shaking_hands_ < most_handshakes) {
          ++shaking_hands_;
          std::thread([this, each = std::move(*passed)]() mutable {
            take_quietly(each);
            --shaking_hands_;
          }).detach();
        }
      } catch (const std::exception&) {
        continue;  // gone already; the next is not
      }
    }
  }

 private:
  static constexpr int most_handshakes = 32;  // under way at once

  void take(Passed& passed) {
    if (passed.greeted.purpose == Purpose::monitor)
      limit_silence(passed.descriptor.get(), most_silence);
    auto connection = connect(client_, passed.descriptor.release(), passed.greeted.identity);
    if (passed.greeted.purpose == Purpose::bulk) {
      bulk_.add(std::move(connection));
    } else if (!watched_.exchange(true)) {
      std::thread(watch, std::move(connection)).detach();
    }
  }

  void take_quietly(Passed& passed) noexcept {
    try {
      take(passed);
    } catch (const std::exception&) {
      return;  // a stranger's, or gone already
    }
  }

  const ClientProgram& client_;
  Bulk& bulk_;
  std::ostream& log_;
  std::atomic<bool> watched_{false};
  std::atomic<int> shaking_hands_{0};
};

int serve(ClientProgram& client, Bulk& bulk, OtherConnections& others, std::ostream& log) {
  try {
    Session session(connect(client, client.control.release(), client.identity), bulk,
                    client.options, log);
    std::thread([&others] { others.take(); }).detach();
    session.run();
  } catch (const ConnectionLost&) {
    return 0;
  } catch (const std::exception& error) {
    log << "gpucast-gpu-server: a client was cut off: " << error.what() << '\n' << std::flush;
    return 1;
  }
}

}  // namespace

void serve_client(ClientProgram begun, std::ostream& log) {
  // Threads of these may outlive every scope of this process.
  static ClientProgram client = std::move(begun);
  static Bulk bulk;
  static OtherConnections others(client, bulk, log);
  std::_Exit(serve(client, bulk, others, log));
}

}  // namespace gpucast::remote::server
