#include "gpucast/records/records.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>

namespace gpucast::records {

namespace {

using Json = nlohmann::ordered_json;

void require(bool holds, std::string_view field, std::string_view otherwise) {
  if (!holds) throw std::invalid_argument(std::string(field) + ": " + std::string(otherwise));
}

// U+0000 to U+001F and U+007F to U+009F, the latter in UTF-8: c2 80 to c2 9f.
bool has_control_character(std::string_view text) {
  unsigned char before = 0;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20 || byte == 0x7f || (before == 0xc2 && byte >= 0x80 && byte <= 0x9f))
      return true;
    before = byte;
  }
  return false;
}

// A text that may contain line ends; must not be empty.
std::string prose(std::string_view field, std::string text) {
  require(!text.empty(), field, "must not be empty");
  return text;
}

void require_finite(std::string_view field, const Json& value) {
  if (value.is_number_float())
    require(std::isfinite(value.get<double>()), field, "not a finite number");
  else if (value.is_structured())
    for (const auto& [key, inner] : value.items())
      require_finite(std::string(field) + (value.is_object() ? "." + key : "[" + key + "]"), inner);
}

// ---- checks by type: texts are labels, counts begin with 1, times are positive ----

std::int64_t at_least(std::int64_t least, std::string_view field, std::int64_t value) {
  require(value >= least, field, std::to_string(value) + " is less than " + std::to_string(least));
  return value;
}

std::string as_field(std::string_view field, const std::string& text) { return label(field, text); }
std::int64_t as_field(std::string_view field, std::int64_t count) {
  return at_least(1, field, count);
}
double as_field(std::string_view field, double value) {
  require(std::isfinite(value), field, "not a finite number");
  require(value > 0, field, std::to_string(value) + " is not greater than 0");
  return value;
}
bool as_field(std::string_view /*field*/, bool value) { return value; }
template <class Word>
  requires std::is_enum_v<Word>
std::string_view as_field(std::string_view /*field*/, Word word) {
  return name(word);
}

void add(Json& /*json*/) {}

// Adds fields to an object from alternating names and values. Unset values are left out; JSON
// values are not checked.
template <class Value, class... Rest>
void add(Json& json, const char* field, const Value& value, const Rest&... rest) {
  if constexpr (std::is_same_v<Value, Json>) {
    if (!value.is_null()) json[field] = value;
  } else if constexpr (requires { value.has_value(); }) {
    if (value) json[field] = as_field(field, *value);
  } else {
    json[field] = as_field(field, value);
  }
  add(json, rest...);
}

template <class... Fields>
Json object(const Fields&... fields) {
  Json json;
  add(json, fields...);
  return json;
}

template <class Values, class Make>
Json list(const Values& values, Make make) {
  Json json = Json::array();
  for (const auto& value : values)
    json.push_back(make(value));
  return json;
}

Json gpu_json(const Gpu& gpu) {
  return object("name", gpu.name, "sms", gpu.sms, "cores", gpu.cores, "clock_hz", gpu.clock_hz,
                "memory_bytes", gpu.memory_bytes, "max_threads_per_sm", gpu.max_threads_per_sm,
                "pci", gpu.pci, "links", gpu.links);
}

// Makes a list per phase, with an entry per step.
Json phases_json(const std::vector<Phases>& steps) {
  if (steps.empty()) return nullptr;
  const auto seconds = [&](const char* name, double Phases::* phase) {
    return list(steps, [&](const Phases& step) {
      require(step.*phase >= 0, name, "is no time");
      return step.*phase;
    });
  };
  return object("h2d", seconds("h2d", &Phases::h2d), "kernel", seconds("kernel", &Phases::kernel),
                "d2h", seconds("d2h", &Phases::d2h), "cpu", seconds("cpu", &Phases::cpu),
                "exchange", seconds("exchange", &Phases::exchange));
}

Json bytes_json(const StepBytes& bytes) {
  return {{"h2d", at_least(0, "bytes.h2d", bytes.h2d)},
          {"d2h", at_least(0, "bytes.d2h", bytes.d2h)},
          {"exchange", at_least(0, "bytes.exchange", bytes.exchange)}};
}

// Samples come after everything but other long fields, which keeps lines readable.
template <class... Fields>
Json measured(schema::RecordKind kind, const Measurement& record, const Fields&... fields) {
  Json json = object("kind", kind, "machine", record.machine);
  if (kind != schema::RecordKind::host_memory) add(json, "path", record.path);
  add(json, fields...);
  require(!record.seconds.empty(), "seconds", "no samples");
  json["seconds"] =
      list(record.seconds, [](double seconds) { return as_field("seconds", seconds); });
  if (record.caveat) json["caveat"] = prose("caveat", *record.caveat);
  require_finite(name(kind), json);
  return json;
}

}  // namespace

std::string label(std::string_view field, std::string text) {
  text = prose(field, std::move(text));
  require(!has_control_character(text), field, "has control characters");
  return text;
}

void require_object(std::string_view field, const Json& value) {
  require(value.is_object(), field, "not an object");
  require_finite(field, value);
}

Json to_json(const Machine& machine) {
  return object(
      "kind", schema::RecordKind::machine, "id", machine.id, "host", machine.host, "cpu",
      machine.cpu, "cpu_cores", machine.cpu_cores, "gpus",
      machine.gpus ? list(*machine.gpus, gpu_json) : Json(), "driver", machine.driver, "runtime",
      machine.runtime, "transport", machine.transport, "topology", machine.topology, "tool",
      machine.tool ? object("name", machine.tool->name, "version", machine.tool->version) : Json(),
      "started", machine.started, "command", machine.command ? Json(*machine.command) : Json());
}

Json to_json(const Transfer& transfer, const Measurement& timed) {
  const Json concurrent = list(transfer.concurrent, [](const Copy& copy) {
    return object("from", copy.from, "to", copy.to, "bytes", copy.bytes);
  });
  return measured(schema::RecordKind::transfer, timed, "memory", transfer.memory, "engine",
                  transfer.engine, "route", transfer.route, "from", transfer.from, "to",
                  transfer.to, "bytes", transfer.bytes, "concurrent", concurrent, "method",
                  transfer.method, "issuer", transfer.issuer, "valid", transfer.valid);
}

Json to_json(const Launch& launch, const Measurement& timed) {
  return measured(schema::RecordKind::launch, timed, "method", launch.method, "count", launch.count,
                  "arguments", Json(at_least(0, "arguments", launch.arguments)));
}

Json to_json(const Step& step, const Measurement& timed) {
  Json json =
      measured(schema::RecordKind::step, timed, "schedule", step.schedule, "kernel", step.kernel,
               "program", step.program, "case", step.case_name, "n", step.n, "unit", step.unit,
               "gpus", step.gpus, "block", step.block, "memory", step.memory, "graph", step.graph,
               "boundary", step.boundary, "bytes", step.bytes ? bytes_json(*step.bytes) : Json(),
               "energy_drift", step.energy_drift ? Json(*step.energy_drift) : Json());
  add(json, "phases", phases_json(step.phases));
  return json;
}

Json to_json(const Overlap& overlap, const Measurement& timed) {
  require(!overlap.parts.empty(), "parts", "is empty");
  return measured(schema::RecordKind::overlap, timed, "memory", overlap.memory, "device",
                  overlap.device, "bytes", overlap.bytes, "parts",
                  list(overlap.parts, schema::name<OverlapPart>));
}

Json to_json(const Skeleton& skeleton, const Measurement& timed) {
  return measured(schema::RecordKind::skeleton, timed, "schedule", skeleton.schedule, "memory",
                  skeleton.memory, "gpus", skeleton.gpus, "h2d_bytes", skeleton.h2d_bytes,
                  "d2h_bytes", skeleton.d2h_bytes, "busy", skeleton.busy, "kernel_seconds",
                  skeleton.kernel_seconds);
}

Json to_json(const HostMemory& host_memory, const Measurement& timed) {
  return measured(schema::RecordKind::host_memory, timed, "memory", host_memory.memory, "pattern",
                  host_memory.pattern, "runner", host_memory.runner, "phase", host_memory.phase,
                  "bytes", host_memory.bytes);
}

Json to_json(const Note& note) {
  require(note.about.is_null() || note.about.is_object(), "about", "not an object");
  Json json = object("kind", schema::RecordKind::note, "machine", note.machine, "path", note.path,
                     "text", Json(prose("text", note.text)), "about", note.about);
  require_finite("note", json);
  return json;
}

namespace {

// 20250131T120000.250Z: a time in a form for ids and file names.
std::string compact(std::string moment) {
  std::erase_if(moment, [](char character) { return character == '-' || character == ':'; });
  return moment;
}

}  // namespace

std::optional<std::string> cpu_model(std::istream& cpuinfo) {
  const std::string key = "model name";
  for (std::string line; std::getline(cpuinfo, line);) {
    const auto colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const auto first = line.find_first_not_of(" \t", colon + 1);
    const auto last = line.find_last_not_of(" \t\r");
    if (first != std::string::npos) return line.substr(first, last - first + 1);
  }
  return std::nullopt;
}

std::int64_t allowed_cores() {
  // The kernel refuses a set that is smaller than its own; on some machines 1024 processors are not
  // enough.
  for (std::size_t count = CPU_SETSIZE; count <= (std::size_t{1} << 20U); count *= 4) {
    std::vector<cpu_set_t> set(count / CPU_SETSIZE);
    const std::size_t size = set.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, size, set.data()) == 0) return CPU_COUNT_S(size, set.data());
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

std::string utc(std::chrono::system_clock::time_point moment) {
  using namespace std::chrono;
  const auto day = floor<days>(moment);
  const year_month_day date(day);
  const hh_mm_ss time(floor<milliseconds>(moment - day));
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", int{date.year()},
                unsigned{date.month()}, unsigned{date.day()},
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()),
                static_cast<int>(time.subseconds().count()));
  return text.data();
}

Machine this_machine(const Tool& tool, const std::vector<std::string>& command,
                     const std::string& id) {
  utsname names{};
  ::uname(&names);
  std::ifstream cpuinfo("/proc/cpuinfo");
  Machine machine;
  machine.host = std::string(std::begin(names.nodename));
  machine.cpu = cpu_model(cpuinfo).value_or(std::begin(names.machine));
  machine.cpu_cores = allowed_cores();
  machine.tool = tool;
  machine.started = utc(std::chrono::system_clock::now());
  machine.command = command;
  machine.id =
      id.empty() ? *machine.host + "-" + compact(*machine.started) + "-" + std::to_string(getpid())
                 : id;
  return machine;
}

}  // namespace gpucast::records
