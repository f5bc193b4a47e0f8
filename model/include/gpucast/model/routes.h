// The ways data takes between host, GPUs and nodes; each may have a transfer curve.
#pragma once

#include <cstddef>

#include "gpucast/schema/vocabulary.h"

namespace gpucast::model {

using schema::name;  // of a route: the word of command lines and files
using schema::Route;

inline constexpr auto all_routes = schema::all<Route>();
inline constexpr std::size_t route_count = all_routes.size();

}  // namespace gpucast::model
