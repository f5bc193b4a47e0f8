// Host memory that devices copy from and to.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "gpucast/schema/vocabulary.h"

namespace gpucast::mdapp {

using schema::Memory;

// The kinds that engines allocate.
inline constexpr std::array memories{Memory::pageable, Memory::pinned};

// A block of host memory, freed with its last owner.
using HostMemory = std::shared_ptr<void>;

// What malloc gives, aligned to pages.
inline HostMemory pageable_memory(std::size_t bytes) {
  constexpr std::align_val_t alignment{4096};
  return {::operator new(bytes > 0 ? bytes : 1, alignment),
          [](void* data) { ::operator delete(data, alignment); }};
}

// `size` zeroed elements in such a block (touched, so that no page is new when time counts).
template <class T>
class HostArray {
 public:
  HostArray() = default;
  HostArray(HostMemory memory, std::size_t size)
      : memory_(std::move(memory)), span_(static_cast<T*>(memory_.get()), size) {
    for (T& element : span_)
      element = T{};
  }
  std::span<T> span() const { return span_; }

 private:
  HostMemory memory_;
  std::span<T> span_;
};

}  // namespace gpucast::mdapp
