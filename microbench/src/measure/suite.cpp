#include "measure/suite.h"

#include <algorithm>
#include <set>
#include <string>

#include "copies/sizes.h"

namespace gpucast::microbench {
namespace {

using records::LaunchMethod;
using records::Memory;
using records::OverlapPart;
using records::TransferMethod;

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
    for (std::size_t k = 1; k < suite_.memories.size(); ++k)
      host_copies(first, suite_.memories[k], all_sizes(suite_.largest));
    for (std::size_t k = 1; k < suite_.devices.size(); ++k)
      host_copies(suite_.devices[k], suite_.memories.front(), few());
    local(first);
    for (const int from : suite_.devices) {
      for (const int to : suite_.devices) {
        if (from != to) between(from, to, few());
      }
    }
    if (suite_.gpus) by_kernels(first);
  }

  // Copies alone, sets of many, and every two.
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
    if (suite_.devices.size() > 1) sets_of_many(ring);
    // Last, because of eight devices they are 552, more than a budget may reach.
    for (const Copy& copy : singles) {
      for (const Copy& other : singles) {
        if (&copy != &other) together({copy, other});
      }
    }
  }

  void launches() {
    const int device = suite_.devices.front();
    for (const int arguments : {0, 1, 4, 16}) {
      for (const auto method : {LaunchMethod::submit, LaunchMethod::sync})
        cells_.emplace_back(LaunchCell{.device = device, .method = method, .arguments = arguments});
    }
    for (const int count : {1, 16, 256}) {
      for (const auto method : {LaunchMethod::gated, LaunchMethod::graph})
        cells_.emplace_back(LaunchCell{.device = device, .method = method, .count = count});
    }
    for (std::size_t k = 1; k < suite_.devices.size(); ++k) {
      for (const auto method : {LaunchMethod::submit, LaunchMethod::sync})
        cells_.emplace_back(LaunchCell{.device = suite_.devices[k], .method = method});
    }
  }

  void overlap() {
    using Part = OverlapPart;
    const std::vector<std::vector<Part>> sets = {{Part::h2d},
                                                 {Part::d2h},
                                                 {Part::kernel},
                                                 {Part::h2d, Part::d2h},
                                                 {Part::h2d, Part::kernel},
                                                 {Part::d2h, Part::kernel},
                                                 {Part::h2d, Part::d2h, Part::kernel}};
    // One device speaks for those like it.
    for (const auto& parts : sets) {
      cells_.emplace_back(
          OverlapCell{.device = suite_.devices.front(), .bytes = suite_.together, .parts = parts});
    }
  }

  // Few and many bytes, forces of n particles being 12 bytes where positions are 16, and shared
  // between the devices; kernels that hide nothing, something, and everything.
  void skeletons() {
    using records::Schedule;
    constexpr std::int64_t smallest = 4096;
    const auto counts = counts_of_devices();
    for (std::int64_t bytes = suite_.skeleton; bytes >= smallest; bytes /= 2) {
      for (const double busy : {5e-6, 20e-6, 200e-6, 2e-3}) {
        for (const auto& [schedule, memory] : manners()) {
          for (const int gpus : counts) {
            cells_.emplace_back(SkeletonCell{{.schedule = schedule,
                                              .memory = memory,
                                              .devices = first_devices(gpus),
                                              .h2d_bytes = bytes,
                                              .d2h_bytes = bytes / 4 * 3 / gpus,
                                              .busy = busy}});
          }
        }
      }
    }
  }

  void probes() {
    constexpr std::int64_t largest = 16 << 20;
    const int first = suite_.devices.front();
    for (const auto method : {LaunchMethod::submit, LaunchMethod::sync})
      cells_.emplace_back(LaunchCell{.device = first, .method = method});
    for (const int count : {1, 256}) {
      for (const auto method : {LaunchMethod::gated, LaunchMethod::graph})
        cells_.emplace_back(LaunchCell{.device = first, .method = method, .count = count});
    }
    const auto sizes = few_sizes(std::min(largest, suite_.largest), 4);
    host_copies(first, suite_.memories.front(), sizes);
    if (suite_.gpus) host_copies(first, Memory::pageable, sizes);
    for (const std::int64_t bytes : sizes) {
      add({.from = first, .to = first, .bytes = bytes, .memory = best()}, TransferMethod::gated);
      if (!suite_.gpus) continue;
      for (const bool upwards : {true, false}) {
        add({.from = upwards ? host : first,
             .to = upwards ? first : host,
             .bytes = bytes,
             .engine = records::Engine::kernel},
            TransferMethod::gated);
      }
    }
    if (suite_.devices.size() > 1) between(first, suite_.devices[1], sizes);
  }

  // What document 3 asked: what each kind of memory costs to get, to copy and to loop over.
  void host_memory() {
    for (const records::Memory memory : suite_.memories) {
      HostMemoryCell cell{.device = suite_.devices.front(), .memory = memory, .bytes = suite_.loop};
      for (const HostPhase phase : {HostPhase::allocate, HostPhase::first_touch, HostPhase::copy}) {
        cell.phase = phase;
        cells_.emplace_back(cell);
      }
      cell.phase = HostPhase::loop;
      for (const Runner runner : {Runner::gpu, Runner::cpu}) {
        cell.runner = runner;
        for (const LoopPattern pattern :
             {LoopPattern::sequential, LoopPattern::indirect, LoopPattern::random}) {
          cell.pattern = pattern;
          cells_.emplace_back(cell);
        }
      }
    }
  }

 private:
  std::vector<std::int64_t> few() const { return few_sizes(suite_.largest, 6); }

  Copy up(int device) const {
    return {.from = host, .to = device, .bytes = suite_.together, .memory = best()};
  }
  Copy down(int device) const {
    return {.from = device, .to = host, .bytes = suite_.together, .memory = best()};
  }
  Copy peer(int from, int to) const {
    return {.from = from, .to = to, .bytes = suite_.together_between, .memory = best()};
  }
  // Copies that are to be under way together must not block.
  Memory best() const { return suite_.gpus ? Memory::pinned : Memory::pageable; }

  // Blocking copies by any memory that programs use for them; queued ones must not block.
  std::vector<std::pair<records::Schedule, Memory>> manners() const {
    using records::Schedule;
    std::vector<std::pair<Schedule, Memory>> manners;
    for (const Memory memory : {Memory::pageable, Memory::pinned}) {
      if (std::ranges::find(suite_.memories, memory) != suite_.memories.end())
        manners.emplace_back(Schedule::star_serial, memory);
    }
    manners.emplace_back(Schedule::star_async, best());
    return manners;
  }

  // 1, 2, 3, 4, 6, 8, 12, ...: what many devices add is seen without all counts of many.
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

  // The first `count` devices.
  std::vector<Copy> all(Copy (Builder::*make)(int) const, std::size_t count) const {
    std::vector<Copy> copies;
    copies.reserve(count);
    for (std::size_t k = 0; k < count; ++k)
      copies.push_back((this->*make)(suite_.devices[k]));
    return copies;
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
  // What belongs to two questions is asked once.
  void add(const TransferCell& cell) {
    if (known_.insert(describe(Cell(cell))).second) cells_.emplace_back(cell);
  }

  void host_copies(int device, Memory memory, const std::vector<std::int64_t>& sizes) {
    for (const bool upwards : {true, false}) {
      for (const std::int64_t bytes : sizes) {
        const Copy copy{.from = upwards ? host : device,
                        .to = upwards ? device : host,
                        .bytes = bytes,
                        .memory = memory};
        add(copy, TransferMethod::call);
        if (!suite_.gpus || memory != Memory::pageable) add(copy, TransferMethod::gated);
      }
    }
  }

  void local(int device) {
    for (const std::int64_t bytes : quarter_sizes(suite_.largest))
      add({.from = device, .to = device, .bytes = bytes, .memory = best()}, TransferMethod::gated);
  }

  void between(int from, int to, const std::vector<std::int64_t>& sizes) {
    for (const std::int64_t bytes : sizes) {
      const Copy copy{.from = from, .to = to, .bytes = bytes, .memory = best()};
      add(copy, TransferMethod::call);
      add(copy, TransferMethod::gated);
      if (!suite_.gpus) continue;
      Copy read = copy;
      read.reads = true;
      add(read, TransferMethod::gated);
      // In one run the largest through the host would take as long as all others together.
      constexpr std::int64_t largest_staged = 64 << 20;
      if (bytes > largest_staged) continue;
      Copy by_host = copy;
      by_host.staged = true;
      add(by_host, TransferMethod::call);
    }
  }

  // Kernels that read and write host memory and other GPUs themselves.
  void by_kernels(int device) {
    for (const std::int64_t bytes : few()) {
      for (const bool upwards : {true, false}) {
        for (const Memory memory : {Memory::pinned, Memory::mapped}) {
          if (std::ranges::find(suite_.memories, memory) == suite_.memories.end()) continue;
          add({.from = upwards ? host : device,
               .to = upwards ? device : host,
               .bytes = bytes,
               .memory = memory,
               .engine = records::Engine::kernel},
              TransferMethod::gated);
        }
      }
      for (const int other : suite_.devices) {
        if (other == device) continue;
        add({.from = other, .to = device, .bytes = bytes, .engine = records::Engine::kernel},
            TransferMethod::gated);
      }
    }
  }

  // Both directions of one link at once, of large copies as well: what others call bidirectional.
  void there_and_back() {
    const int first = suite_.devices.front();
    const std::int64_t large = suite_.largest / 2;
    Copy out = up(first);
    Copy back = down(first);
    out.bytes = back.bytes = large;
    together({out, back});
    together({back, out});
    for (std::size_t k = 1; k < suite_.devices.size(); ++k) {
      out = peer(first, suite_.devices[k]);
      back = peer(suite_.devices[k], first);
      if (suite_.devices.size() > 2) together({out, back});  // of two: neighbours in the ring
      if (k > 1) continue;
      out.bytes = back.bytes = large;
      together({out, back});
      together({back, out});
    }
  }

  void sets_of_many(const std::vector<Copy>& ring) {
    const std::size_t count = suite_.devices.size();
    for (std::size_t k = 2; k <= count; ++k) {
      const auto ups = all(&Builder::up, k);
      const auto downs = all(&Builder::down, k);
      if (k > 2) {  // every two are asked for anyway
        together(ups);
        together(downs);
      }
      auto both = ups;
      both.insert(both.end(), downs.begin(), downs.end());
      together(both);
      std::ranges::rotate(both, both.begin() + static_cast<std::ptrdiff_t>(k));
      together(both);
    }
    if (count > 2) {
      together(ring);
      one_to_all();
      every_pair();
    }
    if (count > 3) disjoint_pairs();
  }

  void one_to_all() {
    const int first = suite_.devices.front();
    std::vector<Copy> out;
    std::vector<Copy> in;
    std::vector<Copy> read;
    for (std::size_t k = 1; k < suite_.devices.size(); ++k) {
      out.push_back(peer(first, suite_.devices[k]));
      in.push_back(peer(suite_.devices[k], first));
      read.push_back(out.back());
      read.back().reads = true;
    }
    together(out);
    together(in);
    together(read);
    auto ups = all(&Builder::up, 1);
    ups.insert(ups.end(), out.begin(), out.end());
    together(ups);
  }

  void every_pair() {
    std::vector<Copy> copies;
    for (const int from : suite_.devices) {
      for (const int to : suite_.devices) {
        if (from != to) copies.push_back(peer(from, to));
      }
    }
    together(copies);
  }

  // 0 and 1, 2 and 3, ...: both ways.
  void disjoint_pairs() {
    std::vector<Copy> pairs;
    for (std::size_t k = 0; k + 1 < suite_.devices.size(); k += 2) {
      pairs.push_back(peer(suite_.devices[k], suite_.devices[k + 1]));
      pairs.push_back(peer(suite_.devices[k + 1], suite_.devices[k]));
    }
    together(pairs);
  }

  const Suite& suite_;
  std::vector<Cell> cells_;
  std::set<std::string> known_;  // transfers among them
};

}  // namespace

std::vector<Cell> probes_of(const Suite& suite) {
  Builder builder(suite);
  builder.probes();
  return builder.take();
}

std::vector<Cell> cells_of(const Questions& questions, const Suite& suite) {
  Builder builder(suite);
  if (questions.launches) builder.launches();
  if (questions.transfers) builder.first_transfers();
  if (questions.skeleton) builder.skeletons();
  if (questions.overlap && suite.gpus) builder.overlap();
  if (questions.concurrent) builder.concurrent();
  if (questions.transfers) builder.other_transfers();
  if (questions.host_memory) builder.host_memory();
  return builder.take();
}

}  // namespace gpucast::microbench
