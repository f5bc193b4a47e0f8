#include "client/segments.h"

#include <exception>

#include "client/gpu.h"
#include "protocol/ranges.h"

namespace gpucast::remote::client {
namespace {

constexpr std::size_t shared_segment = std::size_t{4} << 20;
constexpr std::size_t most_part = shared_segment / 4;

}  // namespace

Segments::BySegment::iterator Segments::add(std::size_t bytes) {
  if (std::ranges::none_of(gpus_, [](const auto& gpu) { return gpu->shares_memory(); }))
    return segments_.end();
  Segment segment{.bytes = bytes};
  try {
    segment.memory = SharedMemory::make(bytes, true);
  } catch (const std::exception&) {
    return segments_.end();
  }
  segment.id = ++last_;
  for (const auto& gpu : gpus_)
    segment.has.push_back(gpu->shares_memory() && gpu->map_segment(segment.id, segment.memory));
  segment.memory.close_file();
  if (std::ranges::none_of(segment.has, [](bool has) { return has; })) return segments_.end();
  const Address begin = address_of(segment.memory.bytes().data());
  const std::unique_lock lock(mutex_);
  return segments_.emplace(begin, std::move(segment)).first;
}

// Takes the first gap that is large enough; nullptr if there is none.
void* Segments::take(Segment& segment, std::size_t bytes) {
  std::size_t begin = 0;
  for (const auto& [used, length] : segment.parts) {
    if (used - begin >= bytes) break;
    begin = used + length;
  }
  if (segment.bytes - begin < bytes) return nullptr;
  segment.parts[begin] = bytes;
  return segment.memory.bytes().data() + begin;
}

void* Segments::allocate(std::size_t bytes) {
  const std::size_t whole = whole_pages(bytes);
  if (whole < bytes) return nullptr;
  const std::lock_guard lock(changing_);
  const bool shared = whole <= most_part;
  if (shared) {
    for (auto& [begin, segment] : segments_) {
      if (!segment.is_shared) continue;
      if (void* part = take(segment, whole)) return part;
    }
  }
  const auto added = add(shared ? shared_segment : whole);
  if (added == segments_.end()) return nullptr;
  added->second.is_shared = shared;
  return take(added->second, whole);
}

bool Segments::free(void* memory) {
  const std::lock_guard lock(changing_);
  const auto held = holder(segments_, address_of(memory), 0);
  if (held == segments_.end()) return false;
  Segment& segment = segments_.at(held->first);
  if (segment.parts.erase(address_of(memory) - held->first) == 0) return false;
  const auto is_idle = [](const auto& entry) {
    return entry.second.is_shared && entry.second.parts.empty();
  };
  // One segment with room for small pieces is enough.
  if (!segment.parts.empty() ||
      (segment.is_shared && std::ranges::count_if(segments_, is_idle) <= 1)) {
    return true;
  }
  for (std::size_t k = 0; k < gpus_.size(); ++k)
    if (segment.has[k]) status_of([&] { gpus_[k]->call(SegmentUnmap{.segment = segment.id}); });
  const std::unique_lock erasing(mutex_);
  segments_.erase(held);
  return true;
}

std::optional<Place> Segments::find(int device, const void* memory, std::size_t bytes) const {
  const std::shared_lock lock(mutex_);
  const auto at = holder(segments_, address_of(memory), bytes);
  if (at == segments_.end() || !at->second.has[static_cast<std::size_t>(device)])
    return std::nullopt;
  return Place{.segment = at->second.id, .offset = address_of(memory) - at->first};
}

}  // namespace gpucast::remote::client
