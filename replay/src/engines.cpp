#include "engines.h"

#include <algorithm>

#include "index.h"

namespace gpucast::replay {
namespace {

// Room that a queue keeps of works that have left it.
constexpr std::size_t most_left = 64;

}  // namespace

Engines::Engines(const std::vector<EngineKind>& kinds, Agenda& agenda)
    : agenda_(agenda), engines_(kinds.size()) {
  for (std::size_t k = 0; k < kinds.size(); ++k)
    engines_[k].kind = kinds[k];
}

void Engines::enter(std::int32_t index, Item item, double seconds, double share) {
  Engine& engine = engines_[at(index)];
  if (engine.kind == EngineKind::queue) {
    const Waiting work{item, seconds};
    if (engine.busy) {
      engine.waiting.push_back(work);
    } else {
      begin(engine, work);
    }
    return;
  }
  advance(engine);
  engine.active.push_back({engine.virtual_now + seconds, item, share});
  std::ranges::push_heap(engine.active, std::greater{}, &Active::ends);
  engine.load += share;
  begun_.push_back(item);
  announce(index);
}

void Engines::begin(Engine& engine, const Waiting& work) {
  engine.busy = true;
  begun_.push_back(work.item);
  agenda_.add(agenda_.now() + work.seconds, What::finished, work.item);
}

void Engines::leave(std::int32_t index) {
  Engine& engine = engines_[at(index)];
  if (engine.kind == EngineKind::shared) return;
  engine.busy = false;
  if (engine.first == engine.waiting.size()) return;
  const Waiting next = engine.waiting[engine.first++];
  if (engine.first == engine.waiting.size()) {
    engine.waiting.clear();
    engine.first = 0;
  } else if (engine.first > most_left && 2 * engine.first > engine.waiting.size()) {
    engine.waiting.erase(engine.waiting.begin(),
                         engine.waiting.begin() + static_cast<std::ptrdiff_t>(engine.first));
    engine.first = 0;
  }
  begin(engine, next);
}

void Engines::advance(Engine& engine) {
  const double now = agenda_.now();
  engine.virtual_now += (now - engine.updated) / std::max(1.0, engine.load);
  engine.updated = now;
}

void Engines::announce(std::int32_t index) {
  Engine& engine = engines_[at(index)];
  ++engine.version;
  if (engine.active.empty()) return;
  const double left = std::max(0.0, engine.active.front().ends - engine.virtual_now);
  agenda_.add(agenda_.now() + left * std::max(1.0, engine.load), What::shares, index,
              engine.version);
}

Item Engines::done(std::int32_t index, std::uint32_t version) {
  Engine& engine = engines_[at(index)];
  if (version != engine.version) return none;
  advance(engine);
  std::ranges::pop_heap(engine.active, std::greater{}, &Active::ends);
  const Active ended = engine.active.back();
  engine.active.pop_back();
  engine.load = engine.active.empty() ? 0.0 : engine.load - ended.share;
  announce(index);
  return ended.item;
}

}  // namespace gpucast::replay
