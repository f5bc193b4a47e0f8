// Values as bytes: little-endian, of fixed width, without padding. All lengths are checked before
// memory is allocated. A message is a header of 12 bytes, the fields, and for some a tail of raw
// data.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "protocol/limits.h"

namespace gpucast::remote {

static_assert(std::endian::native == std::endian::little, "values are copied as they lie");

using Bytes = std::span<const std::byte>;

// Received data violates the protocol; the connection must not be used any more.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

// A list of at most `most` elements.
template <class T, std::size_t most>
struct List : std::vector<T> {
  using std::vector<T>::vector;
  // NOLINTNEXTLINE(google-explicit-constructor): the bound is looked at where it is sent
  List(std::vector<T> values) : std::vector<T>(std::move(values)) {}
};

// Data of any length after the other fields: a view of what is sent or was received. It is sent
// without a copy (tail_of).
struct Tail {
  Bytes data = {};
};

// ---- the fields of a struct in order, as many as an initializer can have ----

template <class T>
struct is_array : std::false_type {};
template <class T, std::size_t n>
struct is_array<std::array<T, n>> : std::true_type {};

template <class T>
concept Fields = std::is_class_v<T> && std::is_aggregate_v<T> && !is_array<T>::value;

namespace detail {

struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): it stands for a field's value
};

template <class T, class... Known>
consteval std::size_t count_fields() {
  if constexpr (requires { T{Known{}..., Anything{}}; })
    return count_fields<T, Known..., Anything>();
  else
    return sizeof...(Known);
}

}  // namespace detail

// Calls `visit` with each field.
template <class T, class Visit>
  requires Fields<std::remove_const_t<T>>
void for_each_field(T& value, Visit& visit) {
  constexpr std::size_t count = detail::count_fields<std::remove_const_t<T>>();
  static_assert(count <= 8, "one more line below");
  if constexpr (count == 1) {
    auto& [a] = value;
    visit(a);
  } else if constexpr (count == 2) {
    auto& [a, b] = value;
    visit(a), visit(b);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = value;
    visit(a), visit(b), visit(c);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = value;
    visit(a), visit(b), visit(c), visit(d);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = value;
    visit(a), visit(b), visit(c), visit(d), visit(e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = value;
    visit(a), visit(b), visit(c), visit(d), visit(e), visit(f);
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    visit(a), visit(b), visit(c), visit(d), visit(e), visit(f), visit(g);
  } else if constexpr (count == 8) {
    auto& [a, b, c, d, e, f, g, h] = value;
    visit(a), visit(b), visit(c), visit(d), visit(e), visit(f), visit(g), visit(h);
  }
}

// ---- to bytes and back ----

// Writer and Reader process values one after another, and a struct's fields in order.
class Writer {
 public:
  explicit Writer(std::vector<std::byte>& out) : out_(&out) {}

  template <Plain T>
  void operator()(const T& value) {
    append(&value, sizeof value);
  }
  template <Plain T, std::size_t n>
  void operator()(const std::array<T, n>& values) {
    append(values.data(), sizeof values);
  }
  template <Fields T>
  void operator()(const T& value) {
    for_each_field(value, *this);
  }
  void operator()(const std::string& text) {
    size(text.size(), most_text_bytes);
    append(text.data(), text.size());
  }
  void operator()(Bytes arguments) {
    size(arguments.size(), most_argument_bytes);
    append(arguments.data(), arguments.size());
  }
  void operator()(const Tail& /*tail*/) {}
  template <class T, std::size_t most>
  void operator()(const List<T, most>& values) {
    size(values.size(), most);
    for (const T& value : values)
      (*this)(value);
  }

 private:
  void size(std::size_t count, std::size_t most) {
    if (count > most) throw ProtocolError("a field is longer than the protocol allows");
    (*this)(static_cast<std::uint32_t>(count));
  }
  void append(const void* data, std::size_t bytes) {
    const std::size_t end = out_->size();
    out_->resize(end + bytes);
    if (bytes > 0) std::memcpy(out_->data() + end, data, bytes);
  }

  std::vector<std::byte>* out_;
};

// Returns the values as they are sent.
template <class... Values>
std::vector<std::byte> packed(const Values&... values) {
  std::vector<std::byte> result;
  Writer writer(result);
  (writer(values), ...);
  return result;
}

class Reader {
 public:
  explicit Reader(Bytes bytes) : rest_(bytes) {}

  template <Plain T>
  void operator()(T& value) {
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
  }
  template <Plain T, std::size_t n>
  void operator()(std::array<T, n>& values) {
    std::memcpy(values.data(), take(sizeof values).data(), sizeof values);
  }
  template <Fields T>
  void operator()(T& value) {
    for_each_field(value, *this);
  }
  void operator()(std::string& text) {
    const Bytes bytes = take(size(most_text_bytes));
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  // Gives a view of the data that is being read.
  void operator()(Bytes& arguments) { arguments = take(size(most_argument_bytes)); }
  void operator()(Tail& tail) { tail.data = take(rest_.size()); }
  template <class T, std::size_t most>
  void operator()(List<T, most>& values) {
    const std::size_t count = size(most);
    values.clear();
    for (std::size_t k = 0; k < count; ++k) {
      if (rest_.empty()) throw ProtocolError("a message ends early");
      T value{};
      (*this)(value);
      values.push_back(std::move(value));
    }
  }

  bool at_end() const { return rest_.empty(); }

 private:
  std::size_t size(std::size_t most) {
    std::uint32_t count = 0;
    (*this)(count);
    if (count > most) throw ProtocolError("a field is longer than the protocol allows");
    return count;
  }
  Bytes take(std::size_t bytes) {
    if (bytes > rest_.size()) throw ProtocolError("a message ends early");
    const Bytes result = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return result;
  }

  Bytes rest_;
};

// ---- messages ----

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
