// The rows of a trace's tables, and the columns that they consist of:
// docs/reference/trace-format.md describes each. Times are nanoseconds since 1970.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

namespace gpucast::trace {

struct Call {
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint32_t correlation;
  std::uint16_t thread;
  std::uint32_t name;
  std::uint16_t result;
};

enum class WorkKind : std::uint8_t { kernel = 0, copy = 1, memset = 2, graph = 3 };

struct Work {
  std::uint8_t kind;  // of WorkKind
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint32_t correlation;
  std::uint16_t device;
  std::uint16_t context;
  std::uint32_t stream;
  std::uint32_t name;
  std::uint32_t blocks;
  std::uint32_t threads;
  std::uint32_t shared_bytes;
  std::uint32_t registers;
  std::int64_t bytes;
  std::uint8_t direction;
  std::uint8_t from_memory;
  std::uint8_t to_memory;
  std::uint8_t asynchronous;
  std::uint16_t from_device;
  std::uint16_t to_device;
  std::uint32_t graph;
  std::uint64_t node;
};

enum class WaitKind : std::uint8_t {
  event = 1,
  stream_for_event = 2,
  stream = 3,
  device = 4,
  recorded = 5
};

struct Wait {
  std::uint8_t kind;  // of WaitKind
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint32_t correlation;
  std::uint16_t context;
  std::uint32_t stream;
  std::uint32_t event;
  std::uint64_t recording;
};

struct Range {
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint16_t thread;
  std::uint32_t name;
  std::uint32_t domain;
};

// `lacking`: a full phase whose kernel records did not arrive.
enum class PhaseKind : std::uint8_t { light = 0, full = 1, lacking = 2 };

struct Phase {
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint8_t full;  // PhaseKind
};

struct Stream {
  std::uint16_t context;
  std::uint16_t device;
  std::uint32_t stream;
  std::uint8_t flags;
};

struct NameRow {
  std::uint32_t id;
  std::string text;
};

// Counts of records over the life of a process, by what became of them.
struct RecordCounts {
  std::uint64_t calls = 0;  // in the table, or pending
  std::uint64_t work = 0;
  std::uint64_t launches = 0;  // successful calls that launch a kernel each
  std::uint64_t kernels = 0;   // in `work`
  std::uint64_t inner = 0;     // dropped calls that another call made
  std::uint64_t polls = 0;     // dropped queries in a series of the same that found work unfinished
  std::uint64_t untimed = 0;   // dropped GPU work for which CUPTI has no time
  std::uint64_t unknown = 0;   // records of kinds that were not requested
};

// A column: its name, and the member that it holds.
template <class Row, class Value>
struct Column {
  std::string_view name;
  Value Row::* member;
};
template <class Row, class Value>
Column(const char*, Value Row::*) -> Column<Row, Value>;

#define GPUCAST_COLUMN(member) \
  Column { #member, &Row::member }
constexpr auto columns(const Call*) {
  using Row = Call;
  return std::tuple{GPUCAST_COLUMN(start_ns), GPUCAST_COLUMN(end_ns), GPUCAST_COLUMN(correlation),
                    GPUCAST_COLUMN(thread),   GPUCAST_COLUMN(name),   GPUCAST_COLUMN(result)};
}

constexpr auto columns(const Work*) {
  using Row = Work;
  return std::tuple{
      GPUCAST_COLUMN(kind),        GPUCAST_COLUMN(start_ns),     GPUCAST_COLUMN(end_ns),
      GPUCAST_COLUMN(correlation), GPUCAST_COLUMN(device),       GPUCAST_COLUMN(context),
      GPUCAST_COLUMN(stream),      GPUCAST_COLUMN(name),         GPUCAST_COLUMN(blocks),
      GPUCAST_COLUMN(threads),     GPUCAST_COLUMN(shared_bytes), GPUCAST_COLUMN(registers),
      GPUCAST_COLUMN(bytes),       GPUCAST_COLUMN(direction),    GPUCAST_COLUMN(from_memory),
      GPUCAST_COLUMN(to_memory),   GPUCAST_COLUMN(asynchronous), GPUCAST_COLUMN(from_device),
      GPUCAST_COLUMN(to_device),   GPUCAST_COLUMN(graph),        GPUCAST_COLUMN(node)};
}

constexpr auto columns(const Wait*) {
  using Row = Wait;
  return std::tuple{GPUCAST_COLUMN(kind),        GPUCAST_COLUMN(start_ns), GPUCAST_COLUMN(end_ns),
                    GPUCAST_COLUMN(correlation), GPUCAST_COLUMN(context),  GPUCAST_COLUMN(stream),
                    GPUCAST_COLUMN(event),       GPUCAST_COLUMN(recording)};
}

constexpr auto columns(const Range*) {
  using Row = Range;
  return std::tuple{GPUCAST_COLUMN(start_ns), GPUCAST_COLUMN(end_ns), GPUCAST_COLUMN(thread),
                    GPUCAST_COLUMN(name), GPUCAST_COLUMN(domain)};
}

constexpr auto columns(const Phase*) {
  using Row = Phase;
  return std::tuple{GPUCAST_COLUMN(start_ns), GPUCAST_COLUMN(end_ns), GPUCAST_COLUMN(full)};
}

constexpr auto columns(const Stream*) {
  using Row = Stream;
  return std::tuple{GPUCAST_COLUMN(context), GPUCAST_COLUMN(device), GPUCAST_COLUMN(stream),
                    GPUCAST_COLUMN(flags)};
}

constexpr auto columns(const NameRow*) {
  using Row = NameRow;
  return std::tuple{GPUCAST_COLUMN(id), GPUCAST_COLUMN(text)};
}

#undef GPUCAST_COLUMN

}  // namespace gpucast::trace
