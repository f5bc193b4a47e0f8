// Heartbeats on a monitor connection, once a second in each direction. The client sends a byte,
// which counts from 1 to 255 repeatedly. The server sends a Beat: the last number that it has
// received (0 before the first), and the traffic of the session's other connections as long as it
// hears from the client. The client thus knows of each connection whether both directions work; a
// stuck one would otherwise look like a server that waits for a long kernel. The server requires
// less: a program that is stopped (by Ctrl-Z, by a debugger) is silent and continues later.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "protocol/limits.h"
#include "protocol/wire.h"
#include "transport/flow.h"

namespace gpucast::remote {

inline constexpr std::chrono::seconds beat_pause(1);

// The server's view of a connection.
struct FlowReport {
  std::uint8_t connection = 0;
  std::uint8_t awaits = 0;
  std::uint64_t received = 0;
  std::uint64_t offered = 0;
};

// What the server sends each second: `heard`, the number of reports that follow, and the reports.
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

// Assembles Beats from bytes.
class BeatReader {
 public:
  void add(Bytes bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  // Returns the next complete one. Throws ProtocolError if it reports more connections than a
  // client has.
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

// The client's side, which counts beats and not time: the server is not blamed for time in which
// the program itself was stopped.
class Heartbeat {
 public:
  // Returns the next number to send.
  std::byte next() {
    last_ = last_ == most_number ? 1 : last_ + 1;
    ++unanswered_;
    return std::byte{last_};
  }
  // Returns the number that was sent `beats_ago` beats ago.
  std::byte number(int beats_ago) const {
    return std::byte{
        static_cast<std::uint8_t>((last_ + most_number - 1 - beats_ago) % most_number + 1)};
  }
  // Takes the server's answer. An unexpected number is ignored.
  void heard(std::byte answer) {
    const auto number = std::to_integer<int>(answer);
    const int beats_ago = (last_ + most_number - number) % most_number;
    if (number != 0 && beats_ago < unanswered_) unanswered_ = beats_ago;
  }
  // Whether the server, or a direction of the network, has failed: no number of the last
  // `most_unanswered` seconds was answered.
  bool stopped() const { return unanswered_ > most_unanswered; }

 private:
  static constexpr std::uint8_t most_number = 255;
  static constexpr int most_unanswered = 6;

  std::uint8_t last_ = 0;
  int unanswered_ = 0;
};

// One direction of one connection, which both ends report once a beat: whether data still passes.
class Progress {
 public:
  // `sent` is reported by the writer, `received` by the reader, which `awaits` more or not. The
  // writer's report of the previous beat counts: what it has sent since may be on its way.
  void note(std::uint64_t sent, std::uint64_t received, bool awaits) {
    const bool stands = awaits && received == received_ && sent_ > received;
    standing_ = stands ? standing_ + 1 : 0;
    sent_ = sent;
    received_ = received;
  }
  // Whether nothing has arrived for `most_standing` beats, though data was sent and the reader
  // waits.
  bool stopped() const { return standing_ > most_standing; }

 private:
  static constexpr int most_standing = 4;

  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  int standing_ = 0;
};

// Both directions of all connections of a session, as seen by the client.
class Stalls {
 public:
  // To be called once a beat: this end's view, and the server's last report since the previous
  // beat.
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
  // Returns the number of a stuck connection.
  std::optional<std::uint8_t> stuck() const {
    for (const auto& [number, ways] : ways_)
      if (ways.up.stopped() || ways.down.stopped()) return number;
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
