#include "transport/connection.h"

#include <algorithm>
#include <vector>

#include "transport/patience.h"
#include "transport/shared_memory.h"

namespace gpucast::remote {

int milliseconds_until(const Deadline& deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, 1'000'000));
}

void Connection::give(const SharedMemory& /*memory*/) {
  throw std::logic_error("a connection that shares no memory");
}

SharedMemory Connection::take(std::size_t /*bytes*/) {
  throw std::logic_error("a connection that shares no memory");
}

namespace {

bool write_on(Connection& connection, std::span<const std::byte> first,
              std::span<const std::byte> second, MemoryOf whose,
              const std::function<void()>& blocked) {
  std::vector<std::byte> zeros;
  while (!first.empty() || !second.empty()) {
    std::size_t sent = 0;
    try {
      sent = connection.try_write(first, second, whose);
    } catch (const BadMemory&) {
      if (!zeros.empty() || second.empty()) throw;
      zeros.resize(second.size());
      second = zeros;
      continue;
    }
    if (sent == 0) blocked();
    const std::size_t of_first = std::min(sent, first.size());
    first = first.subspan(of_first);
    second = second.subspan(sent - of_first);
  }
  return zeros.empty();
}

}  // namespace

std::size_t read_some(Connection& connection, std::span<std::byte> into, const Deadline& deadline,
                      std::chrono::microseconds patience, MemoryOf whose) {
  for (;;) {
    std::size_t got = 0;
    if (look_for(patience, [&] { return (got = connection.try_read(into, whose)) > 0; }))
      return got;
    if (deadline && Clock::now() >= *deadline) throw ConnectionLost("no answer in time");
    connection.wait({.read = true}, deadline);
  }
}

void read_all(Connection& connection, std::span<std::byte> into, const Deadline& deadline,
              std::chrono::microseconds patience) {
  while (!into.empty())
    into = into.subspan(read_some(connection, into, deadline, patience));
}

void write_all(Connection& connection, std::span<const std::byte> first,
               std::span<const std::byte> second, const Deadline& deadline) {
  write_on(connection, first, second, MemoryOf::library, [&] {
    if (deadline && Clock::now() >= *deadline) throw ConnectionLost("nothing is taken");
    connection.wait({.write = true}, deadline);
  });
}

bool read_all_or_drop(Connection& connection, std::span<std::byte> into,
                      std::chrono::microseconds patience) {
  try {
    while (!into.empty())
      into = into.subspan(read_some(connection, into, std::nullopt, patience, MemoryOf::program));
    return true;
  } catch (const BadMemory&) {
    std::vector<std::byte> dropped(into.size());
    read_all(connection, dropped);
    return false;
  }
}

bool write_all_or_zeros(Connection& connection, std::span<const std::byte> first,
                        std::span<const std::byte> second, const std::function<void()>& blocked) {
  const std::function<void()> wait = [&] { connection.wait({.write = true}, std::nullopt); };
  return write_on(connection, first, second, MemoryOf::program, blocked ? blocked : wait);
}

}  // namespace gpucast::remote
