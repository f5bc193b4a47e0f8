#include "server/client_program.h"

#include <fcntl.h>
#include <poll.h>

#include <cstdlib>

#include "protocol/heartbeat.h"
#include "transport/carriers.h"
#include "transport/flow.h"
#include "transport/sockets.h"
#include "transport/tls_connection.h"

namespace gpucast::remote::server {
namespace {

constexpr std::chrono::seconds time_for_monitor(5);
constexpr std::chrono::seconds time_for_handshake(5);
constexpr std::chrono::seconds most_unacknowledged(7);  // for messages to a monitor

// Reports the traffic to a client that speaks. A client that is stopped gets only the minimum,
// which its socket has room for until it continues.
Beat beat_of(std::byte heard, bool speaks, Flows& flows) {
  Beat beat{.heard = heard};
  if (!speaks) return beat;
  for (const auto& [number, state] : flows.states()) {
    beat.flows.push_back({.connection = number,
                          .awaits = state.awaits ? std::uint8_t{1} : std::uint8_t{0},
                          .received = state.received,
                          .offered = state.offered});
  }
  return beat;
}

// Sends heartbeats to the client, and ends the process when the client's end closes, whatever the
// session's thread waits for: no state of the client is worth keeping. A silent client may be
// stopped and continue later; but it may also be a tunnel that is stopped, which closes nothing
// when its client ends. So the wait is limited.
void watch(std::unique_ptr<Connection> monitor, Flows& flows, std::chrono::seconds most_silence,
           Log& log) noexcept {
  Deadline end_of_silence;
  const auto hear_it = [&] {
    if (most_silence > std::chrono::seconds(0)) end_of_silence = Clock::now() + most_silence;
  };
  const auto is_over = [&] { return end_of_silence && Clock::now() >= *end_of_silence; };
  hear_it();
  try {
    std::array<std::byte, 64> beats{};
    constexpr int most_quiet = 3;
    int quiet = most_quiet;  // beats since the client's last message
    for (std::byte heard{}; !is_over(); ++quiet) {
      // If the client reads nothing, there will be no room in the end.
      write_all(*monitor, packed(beat_of(heard, quiet < most_quiet, flows)), {}, end_of_silence);
      const auto next = Clock::now() + beat_pause;
      while (Clock::now() < next) {
        if (!monitor->wait({.read = true}, next).read) continue;
        if (const std::size_t got = monitor->try_read(beats, MemoryOf::library); got > 0) {
          heard = beats.at(got - 1);
          quiet = -1;
          hear_it();
        }
      }
    }
  } catch (const std::exception&) {
    if (!is_over()) std::_Exit(0);
  }
  log.say("a client was given up: it has said nothing for " + std::to_string(most_silence.count()) +
          " s (--max-silence)");
  std::_Exit(1);
}

// Does the handshake with the client under the session's key.
std::unique_ptr<Connection> connect(const ClientProgram& client, int descriptor,
                                    const Identity& identity) {
  auto socket = adopt_descriptor(descriptor);
  if (client.admitted.security == Security::plain) return socket;
  return secure(std::move(socket), TlsSide::server, Key(client.admitted.key), identity,
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

// Passes the client's other connections to their users. Each handshake has a thread of its own,
// since anyone who has seen the session's number may begin one and then stall.
class OtherConnections {
 public:
  OtherConnections(const ClientProgram& client, Bulk& bulk, HostFunctions& host_functions,
                   Flows& flows, Log& log)
      : client_(client), bulk_(bulk), host_functions_(host_functions), flows_(flows), log_(log) {}

  // Runs until the listener's process is gone.
  void take() noexcept {
    const auto begun = Clock::now();
    for (;;) {
      if (!watched_ && !readable(client_.others.get(), begun + time_for_monitor) && !watched_) {
        log_.say("a client was cut off: it opened no monitor");
        std::_Exit(1);
      }
      auto passed = receive_descriptor(client_.others.get());
      if (!passed) return;
      if (client_.admitted.security == Security::plain) {
        take(*passed);
      } else if (shaking_hands_ < most_handshakes) {
        ++shaking_hands_;
        std::thread([this, other = std::move(*passed)]() mutable {
          take(other);
          --shaking_hands_;
        }).detach();
      }
    }
  }

 private:
  static constexpr int most_handshakes = 32;  // in progress at once

  void take(Passed& passed) noexcept {
    const Greeted& greeted = passed.greeted;
    try {
      if (greeted.purpose == Purpose::monitor)
        limit_silence(passed.descriptor.get(), most_unacknowledged);
      auto connection = connect(client_, passed.descriptor.release(), greeted.identity);
      if (greeted.purpose == Purpose::bulk) {
        // A connection whose number no client uses is served but not counted.
        const bool is_counted = greeted.number >= 1 && greeted.number <= most_bulk_connections;
        bulk_.add(is_counted ? flows_.counted(greeted.number, std::move(connection))
                             : std::move(connection));
      } else if (greeted.purpose == Purpose::host) {
        host_functions_.add(std::move(connection));
      } else if (!watched_.exchange(true)) {
        std::thread(watch, std::move(connection), std::ref(flows_), client_.options.most_silence,
                    std::ref(log_))
            .detach();
      }
    } catch (const std::exception&) {
      return;  // it belongs to a stranger, or is closed
    }
  }

  const ClientProgram& client_;
  Bulk& bulk_;
  HostFunctions& host_functions_;
  Flows& flows_;
  Log& log_;
  std::atomic<bool> watched_{false};
  std::atomic<int> shaking_hands_{0};
};

// Makes the client's first connection, over its carrier.
std::unique_ptr<Connection> connect_control(ClientProgram& client) {
  Descriptor line(::fcntl(client.control.get(), F_DUPFD_CLOEXEC, 0));
  auto connection = connect(client, client.control.release(), client.admitted.identity);
  const auto* const kind = find_carrier(client.admitted.carrier);
  if (kind == nullptr) return connection;
  const Deadline deadline = Clock::now() + time_for_handshake;
  std::byte greeted{};
  read_all(*connection, {&greeted, 1}, deadline);
  auto other = kind->offer(std::move(line), deadline);
  return other ? std::move(other) : std::move(connection);
}

int serve(ClientProgram& client, Bulk& bulk, HostFunctions& host_functions, Flows& flows,
          OtherConnections& others, Log& log) {
  // Threads of the bulk connections use its GPU until the process ends.
  static std::unique_ptr<Session> session;
  try {
    session = std::make_unique<Session>(flows.counted(0, connect_control(client)), bulk,
                                        host_functions, client.options, log);
    std::thread([&others] { others.take(); }).detach();
    session->run();
  } catch (const ConnectionLost&) {
    return 0;
  } catch (const std::exception& error) {
    log.say(std::string("a client was cut off: ") + error.what());
    return 1;
  }
}

}  // namespace

void serve_client(ClientProgram begun, Log& log) {
  // Threads that use this may outlive every scope of the process.
  static ClientProgram client = std::move(begun);
  static Bulk bulk;
  static HostFunctions host_functions;
  static Flows flows;
  static OtherConnections others(client, bulk, host_functions, flows, log);
  std::_Exit(serve(client, bulk, host_functions, flows, others, log));
}

}  // namespace gpucast::remote::server
