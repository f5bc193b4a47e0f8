#include "gpucast/support/number_list.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_set>

#include "gpucast/support/errors.h"

namespace gpucast::support {

namespace {

constexpr std::size_t most_numbers = 100'000;

[[noreturn]] void refuse(std::string_view option, std::string_view item, const std::string& why) {
  throw InputError(std::string(option) + ": \"" + std::string(item) + "\" " + why);
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string_view::npos
             ? std::string_view{}
             : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// 512, 1e5, 1.5e3: what is whole, however it is written.
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
  constexpr double exact = 9007199254740992;  // 2^53: beyond it not every integer is a double
  const auto read = std::from_chars(begin, end, real);
  if (read.ec != std::errc() || read.ptr != end || std::abs(real) > exact ||
      real != std::trunc(real)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(real);
}

// The minus of a range, not that of a sign (-4) or an exponent (1e-3).
std::size_t find_dash(std::string_view item) {
  for (std::size_t i = 1; i < item.size(); ++i) {
    if (item[i] == '-' && item[i - 1] != 'e' && item[i - 1] != 'E') {
      return i;
    }
  }
  return std::string_view::npos;
}

// The numbers of one item are appended to a list that stays free of repetitions.
class List {
 public:
  List(std::string_view option, Bounds bounds) : option_(option), bounds_(bounds) {}

  void add_item(std::string_view item) {
    const std::size_t dash = find_dash(item);
    if (dash == std::string_view::npos) {
      add(parse_number(option_, item, bounds_), item);
      return;
    }
    const std::string_view rest = item.substr(dash + 1);
    const std::size_t colon = rest.find(':');
    const std::int64_t first = parse_number(option_, item.substr(0, dash), bounds_);
    const std::int64_t last = parse_number(option_, rest.substr(0, colon), bounds_);
    const std::int64_t step =
        colon == std::string_view::npos ? 1 : parse_number(option_, rest.substr(colon + 1), {});
    if (last < first) {
      refuse(option_, item, "ends before it begins");
    }
    for (std::int64_t value = first;; value += step) {
      add(value, item);
      if (last - value < step) {
        return;
      }
    }
  }

  std::vector<std::int64_t> take() && { return std::move(numbers_); }

 private:
  void add(std::int64_t value, std::string_view item) {
    if (seen_.insert(value).second) {
      numbers_.push_back(value);
    }
    if (numbers_.size() > most_numbers) {
      refuse(option_, item, "makes more than " + std::to_string(most_numbers) + " numbers");
    }
  }

  std::string_view option_;
  Bounds bounds_;
  std::vector<std::int64_t> numbers_;
  std::unordered_set<std::int64_t> seen_;
};

}  // namespace

std::int64_t parse_number(std::string_view option, std::string_view text, Bounds bounds) {
  const auto value = whole(trimmed(text));
  if (!value) {
    refuse(option, text, "is no whole number");
  }
  if (*value < bounds.least) {
    refuse(option, text, "is less than " + std::to_string(bounds.least));
  }
  if (*value > bounds.most) {
    refuse(option, text, "is more than " + std::to_string(bounds.most));
  }
  return *value;
}

std::vector<std::int64_t> parse_number_list(std::string_view option, std::string_view text,
                                            Bounds bounds) {
  List list(option, bounds);
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    list.add_item(trimmed(text.substr(begin, comma - begin)));
    begin = comma + 1;
  }
  return std::move(list).take();
}

}  // namespace gpucast::support
