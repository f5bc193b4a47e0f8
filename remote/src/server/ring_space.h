// Which part of a ring of memory each piece lies in. The oldest is given back first.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

namespace gpucast::remote::server {

class RingSpace {
 public:
  explicit RingSpace(std::size_t bytes) : bytes_(bytes) {}

  // Where so many bytes (at most the ring's) lie in a row; nothing while the oldest is in the way.
  std::optional<std::size_t> take(std::size_t bytes) {
    const auto begin = place_for(bytes);
    if (begin) taken_.push_back({.begin = *begin, .end = *begin + bytes});
    return begin;
  }
  void give_back_oldest() { taken_.pop_front(); }
  void give_back_newest() { taken_.pop_back(); }
  // Pieces that are taken.
  std::size_t size() const { return taken_.size(); }

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  std::optional<std::size_t> place_for(std::size_t bytes) const {
    if (taken_.empty()) return bytes <= bytes_ ? std::optional<std::size_t>(0) : std::nullopt;
    const std::size_t first = taken_.front().begin;
    const Range& last = taken_.back();
    const bool around = last.begin < first;
    if ((around ? first : bytes_) - last.end >= bytes) return last.end;
    if (!around && first >= bytes) return 0;
    return std::nullopt;
  }

  std::size_t bytes_;
  std::deque<Range> taken_;
};

}  // namespace gpucast::remote::server
