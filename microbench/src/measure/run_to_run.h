// What differs from one run of the program to the next, beyond what samples of one run show: where
// the system put its memory, which hardware queues it got. Only fresh processes show it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace gpucast::microbench {

using Json = nlohmann::ordered_json;

class RunToRun {
 public:
  // A record of one of the fresh runs.
  void add(const Json& record);

  // Gives a record its `run_to_run`: the relative standard deviation of the medians of copies of
  // that kind (launches of that method), between the sizes (counts) that the runs measured,
  // interpolated over the logarithm, and the number of runs. Records of which nothing is known stay
  // as they are.
  void annotate(Json& record) const;

 private:
  struct Spread {
    double sd = 0;
    std::size_t runs = 0;
  };
  std::optional<Spread> spread(const std::string& kind, std::int64_t size) const;

  std::map<std::string, std::map<std::int64_t, std::vector<double>>> medians_;
};

// What `count` fresh processes measured of the probes (measure --probes) with these options.
// Throws DeviceError where one fails.
RunToRun fresh_runs(int count, const std::vector<std::string>& engine_arguments,
                    const std::stop_token& interrupted);

// What a command of the shell writes to stdout; its stderr is lost. Throws DeviceError where it
// does not end with 0.
std::string output_of(const std::string& command);

}  // namespace gpucast::microbench
