#include "measure/cell.h"

#include "gpucast/support/human.h"
#include "gpucast/support/parse_word.h"

namespace gpucast::microbench {
namespace {

std::string text_of(const TransferCell& cell) {
  const Copy& first = cell.copies.front();
  std::string text = describe(first) + " " + support::name(cell.method) + ", " +
                     std::to_string(first.bytes) + " bytes";
  for (std::size_t k = 1; k < cell.copies.size(); ++k) {
    text += k == 1 ? ", beside " : " and ";
    text += place(cell.copies[k].from) + ">" + place(cell.copies[k].to);
  }
  return text;
}

std::string text_of(const LaunchCell& cell) {
  std::string text = "launch on " + place(cell.device) + ", " + support::name(cell.method);
  if (cell.count > 1) text += " of " + std::to_string(cell.count);
  if (cell.arguments > 0) text += ", " + std::to_string(cell.arguments) + " arguments";
  return text;
}

std::string text_of(const OverlapCell& cell) {
  std::string text = "overlap on " + place(cell.device) + " of ";
  for (std::size_t k = 0; k < cell.parts.size(); ++k)
    text += (k == 0 ? "" : " and ") + support::name(cell.parts[k]);
  return text + ", " + std::to_string(cell.bytes) + " bytes";
}

std::string text_of(const SkeletonCell& cell) {
  const StepShape& shape = cell.shape;
  return "skeleton " + support::name(shape.schedule) + ", " + support::name(shape.memory) + ", " +
         std::to_string(shape.gpus()) + " devices, " + std::to_string(shape.h2d_bytes) +
         " bytes there, " + std::to_string(shape.d2h_bytes) + " back, busy " +
         support::human_seconds(shape.busy);
}

std::string text_of(const HostMemoryCell& cell) {
  std::string text = support::name(cell.memory) + " host memory, " + support::name(cell.phase);
  if (cell.phase == HostPhase::loop) {
    text += " " + pattern_name(cell) + " by the " + support::name(cell.runner);
  }
  return text + ", " + std::to_string(cell.bytes) + " bytes";
}

}  // namespace

std::string pattern_name(const HostMemoryCell& cell) {
  return cell.phase == HostPhase::loop ? support::name(cell.pattern) : "none";
}

Runner runner_of(const HostMemoryCell& cell) {
  if (cell.phase == HostPhase::loop) return cell.runner;
  return cell.phase == HostPhase::copy ? Runner::gpu : Runner::cpu;
}

std::string describe(const Cell& cell) {
  return std::visit([](const auto& one) { return text_of(one); }, cell);
}

}  // namespace gpucast::microbench
