#include "measure/suite.h"

#include <initializer_list>
#include <ranges>
#include <set>
#include <utility>

#include "gpucast/model/workload.h"
#include "gpucast/support/human.h"
#include "gpucast/support/parse_word.h"

namespace gpucast::microbench {
namespace {

using records::LaunchMethod;
using records::Memory;
using records::OverlapPart;
using records::TransferMethod;

std::string text_of(const TransferCell& cell) {
  const Copy& first = cell.copies.front();
  std::string text = describe(first) + " " + support::name(cell.method) + ", " +
                     std::to_string(first.bytes) + " bytes";
  for (std::size_t k = 1; k < cell.copies.size(); ++k) {
    text += k == 1 ? ", beside " : " and ";
    text += place(cell.copies[k].from) + ">" + place(cell.copies[k].to);
  }
  return text;
}

std::string text_of(const LaunchCell& cell) {
  std::string text = "launch on " + place(cell.device) + ", " + support::name(cell.method);
  if (cell.count > 1) text += " of " + std::to_string(cell.count);
  if (cell.arguments > 0) text += ", " + std::to_string(cell.arguments) + " arguments";
  return text;
}

std::string text_of(const OverlapCell& cell) {
  std::string text = "overlap on " + place(cell.device) + " of ";
  for (std::size_t k = 0; k < cell.parts.size(); ++k)
    text += (k == 0 ? "" : " and ") + support::name(cell.parts[k]);
  return text + ", " + std::to_string(cell.bytes) + " bytes";
}

std::string text_of(const SkeletonCell& cell) {
  const StepShape& shape = cell.shape;
  return "skeleton " + support::name(shape.schedule) + ", " + support::name(shape.memory) + ", " +
         std::to_string(shape.gpus()) + " devices, " + std::to_string(shape.h2d_bytes) +
         " bytes there, " + std::to_string(shape.d2h_bytes) + " back, busy " +
         support::human_seconds(shape.busy);
}

std::string text_of(const HostMemoryCell& cell) {
  std::string text = support::name(cell.memory) + " host memory, " + support::name(cell.phase);
  if (cell.phase == HostPhase::loop)
    text += " " + pattern_name(cell) + " by the " + support::name(cell.runner);
  return text + ", " + std::to_string(cell.bytes) + " bytes";
}

class Builder {
 public:
  explicit Builder(const Suite& suite) : suite_(suite) {}

  std::vector<Cell> take() { return std::move(cells_); }

  // One device with the host, two with each other.
  void first_transfers() {
    const int first = suite_.devices.front();
    host_copies(first, suite_.memories.front(), all_sizes(suite_.largest));
    if (suite_.devices.size() > 1) between(first, suite_.devices[1], all_sizes(suite_.largest));
  }

  // Other kinds of memory, other devices, within one, by kernels.
  void other_transfers() {
    const int first = suite_.devices.front();
    for (const Memory memory : suite_.memories | std::views::drop(1))
      host_copies(first, memory, all_sizes(suite_.largest));
    for (const int device : suite_.devices | std::views::drop(1))
      host_copies(device, suite_.memories.front(), few());
    local(first, quarter_sizes(suite_.largest));
    for (const auto& [from, to] : pairs())
      between(from, to, few());
    if (suite_.gpus) by_kernels(first);
  }

  // Copies alone, sets of many, and all pairs.
  void concurrent() {
    std::vector<Copy> singles;
    for (const int device : suite_.devices) {
      singles.push_back(up(device));
      singles.push_back(down(device));
    }
    const auto ring = ring_of_peers();
    singles.insert(singles.end(), ring.begin(), ring.end());
    for (const Copy& copy : singles)
      together({copy});
    there_and_back();
    sets_of_many();
    if (suite_.devices.size() > 2) {
      together(ring);
      one_to_all();
      std::vector<Copy> all;
      for (const auto& [from, to] : pairs())
        all.push_back(peer(from, to));
      together(all);
      disjoint_pairs();
    }
    // They come last because there are 552 for eight devices, more than a budget may cover.
    for (const Copy& copy : singles) {
      for (const Copy& other : singles)
        if (&copy != &other) together({copy, other});
    }
  }

  void launches() {
    const int first = suite_.devices.front();
    for (const int arguments : {0, 1, 4, 16})
      single_launches(first, arguments);
    rows_of_launches({1, 16, 256}, {LaunchMethod::gated, LaunchMethod::graph});
    // The time of one of many, and of an answer without work.
    rows_of_launches({16, 256}, {LaunchMethod::row, LaunchMethod::drain});
    rows_of_launches({1}, {LaunchMethod::idle, LaunchMethod::rest});
    for (const int device : suite_.devices | std::views::drop(1))
      single_launches(device, 0);
  }

  void overlap() {
    using enum OverlapPart;
    const std::vector<std::vector<OverlapPart>> sets = {
        {h2d}, {d2h}, {kernel}, {h2d, d2h}, {h2d, kernel}, {d2h, kernel}, {h2d, d2h, kernel}};
    // One device represents all of the same kind.
    for (const auto& parts : sets) {
      cells_.emplace_back(
          OverlapCell{.device = suite_.devices.front(), .bytes = suite_.together, .parts = parts});
    }
  }

  // Few and many bytes, with the amounts that all-pairs forces return; kernels that hide nothing,
  // something, and everything.
  void skeletons() {
    using records::Schedule;
    constexpr std::int64_t smallest = 4096;
    const auto counts = counts_of_devices();
    for (std::int64_t bytes = suite_.skeleton; bytes >= smallest; bytes /= 2) {
      for (const double busy : {5e-6, 20e-6, 200e-6, 2e-3}) {
        for (const auto& [schedule, memory] : manners()) {
          for (const int gpus : counts) {
            const double n = model::all_pairs.size_of(static_cast<double>(bytes), gpus);
            cells_.emplace_back(SkeletonCell{
                {.schedule = schedule,
                 .memory = memory,
                 .devices = first_devices(gpus),
                 .h2d_bytes = bytes,
                 .d2h_bytes = static_cast<std::int64_t>(model::all_pairs.from_gpu(n, gpus)),
                 .busy = busy}});
          }
        }
      }
    }
  }

  void probes() {
    constexpr std::int64_t largest = 16 << 20;
    const int first = suite_.devices.front();
    single_launches(first, 0);
    rows_of_launches({1, 256}, {LaunchMethod::gated, LaunchMethod::graph});
    const auto sizes = few_sizes(std::min(largest, suite_.largest), 4);
    host_copies(first, suite_.memories.front(), sizes);
    if (suite_.gpus) host_copies(first, Memory::pageable, sizes);
    for (const std::int64_t bytes : sizes) {
      local(first, {bytes});
      if (suite_.gpus) by_kernel(first, bytes, Memory::pinned);
    }
    if (suite_.devices.size() > 1) between(first, suite_.devices[1], sizes);
  }

  // The times to allocate each kind of memory, to copy it and to loop over it.
  void host_memory() {
    for (const records::Memory memory : suite_.memories) {
      HostMemoryCell cell{.device = suite_.devices.front(), .memory = memory, .bytes = suite_.loop};
      for (const HostPhase phase : {HostPhase::allocate, HostPhase::first_touch, HostPhase::copy}) {
        cell.phase = phase;
        cells_.emplace_back(cell);
      }
      cell.phase = HostPhase::loop;
      for (const Runner runner : schema::all<Runner>()) {
        cell.runner = runner;
        for (const LoopPattern pattern : schema::all<LoopPattern>()) {
          cell.pattern = pattern;
          cells_.emplace_back(cell);
        }
      }
    }
  }

 private:
  std::vector<std::int64_t> few() const { return few_sizes(suite_.largest, 6); }

  static Copy with_host(int device, bool upwards, std::int64_t bytes, Memory memory) {
    return {.from = upwards ? host : device,
            .to = upwards ? device : host,
            .bytes = bytes,
            .memory = memory};
  }
  Copy up(int device) const { return with_host(device, true, suite_.together, best()); }
  Copy down(int device) const { return with_host(device, false, suite_.together, best()); }
  Copy peer(int from, int to) const {
    return {.from = from, .to = to, .bytes = suite_.together_between, .memory = best()};
  }
  static Copy reading(Copy copy) {
    copy.reads = true;
    return copy;
  }
  // Concurrent copies must not block.
  Memory best() const { return suite_.gpus ? Memory::pinned : Memory::pageable; }

  bool has(Memory memory) const {
    return std::ranges::find(suite_.memories, memory) != suite_.memories.end();
  }

  // Blocking copies with any memory that programs use for them; queued ones must not block.
  std::vector<std::pair<records::Schedule, Memory>> manners() const {
    using records::Schedule;
    std::vector<std::pair<Schedule, Memory>> manners;
    for (const Memory memory : {Memory::pageable, Memory::pinned})
      if (has(memory)) manners.emplace_back(Schedule::star_serial, memory);
    manners.emplace_back(Schedule::star_async, best());
    return manners;
  }

  // 1, 2, 3, 4, 6, 8, 12, ...: not all counts are needed to see the effect of many devices.
  std::vector<int> counts_of_devices() const {
    const int all = static_cast<int>(suite_.devices.size());
    std::vector<int> counts;
    for (int power = 1; power <= all; power *= 2) {
      counts.push_back(power);
      const int between = power / 2 * 3;
      if (power > 1 && between <= all) counts.push_back(between);
    }
    if (counts.back() != all) counts.push_back(all);
    return counts;
  }

  std::vector<int> first_devices(int count) const {
    return {suite_.devices.begin(), suite_.devices.begin() + count};
  }

  // All pairs of devices, in both directions.
  std::vector<std::pair<int, int>> pairs() const {
    std::vector<std::pair<int, int>> pairs;
    for (const int from : suite_.devices) {
      for (const int to : suite_.devices)
        if (from != to) pairs.emplace_back(from, to);
    }
    return pairs;
  }

  // From each device to the next, the last to the first.
  std::vector<Copy> ring_of_peers() const {
    std::vector<Copy> ring;
    const std::size_t count = suite_.devices.size();
    for (std::size_t k = 0; count > 1 && k < count; ++k)
      ring.push_back(peer(suite_.devices[k], suite_.devices[(k + 1) % count]));
    return ring;
  }

  void add(const Copy& copy, TransferMethod method) {
    add(TransferCell{.copies = {copy}, .method = method});
  }
  void together(const std::vector<Copy>& copies) {
    add(TransferCell{.copies = copies, .method = TransferMethod::gated});
  }
  // A cell that belongs to two questions is measured once.
  void add(const TransferCell& cell) {
    if (known_.insert(describe(Cell(cell))).second) cells_.emplace_back(cell);
  }

  void single_launches(int device, int arguments) {
    for (const auto method : {LaunchMethod::submit, LaunchMethod::sync})
      cells_.emplace_back(LaunchCell{.device = device, .method = method, .arguments = arguments});
  }

  void rows_of_launches(std::initializer_list<int> counts,
                        std::initializer_list<LaunchMethod> methods) {
    const int first = suite_.devices.front();
    for (const int count : counts)
      for (const auto method : methods)
        cells_.emplace_back(LaunchCell{.device = first, .method = method, .count = count});
  }

  void host_copies(int device, Memory memory, const std::vector<std::int64_t>& sizes) {
    for (const bool upwards : {true, false}) {
      for (const std::int64_t bytes : sizes) {
        const Copy copy = with_host(device, upwards, bytes, memory);
        add(copy, TransferMethod::call);
        if (!suite_.gpus || memory != Memory::pageable) add(copy, TransferMethod::gated);
      }
    }
  }

  void local(int device, const std::vector<std::int64_t>& sizes) {
    for (const std::int64_t bytes : sizes)
      add({.from = device, .to = device, .bytes = bytes, .memory = best()}, TransferMethod::gated);
  }

  // A kernel that reads and writes host memory itself.
  void by_kernel(int device, std::int64_t bytes, Memory memory) {
    for (const bool upwards : {true, false}) {
      Copy copy = with_host(device, upwards, bytes, memory);
      copy.engine = records::Engine::kernel;
      add(copy, TransferMethod::gated);
    }
  }

  void between(int from, int to, const std::vector<std::int64_t>& sizes) {
    for (const std::int64_t bytes : sizes) {
      const Copy copy{.from = from, .to = to, .bytes = bytes, .memory = best()};
      add(copy, TransferMethod::call);
      add(copy, TransferMethod::gated);
      if (!suite_.gpus) continue;
      add(reading(copy), TransferMethod::gated);
      // In one run the largest staged copy would take as long as all others together.
      constexpr std::int64_t largest_staged = 64 << 20;
      if (bytes > largest_staged) continue;
      Copy by_host = copy;
      by_host.staged = true;
      add(by_host, TransferMethod::call);
    }
  }

  // Kernels that access host memory and other GPUs directly.
  void by_kernels(int device) {
    for (const std::int64_t bytes : few()) {
      for (const Memory memory : {Memory::pinned, Memory::mapped})
        if (has(memory)) by_kernel(device, bytes, memory);
      for (const int other : suite_.devices) {
        if (other == device) continue;
        add({.from = other, .to = device, .bytes = bytes, .engine = records::Engine::kernel},
            TransferMethod::gated);
      }
    }
  }

  // Both directions of one link at once, also with large copies, which others call bidirectional.
  void there_and_back() {
    const int first = suite_.devices.front();
    large_both_ways(up(first), down(first));
    for (const int device : suite_.devices | std::views::drop(1)) {
      together({peer(first, device), peer(device, first)});
      if (device == suite_.devices[1]) large_both_ways(peer(first, device), peer(device, first));
    }
  }

  void large_both_ways(Copy out, Copy back) {
    out.bytes = back.bytes = suite_.largest / 2;
    together({out, back});
    together({back, out});
  }

  void sets_of_many() {
    std::vector<Copy> ups;
    std::vector<Copy> downs;
    for (const int device : suite_.devices) {
      ups.push_back(up(device));
      downs.push_back(down(device));
      if (ups.size() < 2) continue;
      together(ups);
      together(downs);
      together(joined(ups, downs));
      together(joined(downs, ups));
    }
  }

  static std::vector<Copy> joined(std::vector<Copy> copies, const std::vector<Copy>& others) {
    copies.insert(copies.end(), others.begin(), others.end());
    return copies;
  }

  void one_to_all() {
    const int first = suite_.devices.front();
    std::vector<Copy> out;
    std::vector<Copy> in;
    std::vector<Copy> read;
    for (const int device : suite_.devices | std::views::drop(1)) {
      out.push_back(peer(first, device));
      in.push_back(peer(device, first));
      read.push_back(reading(out.back()));
    }
    together(out);
    together(in);
    together(read);
    together(joined({up(first)}, out));
  }

  // 0 and 1, 2 and 3, ...: in both directions.
  void disjoint_pairs() {
    std::vector<Copy> copies;
    for (std::size_t k = 0; k + 1 < suite_.devices.size(); k += 2) {
      copies.push_back(peer(suite_.devices[k], suite_.devices[k + 1]));
      copies.push_back(peer(suite_.devices[k + 1], suite_.devices[k]));
    }
    together(copies);
  }

  const Suite& suite_;
  std::vector<Cell> cells_;
  std::set<std::string> known_;  // with their transfers
};

}  // namespace

std::string pattern_name(const HostMemoryCell& cell) {
  return cell.phase == HostPhase::loop ? support::name(cell.pattern) : "none";
}

Runner runner_of(const HostMemoryCell& cell) {
  if (cell.phase == HostPhase::loop) return cell.runner;
  return cell.phase == HostPhase::copy ? Runner::gpu : Runner::cpu;
}

std::string describe(const Cell& cell) {
  return std::visit([](const auto& one) { return text_of(one); }, cell);
}

std::vector<Cell> probes_of(const Suite& suite) {
  Builder builder(suite);
  builder.probes();
  return builder.take();
}

std::vector<Cell> cells_of(std::span<const Question> questions, const Suite& suite) {
  const auto asked = [&](Question question) {
    return std::ranges::find(questions, question) != questions.end();
  };
  Builder builder(suite);
  if (asked(Question::launches)) builder.launches();
  if (asked(Question::transfers)) builder.first_transfers();
  if (asked(Question::skeleton)) builder.skeletons();
  if (asked(Question::overlap) && suite.gpus) builder.overlap();
  if (asked(Question::concurrent)) builder.concurrent();
  if (asked(Question::transfers)) builder.other_transfers();
  if (asked(Question::host_memory)) builder.host_memory();
  return builder.take();
}

}  // namespace gpucast::microbench
