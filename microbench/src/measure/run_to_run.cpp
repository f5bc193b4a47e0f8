#include "measure/run_to_run.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "gpucast/support/median.h"

namespace gpucast::microbench {
namespace {

// Copies are alike by their route and by who makes them (a GPU that sends or one that fetches); of
// host memory only that it is pinned or not matters.
std::optional<std::string> kind_of(const Json& record) {
  const auto word = [&record](const char* field) { return record.value(field, std::string()); };
  if (word("kind") == "launch") return "launch " + word("method");
  if (word("kind") != "transfer") return std::nullopt;
  return word("route") + " " + word("engine") + " " + word("method") +
         (word("memory") == "pageable" ? " pageable" : "") +
         (record.contains("issuer") && word("issuer") == word("to") ? " read" : "");
}

std::int64_t size_of(const Json& record) {
  return record.value(record.contains("bytes") ? "bytes" : "count", std::int64_t{1});
}

double relative_sd(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values)
    squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (count - 1)) / mean;
}

}  // namespace

void RunToRun::add(const Json& record) {
  const auto kind = kind_of(record);
  if (!kind) return;
  medians_[*kind][size_of(record)].push_back(
      support::median(record.at("seconds").get<std::vector<double>>()));
}

std::optional<RunToRun::Spread> RunToRun::spread(const std::string& kind, std::int64_t size) const {
  const auto found = medians_.find(kind);
  if (found == medians_.end()) return std::nullopt;
  std::map<std::int64_t, double> known;
  std::size_t runs = 0;
  for (const auto& [at, values] : found->second) {
    if (values.size() < 2) continue;
    known[at] = relative_sd(values);
    runs = std::max(runs, values.size());
  }
  if (known.empty()) return std::nullopt;
  const auto above = known.lower_bound(size);
  if (above == known.end()) return Spread{.sd = known.rbegin()->second, .runs = runs};
  if (above == known.begin()) return Spread{.sd = above->second, .runs = runs};
  const auto below = std::prev(above);
  const auto logarithm = [](std::int64_t bytes) { return std::log(static_cast<double>(bytes)); };
  const double part = (logarithm(size) - logarithm(below->first)) /
                      (logarithm(above->first) - logarithm(below->first));
  return Spread{.sd = below->second + part * (above->second - below->second), .runs = runs};
}

void RunToRun::annotate(Json& record) const {
  const auto kind = kind_of(record);
  if (!kind) return;
  const auto found = spread(*kind, size_of(record));
  if (found) record["run_to_run"] = {{"sd", found->sd}, {"runs", found->runs}};
}

}  // namespace gpucast::microbench
