// Bytes to another process and back, in order. What varies between networks stands behind this.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

namespace gpucast::remote {

// The other end is gone, or cannot be reached.
class ConnectionLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The program gave memory that it does not have. Nothing was taken from there, or put there.
class BadMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class SharedMemory;  // transport/shared_memory.h

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;  // none: for as long as it takes
// As poll() wants it.
int milliseconds_until(const Deadline& deadline);

// Waits until what is wanted makes sense, and says which of it does; neither after the deadline,
// and sometimes before.
struct Ready {
  bool read = false;
  bool write = false;
};

// Whose memory is read or written: the library's, or the program's, which may not have it.
enum class MemoryOf : std::uint8_t { library, program };

// No descriptor stands in it: memory that two processes share is a connection too.
class Connection {
 public:
  Connection() = default;
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Both throw BadMemory too, of memory of the program.
  // What is there now, 0 for nothing. ConnectionLost at the end. One thread reads.
  virtual std::size_t try_read(std::span<std::byte> into, MemoryOf whose) = 0;
  // What is taken now of the first, which is the library's, followed by the second, 0 for nothing.
  // What was not taken has to be offered again as it was. One thread writes.
  virtual std::size_t try_write(std::span<const std::byte> first, std::span<const std::byte> second,
                                MemoryOf whose_second) = 0;
  // By the thread that reads, or writes, or does both.
  virtual Ready wait(Ready wanted, const Deadline& deadline) = 0;
  // Both directions, from any thread; who waits for them is woken.
  virtual void shut_down() noexcept = 0;

  // Whether both ends can have the same memory, as they can on one host.
  virtual bool shares_memory() const { return false; }
  // From any thread. Not without shares_memory(), as is true of take(). ConnectionLost where it is
  // not taken.
  virtual void give(const SharedMemory& memory);
  // The next memory that the other end gave, of which that many bytes are used, by the thread that
  // reads. It has to be given already: ConnectionLost otherwise; std::runtime_error where it cannot
  // be used.
  virtual SharedMemory take(std::size_t bytes);
};

// ConnectionLost at the end, and after the deadline. `patience`: so long it looks for more before
// it sleeps.
std::size_t read_some(Connection& connection, std::span<std::byte> into,
                      const Deadline& deadline = std::nullopt,
                      std::chrono::microseconds patience = {}, MemoryOf whose = MemoryOf::library);
void read_all(Connection& connection, std::span<std::byte> into,
              const Deadline& deadline = std::nullopt, std::chrono::microseconds patience = {});
void write_all(Connection& connection, std::span<const std::byte> first,
               std::span<const std::byte> second = {}, const Deadline& deadline = std::nullopt);
// The same of memory that may not be the program's: the stream of bytes goes on behind them, with
// zeros for what cannot be read. False where that was so. Where nothing is taken, `blocked`
// may wait for a while in its own way.
bool read_all_or_drop(Connection& connection, std::span<std::byte> into,
                      std::chrono::microseconds patience = {});
bool write_all_or_zeros(Connection& connection, std::span<const std::byte> first,
                        std::span<const std::byte> second,
                        const std::function<void()>& blocked = {});

}  // namespace gpucast::remote
