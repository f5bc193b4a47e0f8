// Time of one transfer against its size.
//
// One straight line, T(m) = L + m / B, is the textbook form (Hockney 1994) and the paper's. Real
// paths change protocol with size (a driver's staging buffers, an RDMA threshold), so the curve is
// a chain of straight pieces with breakpoints 0 = m_0 < m_1 < ... < m_q:
//
//     T(m) = L + sum_i clamp(m - m_(i-1), 0, m_i - m_(i-1)) / B_i
//
// Where two protocols do not take the same time at the size that parts them (a driver writes small
// data into its command queue, and hands larger ones to a copy engine), the curve jumps, up or
// down. A breakpoint that is listed twice is a jump: the piece between has no width, and its
// parameter is no throughput but the time S just above it, from which the pieces beyond go on:
//
//     T(m) = S + sum_(i beyond the jump) clamp(m - m_(i-1), 0, m_i - m_(i-1)) / B_i    for m >
//     m_jump
//
// With L > 0, S > 0 and B_i > 0 the time is positive, it falls only at a jump, and it is linear in
// L, the S and the 1 / B_i. No breakpoint gives the straight line back.
#pragma once

#include <cstddef>

#include "gpucast/model/term.h"
#include "gpucast/schema/vocabulary.h"

namespace gpucast::model {

// The ways data takes between host, GPUs and nodes; each may have a transfer curve.
using schema::name;  // names of routes, as on command lines and in files
using schema::Route;

inline constexpr auto all_routes = schema::all<Route>();
inline constexpr std::size_t route_count = all_routes.size();

struct TransferCurve {
  std::vector<double> breakpoints;  // bytes, ascending; twice: a jump; empty: one straight line

  std::size_t parameter_count() const { return breakpoints.size() + 2; }

  // Whether the piece that ends at a breakpoint is a jump.
  bool jumps(std::size_t piece) const {
    return piece > 0 && piece < breakpoints.size() && breakpoints[piece] == breakpoints[piece - 1];
  }
};

// Names: L_<route>; B_<route>_1, _2, ... for the pieces below a breakpoint, S_<route>_2, ... for
// jumps; B_<route> for the last piece, the throughput of large transfers.
inline std::vector<Parameter> parameters(const TransferCurve& curve, const std::string& route) {
  std::vector<Parameter> result{
      {"L_" + route, "s", "latency of a transfer, " + route, plausible_latency}};
  const auto joined = [](std::string text, const std::string& more, const std::string& last) {
    return text.append(more).append(last);
  };
  const std::string of_route = ", " + route;
  for (std::size_t piece = 0; piece < curve.breakpoints.size(); ++piece) {
    const std::string number = std::to_string(piece + 1);
    const std::string tail = joined(route, "_", number);
    if (curve.jumps(piece)) {
      result.push_back({"S_" + tail, "s",
                        joined("time just above breakpoint ", std::to_string(piece), of_route)});
    } else {
      result.push_back({"B_" + tail, "B/s",
                        joined("throughput below breakpoint ", number, of_route),
                        plausible_throughput, true});
    }
  }
  result.push_back(
      {"B_" + route, "B/s", "throughput of large transfers, " + route, plausible_throughput, true});
  return result;
}

// `parameter`: L, then a B or S for each piece, as listed above. At a jump's size the piece below
// counts. `bytes` need not be whole (12 n / N).
template <class T>
T transfer_time(const TransferCurve& curve, const T* parameter, double bytes) {
  T time = parameter[0];
  double begin = 0;
  for (std::size_t piece = 0; piece < curve.breakpoints.size(); ++piece) {
    const double end = curve.breakpoints[piece];
    if (bytes <= end) return time + (bytes - begin) / parameter[piece + 1];
    if (curve.jumps(piece))
      time = parameter[piece + 1];
    else
      time += (end - begin) / parameter[piece + 1];
    begin = end;
  }
  return time + (bytes - begin) / parameter[curve.breakpoints.size() + 1];
}

}  // namespace gpucast::model
