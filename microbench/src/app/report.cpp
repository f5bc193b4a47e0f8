#include "app/report.h"

#include <algorithm>
#include <map>
#include <optional>

#include "gpucast/records/human.h"

namespace gpucast::microbench {
namespace {

using records::figure;
using records::human_seconds;

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string rate(std::int64_t bytes, double seconds) {
  constexpr double giga = 1e9;
  return figure("%8.2f GB/s", static_cast<double>(bytes) / seconds / giga);
}

template <class Wanted, class Body>
void each(const Outcome& outcome, Body body) {
  for (const Result& result : outcome.results) {
    if (const auto* cell = std::get_if<Wanted>(&result.cell)) body(*cell, result.median);
  }
}

struct Ends {
  std::int64_t smallest = 0, largest = 0;
  double smallest_seconds = 0, largest_seconds = 0;
};

void print_transfers(const Outcome& outcome, std::ostream& out) {
  std::vector<std::string> order;
  std::map<std::string, Ends> curves;
  each<TransferCell>(outcome, [&](const TransferCell& cell, double seconds) {
    if (cell.copies.size() != 1) return;
    const Copy& copy = cell.copies.front();
    const std::string name = padded(describe(copy), 42) + padded(records::name(cell.method), 7);
    if (!curves.contains(name)) order.push_back(name);
    Ends& ends = curves[name];
    if (ends.largest < copy.bytes) {
      ends.largest = copy.bytes;
      ends.largest_seconds = seconds;
    }
    if (ends.smallest == 0 || copy.bytes < ends.smallest) {
      ends.smallest = copy.bytes;
      ends.smallest_seconds = seconds;
    }
  });
  if (order.empty()) return;
  out << "\ntransfer, alone" << padded("", 27) << "timed  smallest              largest\n";
  for (const std::string& name : order) {
    const Ends& ends = curves[name];
    out << name << padded(human_seconds(ends.smallest_seconds), 10) << " "
        << padded(std::to_string(ends.smallest) + " B", 10)
        << rate(ends.largest, ends.largest_seconds) << " " << ends.largest << " B\n";
  }
}

void print_latencies(const Outcome& outcome, std::ostream& out) {
  if (outcome.latencies.empty()) return;
  out << "\nlatency behind a gate, 64 bytes" << padded("", 11)
      << "slope      single     each of many\n";
  for (const LatencyResult& each : outcome.latencies) {
    out << padded(describe(each.copy), 42) << padded(human_seconds(each.latency.slope), 10) << " "
        << padded(human_seconds(each.latency.single), 10) << " " << human_seconds(each.latency.each)
        << "\n";
  }
}

// Copies that were also measured alone: how much longer beside others.
void print_contention(const Outcome& outcome, std::ostream& out) {
  const auto key = [](const Copy& c) { return describe(c) + std::to_string(c.bytes); };
  std::map<std::string, double> alone;
  each<TransferCell>(outcome, [&](const TransferCell& cell, double seconds) {
    if (cell.copies.size() == 1 && cell.method == records::TransferMethod::gated)
      alone[key(cell.copies.front())] = seconds;
  });
  std::string slowed;
  int undisturbed = 0;
  constexpr double shared = 1.1;
  each<TransferCell>(outcome, [&](const TransferCell& cell, double seconds) {
    if (cell.copies.size() < 2) return;
    const auto single = alone.find(key(cell.copies.front()));
    if (single == alone.end()) return;
    const double factor = seconds / single->second;
    if (factor < shared) {
      ++undisturbed;
      return;
    }
    const std::string text = describe(Cell(cell));
    slowed += padded(text, 90) + figure(" %5.2f times as long", factor) + "\n";
  });
  if (slowed.empty() && undisturbed == 0) return;
  out << "\ncopies beside others: " << undisturbed << " are not disturbed";
  if (slowed.empty()) {
    out << ", none share a link\n";
  } else {
    out << "; these share a link or a memory:\n" << slowed;
  }
}

void print_launches(const Outcome& outcome, std::ostream& out) {
  bool head = false;
  each<LaunchCell>(outcome, [&](const LaunchCell& cell, double seconds) {
    if (!head) out << "\nlaunch" << padded("", 44) << "all        each\n";
    head = true;
    out << padded(describe(Cell(cell)), 50) << padded(human_seconds(seconds), 10) << " "
        << human_seconds(seconds / cell.count) << "\n";
  });
}

// Of what could be hidden behind the longest part, how much was.
void print_overlap(const Outcome& outcome, std::ostream& out) {
  std::map<records::OverlapPart, double> alone;
  each<OverlapCell>(outcome, [&](const OverlapCell& cell, double seconds) {
    if (cell.parts.size() == 1) alone[cell.parts.front()] = seconds;
  });
  bool head = false;
  each<OverlapCell>(outcome, [&](const OverlapCell& cell, double seconds) {
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

}  // namespace

void print_report(const Outcome& outcome, std::ostream& out) {
  print_launches(outcome, out);
  print_overlap(outcome, out);
  print_transfers(outcome, out);
  print_latencies(outcome, out);
  print_contention(outcome, out);
}

}  // namespace gpucast::microbench
