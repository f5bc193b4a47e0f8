// What reaching GPUs over a path costs. Natively a call costs what the program's columns say; on a
// forwarding path, calls become messages to the server of their device:
//
//   sent    = max(host, room in the socket) + cost
//   arrives = max(sent, wire free) + up + flight            the wire is free again after `up`
//   served  = max(arrives - lead, server free) + serve      one server thread a device, in order
//   answer  = max(end of what is waited for + tail, server free) + answer, then `down`, `flight`
//   host    = max(answer - lead, host free) + after
//
// Bytes are read while the other side still writes: for `lead` both are at it. There is one thread
// at either end of a connection, for both directions (remote/src/client/control_connection.h and
// server/session.h): a server that takes a copy's bytes does not send another's meanwhile, and what
// comes to the host by itself is read by a thread that waits for something, and by none before.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "gpucast/remote/layer.h"
#include "gpucast/replay/program.h"

namespace gpucast::replay {

enum class Transport : std::uint8_t {
  direct,        // the host asks the driver itself
  asynchronous,  // messages, answered only where the program waits for something
  synchronous,   // messages, each of which is answered
};

// Columns of an entry a call, used by forwarding paths only.
struct Messages {
  std::vector<double> cost;    // of the host: packing, and writing into the socket
  std::vector<double> up;      // seconds that the message occupies the wire
  std::vector<double> flight;  // one way, beside that
  std::vector<double> serve;   // of the server's thread
  std::vector<double> answer;  // of the server's thread, where there is an answer
  std::vector<double> down;    // seconds that the answer occupies the wire
  std::vector<double> after;   // of the host: reading the answer, until the call returns
  // 1: a wait that asks again and again, each time for an answer; 0: one that is answered once.
  std::vector<double> polls;
  // For a message or an answer with data: from when its first bytes are there until its
  // last are, in which both sides are busy; at most `serve`, or `after`.
  std::vector<double> lead;
};

constexpr double seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}

// What gpucast's remote GPUs do on hosts with cores for their threads, unless it is said otherwise.
struct Path {
  Transport transport = Transport::direct;
  Messages messages;
  // Copies beyond this many bytes go over so many connections of their own, in pieces.
  std::int64_t most_inline = remote::inline_beside_channels;
  int bulk_connections = remote::usual_bulk_connections(remote::cores_for_eight);
  // Bytes that a connection takes before who writes has to wait for the server to read.
  std::int64_t socket = remote::most_under_way;
  // All devices' connections share one wire, up and down, for what lies between hosts; `line` is
  // its seconds a byte, 0 for none.
  double line = 0;
  // Large copies of all devices, up and down, share at least this, s a byte: where all is one host,
  // its memory.
  double bulk_line = 0;
  // The threads of these connections sleep between copies. The longer they have slept the longer
  // they take to wake: nothing up to `bulk_nap`, `bulk_wake` from `bulk_deep` on, and straight
  // between. (Hosts look for work before they let a core sleep, and let it sleep the deeper the
  // longer they expect it to.)
  double bulk_wake = 0;
  double bulk_nap = seconds(remote::between_copies(remote::cores_for_channels));
  double bulk_deep = 2e-3;
  // From the end of what is waited for until its server knows.
  double tail = 0;
  // Either side looks for a message for so long; then it sleeps, and a message has to wake it.
  double spin = seconds(remote::usual_spin);
  double wake_server = 0;
  double wake_client = 0;
  // Works that a device takes before who asks for more has to wait; 0: any number.
  std::int32_t queue = 1024;
  // Work that waits for another engine's (a copy for a kernel, a kernel for a copy) looks for its
  // end when it could begin itself, and from then on this often (model/poll.h); 0: it sees it at
  // once.
  double tick = 0;
};

}  // namespace gpucast::replay
