// Where bytes are put at the end and taken from the beginning.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace gpucast::remote {

class ByteQueue {
 public:
  std::span<const std::byte> content() const { return {bytes_.data() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }

  // Room for so many more, or for more than that; what of it was used is then added.
  std::span<std::byte> room(std::size_t bytes) {
    if (bytes_.size() - end_ < bytes) {
      if (end_ > begin_) std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
      if (bytes_.size() - end_ < bytes) bytes_.resize(end_ + bytes);
    }
    return std::span(bytes_).subspan(end_);
  }
  void add(std::size_t bytes) { end_ += bytes; }
  void put(std::span<const std::byte> bytes) {
    std::ranges::copy(bytes, room(bytes.size()).begin());
    add(bytes.size());
  }
  void drop(std::size_t bytes) {
    begin_ += bytes;
    if (begin_ == end_) begin_ = end_ = 0;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace gpucast::remote
