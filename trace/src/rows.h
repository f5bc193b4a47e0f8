// The rows of a trace's tables, and which columns they make: docs/reference/trace-format.md says
// what each means. Times are nanoseconds since 1970.
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

// `lacking`: meant to be full, but the kernels' records did not come.
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

// A column: its name, and the member that it holds.
template <class Row, class Value>
struct Column {
  std::string_view name;
  Value Row::* member;
};
template <class Row, class Value>
Column(const char*, Value Row::*) -> Column<Row, Value>;

constexpr auto columns(const Call*) {
  return std::tuple{Column{"start_ns", &Call::start_ns},
                    Column{"end_ns", &Call::end_ns},
                    Column{"correlation", &Call::correlation},
                    Column{"thread", &Call::thread},
                    Column{"name", &Call::name},
                    Column{"result", &Call::result}};
}

constexpr auto columns(const Work*) {
  return std::tuple{Column{"kind", &Work::kind},
                    Column{"start_ns", &Work::start_ns},
                    Column{"end_ns", &Work::end_ns},
                    Column{"correlation", &Work::correlation},
                    Column{"device", &Work::device},
                    Column{"context", &Work::context},
                    Column{"stream", &Work::stream},
                    Column{"name", &Work::name},
                    Column{"blocks", &Work::blocks},
                    Column{"threads", &Work::threads},
                    Column{"shared_bytes", &Work::shared_bytes},
                    Column{"registers", &Work::registers},
                    Column{"bytes", &Work::bytes},
                    Column{"direction", &Work::direction},
                    Column{"from_memory", &Work::from_memory},
                    Column{"to_memory", &Work::to_memory},
                    Column{"asynchronous", &Work::asynchronous},
                    Column{"from_device", &Work::from_device},
                    Column{"to_device", &Work::to_device},
                    Column{"graph", &Work::graph},
                    Column{"node", &Work::node}};
}

constexpr auto columns(const Wait*) {
  return std::tuple{Column{"kind", &Wait::kind},       Column{"start_ns", &Wait::start_ns},
                    Column{"end_ns", &Wait::end_ns},   Column{"correlation", &Wait::correlation},
                    Column{"context", &Wait::context}, Column{"stream", &Wait::stream},
                    Column{"event", &Wait::event},     Column{"recording", &Wait::recording}};
}

constexpr auto columns(const Range*) {
  return std::tuple{Column{"start_ns", &Range::start_ns}, Column{"end_ns", &Range::end_ns},
                    Column{"thread", &Range::thread}, Column{"name", &Range::name},
                    Column{"domain", &Range::domain}};
}

constexpr auto columns(const Phase*) {
  return std::tuple{Column{"start_ns", &Phase::start_ns}, Column{"end_ns", &Phase::end_ns},
                    Column{"full", &Phase::full}};
}

constexpr auto columns(const Stream*) {
  return std::tuple{Column{"context", &Stream::context}, Column{"device", &Stream::device},
                    Column{"stream", &Stream::stream}, Column{"flags", &Stream::flags}};
}

constexpr auto columns(const NameRow*) {
  return std::tuple{Column{"id", &NameRow::id}, Column{"text", &NameRow::text}};
}

}  // namespace gpucast::trace
