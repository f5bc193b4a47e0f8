#include "app/grid_options.h"

#include <algorithm>

#include "app/command.h"
#include "app/physics_options.h"
#include "app/plan.h"
#include "gpucast/support/number_list.h"

namespace gpucast::mdapp {
namespace {

// Nothing that was asked for is left out without a word.
void require_used(const Grid& grid, bool memories_given) {
  const auto has = [](const auto& list, auto value) {
    return std::ranges::find(list, value) != list.end();
  };
  require(!memories_given || has(grid.schedules, Schedule::star_serial) ||
              grid.memories == std::vector{Memory::pinned},
          "--memory: only star-serial has a choice; the others need pinned");
  require(grid.j_split == 0 || has(grid.kernels, KernelName::tuned),
          "--j-split: only the kernel tuned splits sums");
}

}  // namespace

std::vector<int> counts(const char* option, const std::string& text, int most) {
  std::vector<int> result;
  for (const auto number : support::parse_number_list(option, text, {.least = 1, .most = most}))
    result.push_back(static_cast<int>(number));
  return result;
}

void GridOptions::declare_n(CLI::App* command) {
  of_grid_.push_back(
      command->add_option("-n,--n", n_, "particles: 216,512,1e5 or 512..1e5:9 (9 values)"));
}

void GridOptions::declare_cells(CLI::App* command) {
  CLI::Option* cells = command->add_option(
      "--cells", cells_,
      "file of cells, or - for stdin: lines \"n gpus schedule kernel memory\", each "
      "read when the one before has been measured");
  for (CLI::Option* option : of_grid_)
    cells->excludes(option);
}

void GridOptions::declare_schedule(CLI::App* command, bool lists) {
  const std::string list = lists ? "list of " : "";
  const auto add = [&](const char* option, auto& value, const std::string& description) {
    declared_.push_back(command->add_option(option, value, description));
  };
  add("--gpus", gpus_, lists ? "devices: 1,2,4 or 1-4" : "devices");
  add("--schedule", schedules_, list + support::choices<Schedule>());
  add("--kernel", kernels_, list + support::choices<KernelName>());
  add("--memory", memories_,
      "host memory of star-serial, " + list + support::choices<Memory>(mdapp::memories) +
          "; the other schedules need pinned memory");
  memory_ = declared_.back();
  of_grid_.insert(of_grid_.end(), declared_.begin(), declared_.end());
  add("--block", block_, "threads a block (0: the kernel's own choice)");
  add("--j-split", j_split_, "parts that tuned splits a sum into (0: as many as fill the GPU)");
  declared_.push_back(
      command->add_flag("--graph", graph_, "record a step as a CUDA graph and replay it"));
}

void GridOptions::refuse_given(const std::string& why) const {
  for (CLI::Option* option : declared_)
    support::refuse_given(option, why);
}

Grid GridOptions::read_common() const {
  support::require_not_negative("--block", block_);
  support::require_not_negative("--j-split", j_split_);
  return {.block = block_, .j_split = j_split_, .graph = graph_};
}

Grid GridOptions::read() const {
  require(!n_.empty(), "--n is required");
  Grid grid = read_schedules();
  grid.n = counts("--n", n_, most_particles);
  return grid;
}

Grid GridOptions::read_schedules() const {
  Grid grid = read_common();
  grid.gpus = counts("--gpus", gpus_, most_gpus);
  grid.schedules = support::parse_words<Schedule>("--schedule", schedules_);
  grid.kernels = support::parse_words<KernelName>("--kernel", kernels_);
  grid.memories = support::parse_words<Memory>("--memory", memories_, mdapp::memories);
  require_used(grid, memory_ && memory_->count() > 0);
  return grid;
}

ScheduleOptions GridOptions::read_one() const {
  const Grid grid = read_schedules();
  const auto only = [](const char* option, const auto& list) {
    require(list.size() == 1, std::string(option) + ": one, not a list");
    return list.front();
  };
  ScheduleOptions options{.name = only("--schedule", grid.schedules),
                          .memory = only("--memory", grid.memories),
                          .graph = grid.graph,
                          .gpus = only("--gpus", grid.gpus),
                          .kernel = kernel_of(grid, only("--kernel", grid.kernels))};
  if (options.name != Schedule::star_serial) options.memory = Memory::pinned;
  return options;
}

void require_no_devices(const devices::EngineOptions& engine, const GridOptions& schedule,
                        const Context& context) {
  engine.refuse_given("does not go with --precision double");
  schedule.refuse_given("does not go with --precision double");
  require_one_process(context, "--precision double");
}

}  // namespace gpucast::mdapp
