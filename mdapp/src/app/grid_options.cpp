#include "app/grid_options.h"

#include <CLI/CLI.hpp>

#include "app/capacity.h"
#include "app/words.h"
#include "gpucast/records/number_list.h"

namespace gpucast::mdapp {
namespace {

constexpr int most_gpus = 65536;

}  // namespace

std::vector<int> counts(const char* option, const std::string& text, int most) {
  std::vector<int> result;
  for (const auto number : records::parse_number_list(option, text, {.least = 1, .most = most}))
    result.push_back(static_cast<int>(number));
  return result;
}

void GridOptions::declare(CLI::App& command) {
  command.add_option("--n", n_, "particles: 216,512,1e5 or 1000-5000:1000")->required();
  command.add_option("--gpus", gpus_, "devices: 1,2,4 or 1-4")->capture_default_str();
  command.add_option("--schedule", schedules_, "list of " + choices<ScheduleName>())
      ->capture_default_str();
  command.add_option("--kernel", kernels_, "list of " + choices<KernelName>())
      ->capture_default_str();
  command
      .add_option("--memory", memories_,
                  "host memory of star-serial, list of " + choices<Memory>() +
                      "; the other schedules need pinned memory")
      ->capture_default_str();
  command.add_option("--block", block_, "threads a block (default: the kernel's own)");
  command.add_option("--j-split", j_split_,
                     "parts that tuned splits a sum into (default: as many as fill the GPU)");
  command.add_flag("--graph", graph_, "record a step as a CUDA graph and replay it");
}

Grid GridOptions::read() const {
  if (block_ < 0) throw records::InputError("--block: must be at least 1");
  if (j_split_ < 0) throw records::InputError("--j-split: must be at least 1");
  return {.n = counts("--n", n_, most_particles),
          .gpus = counts("--gpus", gpus_, most_gpus),
          .schedules = parse_words<ScheduleName>("--schedule", schedules_),
          .kernels = parse_words<KernelName>("--kernel", kernels_),
          .memories = parse_words<Memory>("--memory", memories_),
          .block = block_,
          .j_split = j_split_,
          .graph = graph_};
}

}  // namespace gpucast::mdapp
