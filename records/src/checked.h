// What the schema asks of a field, said before it is written. The value, if it is that; otherwise
// std::invalid_argument, which names the field.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace gpucast::records {

// Names things in records (machines, paths, kernels): not empty, no control characters.
std::string label(std::string_view field, std::string text);

// Not empty.
std::string prose(std::string_view field, std::string text);

// At least `least`.
std::int64_t count(std::string_view field, std::int64_t value, std::int64_t least = 1);

// Finite.
double finite(std::string_view field, double value);

// Finite and greater than 0.
double positive(std::string_view field, double value);

// Finite and at least 0.
double not_negative(std::string_view field, double value);

// At least one, each positive.
std::vector<double> samples(std::string_view field, std::vector<double> seconds);

void require_array(std::string_view field, const nlohmann::ordered_json& value);
void require_object(std::string_view field, const nlohmann::ordered_json& value);

// No number anywhere in `value` that JSON has no way to write.
void require_finite(std::string_view field, const nlohmann::ordered_json& value);

}  // namespace gpucast::records
