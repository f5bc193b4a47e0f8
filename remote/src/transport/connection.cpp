#include "transport/connection.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace gpucast::remote {

int milliseconds_until(const Deadline& deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, 1'000'000));
}

Ready wait(const Connection& connection, Ready wanted, const Deadline& deadline) {
  pollfd entry{.fd = connection.descriptor(), .events = 0, .revents = 0};
  if (wanted.read) entry.events |= POLLIN;
  if (wanted.write) entry.events |= POLLOUT;
  const int count = poll(&entry, 1, milliseconds_until(deadline));
  if (count < 0 && errno != EINTR) {
    throw ConnectionLost(std::string("poll: ") + std::strerror(errno));
  }
  if (count <= 0) return {};
  // Errors are met by whoever reads or writes then.
  const bool broken = (entry.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
  return {.read = wanted.read && (broken || (entry.revents & POLLIN) != 0),
          .write = wanted.write && (broken || (entry.revents & POLLOUT) != 0)};
}

std::size_t read_some(Connection& connection, std::span<std::byte> into, const Deadline& deadline) {
  for (;;) {
    if (const std::size_t got = connection.try_read(into); got > 0) return got;
    if (deadline && Clock::now() >= *deadline) throw ConnectionLost("no answer in time");
    wait(connection, {.read = true}, deadline);
  }
}

void read_all(Connection& connection, std::span<std::byte> into, const Deadline& deadline) {
  while (!into.empty())
    into = into.subspan(read_some(connection, into, deadline));
}

void write_all(Connection& connection, std::span<const std::byte> first,
               std::span<const std::byte> second, const Deadline& deadline) {
  const auto blocked = [&] {
    if (deadline && Clock::now() >= *deadline) throw ConnectionLost("nothing is taken");
    wait(connection, {.write = true}, deadline);
  };
  if (!write_all_or_zeros(connection, first, second, blocked))
    throw BadMemory("memory that cannot be read");
}

bool read_all_or_drop(Connection& connection, std::span<std::byte> into) {
  try {
    while (!into.empty())
      into = into.subspan(read_some(connection, into));
    return true;
  } catch (const BadMemory&) {
    std::vector<std::byte> dropped(into.size());
    read_all(connection, dropped);
    return false;
  }
}

bool write_all_or_zeros(Connection& connection, std::span<const std::byte> first,
                        std::span<const std::byte> second, const std::function<void()>& blocked) {
  std::vector<std::byte> zeros;
  while (!first.empty() || !second.empty()) {
    std::size_t sent = 0;
    try {
      sent = connection.try_write(first, second);
    } catch (const BadMemory&) {
      if (!zeros.empty() || second.empty()) throw;
      zeros.resize(second.size());
      second = zeros;
      continue;
    }
    if (sent == 0 && blocked) blocked();
    if (sent == 0 && !blocked) wait(connection, {.write = true}, std::nullopt);
    const std::size_t of_first = std::min(sent, first.size());
    first = first.subspan(of_first);
    second = second.subspan(sent - of_first);
  }
  return zeros.empty();
}

}  // namespace gpucast::remote
