#include "engine/calls.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "gpucast/support/errors.h"

namespace gpucast::microbench {
namespace {

using Json = nlohmann::json;
using support::InputError;

constexpr std::string_view calls_schema = "gpucast.calls/1";
constexpr int most_of_any = 1 << 20;  // of threads, devices, streams, events, steps

constexpr std::array<std::pair<std::string_view, Operation>, 12> operations{
    {{"launch", Operation::launch},
     {"copy", Operation::copy},
     {"set", Operation::set},
     {"record", Operation::record},
     {"wait_stream_event", Operation::wait_stream_event},
     {"sync_stream", Operation::sync_stream},
     {"sync_event", Operation::sync_event},
     {"sync_device", Operation::sync_device},
     {"alloc", Operation::alloc},
     {"free", Operation::release},
     {"query", Operation::query},
     {"other", Operation::other}}};
constexpr std::array<std::pair<std::string_view, Direction>, 6> directions{
    {{"none", Direction::none},
     {"h2d", Direction::h2d},
     {"d2h", Direction::d2h},
     {"local", Direction::local},
     {"peer", Direction::peer},
     {"host", Direction::within_host}}};
constexpr std::array<std::pair<std::string_view, bool>, 3> memories{
    {{"none", false}, {"pageable", false}, {"pinned", true}}};

// A line of the file.
class Line {
 public:
  Line(const std::string& text, std::string where) : where_(std::move(where)) {
    value_ = Json::parse(text, nullptr, false);
    if (!value_.is_object()) refuse("", "is no JSON object");
  }

  [[noreturn]] void refuse(const std::string& field, const std::string& why) const {
    throw InputError(where_ + ": " + (field.empty() ? "" : field + ": ") + why);
  }
  bool has(const std::string& field) const {
    const auto place = value_.find(field);
    return place != value_.end() && !place->is_null();
  }
  const Json& operator[](const std::string& field) const {
    if (!has(field)) refuse(field, "is missing");
    return value_[field];
  }

  std::int64_t count(const std::string& field, std::int64_t limit) const {
    const Json& value = (*this)[field];
    if (!value.is_number_integer()) refuse(field, "is no whole number");
    const auto number = value.get<std::int64_t>();
    if (number < 0 || number >= limit) {
      refuse(field, std::to_string(number) + " is not from 0 to " + std::to_string(limit - 1));
    }
    return number;
  }
  // Below `limit`, or absent.
  int number(const std::string& field, int limit) const {
    return has(field) ? static_cast<int>(count(field, limit)) : TracedCall::none;
  }
  double seconds(const std::string& field) const {
    if (!has(field)) return 0;
    const Json& value = (*this)[field];
    const double seconds = value.is_number() ? value.get<double>() : -1;
    constexpr double longest = 3600;
    if (seconds < 0 || seconds > longest) refuse(field, "is no time from 0 to 3600 s");
    return seconds;
  }
  bool flag(const std::string& field) const {
    if (!has(field)) return false;
    const Json& value = (*this)[field];
    if (!value.is_boolean()) refuse(field, "is neither true nor false");
    return value.get<bool>();
  }
  template <class Words>
  auto word(const std::string& field, const Words& words) const {
    const std::string text = !has(field)                  ? "none"
                             : (*this)[field].is_string() ? (*this)[field].get<std::string>()
                                                          : (*this)[field].dump();
    std::string known;
    for (const auto& [name, value] : words) {
      if (name == text) return value;
      known.append(known.empty() ? "" : ", ").append(name);
    }
    refuse(field, "\"" + text + "\" is none of " + known);
  }

 private:
  std::string where_;
  Json value_;
};

TracedProgram head_of(const Line& line) {
  if (!line["schema"].is_string() || line["schema"].get<std::string>() != calls_schema) {
    line.refuse("schema", "is not " + std::string(calls_schema));
  }
  TracedProgram program;
  program.steps = static_cast<int>(line.count("steps", most_of_any));
  if (program.steps < 2) line.refuse("steps", "two are needed, to tell a step from the first");
  program.threads = line.has("threads") ? static_cast<int>(line.count("threads", most_of_any)) : 1;
  program.devices = static_cast<int>(line.count("devices", most_of_any));
  program.events = static_cast<int>(line.count("events", most_of_any));
  if (!line["streams"].is_array()) line.refuse("streams", "is no list");
  for (const Json& stream_line : line["streams"]) {
    const Line stream(stream_line.dump(), "streams");
    const auto kind = stream.count("flags", static_cast<int>(StreamKind::per_thread) + 1);
    program.streams.push_back({.device = static_cast<int>(stream.count("device", program.devices)),
                               .kind = static_cast<StreamKind>(kind)});
  }
  return program;
}

bool needs_stream(const TracedCall& call) {
  switch (call.operation) {
    case Operation::launch:
    case Operation::set:
    case Operation::record:
    case Operation::sync_stream:
    case Operation::wait_stream_event:
      return true;
    case Operation::copy:
      return call.direction != Direction::within_host;
    default:
      return false;
  }
}

TracedCall call_of(const Line& line, const TracedProgram& program) {
  constexpr std::int64_t largest = std::int64_t{1} << 40;
  if (line["operation"] == "graph_launch") {
    line.refuse("operation",
                "graph_launch: graphs cannot be made again; trace with --graphs nodes");
  }
  TracedCall call{.operation = line.word("operation", operations),
                  .direction = line.word("direction", directions),
                  .pinned = line.word("memory", memories),
                  .blocking = line.flag("blocking"),
                  .thread = static_cast<int>(line.count("thread", program.threads)),
                  .device = static_cast<int>(line.count("device", program.devices)),
                  .stream = line.number("stream", static_cast<int>(program.streams.size())),
                  .event = line.number("event", program.events),
                  .step = static_cast<int>(line.count("step", program.steps)),
                  .bytes = line.has("bytes") ? line.count("bytes", largest) : 0,
                  .gap = line.seconds("gap"),
                  .cost = line.seconds("cost"),
                  .busy = line.seconds("busy")};
  if (call.operation == Operation::copy && call.direction == Direction::none) {
    line.refuse("direction", "is missing: a copy has one");
  }
  if (needs_stream(call)) {
    if (call.stream == TracedCall::none) line.refuse("stream", "is missing");
    const int device = program.streams[static_cast<std::size_t>(call.stream)].device;
    if (device != call.device) line.refuse("device", "is not that of its stream");
  }
  if (call.operation == Operation::record && call.event == TracedCall::none) {
    line.refuse("event", "is missing");
  }
  return call;
}

}  // namespace

TracedProgram read_calls(std::istream& file, const std::string& name) {
  std::string text;
  std::size_t number = 1;
  const auto where = [&] { return name + ": line " + std::to_string(number); };
  if (!std::getline(file, text)) throw InputError(name + ": is empty, or cannot be read");
  TracedProgram program = head_of(Line(text, where()));
  while (std::getline(file, text)) {
    ++number;
    if (text.empty()) continue;
    const Line line(text, where());
    program.calls.push_back(call_of(line, program));
    const auto& calls = program.calls;
    if (calls.size() > 1 && calls.back().step < calls[calls.size() - 2].step) {
      line.refuse("step", "comes before that of the line above");
    }
  }
  if (program.calls.empty()) throw InputError(name + ": holds no calls");
  return program;
}

}  // namespace gpucast::microbench
