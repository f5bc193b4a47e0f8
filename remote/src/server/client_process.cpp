#include "server/client_process.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <ostream>
#include <syncstream>
#include <thread>

#include "protocol/heartbeat.h"
#include "transport/sockets.h"

namespace gpucast::remote::server {
namespace {

constexpr std::chrono::seconds time_for_monitor(5);

// A signal of life to the client, and the other way round: the client's end is the process's, at
// once, whatever the session's thread waits for. Nothing of the client's is worth keeping.
void watch(std::unique_ptr<Connection> monitor) noexcept {
  // What is sent and never acknowledged keeps the system from asking whether the peer is there.
  constexpr int most_silence = 7000;  // ms
  ::setsockopt(monitor->descriptor(), IPPROTO_TCP, TCP_USER_TIMEOUT, &most_silence,
               sizeof most_silence);
  try {
    std::array<std::byte, 64> said{};
    for (std::byte heard{};;) {
      write_all(*monitor, {&heard, 1});
      const auto next = Clock::now() + beat_pause;
      while (Clock::now() < next) {
        if (!wait(*monitor, {.read = true}, next).read) continue;
        if (const std::size_t got = monitor->try_read(said); got > 0) heard = said.at(got - 1);
      }
    }
  } catch (const std::exception&) {
    std::_Exit(0);
  }
}

bool readable(int descriptor, const Deadline& deadline) {
  pollfd entry{.fd = descriptor, .events = POLLIN, .revents = 0};
  int count = 0;
  do {
    count = ::poll(&entry, 1, milliseconds_until(deadline));
  } while (count < 0);
  return count > 0;
}

// Brings the client's other connections to where they belong, until the listener's process is gone.
void take_connections(Descriptor others, Bulk& bulk, std::ostream& log) noexcept {
  const auto begun = Clock::now();
  for (bool watched = false;;) {
    if (!watched && !readable(others.get(), begun + time_for_monitor)) {
      std::osyncstream(log) << "gpucast-gpu-server: a client was cut off: it opened no monitor\n"
                            << std::flush;
      std::_Exit(1);
    }
    auto passed = receive_descriptor(others.get());
    if (!passed) return;
    try {
      auto connection = adopt_descriptor(passed->descriptor.release());
      if (passed->purpose == Purpose::bulk) {
        bulk.add(std::move(connection));
      } else if (!watched) {
        watched = true;
        std::thread(watch, std::move(connection)).detach();
      }
    } catch (const std::exception&) {
      continue;  // gone already; the next is not
    }
  }
}

int serve(ClientProgram& client, Bulk& bulk, std::ostream& log) {
  try {
    Session session(adopt_descriptor(client.control.release()), bulk, client.options, log);
    std::thread(take_connections, std::move(client.others), std::ref(bulk), std::ref(log)).detach();
    session.run();
  } catch (const ConnectionLost&) {
    return 0;
  } catch (const std::exception& error) {
    std::osyncstream(log) << "gpucast-gpu-server: a client was cut off: " << error.what() << '\n'
                          << std::flush;
    return 1;
  }
}

}  // namespace

void serve_client(ClientProgram client, std::ostream& log) {
  static Bulk bulk;  // its threads may outlive every scope of this process
  std::_Exit(serve(client, bulk, log));
}

}  // namespace gpucast::remote::server
