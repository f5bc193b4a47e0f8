// Values as bytes: little-endian, of fixed width, without padding. Whatever is read is bounded
// before anything is allocated for it.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace gpucast::remote {

static_assert(std::endian::native == std::endian::little, "values are copied as they lie");

using Bytes = std::span<const std::byte>;

// What was received is not what the protocol allows; the connection is not to be used any more.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <class T>
struct is_array_of_plain : std::false_type {};
template <Plain T, std::size_t n>
struct is_array_of_plain<std::array<T, n>> : std::true_type {};

// Both visit a message's fields in order: `visit(field)`, or with the most elements that are
// allowed, `visit(field, most)`.
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
  template <class T>
    requires requires(T& value, Writer& writer) { value.visit(writer); }
  void operator()(T& value) {
    value.visit(*this);
  }
  void operator()(const std::string& text, std::size_t most) {
    size(text.size(), most);
    append(text.data(), text.size());
  }
  void operator()(Bytes bytes, std::size_t most) {
    size(bytes.size(), most);
    append(bytes.data(), bytes.size());
  }
  template <class T>
  void operator()(std::vector<T>& values, std::size_t most) {
    size(values.size(), most);
    for (T& value : values)
      element(value);
  }

 private:
  template <class T>
  void element(T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      (*this)(value, most_text);
    } else {
      (*this)(value);
    }
  }
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

 public:
  static constexpr std::size_t most_text = 4096;  // characters of a text in a list
};

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
  template <class T>
    requires requires(T& value, Reader& reader) { value.visit(reader); }
  void operator()(T& value) {
    value.visit(*this);
  }
  void operator()(std::string& text, std::size_t most) {
    const Bytes bytes = take(size(most));
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  // A view of what is read from.
  void operator()(Bytes& bytes, std::size_t most) { bytes = take(size(most)); }
  template <class T>
  void operator()(std::vector<T>& values, std::size_t most) {
    const std::size_t count = size(most);
    values.clear();
    for (std::size_t k = 0; k < count; ++k) {
      if (rest_.empty()) throw ProtocolError("a message ends early");
      T value{};
      if constexpr (std::is_same_v<T, std::string>) {
        (*this)(value, Writer::most_text);
      } else {
        (*this)(value);
      }
      values.push_back(std::move(value));
    }
  }

  Bytes rest() const { return rest_; }

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

}  // namespace gpucast::remote
