// What the host waits for, call by call: natively, and where calls are forwarded.
//
// Natively as CUDA's "API synchronization behavior" has it: a blocking copy from pageable memory
// waits for its stream, and returns when its data is staged; one from pinned memory, and any to the
// host, returns when it is done; copies within a device do not wait. What is asynchronous by its
// name and waits all the same (pageable memory) is `blocking` in a program of calls: a trace tells.
//
// Forwarded as remote/src/client does it (gpu.cpp, copies.cpp, launches.cpp, api_*.cpp):
//
//   stays here       devices, properties, errors: known without asking
//   send             launches, memsets, events, frees, copies to and within a device
//   call             allocations, queries, synchronizations, copies to the host
//
// Where they are sent, a copy to the device occupies the host until its data is in the socket
// (but for a large one from pinned memory that is not waited for), and if the program takes it for
// done, waits for what its stream's copies still bring to the host. A blocking copy from one device
// to another waits for its stream behind it. A copy into pinned memory that is not waited for is
// sent, and its data comes by itself. A stream that waits for an event of another device makes the
// host wait for it. With GPUCAST_REMOTE_SYNC=1 what is sent is answered when the server has done
// it, which does not wait for the GPU, and every copy to the host waits.
#pragma once

#include "gpucast/replay/path.h"
#include "gpucast/replay/program.h"

namespace gpucast::replay {

enum class Waits : std::uint8_t {
  nothing,
  before,  // for the stream, and then does its own
  own,     // until its work is done
  set,     // for a stream, an event, or a device
};

inline Waits native_wait(Operation operation, Direction direction, Memory memory, bool blocking) {
  switch (operation) {
    case Operation::sync_stream:
    case Operation::sync_event:
    case Operation::sync_device:
      return Waits::set;
    case Operation::copy:
      if (!blocking || direction == Direction::local || direction == Direction::host)
        return Waits::nothing;
      return direction == Direction::h2d && memory == Memory::pageable ? Waits::before : Waits::own;
    case Operation::launch:  // CUDA_LAUNCH_BLOCKING
    case Operation::graph_launch:
      return blocking ? Waits::own : Waits::nothing;
    case Operation::alloc:
    case Operation::free:
      return blocking ? Waits::set : Waits::nothing;
    default:
      return Waits::nothing;
  }
}

enum class Manner : std::uint8_t {
  here,   // no message
  send,   // a message without an answer
  reply,  // answered when the server has come to it
  wait,   // answered when what is waited for is done
};

// `elsewhere`: an event of another device than the stream that waits for it.
inline Manner manner(Transport transport, Operation operation, Direction direction, Memory memory,
                     bool blocking, bool elsewhere) {
  const bool synchronous = transport == Transport::synchronous;
  const Manner sent = synchronous ? Manner::reply : Manner::send;
  switch (operation) {
    case Operation::sync_stream:
    case Operation::sync_event:
    case Operation::sync_device:
      return Manner::wait;
    case Operation::alloc:
    case Operation::query:
      return Manner::reply;
    case Operation::wait_stream_event:
      return elsewhere ? Manner::wait : sent;
    case Operation::copy:
      if (direction == Direction::host) return Manner::here;
      if (direction == Direction::peer && blocking) return Manner::wait;
      if (direction != Direction::d2h) return sent;
      return blocking || synchronous || memory != Memory::pinned ? Manner::wait : Manner::send;
    case Operation::other:
      return Manner::here;
    default:
      return sent;
  }
}

}  // namespace gpucast::replay
