// Random messages for tests of their readers: fields with values that are likely to matter, and
// damaged bytes. They are the same in every run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "protocol/wire.h"

namespace gpucast::remote {

// The number of messages; GPUCAST_FUZZ_MESSAGES sets another one.
inline std::size_t fuzz_messages() {
  constexpr std::size_t usual = 2000;
  const char* asked = std::getenv("GPUCAST_FUZZ_MESSAGES");
  return asked == nullptr ? usual : std::strtoull(asked, nullptr, 10);
}

class Noise {
 public:
  explicit Noise(std::uint64_t seed) : random_(seed) {}

  // Existing addresses and names, as far as the test knows.
  std::vector<std::uint64_t> known = {};
  std::vector<std::string> names = {};

  std::size_t below(std::size_t end) { return random_() % std::max<std::size_t>(end, 1); }
  bool one_in(std::size_t many) { return below(many) == 0; }
  template <class List>
  auto any_of(const List& list) {
    return *std::next(std::begin(list), static_cast<std::ptrdiff_t>(below(std::size(list))));
  }

  std::uint64_t number() {
    constexpr std::uint64_t edges[] = {0,
                                       1,
                                       2,
                                       3,
                                       16,
                                       17,
                                       4095,
                                       4096,
                                       65536,
                                       65537,
                                       1U << 20,
                                       (1U << 20) + 1,
                                       2U << 20,
                                       3U << 20,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       std::uint64_t{1} << 32,
                                       std::uint64_t{1} << 63,
                                       ~std::uint64_t{0},
                                       ~std::uint64_t{0} - 4095};
    constexpr std::uint64_t steps[] = {0, 0, 0, 1, 64, 4096, 1U << 20, ~std::uint64_t{0}};
    constexpr std::size_t ids = 24;
    switch (below(5)) {
      case 0:
      case 1:
        if (!known.empty()) return any_of(known) + any_of(steps);
        [[fallthrough]];
      case 2:
        return below(ids);
      case 3:
        return any_of(edges);
      default:
        return one_in(4) ? random_() : below(70000);
    }
  }
  // Returns that many bytes; always the same, as a message may have at most.
  static Bytes bytes(std::size_t count) {
    static const std::vector<std::byte> all = [] {
      std::vector<std::byte> result(std::size_t{1} << 20);
      std::mt19937 random;
      for (std::byte& byte : result)
        byte = static_cast<std::byte>(random());
      return result;
    }();
    return Bytes(all).first(std::min(count, all.size()));
  }
  Bytes bytes() {
    constexpr std::size_t sizes[] = {0, 1, 8, 9, 64, 4096, 4096, 65536, 65537};
    return bytes(one_in(50) ? std::size_t{1} << 20 : any_of(sizes));
  }

  // Returns random fields, one after another.
  template <class Message>
  Message message() {
    Message result;
    (*this)(result);
    return result;
  }
  template <Plain T>
  void operator()(T& value) {
    value = static_cast<T>(number());
  }
  template <Plain T, std::size_t n>
  void operator()(std::array<T, n>& values) {
    for (T& value : values)
      (*this)(value);
  }
  template <Fields T>
  void operator()(T& value) {
    for_each_field(value, *this);
  }
  void operator()(std::string& text) {
    if (!names.empty() && !one_in(4)) {
      text = any_of(names);
    } else {
      const Bytes some = bytes(below(60));
      text.assign(reinterpret_cast<const char*>(some.data()), some.size());
    }
  }
  void operator()(Bytes& arguments) { arguments = bytes(any_of(argument_sizes)); }
  void operator()(Tail& tail) { tail.data = bytes(); }
  template <class T, std::size_t most>
  void operator()(List<T, most>& values) {
    values.resize(one_in(8) ? most : below(4));
    for (T& value : values)
      (*this)(value);
  }

  // Damages a message's bytes without regard to their meaning.
  void damage(std::vector<std::byte>& message) {
    constexpr std::uint64_t values[] = {0, 1, 8, 4096, 0x7fffffff, 0xffffffff, 1U << 20};
    const auto put = [&](std::size_t at, std::uint64_t value, std::size_t size) {
      if (at < message.size())
        std::memcpy(&message[at], &value, std::min(size, message.size() - at));
    };
    switch (below(7)) {
      case 0:
        if (!message.empty())
          message[below(message.size())] ^= std::byte{1} << static_cast<int>(below(8));
        break;
      case 1:
        message.resize(below(message.size() + 1));
        break;
      case 2:
        put(0, any_of(values), 4);  // its length
        break;
      case 3:
        put(4, below(60), 2);  // its call
        break;
      case 4:
        put(8, number(), 4);  // its request
        break;
      case 5:
        put(12 + below(message.size()), any_of(values), 4);
        break;
      default: {
        const Bytes some = bytes(1 + below(5000));
        message.insert(message.begin() + static_cast<std::ptrdiff_t>(below(message.size() + 1)),
                       some.begin(), some.end());
      }
    }
  }

 private:
  static constexpr std::size_t argument_sizes[] = {0, 8, 8, 8, 9, 4096, most_argument_bytes};

  std::mt19937_64 random_;
};

}  // namespace gpucast::remote
