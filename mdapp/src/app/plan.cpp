#include "app/plan.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "app/capacity.h"
#include "app/words.h"
#include "gpucast/support/errors.h"

namespace gpucast::mdapp {
namespace {

// The cut-off must fit the smallest box.
void require_cutoff(const Grid& grid, const Physics& physics) {
  try {
    boundary_of(box_side(physics.salt, std::ranges::min(grid.n), physics.around.kind),
                physics.around);
  } catch (const std::invalid_argument& error) {
    throw support::InputError(std::string("--cutoff: ") + error.what());
  }
}

}  // namespace

KernelChoice kernel_of(const Grid& grid, KernelName name) {
  return {
      .name = name, .block = grid.block, .j_split = name == KernelName::tuned ? grid.j_split : 0};
}

std::string describe(const Cell& cell) {
  const ScheduleOptions& options = cell.schedule;
  std::string text = "n=" + std::to_string(cell.n) + " gpus=" + std::to_string(options.gpus) + " " +
                     std::string(name(options.name)) + " " + support::name(options.kernel.name);
  if (options.name == Schedule::star_serial) text += " " + std::string(name(options.memory));
  if (options.graph) text += " graph";
  return text;
}

CellSource planned(std::vector<Cell> cells) {
  const std::size_t total = cells.size();
  const auto next = [cells = std::move(cells),
                     given = std::size_t{0}]() mutable -> std::optional<Cell> {
    return given < cells.size() ? std::optional(cells[given++]) : std::nullopt;
  };
  return {.next = next, .total = total};
}

std::vector<Cell> plan(const Grid& grid, const Physics& physics, const Engine& engine,
                       Processes& processes) {
  std::vector<Cell> cells;
  for (const Schedule schedule : grid.schedules) {
    for (const KernelName kernel : grid.kernels) {
      const bool serial = schedule == Schedule::star_serial;
      for (const Memory memory : serial ? grid.memories : std::vector{Memory::pinned}) {
        // GPU counts of one n follow one another: what drifts from minute to minute is then the
        // same for those that will be compared.
        for (const int n : grid.n) {
          for (const int gpus : grid.gpus) {
            cells.push_back({.n = n,
                             .schedule = {.name = schedule,
                                          .memory = memory,
                                          .graph = grid.graph,
                                          .gpus = gpus,
                                          .kernel = kernel_of(grid, kernel)}});
          }
        }
      }
    }
  }
  for (const Cell& cell : cells)
    require_capacity(engine, processes, cell.n, cell.schedule);
  require_cutoff(grid, physics);
  return cells;
}

}  // namespace gpucast::mdapp
