// gpucast._core: a program of calls, simulated on a path.
#include "replay.h"

#include <nanobind/eigen/dense.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpucast/remote/layer.h"
#include "gpucast/replay/simulate.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace remote = gpucast::remote;
namespace replay = gpucast::replay;

using Integers = Eigen::Matrix<std::int64_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Seconds = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The rows of `asked` and `takes`, in this order.
constexpr std::array asked_rows = {"thread", "operation", "direction", "memory",    "blocking",
                                   "device", "stream",    "bytes",     "recording", "engine"};
constexpr std::array takes_rows = {"gap", "cost", "tail", "latency", "delay", "seconds", "share"};
constexpr std::array message_rows = {"cost", "up",    "flight", "serve", "answer",
                                     "down", "after", "lead",   "polls"};

void require_rows(Eigen::Index rows, std::size_t expected, const char* name) {
  if (rows != static_cast<Eigen::Index>(expected)) {
    throw std::invalid_argument(std::string("'") + name + "' has " + std::to_string(rows) +
                                " rows, not " + std::to_string(expected));
  }
}

template <class T>
std::vector<T> column(const Integers& from, Eigen::Index row) {
  std::vector<T> result;
  result.reserve(static_cast<std::size_t>(from.cols()));
  for (Eigen::Index k = 0; k < from.cols(); ++k)
    result.push_back(static_cast<T>(from(row, k)));
  return result;
}

std::vector<double> column(const Seconds& from, Eigen::Index row) {
  return {from.row(row).begin(), from.row(row).end()};
}

replay::Program program(std::int32_t threads, std::int32_t devices, const Integers& streams,
                        const std::vector<std::uint8_t>& engines, const Integers& asked,
                        const Seconds& takes) {
  require_rows(streams.rows(), 2, "streams");
  require_rows(asked.rows(), asked_rows.size(), "asked");
  require_rows(takes.rows(), takes_rows.size(), "takes");
  replay::Program result;
  result.threads = threads;
  result.devices = devices;
  result.streams.device = column<std::int32_t>(streams, 0);
  result.streams.kind = column<replay::StreamKind>(streams, 1);
  for (const std::uint8_t kind : engines)
    result.engines.push_back(static_cast<replay::EngineKind>(kind));
  result.thread = column<std::int32_t>(asked, 0);
  result.operation = column<replay::Operation>(asked, 1);
  result.direction = column<replay::Direction>(asked, 2);
  result.memory = column<replay::Memory>(asked, 3);
  result.blocking = column<std::uint8_t>(asked, 4);
  result.device = column<std::int32_t>(asked, 5);
  result.stream = column<std::int32_t>(asked, 6);
  result.bytes = column<std::int64_t>(asked, 7);
  result.recording = column<std::int32_t>(asked, 8);
  result.engine = column<std::int32_t>(asked, 9);
  result.gap = column(takes, 0);
  result.cost = column(takes, 1);
  result.tail = column(takes, 2);
  result.latency = column(takes, 3);
  result.delay = column(takes, 4);
  result.seconds = column(takes, 5);
  result.share = column(takes, 6);
  return result;
}

replay::Messages messages(const Seconds& from) {
  require_rows(from.rows(), message_rows.size(), "messages");
  return {.cost = column(from, 0),
          .up = column(from, 1),
          .flight = column(from, 2),
          .serve = column(from, 3),
          .answer = column(from, 4),
          .down = column(from, 5),
          .after = column(from, 6),
          .polls = column(from, 8),
          .lead = column(from, 7)};
}

template <std::size_t Count>
nb::tuple names(const std::array<const char*, Count>& rows) {
  nb::list result;
  for (const char* each : rows)
    result.append(nb::str(each));
  return nb::tuple(result);
}

}  // namespace

void bind_replay(nb::module_& m) {
  m.attr("REPLAY_ASKED") = names(asked_rows);
  m.attr("REPLAY_TAKES") = names(takes_rows);
  m.attr("REPLAY_MESSAGES") = names(message_rows);
  const replay::Path usual;
  m.attr("REMOTE_SPIN") = replay::seconds(remote::usual_spin);
  m.attr("REMOTE_MOST_UNDER_WAY") = remote::most_under_way;
  m.def(
      "remote_layer",
      [](unsigned cores) {
        return std::pair(remote::usual_inline(cores),
                         replay::seconds(remote::between_copies(cores)));
      },
      "cores"_a,
      "What gpucast's remote GPUs do on a host of so many cores (remote/include/gpucast/remote): "
      "bytes of the largest copy within its message, and s for which the threads of larger ones "
      "look for the next before they sleep.");
  m.def(
      "replay",
      [](std::int32_t threads, std::int32_t devices, const Integers& streams,
         const std::vector<std::uint8_t>& engines, const Integers& asked, const Seconds& takes,
         std::uint8_t transport, const Seconds& message_times, double line, double bulk_line,
         double bulk_wake, double spin, double wake_server, double wake_client, std::int32_t queue,
         double tick, double tail, double bulk_deep, std::int64_t most_inline, double bulk_nap) {
        nb::gil_scoped_release release;
        const replay::Program calls = program(threads, devices, streams, engines, asked, takes);
        if (transport > 2) throw std::invalid_argument("no such transport");
        replay::Path path;
        path.transport = static_cast<replay::Transport>(transport);
        if (path.transport != replay::Transport::direct) path.messages = messages(message_times);
        path.line = line;
        path.bulk_line = bulk_line;
        path.bulk_wake = bulk_wake;
        path.spin = spin;
        path.wake_server = wake_server;
        path.wake_client = wake_client;
        path.queue = queue;
        path.tick = tick;
        path.tail = tail;
        path.bulk_deep = bulk_deep;
        path.most_inline = most_inline;
        path.bulk_nap = bulk_nap;
        const replay::Times times = replay::simulate(calls, path);
        Seconds result(4, static_cast<Eigen::Index>(calls.size()));
        for (std::size_t c = 0; c < calls.size(); ++c) {
          const auto k = static_cast<Eigen::Index>(c);
          result(0, k) = times.begin[c];
          result(1, k) = times.end[c];
          result(2, k) = times.work[c];
          result(3, k) = times.work_done[c];
        }
        return result;
      },
      "threads"_a, "devices"_a, "streams"_a, "engines"_a, "asked"_a, "takes"_a, "transport"_a,
      "messages"_a, "line"_a = 0.0, "bulk_line"_a = 0.0, "bulk_wake"_a = 0.0, "spin"_a = usual.spin,
      "wake_server"_a = 0.0, "wake_client"_a = 0.0, "queue"_a = 1024, "tick"_a = 0.0,
      "tail"_a = 0.0, "bulk_deep"_a = 2e-3, "most_inline"_a = usual.most_inline,
      "bulk_nap"_a = usual.bulk_nap,
      "A program of calls on a path (replay/include/gpucast/replay): rows begin, end of each call, "
      "and of its work, s; not a number where it asks for none. streams: rows device, kind; asked, "
      "takes, messages: rows REPLAY_ASKED, REPLAY_TAKES, REPLAY_MESSAGES; transport: 0 direct, 1 "
      "asynchronous, 2 synchronous.");
}
