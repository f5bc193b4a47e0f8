#include "check.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace gpucast::replay {
namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw std::invalid_argument(what);
}

template <class Column>
void require_length(const Column& column, std::size_t size, const char* name) {
  require(column.size() == size, std::string("column '") + name + "' has another length");
}

void require_times(const std::vector<double>& column, std::size_t size, const char* name) {
  require_length(column, size, name);
  for (const double each : column)
    require(std::isfinite(each) && each >= 0, std::string("'") + name + "' holds what is no time");
}

void require_index(std::int32_t index, std::int32_t count, bool may_be_none, const char* name) {
  require((index >= 0 && index < count) || (may_be_none && index == none),
          std::string("'") + name + "' names what is not there");
}

void check_columns(const Program& program) {
  const std::size_t size = program.size();
  require_length(program.operation, size, "operation");
  require_length(program.direction, size, "direction");
  require_length(program.memory, size, "memory");
  require_length(program.blocking, size, "blocking");
  require_length(program.device, size, "device");
  require_length(program.stream, size, "stream");
  require_length(program.bytes, size, "bytes");
  require_length(program.recording, size, "recording");
  require_length(program.engine, size, "engine");
  require_times(program.gap, size, "gap");
  require_times(program.cost, size, "cost");
  require_times(program.tail, size, "tail");
  require_times(program.latency, size, "latency");
  require_times(program.delay, size, "delay");
  require_times(program.seconds, size, "seconds");
  require_times(program.share, size, "share");
}

void check_calls(const Program& program) {
  const auto size = static_cast<std::int32_t>(program.size());
  const auto streams = static_cast<std::int32_t>(program.streams.device.size());
  const auto engines = static_cast<std::int32_t>(program.engines.size());
  for (std::size_t c = 0; c < program.size(); ++c) {
    require_index(program.thread[c], program.threads, false, "thread");
    require(static_cast<std::size_t>(program.operation[c]) < operations,
            "'operation' holds what is none");
    require_index(program.device[c], program.devices, false, "device");
    const Operation operation = program.operation[c];
    const bool needs_stream = program.engine[c] != none || operation == Operation::record ||
                              operation == Operation::wait_stream_event ||
                              operation == Operation::sync_stream;
    require_index(program.stream[c], streams, !needs_stream, "stream");
    require_index(program.engine[c], engines, true, "engine");
    require_index(program.recording[c], size, true, "recording");
    require(
        program.recording[c] == none ||
            program.operation[static_cast<std::size_t>(program.recording[c])] == Operation::record,
        "'recording' names a call that records no event");
    require(program.bytes[c] >= 0, "'bytes' holds a negative number");
  }
}

}  // namespace

void check(const Program& program, const Path& path) {
  constexpr std::size_t most = std::size_t{1} << 29;
  require(program.size() <= most, "more than 536870912 calls");
  require(program.threads >= 0 && program.devices >= 0, "a negative number of threads or devices");
  check_columns(program);
  require_length(program.streams.kind, program.streams.device.size(), "kind of streams");
  for (const std::int32_t device : program.streams.device)
    require_index(device, program.devices, false, "device of a stream");
  check_calls(program);
  if (path.transport == Transport::direct) return;
  const Messages& messages = path.messages;
  const std::size_t size = program.size();
  require_times(messages.cost, size, "message cost");
  require_times(messages.up, size, "up");
  require_times(messages.flight, size, "flight");
  require_times(messages.serve, size, "serve");
  require_times(messages.answer, size, "answer");
  require_times(messages.down, size, "down");
  require_times(messages.after, size, "after");
  require_times(messages.lead, size, "lead");
  require_times(messages.polls, size, "polls");
}

}  // namespace gpucast::replay
