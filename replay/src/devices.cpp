#include "devices.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace gpucast::replay {
namespace {

constexpr double no_time = std::numeric_limits<double>::quiet_NaN();

// s: on an H200, kernels behind copies that ended 0 to 5 us after kernels could have begun did so
// at once, later ones at ticks from there (data/measured/h200-traces).
constexpr double kernels_look_later = 2.8e-6;

// How often work looks in vain, at 0, tick, 2 tick, ..., for what comes `late`: the mean, as that
// is known to some sigma only (poll_jitter and poll_relative of model/poll.h), so that what comes
// just in time or just too late is a bit of both.
double looks_until(double late, double tick) {
  constexpr double jitter = 0.4e-6;
  constexpr double relative = 0.004;
  constexpr int most = 4;  // sigma and ticks beyond which nothing is left to know
  if (late <= -most * jitter) return 0;
  const double sigma = std::hypot(jitter, relative * late);
  if (sigma > tick / 2) return late / tick + 1.0 / 2;
  const auto place = static_cast<int>(std::floor(late / tick));
  const int first = std::max(0, place - most);
  double count = first;
  for (int k = first; k <= place + most; ++k)
    count += std::erfc((k * tick - late) / (sigma * std::numbers::sqrt2)) / 2;
  return count;
}

}  // namespace

Devices::Devices(const Program& program, const Path& path, Agenda& agenda)
    : program_(program),
      path_(path),
      agenda_(agenda),
      engines_(program.engines, agenda),
      holds_(2 * program.size()),
      ready_(2 * program.size()),
      dependents_(2 * program.size(), none),
      done_(2 * program.size()),
      submitted_(2 * program.size()),
      through_(2 * program.size(), none),
      freed_(2 * program.size()),
      eligible_(program.size()),
      left_(program.seconds),
      begun_(program.size(), no_time),
      ended_(program.size(), no_time),
      last_(program.streams.device.size(), none),
      legacy_(at(program.devices), none),
      blocking_(at(program.devices)),
      of_device_(at(program.devices)),
      fence_(at(program.devices), none),
      queued_(at(program.devices)) {
  for (std::size_t s = 0; s < program.streams.device.size(); ++s) {
    const auto stream = static_cast<std::int32_t>(s);
    const std::size_t device = at(program.streams.device[s]);
    of_device_[device].push_back(stream);
    switch (program.streams.kind[s]) {
      case StreamKind::legacy:
        legacy_[device] = stream;
        break;
      case StreamKind::blocking:
      case StreamKind::per_thread:
        blocking_[device].push_back(stream);
        break;
      case StreamKind::non_blocking:
        break;
    }
  }
}

void Devices::hold(Item item) {
  holds_[at(item)] = 1;
  submitted_[at(item)] = 1;
}

void Devices::submit(Item item, std::int32_t stream) {
  hold(item);
  wait_for_stream(item, stream);
  const std::size_t device = at(program_.streams.device[at(stream)]);
  wait_for(item, fence_[device]);
  last_[at(stream)] = item;
  if (is_work(item)) ++queued_[device];
}

void Devices::wait_for_stream(Item item, std::int32_t stream) {
  const std::size_t device = at(program_.streams.device[at(stream)]);
  wait_for(item, last_[at(stream)]);
  const StreamKind kind = program_.streams.kind[at(stream)];
  if (kind == StreamKind::legacy) {
    for (const std::int32_t other : blocking_[device])
      wait_for(item, last_[at(other)]);
  } else if (kind != StreamKind::non_blocking && legacy_[device] != none) {
    wait_for(item, last_[at(legacy_[device])]);
  }
}

void Devices::wait_for_device(Item item, std::int32_t device) {
  for (const std::int32_t stream : of_device_[at(device)])
    wait_for(item, last_[at(stream)]);
}

void Devices::fence(Item item, std::int32_t device) { fence_[at(device)] = item; }

void Devices::wait_for(Item item, Item other) {
  if (other == none || other == item || submitted_[at(other)] == 0) return;
  if (done_[at(other)] != 0) return;
  std::int32_t edge = free_edge_;
  if (edge == none) {
    edge = static_cast<std::int32_t>(edges_.size());
    edges_.emplace_back();
  } else {
    free_edge_ = edges_[at(edge)].next;
  }
  edges_[at(edge)] = {item, dependents_[at(other)]};
  dependents_[at(other)] = edge;
  ++holds_[at(item)];
}

void Devices::release(Item item, double eligible) {
  if (item % 2 == 0) eligible_[at(item / 2)] = eligible;
  if (eligible > agenda_.now()) {
    agenda_.add(eligible, What::eligible, item);
  } else {
    let_go(item, agenda_.now(), none);
  }
}

// `by`: what it waited for and is done; none where it has only been asked for long enough.
void Devices::let_go(Item item, double ready, Item by) {
  if (by != none) {
    through_[at(item)] = is_work(by) ? engine(by) : through_[at(by)];
    freed_[at(item)] = ready;
    if (is_work(item)) ready += program_.delay[at(item / 2)];
  }
  ready_[at(item)] = std::max(ready_[at(item)], ready);
  if (--holds_[at(item)] > 0) return;
  const double begins = std::max(ready_[at(item)], seen(item));
  if (begins > agenda_.now()) {
    // Held once more, until then.
    holds_[at(item)] = 1;
    ready_[at(item)] = begins;
    freed_[at(item)] = 0;
    agenda_.add(begins, What::eligible, item);
  } else {
    begin(item);
  }
}

// When work begins that waits for another engine. It looks for that one's end when it could begin
// itself (a kernel, somewhat later), and every tick from then on; W(x) = q ceil(x / q) of
// model/poll.h, where x is by how much the end and what begins behind it come later. 0 where it
// sees that at once.
double Devices::seen(Item item) const {
  if (path_.tick <= 0 || !is_work(item)) return 0;
  if (through_[at(item)] == none || through_[at(item)] == engine(item)) return 0;
  const bool kernel = program_.engines[at(engine(item))] == EngineKind::shared;
  const double looks = eligible_[at(item / 2)] + (kernel ? kernels_look_later : 0.0);
  const double late = freed_[at(item)] + program_.delay[at(item / 2)] - looks;
  return looks + path_.tick * looks_until(late, path_.tick);
}

void Devices::begin(Item item) {
  if (!is_work(item)) {
    agenda_.add(agenda_.now(), What::finished, item);
    return;
  }
  engines_.enter(engine(item), item, left_[at(item / 2)], program_.share[at(item / 2)]);
  note_begun();
}

void Devices::note_begun() {
  engines_.on_begin([this](Item item) { begun_[at(item / 2)] = agenda_.now(); });
}

Item Devices::finish(Item item) {
  if (is_work(item)) {
    engines_.leave(engine(item));
    note_begun();
  }
  return end(item);
}

Item Devices::finish_shared(std::int32_t engine, std::uint32_t version) {
  const Item item = engines_.done(engine, version);
  return item == none ? none : end(item);
}

Item Devices::end(Item item) {
  done_[at(item)] = 1;
  const bool work = is_work(item);
  if (work) {
    ended_[at(item / 2)] = agenda_.now();
    --queued_[at(program_.streams.device[at(program_.stream[at(item / 2)])])];
  }
  std::int32_t edge = dependents_[at(item)];
  dependents_[at(item)] = none;
  while (edge != none) {
    const Edge of = edges_[at(edge)];
    edges_[at(edge)].next = free_edge_;
    free_edge_ = edge;
    let_go(of.item, agenda_.now(), item);
    edge = of.next;
  }
  return item;
}

}  // namespace gpucast::replay
