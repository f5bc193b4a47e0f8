#include "app/run.h"

#include <chrono>
#include <memory>
#include <new>
#include <optional>

#include "gpucast/records/human.h"
#include "gpucast/records/median.h"

namespace gpucast::microbench {
namespace {

using Clock = std::chrono::steady_clock;
using records::TransferMethod;

// The smallest copies: their time is latency alone.
constexpr std::int64_t smallest_timed_twice = 64;

bool same_copies(const std::vector<Copy>& a, const std::vector<Copy>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].from != b[k].from || a[k].to != b[k].to || a[k].bytes != b[k].bytes ||
        a[k].memory != b[k].memory || a[k].engine != b[k].engine || a[k].staged != b[k].staged) {
      return false;
    }
  }
  return true;
}

class Runner {
 public:
  Runner(Engine& engine, const Run& run, records::Progress& progress, std::stop_token interrupted)
      : engine_(engine),
        run_(run),
        progress_(progress),
        interrupted_(std::move(interrupted)),
        budget_(run.budget, run.cells.size()) {}

  Outcome all() {
    for (const Cell& cell : run_.cells) {
      if (interrupted_.stop_requested()) {
        outcome_.interrupted = true;
        break;
      }
      one(cell);
      budget_.done();
    }
    return std::move(outcome_);
  }

 private:
  void one(const Cell& cell) {
    const std::string what = describe(cell);
    progress_.under_way(what);
    if (const auto why = std::visit([this](const auto& c) { return refused(c); }, cell)) {
      skip(what, *why);
      return;
    }
    const double spent = std::chrono::duration<double>(Clock::now() - begin_).count();
    options_ = run_.samples;
    options_.max_seconds = budget_.next(spent);
    if (options_.max_seconds <= 0) {
      skip(what, "the budget of " + records::figure("%g", run_.budget) + " s is spent");
      return;
    }
    try {
      std::visit([this, &what](const auto& c) { take(c, what); }, cell);
    } catch (const DeviceError& error) {
      fail(what, error.what());
    } catch (const std::bad_alloc&) {
      fail(what, "out of memory");
    }
  }

  // ---- whether it can be made ----

  std::optional<std::string> refused(const TransferCell& cell) const {
    for (const Copy& copy : cell.copies) {
      if (auto why = engine_.refuses(copy, cell.method)) return why;
    }
    return std::nullopt;
  }
  std::optional<std::string> refused(const LaunchCell& cell) const {
    if (cell.method == records::LaunchMethod::graph) return engine_.refuses_graphs();
    if (cell.method == records::LaunchMethod::gated) return engine_.refuses_gated_launches();
    return std::nullopt;
  }
  std::optional<std::string> refused(const OverlapCell& /*cell*/) const {
    return engine_.refuses_overlap();
  }

  // ---- measuring ----

  void take(const TransferCell& cell, const std::string& what) {
    if (!open_ || !same_copies(open_of_, cell.copies)) {
      open_.reset();
      open_ = engine_.open(cell.copies);
      open_of_ = cell.copies;
    }
    Samples samples;
    try {
      samples = sample(*open_, cell.method, options_, interrupted_);
    } catch (...) {
      open_.reset();  // whatever state it is in
      throw;
    }
    if (samples.seconds.empty()) return;
    const Copy& first = cell.copies.front();
    records::Transfer record;
    record.machine = run_.machine;
    record.path = run_.path;
    record.memory = by_host(first) ? first.memory : records::Memory::unknown;
    record.engine = first.engine;
    record.route = route(first);
    record.from = place(first.from);
    record.to = place(first.to);
    record.bytes = first.bytes;
    for (std::size_t k = 1; k < cell.copies.size(); ++k) {
      const Copy& other = cell.copies[k];
      record.concurrent.push_back(
          {.from = place(other.from), .to = place(other.to), .bytes = other.bytes});
    }
    record.method = cell.method;
    record.valid = samples.valid;
    record.seconds = samples.seconds;
    run_.write(to_json(record));
    if (!samples.valid) {
      fail(what, "what arrived is not what was sent");
      return;
    }
    done(cell, what, samples.seconds);
    if (cell.method == TransferMethod::gated && cell.copies.size() == 1 &&
        first.bytes == smallest_timed_twice) {
      estimate(first);
    }
  }

  void take(const LaunchCell& cell, const std::string& what) {
    if (!launches_ || launches_of_ != std::pair(cell.device, cell.arguments)) {
      launches_ = engine_.launches(cell.device, cell.arguments);
      launches_of_ = {cell.device, cell.arguments};
    }
    records::Launch record;
    record.seconds = sample(*launches_, cell, options_, interrupted_);
    if (record.seconds.empty()) return;
    record.machine = run_.machine;
    record.path = run_.path;
    record.method = cell.method;
    record.count = cell.count;
    record.arguments = cell.arguments;
    run_.write(to_json(record));
    done(cell, what, record.seconds);
  }

  void take(const OverlapCell& cell, const std::string& what) {
    if (!overlaps_) overlaps_ = engine_.overlaps(cell.device, cell.bytes);
    records::Overlap record;
    record.seconds =
        take_samples([&] { return overlaps_->together(cell.parts); }, options_, interrupted_);
    if (record.seconds.empty()) return;
    record.machine = run_.machine;
    record.path = run_.path;
    record.memory = records::Memory::pinned;
    record.device = place(cell.device);
    record.bytes = cell.bytes;
    record.parts = cell.parts;
    run_.write(to_json(record));
    done(cell, what, record.seconds);
  }

  // Two ways to the same latency, which should agree.
  void estimate(const Copy& copy) {
    const Latency found = latency(*open_);
    outcome_.latencies.push_back({copy, found});
    note("latency of " + describe(copy) + " behind a gate, by two estimates",
         {{"copy", describe(copy)},
          {"bytes", copy.bytes},
          {"slope_s", found.slope},
          {"single_s", found.single},
          {"each_of_many_s", found.each}});
  }

  static bool by_host(const Copy& copy) {
    return copy.from == host || copy.to == host || copy.staged;
  }

  // ---- what came of it ----

  void done(const Cell& cell, const std::string& what, const std::vector<double>& seconds) {
    const double median = records::median(seconds);
    outcome_.results.push_back({cell, median});
    progress_.finished(what + ": " + records::human_seconds(median) + ", " +
                       std::to_string(seconds.size()) + " samples");
  }
  void skip(const std::string& what, const std::string& why) {
    ++outcome_.skipped;
    note(what + ": skipped, " + why, nullptr);
    progress_.finished(what + ": skipped, " + why);
  }
  void fail(const std::string& what, const std::string& why) {
    ++outcome_.failed;
    note(what + ": failed, " + why, nullptr);
    progress_.message(what + ": failed, " + why);
  }
  void note(const std::string& text, const nlohmann::ordered_json& about) {
    run_.write(to_json(
        records::Note{.text = text, .machine = run_.machine, .path = run_.path, .about = about}));
  }

  Engine& engine_;
  const Run& run_;
  records::Progress& progress_;
  std::stop_token interrupted_;
  Clock::time_point begin_ = Clock::now();
  Budget budget_;
  SampleOptions options_;
  std::unique_ptr<CopySet> open_;
  std::vector<Copy> open_of_;
  std::unique_ptr<Launches> launches_;
  std::pair<int, int> launches_of_;
  std::unique_ptr<Overlaps> overlaps_;
  Outcome outcome_;
};

}  // namespace

Outcome measure(Engine& engine, const Run& run, records::Progress& progress,
                const std::stop_token& interrupted) {
  return Runner(engine, run, progress, interrupted).all();
}

}  // namespace gpucast::microbench
