#include "hosts.h"

#include <algorithm>

namespace gpucast::replay {
Hosts::Hosts(const Program& program, Agenda& agenda, Times& times)
    : program_(program),
      agenda_(agenda),
      times_(times),
      calls_(program.size()),
      next_(at(program.threads)),
      end_(at(program.threads)),
      returned_(program.size()),
      left_(program.size()) {
  for (const std::int32_t thread : program.thread)
    ++end_[at(thread)];
  std::size_t begin = 0;
  for (std::size_t thread = 0; thread < next_.size(); ++thread) {
    next_[thread] = begin;
    begin += end_[thread];
    end_[thread] = next_[thread];
  }
  for (std::size_t call = 0; call < program.size(); ++call)
    calls_[end_[at(program.thread[call])]++] = static_cast<std::int32_t>(call);
}

void Hosts::start() {
  for (std::int32_t thread = 0; thread < program_.threads; ++thread)
    schedule(thread, 0);
}

void Hosts::schedule(std::int32_t thread, double time) {
  if (next_[at(thread)] == end_[at(thread)]) return;
  agenda_.add(time + program_.gap[at(calls_[next_[at(thread)]])], What::host, thread);
}

std::int32_t Hosts::next_call(std::int32_t thread) {
  const std::int32_t call = calls_[next_[at(thread)]++];
  times_.begin[at(call)] = agenda_.now();
  return call;
}

void Hosts::returns(std::int32_t call, double time) {
  times_.end[at(call)] = time;
  returned_[at(call)] = 1;
  --left_;
  schedule(program_.thread[at(call)], time);
  if (waiting_.empty()) return;
  std::erase_if(waiting_, [&](const Waiting& each) {
    if (each.other != call) return false;
    agenda_.add(time, What::again, each.call);
    return true;
  });
}

}  // namespace gpucast::replay
