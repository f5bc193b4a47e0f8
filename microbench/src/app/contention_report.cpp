#include <algorithm>
#include <map>
#include <set>

#include "app/run.h"
#include "gpucast/support/human.h"

namespace gpucast::microbench {
namespace {

using support::figure;

// A copy takes this much longer beside another with which it shares a link or a memory.
constexpr double shared = 1.1;

struct Beside {
  const std::vector<Copy>* copies;
  double factor;  // of the first's time, over its time alone
};

std::string short_name(const Copy& copy) {
  const auto end = [](int where) { return where == host ? "h" : std::to_string(where); };
  return end(copy.from) + ">" + end(copy.to) + (copy.reads ? "r" : "");
}

std::string right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
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
  constexpr std::size_t width = 6;
  std::set<std::string> others;
  std::map<std::string, std::map<std::string, double>> factors;
  std::map<std::string, std::int64_t> sizes;
  for (const Beside& beside : all) {
    if (beside.copies->size() != 2) continue;
    const Copy& first = beside.copies->front();
    const std::string one = short_name(first);
    const std::string two = short_name(beside.copies->back());
    // Where copies of several sizes were measured, the first size counts.
    const std::int64_t size = sizes.try_emplace(one, first.bytes).first->second;
    others.insert(two);
    if (size == first.bytes) factors[one].try_emplace(two, beside.factor);
  }
  if (factors.empty()) return;
  out << "\ntimes as long beside another copy (h: host, a number: a GPU)\n" << right("", width);
  for (const std::string& other : others)
    out << right(other, width);
  out << "\n";
  for (const auto& [name, row] : factors) {
    out << right(name, width);
    for (const std::string& other : others) {
      const auto factor = row.find(other);
      out << right(factor == row.end() ? "-" : figure("%.2f", factor->second), width);
    }
    out << "\n";
  }
}

void print_sets(const std::vector<Beside>& all, std::ostream& out) {
  bool head = false;
  for (const Beside& beside : all) {
    if (beside.copies->size() == 2) continue;
    if (!head) out << "\ntimes as long beside several\n";
    head = true;
    std::string text = "  " + short_name(beside.copies->front()) + " beside";
    for (std::size_t k = 1; k < beside.copies->size(); ++k)
      text += " " + short_name((*beside.copies)[k]);
    out << figure("%6.2f", beside.factor) << text << "\n";
  }
}

void print_statement(const std::vector<Beside>& all, std::ostream& out) {
  std::set<std::string> pairs;
  std::size_t undisturbed = 0;
  for (const Beside& beside : all) {
    if (beside.copies->size() != 2) continue;
    if (beside.factor < shared) {
      ++undisturbed;
      continue;
    }
    std::string one = short_name(beside.copies->front());
    std::string two = short_name(beside.copies->back());
    if (two < one) std::swap(one, two);
    pairs.insert(one.append(" and ").append(two));
  }
  if (undisturbed + pairs.size() == 0) return;
  if (undisturbed == 0) {
    out << "\nevery two of these copies share a link, a copy engine or a memory\n";
    return;
  }
  if (pairs.empty()) {
    out << "\nnone takes 1.1 times as long beside another: no two of these copies share a link\n";
    return;
  }
  out << "\nthese take 1.1 times as long or more, and share a link, a copy engine or a memory:";
  std::string between = " ";
  for (const std::string& pair : pairs) {
    out << between << pair;
    between = ", ";
  }
  out << "\n";
}

}  // namespace

void print_contention(const Outcome& outcome, std::ostream& out) {
  const auto all = sets_beside(outcome);
  print_matrix(all, out);
  print_sets(all, out);
  print_statement(all, out);
}

}  // namespace gpucast::microbench
