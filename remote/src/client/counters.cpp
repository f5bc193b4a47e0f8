#include "client/counters.h"

#include <cstdio>
#include <memory>
#include <vector>

namespace gpucast::remote::client {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
using Number = unsigned long long;

void table(const std::vector<const Counter*>& counters) {
  std::fprintf(stderr, "%-44s %10s %11s %14s %14s %12s\n", "entry point", "calls", "round trips",
               "bytes sent", "received", "seconds");
  for (const Counter* each : counters) {
    std::fprintf(stderr, "%-44s %10llu %11llu %14llu %14llu %12.6f\n", each->name.c_str(),
                 Number{each->calls}, Number{each->round_trips}, Number{each->bytes_sent},
                 Number{each->bytes_received}, static_cast<double>(each->nanoseconds) * 1e-9);
  }
}

void lines(const std::vector<const Counter*>& counters, const std::string& path) {
  const File file(std::fopen(path.c_str(), "ae"), std::fclose);
  if (!file) {
    std::fprintf(stderr, "gpucast remote: GPUCAST_REMOTE_COUNTERS: cannot write %s\n",
                 path.c_str());
    return;
  }
  for (const Counter* each : counters) {
    std::fprintf(file.get(),
                 "{\"entry\": \"%s\", \"calls\": %llu, \"round_trips\": %llu, "
                 "\"bytes_sent\": %llu, \"bytes_received\": %llu, \"seconds\": %.9g}\n",
                 each->name.c_str(), Number{each->calls}, Number{each->round_trips},
                 Number{each->bytes_sent}, Number{each->bytes_received},
                 static_cast<double>(each->nanoseconds) * 1e-9);
  }
}

}  // namespace

Counter& Counters::of(const std::string& name) {
  const std::lock_guard lock(mutex_);
  for (Counter& each : all_) {
    if (each.name == name) return each;
  }
  return all_.emplace_back(name);
}

void Counters::report(const std::string& where) const {
  if (where.empty()) return;
  const std::lock_guard lock(mutex_);
  std::vector<const Counter*> used;
  for (const Counter& each : all_) {
    if (each.calls != 0) used.push_back(&each);
  }
  if (where == "-") {
    table(used);
  } else {
    lines(used, where);
  }
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
