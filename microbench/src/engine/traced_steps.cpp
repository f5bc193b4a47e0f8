#include "engine/traced_steps.h"

#include <chrono>
#include <exception>
#include <latch>
#include <thread>
#include <utility>

namespace gpucast::microbench {
namespace {

using devices::Clock;

void spin_until(Clock::time_point moment) {
  while (Clock::now() < moment) {
  }
}

Clock::duration to_duration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

TracedSteps::TracedSteps(TracedProgram program)
    : program_(std::move(program)),
      driver_(program_.calls.front().thread),
      calls_(static_cast<std::size_t>(program_.threads)) {
  for (std::size_t k = 0; k < program_.calls.size(); ++k)
    calls_[static_cast<std::size_t>(program_.calls[k].thread)].push_back(k);
}

std::vector<double> TracedSteps::make() {
  std::vector<Moment> moments;
  std::vector<std::exception_ptr> failures(calls_.size());
  std::latch ready(program_.threads);
  const auto run = [&](int thread) {
    ready.arrive_and_wait();
    try {
      make_calls_of(thread, Clock::now(), thread == driver_ ? &moments : nullptr);
    } catch (...) {
      failures[static_cast<std::size_t>(thread)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int thread = 0; thread < program_.threads; ++thread)
      if (thread != driver_) others.emplace_back(run, thread);
    run(driver_);
  }
  settle();
  for (const auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
  std::vector<double> seconds;
  for (std::size_t k = 2; k < moments.size(); ++k)
    seconds.push_back(std::chrono::duration<double>(moments[k] - moments[k - 1]).count());
  return seconds;
}

void TracedSteps::make_calls_of(int thread, Moment begin, std::vector<Moment>* moments) {
  Moment returned = begin;
  int step = -1;
  for (const std::size_t number : calls_[static_cast<std::size_t>(thread)]) {
    const TracedCall& call = program_.calls[number];
    if (moments != nullptr && std::exchange(step, call.step) != call.step)
      moments->push_back(returned);
    const bool only_time = call.operation == Operation::other;
    spin_until(returned + to_duration(call.gap + (only_time ? call.cost : 0)));
    if (!only_time) make_call(call, number);
    returned = Clock::now();
  }
  if (moments != nullptr) moments->push_back(returned);
}

}  // namespace gpucast::microbench
