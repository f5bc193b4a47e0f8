#include "app/run.h"

#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <ranges>
#include <tuple>

#include "gpucast/support/human.h"
#include "gpucast/support/median.h"
#include "gpucast/support/parse_word.h"

namespace gpucast::microbench {
namespace {

using records::TransferMethod;

// The smallest copies that are measured on all routes: their time is pure latency.
constexpr std::int64_t smallest_timed_twice = 64;

constexpr const char* wrong_bytes = "the data that arrived differs from the data that was sent";

// The opened resources of the last cell, which the next one may reuse.
template <class Opened, class Key>
class Last {
 public:
  template <class Open>
  Opened& of(const Key& key, Open open) {
    if (!opened_ || key_ != key) {
      opened_.reset();
      opened_ = open();
      key_ = key;
    }
    return *opened_;
  }
  void forget() { opened_.reset(); }

 private:
  std::unique_ptr<Opened> opened_;
  Key key_;
};

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
    try {
      std::visit([this](const auto& c) { take(c); }, cell);
    } catch (const DeviceError& error) {
      fail(what, error.what());
    } catch (const std::bad_alloc&) {
      fail(what, "out of memory");
    }
  }

  // ---- whether a cell can be measured ----

  std::optional<std::string> refused(const TransferCell& cell) const {
    for (const Copy& copy : cell.copies)
      if (auto why = engine_.refuses(copy, cell.method)) return why;
    return std::nullopt;
  }
  std::optional<std::string> refused(const LaunchCell& cell) const {
    return engine_.refuses(cell.method);
  }
  std::optional<std::string> refused(const OverlapCell& /*cell*/) const {
    return engine_.refuses_overlap();
  }
  static std::optional<std::string> refused(const SkeletonCell& /*cell*/) { return std::nullopt; }
  std::optional<std::string> refused(const HostMemoryCell& cell) const {
    return engine_.refuses_loops(cell.memory, runner_of(cell));
  }

  // ---- measuring ----

  void take(const TransferCell& cell) {
    CopySet& copies = copies_.of(cell.copies, [&] { return engine_.open(cell.copies); });
    const auto seconds = sample(copies, cell.method, options_, interrupted_);
    if (seconds.empty()) return;
    const Copy& first = cell.copies.front();
    const bool by_host = first.from == host || first.to == host || first.staged;
    records::Transfer record{.memory = by_host ? first.memory : records::Memory::unknown,
                             .engine = first.engine,
                             .route = route(first),
                             .from = place(first.from),
                             .to = place(first.to),
                             .bytes = first.bytes,
                             .method = cell.method,
                             .valid = copies.correct()};
    for (const Copy& other : cell.copies | std::views::drop(1)) {
      record.concurrent.push_back(
          {.from = place(other.from), .to = place(other.to), .bytes = other.bytes});
    }
    if (record.route == records::Route::peer) record.issuer = place(issuer(first));
    const Json written = write(record, seconds);
    if (!record.valid) throw DeviceError(wrong_bytes);
    done(cell, seconds, written);
    if (cell.method == TransferMethod::gated && cell.copies.size() == 1 &&
        first.bytes == smallest_timed_twice) {
      estimate(first, copies);
    }
  }

  void take(const LaunchCell& cell) {
    Launches& launches = launches_.of({cell.device, cell.arguments}, [&] {
      return engine_.launches(cell.device, cell.arguments);
    });
    keep(cell,
         records::Launch{.method = cell.method, .count = cell.count, .arguments = cell.arguments},
         sample(launches, cell, options_, interrupted_));
  }

  void take(const OverlapCell& cell) {
    Overlaps& overlaps = overlaps_.of({cell.device, cell.bytes},
                                      [&] { return engine_.overlaps(cell.device, cell.bytes); });
    keep(cell,
         records::Overlap{.memory = records::Memory::pinned,
                          .device = place(cell.device),
                          .bytes = cell.bytes,
                          .parts = cell.parts},
         take_samples([&] { return overlaps.together(cell.parts); }, options_, interrupted_));
  }

  void take(const SkeletonCell& cell) {
    const auto skeleton = engine_.skeleton(cell.shape);
    const records::Skeleton record{.schedule = cell.shape.schedule,
                                   .memory = cell.shape.memory,
                                   .gpus = cell.shape.gpus(),
                                   .h2d_bytes = cell.shape.h2d_bytes,
                                   .d2h_bytes = cell.shape.d2h_bytes,
                                   .busy = cell.shape.busy,
                                   .kernel_seconds = skeleton->kernel_seconds()};
    const auto seconds = take_samples([&] { return skeleton->step(); }, options_, interrupted_);
    if (!seconds.empty() && !skeleton->correct()) throw DeviceError(wrong_bytes);
    keep(cell, record, seconds);
  }

  void take(const HostMemoryCell& cell) {
    HostLoops& loops = loops_.of({cell.device, cell.memory, cell.bytes}, [&] {
      return engine_.host_loops(cell.device, cell.memory, cell.bytes);
    });
    const auto seconds = sample(loops, cell, options_, interrupted_);
    if (!seconds.empty() && cell.phase == HostPhase::loop && !loops.correct())
      throw DeviceError("the results are wrong");
    keep(cell,
         records::HostMemory{.memory = cell.memory,
                             .pattern = pattern_name(cell),
                             .runner = support::name(runner_of(cell)),
                             .phase = support::name(cell.phase),
                             .bytes = cell.bytes},
         seconds);
  }

  // Two estimates of the same latency, which should agree.
  void estimate(const Copy& copy, CopySet& copies) {
    const Latency estimates = latency(copies);
    outcome_.latencies.push_back({copy, estimates});
    note("latency of " + describe(copy) + " behind a gate, by two estimates",
         {{"copy", describe(copy)},
          {"bytes", copy.bytes},
          {"slope_s", estimates.slope},
          {"single_s", estimates.single},
          {"each_of_many_s", estimates.each}});
  }

  // ---- results ----

  // Returns nothing if an interrupt came before the first sample.
  template <class Record>
  void keep(const Cell& cell, const Record& record, const std::vector<double>& seconds) {
    if (!seconds.empty()) done(cell, seconds, write(record, seconds));
  }
  template <class Record>
  Json write(const Record& record, const std::vector<double>& seconds) {
    Json json = to_json(record, {.machine = run_.machine, .path = run_.path, .seconds = seconds});
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
  // Open resources may be in any state.
  void fail(const std::string& what, const std::string& why) {
    copies_.forget();
    launches_.forget();
    overlaps_.forget();
    loops_.forget();
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
  Last<CopySet, std::vector<Copy>> copies_;
  Last<Launches, std::pair<int, int>> launches_;
  Last<Overlaps, std::pair<int, std::int64_t>> overlaps_;
  Last<HostLoops, std::tuple<int, records::Memory, std::int64_t>> loops_;
  Outcome outcome_;
};

}  // namespace

Outcome measure(Engine& engine, const Run& run, support::Progress& progress,
                const std::stop_token& interrupted) {
  return Measurement(engine, run, progress, interrupted).all();
}

}  // namespace gpucast::microbench
