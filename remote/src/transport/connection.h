// Bytes to another process and back, in order. All kinds of networks implement this.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>

#include "gpucast/support/interface.h"

namespace gpucast::remote {

// The other end is gone, or cannot be reached.
class ConnectionLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The program passed memory that it does not have. Nothing was read from or written there.
class BadMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class SharedMemory;  // transport/shared_memory.h

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;  // none: no limit
// Returns the timeout in the form that poll() expects.
int milliseconds_until(const Deadline& deadline);

// Waits until reading or writing may succeed, and returns which; neither after the deadline, and
// sometimes earlier.
struct Ready {
  bool read = false;
  bool write = false;
};

// Whose memory is read or written: the library's, or the program's, which may be invalid.
enum class MemoryOf : std::uint8_t { library, program };

// It has no descriptor: memory that two processes share is a connection too.
class Connection : public support::Interface {
 public:
  // Both throw BadMemory if the program's memory is invalid.
  // Reads what has arrived; returns 0 if nothing has. Throws ConnectionLost at the end. Only one
  // thread reads.
  virtual std::size_t try_read(std::span<std::byte> into, MemoryOf whose) = 0;
  // Writes as much as is accepted now of `first`, which belongs to the library, followed by
  // `second`; returns 0 if nothing is. The rest has to be offered again unchanged. Only one thread
  // writes.
  virtual std::size_t try_write(std::span<const std::byte> first, std::span<const std::byte> second,
                                MemoryOf whose_second) = 0;
  // Called by the thread that reads, or writes, or both.
  virtual Ready wait(Ready wanted, const Deadline& deadline) = 0;
  // Closes both directions, from any thread; waiting threads are woken.
  virtual void shut_down() noexcept = 0;

  // Whether both ends can map the same memory, as on one host.
  virtual bool shares_memory() const { return false; }
  // May be called from any thread. give() and take() require shares_memory(). Throws ConnectionLost
  // if it is not accepted.
  virtual void give(const SharedMemory& memory);
  // Returns the next memory from the other end, of which this many bytes are used; called by the
  // thread that reads. Throws ConnectionLost if none has been given yet, and std::runtime_error if
  // it cannot be used.
  virtual SharedMemory take(std::size_t bytes);
};

// Throws ConnectionLost at the end, and after the deadline. `patience`: how long it polls for more
// before it sleeps.
std::size_t read_some(Connection& connection, std::span<std::byte> into,
                      const Deadline& deadline = std::nullopt,
                      std::chrono::microseconds patience = {}, MemoryOf whose = MemoryOf::library);
void read_all(Connection& connection, std::span<std::byte> into,
              const Deadline& deadline = std::nullopt, std::chrono::microseconds patience = {});
void write_all(Connection& connection, std::span<const std::byte> first,
               std::span<const std::byte> second = {}, const Deadline& deadline = std::nullopt);
// The same for memory that the program may not have: the byte stream continues, with zeros for what
// cannot be read. Return false in that case. While nothing is accepted, `blocked` may wait in its
// own way.
bool read_all_or_drop(Connection& connection, std::span<std::byte> into,
                      std::chrono::microseconds patience = {});
bool write_all_or_zeros(Connection& connection, std::span<const std::byte> first,
                        std::span<const std::byte> second,
                        const std::function<void()>& blocked = {});

}  // namespace gpucast::remote
