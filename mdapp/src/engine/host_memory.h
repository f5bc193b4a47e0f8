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

// A block of host memory, freed with its owner.
class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  virtual ~HostMemory() = default;
  virtual void* data() = 0;
};

// What malloc gives, aligned to pages.
class PageableMemory : public HostMemory {
 public:
  explicit PageableMemory(std::size_t bytes)
      : data_(::operator new(bytes > 0 ? bytes : 1, alignment)) {}
  ~PageableMemory() override { ::operator delete(data_, alignment); }
  PageableMemory(const PageableMemory&) = delete;
  PageableMemory& operator=(const PageableMemory&) = delete;
  void* data() override { return data_; }

 private:
  static constexpr std::align_val_t alignment{4096};
  void* data_;
};

// `size` zeroed elements in such a block (touched, so that no page is new when time counts).
template <class T>
class HostArray {
 public:
  HostArray() = default;
  HostArray(std::unique_ptr<HostMemory> memory, std::size_t size)
      : memory_(std::move(memory)), span_(static_cast<T*>(memory_->data()), size) {
    for (T& element : span_)
      element = T{};
  }
  std::span<T> span() const { return span_; }

 private:
  std::unique_ptr<HostMemory> memory_;
  std::span<T> span_;
};

}  // namespace gpucast::mdapp
