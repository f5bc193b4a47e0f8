// Time of one transfer against its size.
//
// One straight line, T(m) = L + m / B, is the textbook form (Hockney 1994) and the paper's. Real
// paths change protocol with size (a driver's staging buffers, an RDMA threshold), so the curve is
// a continuous chain of straight pieces with breakpoints 0 = m_0 < m_1 < ... < m_q:
//
//     T(m) = L + sum_i clamp(m - m_(i-1), 0, m_i - m_(i-1)) / B_i
//
// With L > 0 and B_i > 0 the time is positive and never falls as m grows, and it is linear in L and
// the 1 / B_i. No breakpoint gives the straight line back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "gpucast/model/parameter.h"

namespace gpucast::model {

struct TransferCurve {
  std::vector<double> breakpoints;  // bytes, ascending; empty: one straight line

  std::size_t parameter_count() const { return breakpoints.size() + 2; }
};

// Names: L_<route>; B_<route>_1, _2, ... for the pieces below a breakpoint; B_<route> for the last
// piece, the throughput of large transfers.
inline std::vector<Parameter> parameters(const TransferCurve& curve, const std::string& route) {
  std::vector<Parameter> result{{"L_" + route, "s", "latency of a transfer, " + route}};
  for (std::size_t piece = 0; piece < curve.breakpoints.size(); ++piece) {
    result.push_back({"B_" + route + "_" + std::to_string(piece + 1), "B/s",
                      "throughput below breakpoint " + std::to_string(piece + 1) + ", " + route,
                      true});
  }
  result.push_back({"B_" + route, "B/s", "throughput of large transfers, " + route, true});
  return result;
}

// `parameter`: L, B_1, ..., B_q as listed above. `bytes` need not be whole (12 n / N).
template <class T>
T transfer_time(const TransferCurve& curve, const T* parameter, double bytes) {
  T time = parameter[0];
  double begin = 0;
  for (std::size_t piece = 0; piece < curve.breakpoints.size(); ++piece) {
    const double end = curve.breakpoints[piece];
    if (bytes <= end) {
      return time + (bytes - begin) / parameter[piece + 1];
    }
    time += (end - begin) / parameter[piece + 1];
    begin = end;
  }
  return time + (bytes - begin) / parameter[curve.breakpoints.size() + 1];
}

}  // namespace gpucast::model
