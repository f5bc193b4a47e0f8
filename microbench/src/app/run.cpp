#include "app/run.h"

#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "app/record_of.h"
#include "gpucast/support/human.h"
#include "gpucast/support/median.h"

namespace gpucast::microbench {
namespace {

using records::TransferMethod;

// The smallest copies that all routes measure: their time is latency alone.
constexpr std::int64_t smallest_timed_twice = 64;

class Measurement {
 public:
  Measurement(Engine& engine, const Run& run, support::Progress& progress,
              std::stop_token interrupted)
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
    for (const auto& placement : engine_.placements())
      note("where host memory lies", placement);
    return std::move(outcome_);
  }

 private:
  void one(const Cell& cell) {
    const std::string what = describe(cell);
    progress_.under_way(what);
    if (const auto why = std::visit([&](const auto& c) { return refused(c); }, cell)) {
      skip(what, *why);
      return;
    }
    const double spent = devices::seconds_since(run_.begin);
    options_ = run_.samples;
    options_.max_seconds = budget_.next(spent);
    if (options_.max_seconds <= 0) {
      skip(what, "the budget of " + support::figure("%g", run_.budget) + " s is spent");
      return;
    }
    std::string why;
    try {
      why = std::visit([this](const auto& c) { return take(c); }, cell);
    } catch (const DeviceError& error) {
      why = error.what();
    } catch (const std::bad_alloc&) {
      why = "out of memory";
    }
    if (!why.empty()) fail(what, why);
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
  static std::optional<std::string> refused(const SkeletonCell& /*cell*/) { return std::nullopt; }
  std::optional<std::string> refused(const HostMemoryCell& cell) const {
    return engine_.refuses_loops(cell.memory, runner_of(cell));
  }

  // ---- measuring: each returns why it failed, if it did ----

  std::string take(const TransferCell& cell) {
    if (!copies_ || copies_of_ != cell.copies) {
      copies_.reset();
      copies_ = engine_.open(cell.copies);
      copies_of_ = cell.copies;
    }
    const Samples samples = sample(*copies_, cell.method, options_, interrupted_);
    if (samples.seconds.empty()) return "";
    const Json written = write(record_of(cell, samples));
    if (!samples.valid) return "what arrived is not what was sent";
    done(cell, samples.seconds, written);
    const Copy& first = cell.copies.front();
    if (cell.method == TransferMethod::gated && cell.copies.size() == 1 &&
        first.bytes == smallest_timed_twice) {
      estimate(first);
    }
    return "";
  }

  std::string take(const LaunchCell& cell) {
    if (!launches_ || launches_of_ != std::pair(cell.device, cell.arguments)) {
      launches_ = engine_.launches(cell.device, cell.arguments);
      launches_of_ = {cell.device, cell.arguments};
    }
    const auto seconds = sample(*launches_, cell, options_, interrupted_);
    if (seconds.empty()) return "";
    done(cell, seconds, write(record_of(cell, seconds)));
    return "";
  }

  std::string take(const OverlapCell& cell) {
    if (!overlaps_ || overlaps_of_ != std::pair(cell.device, cell.bytes)) {
      overlaps_.reset();
      overlaps_ = engine_.overlaps(cell.device, cell.bytes);
      overlaps_of_ = {cell.device, cell.bytes};
    }
    const auto seconds =
        take_samples([&] { return overlaps_->together(cell.parts); }, options_, interrupted_);
    if (seconds.empty()) return "";
    done(cell, seconds, write(record_of(cell, seconds)));
    return "";
  }

  std::string take(const SkeletonCell& cell) {
    const auto skeleton = engine_.skeleton(cell.shape);
    const double kernel_seconds = skeleton->kernel_seconds();
    const auto seconds = take_samples([&] { return skeleton->step(); }, options_, interrupted_);
    if (seconds.empty()) return "";
    if (!skeleton->correct()) return "what arrived is not what was sent";
    done(cell, seconds, write(record_of(cell, kernel_seconds, seconds)));
    return "";
  }

  std::string take(const HostMemoryCell& cell) {
    if (!loops_ || loops_of_ != std::tuple(cell.device, cell.memory, cell.bytes)) {
      loops_.reset();
      loops_ = engine_.host_loops(cell.device, cell.memory, cell.bytes);
      loops_of_ = {cell.device, cell.memory, cell.bytes};
    }
    const auto seconds = sample(*loops_, cell, options_, interrupted_);
    if (seconds.empty()) return "";
    if (cell.phase == HostPhase::loop && !loops_->correct()) return "the results are wrong";
    auto record = record_of(cell, seconds);
    record.machine = run_.machine;
    const Json written = to_json(record);
    run_.write(written);
    done(cell, seconds, written);
    return "";
  }

  // Two ways to the same latency, which should agree.
  void estimate(const Copy& copy) {
    const Latency found = latency(*copies_);
    outcome_.latencies.push_back({copy, found});
    note("latency of " + describe(copy) + " behind a gate, by two estimates",
         {{"copy", describe(copy)},
          {"bytes", copy.bytes},
          {"slope_s", found.slope},
          {"single_s", found.single},
          {"each_of_many_s", found.each}});
  }

  // ---- what came of it ----

  template <class Record>
  Json write(Record record) {
    record.machine = run_.machine;
    record.path = run_.path;
    Json json = to_json(record);
    run_.run_to_run.annotate(json);
    run_.write(json);
    return json;
  }
  void done(const Cell& cell, const std::vector<double>& seconds, const Json& written) {
    const double median = support::median(seconds);
    const auto interval = support::median_interval(seconds);
    std::optional<double> half_width;
    if (interval) half_width = interval->relative_half_width();
    if (const auto known = written.find("run_to_run"); interval && known != written.end()) {
      half_width = support::with_run_to_run(*half_width, known->at("sd").get<double>(),
                                            known->at("runs").get<std::size_t>());
    }
    outcome_.results.push_back({cell, median, half_width});
    progress_.finished(describe(cell) + ": " + support::human_seconds(median) + ", " +
                       std::to_string(seconds.size()) + " samples");
  }
  void skip(const std::string& what, const std::string& why) {
    ++outcome_.skipped;
    note(what + ": skipped, " + why, nullptr);
    progress_.finished(what + ": skipped, " + why);
  }
  // What was open may be in any state.
  void fail(const std::string& what, const std::string& why) {
    copies_.reset();
    launches_.reset();
    overlaps_.reset();
    loops_.reset();
    ++outcome_.failed;
    note(what + ": failed, " + why, nullptr);
    progress_.message(what + ": failed, " + why);
  }
  void note(const std::string& text, const Json& about) {
    run_.write(to_json(
        records::Note{.text = text, .machine = run_.machine, .path = run_.path, .about = about}));
  }

  Engine& engine_;
  const Run& run_;
  support::Progress& progress_;
  std::stop_token interrupted_;
  Budget budget_;
  SampleOptions options_;
  // What was opened for the last cell may serve the next.
  std::unique_ptr<CopySet> copies_;
  std::vector<Copy> copies_of_;
  std::unique_ptr<Launches> launches_;
  std::pair<int, int> launches_of_;
  std::unique_ptr<Overlaps> overlaps_;
  std::pair<int, std::int64_t> overlaps_of_;
  std::unique_ptr<HostLoops> loops_;
  std::tuple<int, records::Memory, std::int64_t> loops_of_;
  Outcome outcome_;
};

}  // namespace

Outcome measure(Engine& engine, const Run& run, support::Progress& progress,
                const std::stop_token& interrupted) {
  return Measurement(engine, run, progress, interrupted).all();
}

}  // namespace gpucast::microbench
