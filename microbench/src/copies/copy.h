// A description of a copy for all engines: source, destination, size, and method.
#pragma once

#include "gpucast/records/records.h"
#include "gpucast/support/parse_word.h"

namespace gpucast::microbench {

// A place is a device number, or the host.
inline constexpr int host = -1;

struct Copy {
  int from = host;
  int to = 0;
  std::int64_t bytes = 0;
  // The host memory at one end of the copy, or that a staged copy passes through; unused between
  // devices.
  records::Memory memory = records::Memory::pinned;
  records::Engine engine = records::Engine::copy;
  bool staged = false;  // between devices, through the host
  bool reads = false;   // between devices: the destination reads; otherwise the source writes

  bool operator==(const Copy&) const = default;
};

// The device that performs a copy.
inline int issuer(const Copy& copy) {
  if (copy.from == host) return copy.to;
  if (copy.to == host) return copy.from;
  // A kernel runs on the destination.
  return copy.reads || copy.engine == records::Engine::kernel ? copy.to : copy.from;
}

inline records::Route route(const Copy& copy) {
  using records::Route;
  if (copy.from == host) return Route::h2d;
  if (copy.to == host) return Route::d2h;
  if (copy.from == copy.to) return Route::local;
  return copy.staged ? Route::staged : Route::peer;
}

// "host", "gpu0"
inline std::string place(int where) {
  return where == host ? "host" : "gpu" + std::to_string(where);
}

// "h2d pinned host>gpu0", without the size.
inline std::string describe(const Copy& copy) {
  const bool by_host = copy.from == host || copy.to == host || copy.staged;
  std::string text = support::name(route(copy));
  if (by_host) text += " " + support::name(copy.memory);
  if (copy.engine == records::Engine::kernel) text += " by a kernel";
  if (copy.reads) text += " read";
  return text + " " + place(copy.from) + ">" + place(copy.to);
}

inline constexpr std::int64_t smallest_odd = 64;
inline constexpr std::int64_t largest_odd = std::int64_t{1} << 26;

// The sizes of a sweep: powers of two from 1 byte to `largest`, and between them, from 64 bytes to
// 64 MiB, sizes that are no multiple of anything (three quarters of a power, less 1), descending:
// the buffers of the first then serve all others. Larger copies run at the speed of their link, and
// take long.
inline std::vector<std::int64_t> all_sizes(std::int64_t largest) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size <= largest; size *= 2) {
    if (size > smallest_odd && size <= largest_odd) sizes.push_back(size / 4 * 3 - 1);
    sizes.push_back(size);
  }
  std::ranges::reverse(sizes);
  return sizes;
}

// Additional sizes: quarter steps between powers of two, and each of these plus 1, for copies
// within a GPU. These use another method if sizes are no multiple of 16 bytes, and slow down when
// they do not fit into the cache.
inline std::vector<std::int64_t> quarter_sizes(std::int64_t largest) {
  std::vector<std::int64_t> sizes = all_sizes(largest);
  for (std::int64_t power = smallest_odd; 2 * power <= largest; power *= 2) {
    for (const int quarters : {4, 5, 6, 7}) {
      const std::int64_t size = power / 4 * quarters;
      if (quarters > 4) sizes.push_back(size);
      sizes.push_back(size + 1);
    }
  }
  std::ranges::sort(sizes, std::ranges::greater());
  return sizes;
}

// Every `step`th power of two from 64 bytes on, descending.
inline std::vector<std::int64_t> few_sizes(std::int64_t largest, int step) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = largest; size >= smallest_odd; size >>= step)
    sizes.push_back(size);
  return sizes;
}

}  // namespace gpucast::microbench
