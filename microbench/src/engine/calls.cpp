#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/traced_steps.h"
#include "gpucast/schema/vocabulary.h"
#include "gpucast/support/parse_word.h"

namespace gpucast::schema {

template <>
inline constexpr auto words<microbench::Operation> = in_order<microbench::Operation>(
    "launch", "copy", "set", "record", "wait_stream_event", "sync_stream", "sync_event",
    "sync_device", "alloc", "free", "query", "other");
template <>
inline constexpr auto words<microbench::Direction> =
    in_order<microbench::Direction>("none", "h2d", "d2h", "local", "peer", "host");

}  // namespace gpucast::schema

namespace gpucast::microbench {
namespace {

using Json = nlohmann::json;
using schema::Memory;
using support::InputError;

constexpr std::string_view calls_schema = "gpucast.calls/1";
constexpr int most_of_any = 1 << 20;  // limit for threads, devices, streams, events, steps

// A line of the file.
class Line {
 public:
  Line(const std::string& text, std::string where) : where_(std::move(where)) {
    value_ = Json::parse(text, nullptr, false);
    if (!value_.is_object()) throw InputError(where_ + ": is no JSON object");
  }

  [[noreturn]] void refuse(const std::string& field, const std::string& why) const {
    throw InputError(where_ + ": " + field + ": " + why);
  }
  bool has(const std::string& field) const {
    const auto place = value_.find(field);
    return place != value_.end() && !place->is_null();
  }
  const Json& operator[](const std::string& field) const {
    if (!has(field)) refuse(field, "is missing");
    return value_[field];
  }

  // A whole number below `limit`, or `otherwise` if the field may be missing.
  template <class Number = int>
  Number count(const std::string& field, std::int64_t limit,
               std::optional<Number> absent = std::nullopt) const {
    if (absent && !has(field)) return *absent;
    const Json& value = (*this)[field];
    if (!value.is_number_integer()) refuse(field, "is no whole number");
    const auto number = value.get<std::int64_t>();
    if (number < 0 || number >= limit)
      refuse(field, std::to_string(number) + " is not from 0 to " + std::to_string(limit - 1));
    return static_cast<Number>(number);
  }
  double seconds(const std::string& field) const {
    if (!has(field)) return 0;
    const double seconds = value_[field].is_number() ? value_[field].get<double>() : -1;
    constexpr double longest = 3600;
    if (seconds < 0 || seconds > longest) refuse(field, "is no time from 0 to 3600 s");
    return seconds;
  }
  bool flag(const std::string& field) const {
    if (!has(field)) return false;
    if (!value_[field].is_boolean()) refuse(field, "is neither true nor false");
    return value_[field].get<bool>();
  }
  template <class Word>
  Word word(const std::string& field, Word absent,
            std::span<const Word> among = schema::all<Word>()) const {
    if (!has(field)) return absent;
    const std::string text =
        value_[field].is_string() ? value_[field].get<std::string>() : value_[field].dump();
    return support::parse_word<Word>(where_ + ": " + field, text, among);
  }

 private:
  std::string where_;
  Json value_;
};

TracedProgram head_of(const Line& line) {
  if (line["schema"] != calls_schema) line.refuse("schema", "is not " + std::string(calls_schema));
  TracedProgram traced{.steps = line.count("steps", most_of_any),
                       .threads = line.count("threads", most_of_any, std::optional(1)),
                       .devices = line.count("devices", most_of_any),
                       .events = line.count("events", most_of_any),
                       .streams = {},
                       .calls = {}};
  if (traced.steps < 2) line.refuse("steps", "two are needed, to tell a step from the first");
  if (!line["streams"].is_array()) line.refuse("streams", "is no list");
  for (const Json& stream_line : line["streams"]) {
    const Line stream(stream_line.dump(), "streams");
    const auto kind = stream.count("flags", static_cast<int>(StreamKind::per_thread) + 1);
    traced.streams.push_back(
        {.device = stream.count("device", traced.devices), .kind = static_cast<StreamKind>(kind)});
  }
  return traced;
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

TracedCall call_of(const Line& line, const TracedProgram& traced) {
  constexpr std::int64_t largest = std::int64_t{1} << 40;
  constexpr std::optional<int> none(TracedCall::none);
  if (line["operation"] == "graph_launch") {
    line.refuse("operation",
                "graph_launch: graphs cannot be made again; trace with --graphs nodes");
  }
  constexpr std::array memories{Memory::pageable, Memory::pinned};
  TracedCall call{
      .operation = line.word("operation", Operation::other),
      .direction = line.word("direction", Direction::none),
      .pinned = line.word<Memory>("memory", Memory::pageable, memories) == Memory::pinned,
      .blocking = line.flag("blocking"),
      .thread = line.count("thread", traced.threads),
      .device = line.count("device", traced.devices),
      .stream = line.count("stream", std::ssize(traced.streams), none),
      .event = line.count("event", traced.events, none),
      .step = line.count("step", traced.steps),
      .bytes = line.count<std::int64_t>("bytes", largest, 0),
      .gap = line.seconds("gap"),
      .cost = line.seconds("cost"),
      .busy = line.seconds("busy")};
  if (call.operation == Operation::copy && call.direction == Direction::none)
    line.refuse("direction", "is missing: a copy has one");
  if (needs_stream(call)) {
    if (call.stream == TracedCall::none) line.refuse("stream", "is missing");
    const int device = traced.streams[static_cast<std::size_t>(call.stream)].device;
    if (device != call.device) line.refuse("device", "is not that of its stream");
  }
  if (call.operation == Operation::record && call.event == TracedCall::none)
    line.refuse("event", "is missing");
  return call;
}

}  // namespace

TracedProgram read_calls(std::istream& file, const std::string& name) {
  std::string text;
  std::size_t number = 1;
  const auto where = [&] { return name + ": line " + std::to_string(number); };
  if (!std::getline(file, text)) throw InputError(name + ": is empty, or cannot be read");
  TracedProgram traced = head_of(Line(text, where()));
  auto& calls = traced.calls;
  while (std::getline(file, text)) {
    ++number;
    if (text.empty()) continue;
    const Line line(text, where());
    calls.push_back(call_of(line, traced));
    if (calls.size() > 1 && calls.back().step < calls[calls.size() - 2].step)
      line.refuse("step", "comes before that of the line above");
  }
  if (calls.empty()) throw InputError(name + ": holds no calls");
  return traced;
}

}  // namespace gpucast::microbench
