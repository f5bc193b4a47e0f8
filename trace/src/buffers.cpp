#include "buffers.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace gpucast::trace {

std::uint8_t* Buffers::take() {
  {
    const std::scoped_lock lock(mutex_);
    if (!free_.empty()) {
      std::uint8_t* const buffer = free_.back();
      free_.pop_back();
      return buffer;
    }
  }
  return fresh();
}

std::uint8_t* Buffers::fresh() {
  // Records want 8 bytes of alignment, which calloc gives; it does not touch pages to clear them.
  void* const buffer = std::calloc(bytes, 1);  // NOLINT(cppcoreguidelines-no-malloc)
  if (buffer == nullptr) throw std::bad_alloc();
  return static_cast<std::uint8_t*>(buffer);
}

void Buffers::give_back(std::uint8_t* buffer, std::size_t written) {
  std::memset(buffer, 0, std::min(written, bytes));
  const std::scoped_lock lock(mutex_);
  if (free_.size() < most_kept) {
    free_.push_back(buffer);
  } else {
    std::free(buffer);  // NOLINT(cppcoreguidelines-no-malloc): as it was made
  }
}

Buffers::~Buffers() {
  for (std::uint8_t* const each : free_)
    std::free(each);  // NOLINT(cppcoreguidelines-no-malloc): as it was made
}

}  // namespace gpucast::trace
