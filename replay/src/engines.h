// What works go through once nothing holds them any more.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "agenda.h"
#include "gpucast/replay/program.h"

namespace gpucast::replay {

// A call's work, or something that only marks a place in a stream.
using Item = std::int32_t;

// Copy engines: one after another, first come, first served.
//
// Multiprocessors: works k ask for shares w_k of them. With W = sum of w_k over those under way,
//
//     each goes on at the rate 1 / max(1, W)
//
// so that works that fit beside one another are not slowed, and of those that do not, together they
// take as long as one after another. In "virtual time" V with dV = dt / max(1, W) every work ends
// at V(begin) + seconds, whatever comes and goes meanwhile: an engine only needs to know who ends
// first (Parekh & Gallager, IEEE/ACM Trans. Networking 1, 344, 1993).
class Engines {
 public:
  Engines(const std::vector<EngineKind>& kinds, Agenda& agenda);

  void enter(std::int32_t index, Item item, double seconds, double share);
  // A queue's work is done.
  void leave(std::int32_t index);
  // For a shared engine at What::shares: the work that is done; none where the event is outdated.
  Item done(std::int32_t index, std::uint32_t version);
  // When the item began, asked right behind `enter` or `leave`.
  template <class Began>
  void on_begin(Began began) {
    for (const Item item : begun_)
      began(item);
    begun_.clear();
  }

 private:
  struct Waiting {
    Item item = none;
    double seconds = 0;
  };
  struct Active {
    double ends = 0;  // in virtual time
    Item item = none;
    double share = 0;
  };
  struct Engine {
    EngineKind kind = EngineKind::queue;
    // A queue.
    bool busy = false;
    std::vector<Waiting> waiting;
    std::size_t first = 0;
    // A shared one.
    std::vector<Active> active;  // a heap, the first to end on top
    double load = 0;
    double virtual_now = 0;
    double updated = 0;
    std::uint32_t version = 0;
  };
  void begin(Engine& engine, const Waiting& work);
  void advance(Engine& engine);
  void announce(std::int32_t index);

  Agenda& agenda_;
  std::vector<Engine> engines_;
  std::vector<Item> begun_;
};

}  // namespace gpucast::replay
