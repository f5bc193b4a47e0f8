// Signs of life on a monitor connection, a second apart in each direction. The client's are a byte:
// it numbers them, from 1 to 255 over and over. The server's are a Beat: the number of the last
// that it has heard (0 before the first), and what has passed over the session's other connections,
// as long as it hears the client at all. So the client knows of both directions that they carry
// what is sent, of this connection and of the others: one that is stuck hides behind the server's
// patience with a long kernel otherwise. The server does not ask as much: a program that is stopped
// (by Ctrl-Z, by a debugger) says nothing, and goes on later.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "protocol/limits.h"
#include "protocol/wire.h"
#include "transport/flow.h"

namespace gpucast::remote {

inline constexpr std::chrono::seconds beat_pause(1);

// What the server's end of a connection has seen.
struct FlowReport {
  std::uint8_t connection = 0;
  std::uint8_t awaits = 0;
  std::uint64_t received = 0;
  std::uint64_t offered = 0;
};

// What the server says each second: `heard`, how many reports follow, and these.
struct Beat {
  std::byte heard{};
  std::vector<FlowReport> flows = {};
};

inline std::vector<std::byte> packed(const Beat& beat) {
  auto result = packed(beat.heard, static_cast<std::uint8_t>(beat.flows.size()));
  Writer writer(result);
  for (const FlowReport& report : beat.flows)
    writer(report);
  return result;
}

// Makes Beats of bytes as they come.
class BeatReader {
 public:
  void add(Bytes bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  // The next whole one. ProtocolError where it speaks of more connections than a client has.
  std::optional<Beat> next() {
    constexpr std::size_t head_size = 2;
    constexpr std::size_t report_size = 18;
    if (bytes_.size() < head_size) return std::nullopt;
    const auto count = std::to_integer<std::size_t>(bytes_[1]);
    if (count > 1 + most_bulk_connections)
      throw ProtocolError("a sign of life tells of more connections than there are");
    const std::size_t size = head_size + count * report_size;
    if (bytes_.size() < size) return std::nullopt;
    Beat beat{.heard = bytes_[0]};
    Reader reader(Bytes(bytes_).first(size).subspan(head_size));
    while (!reader.at_end())
      reader(beat.flows.emplace_back());
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size));
    return beat;
  }

 private:
  std::vector<std::byte> bytes_;
};

// The client's side, counted in beats and not by a clock: time in which the program itself stood
// still is nobody's silence.
class Heartbeat {
 public:
  // The next number to send.
  std::byte next() {
    last_ = last_ == most_number ? 1 : last_ + 1;
    ++unanswered_;
    return std::byte{last_};
  }
  // The number that was sent that many beats ago.
  std::byte number(int beats_ago) const {
    return std::byte{
        static_cast<std::uint8_t>((last_ + most_number - 1 - beats_ago) % most_number + 1)};
  }
  // What the server said. A number that is not awaited says nothing.
  void heard(std::byte answer) {
    const auto number = std::to_integer<int>(answer);
    const int beats_ago = (last_ + most_number - number) % most_number;
    if (number != 0 && beats_ago < unanswered_) unanswered_ = beats_ago;
  }
  // Whether the server, or a direction of the network, is gone: nothing that was said for
  // `most_unanswered` seconds has been answered.
  bool stopped() const { return unanswered_ > most_unanswered; }

 private:
  static constexpr std::uint8_t most_number = 255;
  static constexpr int most_unanswered = 6;

  std::uint8_t last_ = 0;
  int unanswered_ = 0;
};

// One direction of one connection, of which both ends tell once a beat: whether it still carries
// what is sent.
class Progress {
 public:
  // `sent`: by who writes, `received`: by who reads, who `awaits` more, or does not. The writer's
  // word of a beat before counts: what it sent just now may be on its way.
  void note(std::uint64_t sent, std::uint64_t received, bool awaits) {
    const bool stands = awaits && received == received_ && sent_ > received;
    standing_ = stands ? standing_ + 1 : 0;
    sent_ = sent;
    received_ = received;
  }
  // Nothing has come for `most_standing` beats, though it was sent and is waited for.
  bool stopped() const { return standing_ > most_standing; }

 private:
  static constexpr int most_standing = 4;

  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  int standing_ = 0;
};

// Both directions of all connections of a session, as the client sees them.
class Stalls {
 public:
  // Once a beat: what this end has seen, and the last that the server said since the beat before.
  void note(const std::map<std::uint8_t, FlowState>& here, const std::vector<FlowReport>& there) {
    for (const FlowReport& server : there) {
      const auto seen = here.find(server.connection);
      if (seen == here.end()) continue;
      const FlowState& client = seen->second;
      Ways& ways = ways_[server.connection];
      ways.up.note(client.offered, server.received, server.awaits != 0);
      ways.down.note(server.offered, client.received, client.awaits);
    }
  }
  // The number of a connection that is stuck.
  std::optional<std::uint8_t> stuck() const {
    for (const auto& [number, ways] : ways_) {
      if (ways.up.stopped() || ways.down.stopped()) return number;
    }
    return std::nullopt;
  }

 private:
  struct Ways {
    Progress up;
    Progress down;
  };
  std::map<std::uint8_t, Ways> ways_;
};

}  // namespace gpucast::remote
