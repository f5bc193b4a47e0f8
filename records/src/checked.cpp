#include "checked.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace gpucast::records {

namespace {

void require(bool holds, std::string_view field, std::string_view otherwise) {
  if (!holds) throw std::invalid_argument(std::string(field) + ": " + std::string(otherwise));
}

template <class Number>
void require(bool holds, std::string_view field, Number value, std::string_view otherwise) {
  if (!holds) require(false, field, std::to_string(value) + std::string(otherwise));
}

// U+0000 to U+001F and U+007F to U+009F, the latter in UTF-8: c2 80 to c2 9f.
bool has_control_character(std::string_view text) {
  unsigned char before = 0;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20 || byte == 0x7f || (before == 0xc2 && byte >= 0x80 && byte <= 0x9f)) {
      return true;
    }
    before = byte;
  }
  return false;
}

}  // namespace

std::string label(std::string_view field, std::string text) {
  text = prose(field, std::move(text));
  require(!has_control_character(text), field, "has control characters");
  return text;
}

std::string prose(std::string_view field, std::string text) {
  require(!text.empty(), field, "must not be empty");
  return text;
}

std::int64_t count(std::string_view field, std::int64_t value, std::int64_t least) {
  if (value < least) require(false, field, value, " is less than " + std::to_string(least));
  return value;
}

double finite(std::string_view field, double value) {
  require(std::isfinite(value), field, "not a finite number");
  return value;
}

double positive(std::string_view field, double value) {
  require(finite(field, value) > 0, field, value, " is not greater than 0");
  return value;
}

double not_negative(std::string_view field, double value) {
  require(finite(field, value) >= 0, field, value, " is less than 0");
  return value;
}

std::vector<double> samples(std::string_view field, std::vector<double> seconds) {
  require(!seconds.empty(), field, "no samples");
  std::ranges::for_each(seconds, [&](double value) { positive(field, value); });
  return seconds;
}

void require_array(std::string_view field, const nlohmann::ordered_json& value) {
  require(value.is_array(), field, "not an array");
}

void require_object(std::string_view field, const nlohmann::ordered_json& value) {
  require(value.is_object(), field, "not an object");
}

void require_finite(std::string_view field, const nlohmann::ordered_json& value) {
  if (value.is_number_float()) {
    finite(field, value.get<double>());
  } else if (value.is_structured()) {
    for (const auto& [key, inner] : value.items()) {
      require_finite(std::string(field) + (value.is_object() ? "." + key : "[" + key + "]"), inner);
    }
  }
}

}  // namespace gpucast::records
