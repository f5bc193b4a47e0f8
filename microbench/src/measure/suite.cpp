#include "measure/suite.h"

#include "copies/sizes.h"

namespace gpucast::microbench {
namespace {

using records::Engine;
using records::LaunchMethod;
using records::Memory;
using records::OverlapPart;
using records::TransferMethod;

class Builder {
 public:
  explicit Builder(const Suite& suite) : suite_(suite) {}

  std::vector<Cell> take() { return std::move(cells_); }

  void transfers() {
    const int first = suite_.devices.front();
    for (const Memory memory : suite_.memories)
      host_copies(first, memory, all_sizes(suite_.largest));
    for (std::size_t k = 1; k < suite_.devices.size(); ++k)
      host_copies(suite_.devices[k], suite_.memories.front(), few());
    local(first);
    bool whole = true;
    for (const int from : suite_.devices) {
      for (const int to : suite_.devices) {
        if (from == to) continue;
        between(from, to, whole ? all_sizes(suite_.largest) : few());
        whole = false;
      }
    }
    if (suite_.gpus) by_kernels(first);
  }

  // Every two host copies, then sets of many.
  void concurrent() {
    std::vector<Copy> singles;
    for (const int device : suite_.devices) {
      singles.push_back(up(device));
      singles.push_back(down(device));
    }
    if (suite_.devices.size() > 1) {
      const int count = static_cast<int>(suite_.devices.size());
      for (int k = 0; k < count; ++k)
        singles.push_back(peer(suite_.devices[static_cast<std::size_t>(k)],
                               suite_.devices[static_cast<std::size_t>((k + 1) % count)]));
    }
    for (const Copy& copy : singles)
      together({copy});
    for (const Copy& copy : singles) {
      for (const Copy& other : singles) {
        if (&copy != &other) together({copy, other});
      }
    }
    if (suite_.devices.size() < 2) return;
    together(all(&Builder::up));
    together(all(&Builder::down));
    auto both = all(&Builder::up);
    const auto downs = all(&Builder::down);
    both.insert(both.end(), downs.begin(), downs.end());
    together(both);
    one_to_all();
    disjoint_pairs();
  }

  void launches() {
    const int device = suite_.devices.front();
    for (const int arguments : {0, 1, 4, 16}) {
      for (const auto method : {LaunchMethod::submit, LaunchMethod::sync})
        cells_.push_back(LaunchCell{.device = device, .method = method, .arguments = arguments});
    }
    for (const int count : {1, 16, 256}) {
      for (const auto method : {LaunchMethod::gated, LaunchMethod::graph})
        cells_.push_back(LaunchCell{.device = device, .method = method, .count = count});
    }
    for (std::size_t k = 1; k < suite_.devices.size(); ++k) {
      for (const auto method : {LaunchMethod::submit, LaunchMethod::sync})
        cells_.push_back(LaunchCell{.device = suite_.devices[k], .method = method});
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
    for (const int device : suite_.devices) {
      for (const auto& parts : sets)
        cells_.push_back(OverlapCell{.device = device, .bytes = suite_.together, .parts = parts});
      break;  // one device speaks for those like it
    }
  }

 private:
  std::vector<std::int64_t> few() const { return few_sizes(suite_.largest, 4); }

  Copy up(int device) const {
    return {.from = host, .to = device, .bytes = suite_.together, .memory = best()};
  }
  Copy down(int device) const {
    return {.from = device, .to = host, .bytes = suite_.together, .memory = best()};
  }
  Copy peer(int from, int to) const {
    return {.from = from, .to = to, .bytes = suite_.together, .memory = best()};
  }
  // Copies that are to be under way together must not block.
  Memory best() const { return suite_.gpus ? Memory::pinned : Memory::pageable; }

  std::vector<Copy> all(Copy (Builder::*make)(int) const) const {
    std::vector<Copy> copies;
    copies.reserve(suite_.devices.size());
    for (const int device : suite_.devices)
      copies.push_back((this->*make)(device));
    return copies;
  }

  void add(const Copy& copy, TransferMethod method) {
    cells_.push_back(TransferCell{.copies = {copy}, .method = method});
  }
  void together(const std::vector<Copy>& copies) {
    cells_.push_back(TransferCell{.copies = copies, .method = TransferMethod::gated});
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
    for (const std::int64_t bytes : all_sizes(suite_.largest))
      add({.from = device, .to = device, .bytes = bytes, .memory = best()}, TransferMethod::gated);
  }

  void between(int from, int to, const std::vector<std::int64_t>& sizes) {
    for (const std::int64_t bytes : sizes) {
      const Copy copy{.from = from, .to = to, .bytes = bytes, .memory = best()};
      add(copy, TransferMethod::call);
      add(copy, TransferMethod::gated);
      if (!suite_.gpus) continue;
      Copy by_host = copy;
      by_host.staged = true;
      add(by_host, TransferMethod::call);
    }
  }

  // Kernels that read and write host memory and other GPUs themselves.
  void by_kernels(int device) {
    for (const std::int64_t bytes : few()) {
      for (const bool upwards : {true, false}) {
        for (const Memory memory : suite_.memories) {
          if (memory == Memory::pageable) continue;
          add({.from = upwards ? host : device,
               .to = upwards ? device : host,
               .bytes = bytes,
               .memory = memory,
               .engine = Engine::kernel},
              TransferMethod::gated);
        }
      }
      for (const int other : suite_.devices) {
        if (other == device) continue;
        add({.from = other, .to = device, .bytes = bytes, .engine = Engine::kernel},
            TransferMethod::gated);
      }
    }
  }

  void one_to_all() {
    const int first = suite_.devices.front();
    std::vector<Copy> out;
    std::vector<Copy> in;
    for (std::size_t k = 1; k < suite_.devices.size(); ++k) {
      out.push_back(peer(first, suite_.devices[k]));
      in.push_back(peer(suite_.devices[k], first));
    }
    together(out);
    together(in);
    together({out.front(), in.front()});
  }

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
};

}  // namespace

std::vector<Cell> cells_of(const Questions& questions, const Suite& suite) {
  Builder builder(suite);
  if (questions.launches) builder.launches();
  if (questions.overlap && suite.gpus) builder.overlap();
  if (questions.concurrent) builder.concurrent();
  if (questions.transfers) builder.transfers();
  return builder.take();
}

}  // namespace gpucast::microbench
