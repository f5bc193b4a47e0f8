// The ways data takes between host, GPUs and nodes; each may have a transfer curve.
#pragma once

#include <cstddef>

namespace gpucast::model {

enum class Route { h2d, d2h, peer, staged, local, net };

inline constexpr Route all_routes[] = {Route::h2d,    Route::d2h,   Route::peer,
                                       Route::staged, Route::local, Route::net};
inline constexpr std::size_t route_count = 6;

}  // namespace gpucast::model
