#include "direct.h"

#include <algorithm>

#include "gpucast/replay/rules.h"

namespace gpucast::replay {
void mark(const Program& program, Devices& devices, std::int32_t call) {
  const Item item = Devices::work_of(call);
  devices.submit(item, program.stream[at(call)]);
  const std::int32_t recording = program.recording[at(call)];
  if (program.operation[at(call)] == Operation::wait_stream_event && recording != none)
    devices.wait_for(item, Devices::work_of(recording));
}

void mark_set(const Program& program, Devices& devices, std::int32_t call) {
  const Item item = Devices::work_of(call);
  devices.hold(item);
  const std::int32_t recording = program.recording[at(call)];
  switch (program.operation[at(call)]) {
    case Operation::sync_stream:
      devices.wait_for_stream(item, program.stream[at(call)]);
      break;
    case Operation::sync_event:
    case Operation::wait_stream_event:
      if (recording != none) devices.wait_for(item, Devices::work_of(recording));
      break;
    default:
      devices.wait_for_device(item, program.device[at(call)]);
  }
}

void Direct::call(std::int32_t call) {
  if (held_up(call)) return;
  const std::size_t c = at(call);
  const double now = agenda_.now();
  const bool works = program_.engine[c] != none;
  switch (native_wait(program_.operation[c], program_.direction[c], program_.memory[c],
                      program_.blocking[c] != 0)) {
    case Waits::nothing:
      if (works) ask_for_work(call);
      if (program_.operation[c] == Operation::record ||
          program_.operation[c] == Operation::wait_stream_event) {
        mark(program_, devices_, call);
        devices_.release(Devices::work_of(call), now);
      }
      hosts_.returns(call, now + program_.cost[c]);
      break;
    case Waits::own:
      if (works) {
        ask_for_work(call);
      } else {
        hosts_.returns(call, now + program_.cost[c]);
      }
      break;
    case Waits::before: {
      const Item before = Devices::before(call);
      devices_.hold(before);
      if (program_.stream[c] != none) devices_.wait_for_stream(before, program_.stream[c]);
      devices_.release(before, now);
      break;
    }
    case Waits::set:
      wait_for_set(call);
      break;
  }
}

// By a recording that another thread has yet to ask for, or a device that takes no more.
bool Direct::held_up(std::int32_t call) {
  const std::int32_t recording = program_.recording[at(call)];
  if (recording != none && !hosts_.returned(recording)) {
    hosts_.wait_for(call, recording);
    return true;
  }
  if (program_.engine[at(call)] != none && path_.queue > 0 &&
      devices_.queued(program_.streams.device[at(program_.stream[at(call)])]) >= path_.queue) {
    waiting_for_room_.push_back(call);
    return true;
  }
  return false;
}

void Direct::ask_for_work(std::int32_t call) {
  const Item item = Devices::work_of(call);
  devices_.submit(item, program_.stream[at(call)]);
  devices_.release(item, agenda_.now() + program_.latency[at(call)]);
}

void Direct::wait_for_set(std::int32_t call) {
  mark_set(program_, devices_, call);
  devices_.release(Devices::work_of(call), agenda_.now());
}

void Direct::finished(Item item) {
  const std::int32_t call = Devices::call_of(item);
  const std::size_t c = at(call);
  const double now = agenda_.now();
  if (devices_.is_work(item) && !waiting_for_room_.empty()) {
    for (const std::int32_t waiting : std::exchange(waiting_for_room_, {}))
      agenda_.add(now, What::again, waiting);
  }
  const Waits waits = native_wait(program_.operation[c], program_.direction[c], program_.memory[c],
                                  program_.blocking[c] != 0);
  if (item == Devices::before(call)) {
    if (program_.engine[c] != none) ask_for_work(call);
    hosts_.returns(call, now + program_.cost[c]);
  } else if (waits == Waits::own) {
    hosts_.returns(call, std::max(times_.begin[c] + program_.cost[c], now + program_.tail[c]));
  } else if (waits == Waits::set) {
    const double began = times_.begin[c];
    // Nothing was left to wait for.
    if (now <= began) return hosts_.returns(call, began + program_.cost[c]);
    hosts_.returns(call, std::max(began + program_.cost[c], now + program_.tail[c]));
  }
}

}  // namespace gpucast::replay
