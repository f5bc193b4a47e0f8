#include "app/run.h"

#include <algorithm>
#include <map>
#include <optional>

#include "gpucast/support/human.h"
#include "gpucast/support/parse_word.h"

namespace gpucast::microbench {
namespace {

using support::figure;
using support::human_seconds;

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string rate(std::int64_t bytes, double seconds) {
  constexpr double giga = 1e9;
  return figure("%8.2f GB/s", static_cast<double>(bytes) / seconds / giga);
}

// The results at the smallest and the largest copy of one kind.
struct Ends {
  const Result* smallest;
  const Result* largest;
};

std::int64_t bytes_of(const Result* result) {
  return std::get<TransferCell>(result->cell).copies.front().bytes;
}

// Half the width of the median's 95 % interval.
std::string plus_minus(const Result& result) {
  constexpr double percent = 100;
  if (!result.relative_half_width) return padded("", 9);
  return padded(figure("+-%.1f %%", percent * *result.relative_half_width), 9);
}

void print_transfers(const Outcome& outcome, std::ostream& out) {
  std::vector<std::string> order;
  std::map<std::string, Ends> curves;
  each<TransferCell>(outcome, [&](const TransferCell& cell, const Result& result) {
    if (cell.copies.size() != 1) return;
    const Copy& copy = cell.copies.front();
    const std::string name = padded(describe(copy), 49) + padded(support::name(cell.method), 7);
    if (!curves.contains(name)) order.push_back(name);
    Ends& ends = curves.try_emplace(name, Ends{&result, &result}).first->second;
    if (bytes_of(ends.largest) < copy.bytes) ends.largest = &result;
    if (bytes_of(ends.smallest) > copy.bytes) ends.smallest = &result;
  });
  if (order.empty()) return;
  out << "\n"
      << padded("transfer, alone", 49) << "timed  smallest" << padded("", 23) << "largest\n";
  for (const std::string& name : order) {
    const auto& [smallest, largest] = curves.at(name);
    out << name << padded(human_seconds(smallest->median), 11) << plus_minus(*smallest)
        << padded(std::to_string(bytes_of(smallest)) + " B", 6)
        << rate(bytes_of(largest), largest->median) << " " << plus_minus(*largest)
        << bytes_of(largest) << " B\n";
  }
}

void print_latencies(const Outcome& outcome, std::ostream& out) {
  if (outcome.latencies.empty()) return;
  out << "\n"
      << padded("latency of 64 bytes: added between two kernels", 49)
      << "by slope   by one     each of many alone\n";
  for (const LatencyResult& result : outcome.latencies) {
    out << padded(describe(result.copy), 49) << padded(human_seconds(result.latency.slope), 11)
        << padded(human_seconds(result.latency.single), 11) << human_seconds(result.latency.each)
        << "\n";
  }
}

void print_launches(const Outcome& outcome, std::ostream& out) {
  bool head = false;
  each<LaunchCell>(outcome, [&](const LaunchCell& cell, const Result& result) {
    const double seconds = result.median;
    if (!head) out << "\nlaunch" << padded("", 44) << "all        each\n";
    head = true;
    out << padded(describe(Cell(cell)), 50) << padded(human_seconds(seconds), 10) << " "
        << human_seconds(seconds / cell.count) << "\n";
  });
}

// How much was hidden behind the longest part, as a fraction of what could be.
void print_overlap(const Outcome& outcome, std::ostream& out) {
  std::map<records::OverlapPart, double> alone;
  bool head = false;
  each<OverlapCell>(outcome, [&](const OverlapCell& cell, const Result& result) {
    if (cell.parts.size() == 1) alone[cell.parts.front()] = result.median;
    const double seconds = result.median;
    double sum = 0;
    double longest = 0;
    for (const auto part : cell.parts) {
      sum += alone[part];
      longest = std::max(longest, alone[part]);
    }
    if (cell.parts.size() < 2 || sum <= longest) return;
    if (!head) out << "\noverlap" << padded("", 53) << "together   of perfect\n";
    head = true;
    constexpr double percent = 100;
    out << padded(describe(Cell(cell)), 60) << padded(human_seconds(seconds), 10)
        << figure(" %5.1f %%", percent * (sum - seconds) / (sum - longest)) << "\n";
  });
}

void print_host_memory(const Outcome& outcome, std::ostream& out) {
  constexpr std::size_t name_width = 23;
  constexpr std::size_t width = 11;
  std::vector<std::string> columns;
  std::vector<std::string> rows;
  std::map<std::string, std::map<std::string, double>> table;
  each<HostMemoryCell>(outcome, [&](const HostMemoryCell& cell, const Result& result) {
    const std::string row = support::name(cell.memory);
    const std::string column = cell.phase == HostPhase::loop
                                   ? support::name(cell.runner) + " " + pattern_name(cell)
                               : cell.phase == HostPhase::first_touch ? "touch"
                                                                      : support::name(cell.phase);
    if (!table.contains(row)) rows.push_back(row);
    if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
    table[row][column] = result.median;
  });
  if (rows.empty()) return;
  out << "\n" << padded("host memory", name_width);
  for (const std::string& column : columns)
    out << padded(column, std::max(width, column.size() + 1));
  out << "\n";
  for (const std::string& row : rows) {
    out << padded(row, name_width);
    for (const std::string& column : columns) {
      const auto cell = table[row].find(column);
      out << padded(cell == table[row].end() ? "-" : human_seconds(cell->second),
                    std::max(width, column.size() + 1));
    }
    out << "\n";
  }
}

}  // namespace

void print_report(const Outcome& outcome, std::ostream& out) {
  print_launches(outcome, out);
  print_overlap(outcome, out);
  print_transfers(outcome, out);
  print_latencies(outcome, out);
  print_contention(outcome, out);
  print_host_memory(outcome, out);
}

}  // namespace gpucast::microbench
