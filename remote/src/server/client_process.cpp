#include "server/client_process.h"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <ostream>
#include <thread>

#include "transport/sockets.h"

namespace gpucast::remote {
namespace {

// A sign of life that does not depend on what the session waits for.
void beat(std::unique_ptr<Connection> monitor) noexcept {
  constexpr std::chrono::seconds pause(1);
  try {
    const std::byte one{1};
    for (;;) {
      write_all(*monitor, {&one, 1});
      std::this_thread::sleep_for(pause);
    }
  } catch (const std::exception&) {
    return;  // the session sees for itself that the client is gone
  }
}

// Brings the client's other connections to where they belong.
void take_connections(Descriptor door, Bulk& bulk) noexcept {
  try {
    while (auto passed = receive_descriptor(door.get())) {
      auto connection = adopt_descriptor(passed->descriptor.release());
      if (passed->purpose == Purpose::channel) {
        bulk.add(std::move(connection));
      } else {
        std::thread(beat, std::move(connection)).detach();
      }
    }
  } catch (const std::exception&) {
    return;  // a connection that is gone already
  }
}

int serve(NewClient& client, const SessionOptions& options, Bulk& bulk, std::ostream& log) {
  try {
    Session session(adopt_descriptor(client.lane.release()), bulk, options, log);
    std::thread(take_connections, std::move(client.door), std::ref(bulk)).detach();
    session.run();
  } catch (const ConnectionLost&) {
    return 0;
  } catch (const std::exception& error) {
    log << "gpucast-gpu-server: a client was cut off: " << error.what() << '\n' << std::flush;
    return 1;
  }
}

}  // namespace

void serve_client(NewClient client, const SessionOptions& options, std::ostream& log) {
  static Bulk bulk;  // its threads may outlive every scope of this process
  std::_Exit(serve(client, options, bulk, log));
}

}  // namespace gpucast::remote
