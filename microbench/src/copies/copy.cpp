#include "copies/copy.h"

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

}  // namespace gpucast::microbench
