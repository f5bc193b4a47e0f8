#include "gpucast/support/number_list.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_set>

#include "gpucast/support/errors.h"

namespace gpucast::support {

namespace {

constexpr std::size_t most_numbers = 100'000;
constexpr std::int64_t usual_count = 13;

[[noreturn]] void refuse(std::string_view option, std::string_view item, const std::string& why) {
  throw InputError(std::string(option) + ": \"" + std::string(item) + "\" " + why);
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string_view::npos
             ? std::string_view{}
             : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Accepts whole numbers in any notation: 512, 1e5, 1.5e3.
std::optional<std::int64_t> whole(std::string_view text) {
  const std::string digits(text);
  const char* const begin = digits.c_str();
  const char* const end = begin + digits.size();
  std::int64_t integer = 0;
  if (const auto read = std::from_chars(begin, end, integer);
      read.ec == std::errc() && read.ptr == end) {
    return integer;
  }
  double real = 0;
  constexpr double exact = 9007199254740992;  // 2^53: not every larger integer is a double
  const auto read = std::from_chars(begin, end, real);
  if (read.ec != std::errc() || read.ptr != end || std::abs(real) > exact ||
      real != std::trunc(real)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(real);
}

// Finds the minus of a range, and not that of a sign (-4) or an exponent (1e-3).
std::size_t find_dash(std::string_view item) {
  for (std::size_t i = 1; i < item.size(); ++i)
    if (item[i] == '-' && item[i - 1] != 'e' && item[i - 1] != 'E') return i;
  return std::string_view::npos;
}

struct Range {
  std::int64_t first = 0, last = 0, step = 1;
};

// FIRST..LAST or FIRST..LAST:COUNT, evenly spaced in the logarithm; the command gpucast reads these
// in the same way.
std::vector<std::int64_t> parse_spaced(std::string_view option, std::string_view item,
                                       std::size_t dots, Bounds bounds) {
  const std::int64_t first = parse_number(option, item.substr(0, dots), bounds);
  const std::string_view rest = item.substr(dots + 2);
  const std::size_t colon = rest.find(':');
  const std::int64_t last = parse_number(option, rest.substr(0, colon), bounds);
  if (last < first) refuse(option, item, "ends before it begins");
  if (first < 1) refuse(option, item, "has no logarithm at its begin");
  std::int64_t count = usual_count;
  if (colon != std::string_view::npos)
    count = parse_number(option, rest.substr(colon + 1), {.most = most_numbers});
  std::vector<std::int64_t> numbers;
  const double ratio = static_cast<double>(last) / static_cast<double>(first);
  const double steps = static_cast<double>(std::max<std::int64_t>(count - 1, 1));
  for (std::int64_t i = 0; i < count; ++i) {
    const double part = static_cast<double>(i) / steps;
    numbers.push_back(i + 1 == count && count > 1
                          ? last  // beyond 2^53, too
                          : std::llrint(static_cast<double>(first) * std::pow(ratio, part)));
  }
  return numbers;
}

// FIRST, FIRST-LAST or FIRST-LAST:STEP
Range parse_range(std::string_view option, std::string_view item, Bounds bounds) {
  const std::size_t dash = find_dash(item);
  const std::int64_t first = parse_number(option, item.substr(0, dash), bounds);
  if (dash == std::string_view::npos) return {.first = first, .last = first};
  const std::string_view rest = item.substr(dash + 1);
  const std::size_t colon = rest.find(':');
  Range range{.first = first, .last = parse_number(option, rest.substr(0, colon), bounds)};
  if (colon != std::string_view::npos)
    range.step = parse_number(option, rest.substr(colon + 1), {});
  if (range.last < first) refuse(option, item, "ends before it begins");
  return range;
}

}  // namespace

std::int64_t parse_number(std::string_view option, std::string_view text, Bounds bounds) {
  const auto value = whole(trimmed(text));
  if (!value) refuse(option, text, "is no whole number");
  if (*value < bounds.least) refuse(option, text, "is less than " + std::to_string(bounds.least));
  if (*value > bounds.most) refuse(option, text, "is more than " + std::to_string(bounds.most));
  return *value;
}

std::vector<std::int64_t> parse_number_list(std::string_view option, std::string_view text,
                                            Bounds bounds) {
  std::vector<std::int64_t> numbers;
  std::unordered_set<std::int64_t> seen;
  const auto add = [&](std::int64_t value, std::string_view item) {
    if (seen.insert(value).second) numbers.push_back(value);
    if (numbers.size() > most_numbers)
      refuse(option, item, "makes more than " + std::to_string(most_numbers) + " numbers");
  };
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view item = trimmed(text.substr(begin, comma - begin));
    begin = comma + 1;
    if (const std::size_t dots = item.find(".."); dots != std::string_view::npos) {
      for (const std::int64_t value : parse_spaced(option, item, dots, bounds))
        add(value, item);
      continue;
    }
    const auto [first, last, step] = parse_range(option, item, bounds);
    for (std::int64_t value = first;; value += step) {
      add(value, item);
      if (last - value < step) break;
    }
  }
  return numbers;
}

}  // namespace gpucast::support
