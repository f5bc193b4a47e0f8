#include "client/counters.h"

#include <algorithm>
#include <cstdio>
#include <memory>

namespace gpucast::remote::client {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
using Number = unsigned long long;

// `format`: of a name, calls, round trips, bytes sent, bytes received and seconds.
void print(std::FILE* to, const char* format, const std::deque<Counter>& counters) {
  for (const Counter& counter : counters) {
    if (counter.calls == 0) continue;
    std::fprintf(to, format, counter.name.c_str(), Number{counter.calls},
                 Number{counter.round_trips}, Number{counter.bytes_sent},
                 Number{counter.bytes_received}, static_cast<double>(counter.nanoseconds) * 1e-9);
  }
}

}  // namespace

Counter& Counters::of(std::string_view name) {
  // All versions of an entry point, and those for other default streams, count as one.
  if (name.starts_with("__")) name.remove_prefix(2);
  if (name.starts_with("cuda")) name = name.substr(0, name.find('_'));
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(all_, name, &Counter::name);
  return known == all_.end() ? all_.emplace_back(std::string(name)) : *known;
}

void Counters::report(const std::string& where) const {
  if (where.empty()) return;
  const std::lock_guard lock(mutex_);
  if (where == "-") {
    std::fprintf(stderr, "%-44s %10s %11s %14s %14s %12s\n", "entry point", "calls", "round trips",
                 "bytes sent", "received", "seconds");
    return print(stderr, "%-44s %10llu %11llu %14llu %14llu %12.6f\n", all_);
  }
  if (const File file(std::fopen(where.c_str(), "ae"), std::fclose); file) {
    return print(file.get(),
                 "{\"entry\": \"%s\", \"calls\": %llu, \"round_trips\": %llu, "
                 "\"bytes_sent\": %llu, \"bytes_received\": %llu, \"seconds\": %.9g}\n",
                 all_);
  }
  std::fprintf(stderr, "gpucast remote: GPUCAST_REMOTE_COUNTERS: cannot write %s\n", where.c_str());
}

Counter*& current_counter() {
  static thread_local Counter* current = nullptr;
  return current;
}

void count(std::atomic<std::uint64_t> Counter::* what, std::uint64_t amount) {
  if (Counter* current = current_counter())
    (current->*what).fetch_add(amount, std::memory_order_relaxed);
}

}  // namespace gpucast::remote::client
