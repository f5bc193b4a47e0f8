// A stream of bytes in one direction through memory that two processes share.
//
// Each end keeps its own position for itself, and believes nothing that lies in the memory: the
// other's position is read once, and is either possible or the end of the connection. Positions
// count bytes since the beginning; what they differ by is what lies in the ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpucast::remote {

// As it lies in the memory, each part on a cache line of its own.
struct RingCursors {
  alignas(64) std::uint64_t written;
  alignas(64) std::uint64_t read;
  alignas(64) std::uint32_t reader_sleeps;
};

// Both throw ConnectionLost where the other end's position cannot be.
class RingWriter {
 public:
  // `data` has a power of two of bytes.
  RingWriter(RingCursors& cursors, std::span<std::byte> data) : cursors_(cursors), data_(data) {}

  bool has_room();
  // What there is room for of the first, followed by the second; how many bytes that is.
  std::size_t write(std::span<const std::byte> first, std::span<const std::byte> second);
  // After something was written: whether the reader has to be woken, which one caller is told.
  bool takes_sleeper();

 private:
  std::size_t room() const { return data_.size() - static_cast<std::size_t>(written_ - read_); }
  void look();
  std::size_t put(std::span<const std::byte> bytes);

  RingCursors& cursors_;
  std::span<std::byte> data_;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;  // as last seen
};

class RingReader {
 public:
  RingReader(RingCursors& cursors, std::span<const std::byte> data)
      : cursors_(cursors), data_(data) {}

  bool has_data() { return there() > 0; }
  // What there is, as much of it as fits.
  std::size_t read(std::span<std::byte> into);
  // Has the writer wake this end; whoever says so looks once more before sleeping.
  void sleeps(bool whether);

 private:
  std::size_t there();

  RingCursors& cursors_;
  std::span<const std::byte> data_;
  std::uint64_t read_ = 0;
};

}  // namespace gpucast::remote
