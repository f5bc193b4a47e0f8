// The messages of a connection, one after another.
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "protocol/wire.h"
#include "transport/connection.h"

namespace gpucast::remote {

// Waits for a message of fixed size that comes without a header.
template <class Message>
Message read_message(Connection& connection, const Deadline& deadline = std::nullopt,
                     std::chrono::microseconds patience = {}) {
  std::array<std::byte, Message::size> bytes{};
  read_all(connection, bytes, deadline, patience);
  return decode<Message>(bytes);
}

class Inbox {
 public:
  struct Received {
    Header header;
    Bytes payload;
  };

  // Reads incoming data as far as it fits; returns whether there was any.
  bool read(Connection& connection) {
    constexpr std::size_t at_once = std::size_t{256} << 10;
    if (bytes_.empty()) bytes_.resize(Header::size + most_frame + at_once);
    if (begin_ == end_) begin_ = end_ = 0;
    if (bytes_.size() - end_ < at_once && begin_ != 0) {
      std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ == bytes_.size()) return false;  // the next message has to be popped first
    const std::size_t got =
        connection.try_read({bytes_.data() + end_, bytes_.size() - end_}, MemoryOf::library);
    end_ += got;
    return got > 0;
  }

  // Returns the next message, which remains the next until it is popped and valid until the next
  // read; nothing while it is incomplete. Throws ProtocolError if it is too long.
  std::optional<Received> front() const {
    const Bytes there(bytes_.data() + begin_, end_ - begin_);
    if (there.size() < Header::size) return std::nullopt;
    const Header header = decode_header(there.first(Header::size));
    if (there.size() - Header::size < header.bytes) return std::nullopt;
    return Received{.header = header, .payload = there.subspan(Header::size, header.bytes)};
  }
  void pop(const Received& front) { begin_ += Header::size + front.payload.size(); }

 private:
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace gpucast::remote
