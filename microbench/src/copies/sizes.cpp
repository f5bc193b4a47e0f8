#include "copies/sizes.h"

#include <algorithm>

namespace gpucast::microbench {
namespace {

constexpr std::int64_t smallest_odd = 64;
constexpr std::int64_t largest_odd = std::int64_t{1} << 26;

}  // namespace

std::vector<std::int64_t> all_sizes(std::int64_t largest) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size <= largest; size *= 2) {
    if (size > smallest_odd && size <= largest_odd) sizes.push_back(size / 4 * 3 - 1);
    sizes.push_back(size);
  }
  std::ranges::reverse(sizes);
  return sizes;
}

std::vector<std::int64_t> quarter_sizes(std::int64_t largest) {
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

std::vector<std::int64_t> few_sizes(std::int64_t largest, int step) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = largest; size >= smallest_odd; size >>= step)
    sizes.push_back(size);
  return sizes;
}

}  // namespace gpucast::microbench
