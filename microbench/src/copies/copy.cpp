#include "copies/copy.h"

#include <algorithm>

#include "gpucast/support/parse_word.h"

namespace gpucast::microbench {

records::Route route(const Copy& copy) {
  using records::Route;
  if (copy.from == host) return Route::h2d;
  if (copy.to == host) return Route::d2h;
  if (copy.from == copy.to) return Route::local;
  return copy.staged ? Route::staged : Route::peer;
}

int issuer(const Copy& copy) {
  if (copy.from == host) return copy.to;
  if (copy.to == host) return copy.from;
  // A kernel runs where what it copies is wanted.
  return copy.reads || copy.engine == records::Engine::kernel ? copy.to : copy.from;
}

std::string place(int where) { return where == host ? "host" : "gpu" + std::to_string(where); }

std::string describe(const Copy& copy) {
  const bool by_host = copy.from == host || copy.to == host || copy.staged;
  std::string text = support::name(route(copy));
  if (by_host) text += " " + support::name(copy.memory);
  if (copy.engine == records::Engine::kernel) text += " by a kernel";
  if (copy.reads) text += " read";
  return text + " " + place(copy.from) + ">" + place(copy.to);
}

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
