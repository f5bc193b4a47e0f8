// A message on the wire: a header of 12 bytes, the fields, and for some messages a tail of raw
// data.
#pragma once

#include <cstdint>
#include <vector>

#include "protocol/limits.h"
#include "protocol/wire.h"

namespace gpucast::remote {

// Both are defined by the list in protocol/calls.h.
enum class Call : std::uint16_t;
template <class Message>
struct CallOf;

struct Header {
  std::uint32_t bytes = 0;  // after the header
  Call call{};
  std::uint16_t reserved = 0;
  std::uint32_t request = 0;  // the reply carries the same number; 0 requests none

  static constexpr std::size_t size = 12;
};

// Returns the data to send after the fields; none for messages without a tail.
template <class Message>
Bytes tail_of(const Message& message) {
  if constexpr (requires { message.tail; })
    return message.tail.data;
  else
    return {};
}

// Appends the message to `out`, except for its tail, which has to follow.
template <class Message>
void encode(std::vector<std::byte>& out, const Message& message, std::uint32_t request) {
  const std::size_t begin = out.size();
  Writer writer(out);
  Header header{.call = CallOf<Message>::number, .request = request};
  writer(header);
  writer(message);
  const std::size_t bytes = out.size() - begin - Header::size + tail_of(message).size();
  if (bytes > most_frame) throw ProtocolError("a message is longer than the protocol allows");
  const auto length = static_cast<std::uint32_t>(bytes);
  std::memcpy(out.data() + begin, &length, sizeof length);
}

// Throws ProtocolError if the header's length is out of bounds.
inline Header decode_header(Bytes bytes) {
  Header header;
  Reader reader(bytes);
  reader(header);
  if (header.bytes > most_frame) throw ProtocolError("a message is longer than allowed");
  return header;
}

// Throws ProtocolError if there are fewer or more bytes than the fields need.
template <class Message>
Message decode(Bytes payload) {
  Message message;
  Reader reader(payload);
  reader(message);
  if (!reader.at_end()) throw ProtocolError("a message is longer than its fields");
  return message;
}

}  // namespace gpucast::remote
