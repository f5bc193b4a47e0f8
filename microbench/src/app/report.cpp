#include <map>
#include <set>

#include "app/run.h"
#include "gpucast/support/human.h"
#include "gpucast/support/parse_word.h"

namespace gpucast::microbench {
namespace {

using support::figure;
using support::human_seconds;

constexpr double percent = 100;
constexpr double giga = 1e9;

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

// Texts by the names of their row and column, which keep their order of insertion.
struct Table {
  std::vector<std::string> rows, columns;
  std::map<std::pair<std::string, std::string>, std::string> cells;

  void set(const std::string& row, const std::string& column, const std::string& text) {
    if (std::ranges::find(rows, row) == rows.end()) rows.push_back(row);
    if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
    cells.try_emplace({row, column}, text);
  }
  // `head` and `cell` format the names of rows and columns with their final widths.
  template <class Head, class Cell>
  void print(std::ostream& out, const std::string& corner, Head head, Cell cell) const {
    out << head(corner);
    for (const std::string& column : columns)
      out << cell(column, column);
    out << "\n";
    for (const std::string& row : rows) {
      out << head(row);
      for (const std::string& column : columns) {
        const auto text = cells.find({row, column});
        out << cell(column, text == cells.end() ? "-" : text->second);
      }
      out << "\n";
    }
  }
};

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
    const auto [entry, is_new] = curves.try_emplace(name, Ends{&result, &result});
    if (is_new) order.push_back(name);
    Ends& ends = entry->second;
    if (bytes_of(ends.largest) < copy.bytes) ends.largest = &result;
    if (bytes_of(ends.smallest) > copy.bytes) ends.smallest = &result;
  });
  if (order.empty()) return;
  out << "\n"
      << padded("transfer, alone", 49) << "timed  smallest" << padded("", 23) << "largest\n";
  for (const std::string& name : order) {
    const auto& [smallest, largest] = curves.at(name);
    const auto rate = static_cast<double>(bytes_of(largest)) / largest->median / giga;
    out << name << padded(human_seconds(smallest->median), 11) << plus_minus(*smallest)
        << padded(std::to_string(bytes_of(smallest)) + " B", 6) << figure("%8.2f GB/s ", rate)
        << plus_minus(*largest) << bytes_of(largest) << " B\n";
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
  std::string head = "\nlaunch" + padded("", 44) + "all        each\n";
  each<LaunchCell>(outcome, [&](const LaunchCell& cell, const Result& result) {
    out << std::exchange(head, "") << padded(describe(Cell(cell)), 50)
        << padded(human_seconds(result.median), 10) << " "
        << human_seconds(result.median / cell.count) << "\n";
  });
}

// The part that was hidden behind the longest one, as a fraction of the possible maximum.
void print_overlap(const Outcome& outcome, std::ostream& out) {
  std::map<records::OverlapPart, double> alone;
  std::string head = "\noverlap" + padded("", 53) + "together   of perfect\n";
  each<OverlapCell>(outcome, [&](const OverlapCell& cell, const Result& result) {
    if (cell.parts.size() == 1) alone[cell.parts.front()] = result.median;
    double sum = 0;
    double longest = 0;
    for (const auto part : cell.parts) {
      sum += alone[part];
      longest = std::max(longest, alone[part]);
    }
    if (cell.parts.size() < 2 || sum <= longest) return;
    out << std::exchange(head, "") << padded(describe(Cell(cell)), 60)
        << padded(human_seconds(result.median), 10)
        << figure(" %5.1f %%", percent * (sum - result.median) / (sum - longest)) << "\n";
  });
}

void print_host_memory(const Outcome& outcome, std::ostream& out) {
  Table table;
  each<HostMemoryCell>(outcome, [&](const HostMemoryCell& cell, const Result& result) {
    const std::string column = cell.phase == HostPhase::loop
                                   ? support::name(cell.runner) + " " + pattern_name(cell)
                               : cell.phase == HostPhase::first_touch ? "touch"
                                                                      : support::name(cell.phase);
    table.set(support::name(cell.memory), column, human_seconds(result.median));
  });
  if (table.rows.empty()) return;
  out << "\n";
  table.print(
      out, "host memory", [](const std::string& name) { return padded(name, 23); },
      [](const std::string& column, const std::string& text) {
        return padded(text, std::max<std::size_t>(11, column.size() + 1));
      });
}

// ---- which copies disturb each other, as tables and as a sentence ----

// The slowdown of a copy by another one with which it shares a link or a memory.
constexpr double shared = 1.1;

struct Beside {
  const std::vector<Copy>* copies;
  double factor;  // of the first's time, over its time alone
};

std::string short_name(const Copy& copy) {
  const auto end = [](int where) { return where == host ? "h" : std::to_string(where); };
  return end(copy.from) + ">" + end(copy.to) + (copy.reads ? "r" : "");
}

std::vector<Beside> sets_beside(const Outcome& outcome) {
  const auto key = [](const Copy& c) { return describe(c) + std::to_string(c.bytes); };
  std::map<std::string, double> alone;
  each<TransferCell>(outcome, [&](const TransferCell& cell, const Result& result) {
    if (cell.copies.size() > 1 || cell.method != records::TransferMethod::gated) return;
    alone[key(cell.copies.front())] = result.median;
  });
  std::vector<Beside> sets;
  each<TransferCell>(outcome, [&](const TransferCell& cell, const Result& result) {
    const auto single = alone.find(key(cell.copies.front()));
    if (cell.copies.size() < 2 || single == alone.end()) return;
    sets.push_back({.copies = &cell.copies, .factor = result.median / single->second});
  });
  return sets;
}

void print_matrix(const std::vector<Beside>& all, std::ostream& out) {
  Table table;
  std::map<std::string, std::int64_t> sizes;
  for (const Beside& beside : all) {
    if (beside.copies->size() != 2) continue;
    const Copy& first = beside.copies->front();
    const std::string one = short_name(first);
    // If copies of several sizes were measured, the first size is used.
    if (sizes.try_emplace(one, first.bytes).first->second != first.bytes) continue;
    table.set(one, short_name(beside.copies->back()), figure("%.2f", beside.factor));
  }
  if (table.rows.empty()) return;
  std::ranges::sort(table.rows);
  std::ranges::sort(table.columns);
  out << "\ntimes as long beside another copy (h: host, a number: a GPU)\n";
  table.print(
      out, "", [](const std::string& name) { return right(name, 6); },
      [](const std::string& /*column*/, const std::string& text) { return right(text, 6); });
}

void print_sets(const std::vector<Beside>& all, std::ostream& out) {
  std::string head = "\ntimes as long beside several\n";
  for (const Beside& beside : all) {
    if (beside.copies->size() == 2) continue;
    out << std::exchange(head, "") << figure("%6.2f  ", beside.factor);
    std::string before;
    for (const Copy& copy : *beside.copies) {
      out << before << short_name(copy);
      before = before.empty() ? " beside " : " ";
    }
    out << "\n";
  }
}

void print_statement(const std::vector<Beside>& all, std::ostream& out) {
  std::set<std::string> pairs;
  bool undisturbed = false;
  for (const Beside& beside : all) {
    if (beside.copies->size() != 2) continue;
    auto [one, two] =
        std::minmax({short_name(beside.copies->front()), short_name(beside.copies->back())});
    if (beside.factor < shared)
      undisturbed = true;
    else
      pairs.insert(one.append(" and ").append(two));
  }
  if (pairs.empty()) {
    if (undisturbed)
      out << "\nnone takes 1.1 times as long beside another: no two of these copies share a link\n";
    return;
  }
  if (!undisturbed) {
    out << "\nevery two of these copies share a link, a copy engine or a memory\n";
    return;
  }
  out << "\nthese take 1.1 times as long or more, and share a link, a copy engine or a memory:";
  std::string between = " ";
  for (const std::string& pair : pairs)
    out << std::exchange(between, ", ") << pair;
  out << "\n";
}

}  // namespace

void print_report(const Outcome& outcome, std::ostream& out) {
  print_launches(outcome, out);
  print_overlap(outcome, out);
  print_transfers(outcome, out);
  print_latencies(outcome, out);
  const auto sets = sets_beside(outcome);
  print_matrix(sets, out);
  print_sets(sets, out);
  print_statement(sets, out);
  print_host_memory(outcome, out);
}

}  // namespace gpucast::microbench
