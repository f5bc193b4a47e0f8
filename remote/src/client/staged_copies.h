// Large copies of memory that is not shared with the server, by way of memory that is: in pieces,
// so that processors and the GPU's copy engine work at the same time. Only for copies that the
// caller waits for.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "protocol/calls.h"
#include "transport/program_memory.h"
#include "transport/shared_memory.h"

namespace gpucast::remote::client {

class ControlConnection;
class Gpu;

// Shorter copies are faster within their message.
inline constexpr std::size_t least_staged = std::size_t{32} << 10;

class StagedCopies {
 public:
  // nullptr if the server accepts no memory for it.
  static std::unique_ptr<StagedCopies> make(Gpu& gpu, ControlConnection& control);
  StagedCopies(Gpu& gpu, ControlConnection& control, SharedMemory memory);

  // Both throw Failure (status_bad_memory if the program does not have the memory) and the
  // connection's exceptions. May be called from any thread.

  // Returns once the program's memory may be changed.
  void to_device(Address to, Bytes data, Id stream, bool fence);
  // Returns once the data has arrived.
  void from_device(std::span<std::byte> to, Address from, Id stream);

 private:
  struct Slot {
    std::uint64_t offset = 0;
    bool taken = false;
    Id notice = 0;  // the notice that frees it; 0: none
  };
  struct Slots {
    std::mutex mutex;
    std::condition_variable freed;
    std::vector<Slot> all;
  };
  // A piece that the server is copying.
  struct Piece {
    Slot* slot = nullptr;
    Id notice = 0;
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };

  Slot& take(Slots& slots);
  Slot* take_now(Slots& slots);
  // Frees the slot at once, or when the notice arrives if one is given.
  static void free(Slots& slots, Slot& slot, Id notice = 0);
  std::byte* at(const Slot& slot) const { return memory_.bytes().data() + slot.offset; }

  void put(Address to, Bytes data, Id stream, bool fence, ProgramMemory& program);
  Status get(const Piece& piece, std::span<std::byte> to, ProgramMemory* program);
  Piece ask(Slot& slot, Address from, std::size_t offset, std::size_t bytes, Id stream);
  template <class Work>
  void share_out(std::size_t bytes, Work work);

  Gpu& gpu_;
  ControlConnection& control_;
  SharedMemory memory_;
  ProgramMemory program_;
  Slots out_;
  Slots in_;
};

}  // namespace gpucast::remote::client
