// T_com: what a step spends on transfers and kernel launches, one term a schedule.
//
// Positions and types travel as four floats, 16 n bytes; forces come back as three, 12 n bytes in
// all, 12 n / N from each GPU.
#pragma once

#include <stdexcept>
#include <vector>

#include "gpucast/model/parameter.h"
#include "gpucast/model/routes.h"
#include "gpucast/model/transfer_curve.h"

namespace gpucast::model {

enum class ComTerm { star_serial, star_async, allgather, mpi };

inline constexpr ComTerm all_com_terms[] = {ComTerm::star_serial, ComTerm::star_async,
                                            ComTerm::allgather, ComTerm::mpi};

inline constexpr double bytes_in_per_particle = 16;
inline constexpr double bytes_out_per_particle = 12;

// Routes whose transfer curves the term evaluates.
inline std::vector<Route> routes(ComTerm term) {
  switch (term) {
    case ComTerm::star_serial:
    case ComTerm::star_async:
      return {Route::h2d, Route::d2h};
    case ComTerm::allgather:
      return {Route::peer};
    case ComTerm::mpi:
      return {Route::h2d, Route::d2h, Route::net};
  }
  throw std::invalid_argument("unknown communication term");
}

// Parameters of the term itself, beside those of its curves.
inline std::vector<Parameter> parameters(ComTerm term) {
  std::vector<Parameter> result{{"t_kernel", "s", "kernel-launch delay"}};
  if (term == ComTerm::star_async) {
    result.push_back({"B_host", "B/s", "throughput of what concurrent transfers share", true});
  }
  return result;
}

// `curve_time(route, bytes)` is the time of one transfer alone on its route.
//
// star-serial, the paper's equation (3): the host talks to one GPU after another, every GPU gets
// all positions, each sends back its share, each is launched once:
//
//     T_com = N T_h2d(16 n) + N T_d2h(12 n / N) + N t_kernel
//
// which is, for straight lines,
//
//     T_com = (16 n N / B_h2d + N L_h2d) + (12 n / B_d2h + N L_d2h) + t_kernel N
//
// star-async: pinned copies, one stream a GPU, all under way at once. Latencies and the GPUs' own
// links overlap; launches are submitted one after another; whatever the transfers share on the host
// side (root port, memory) passes the bytes of the other N - 1 GPUs at B_host:
//
//     T_com = T_h2d(16 n) + T_d2h(12 n / N) + (N - 1) (16 n + 12 n / N) / B_host + N t_kernel
//
// allgather: positions stay on the GPUs and go round a ring, N - 1 rounds of 16 n / N bytes from
// each GPU to its neighbour (Thakur, Rabenseifner & Gropp 2005); one launch a GPU from one thread:
//
//     T_com = (N - 1) T_peer(16 n / N) + N t_kernel
//
// mpi: a rank a GPU. Ranks copy and launch side by side; positions then go round the ring of ranks:
//
//     T_com = T_h2d(16 n) + T_d2h(12 n / N) + t_kernel + (N - 1) T_net(16 n / N)
template <class T, class CurveTime>
T com_time(ComTerm term, const T* parameter, const CurveTime& curve_time, double n, double gpus) {
  const double in = bytes_in_per_particle * n;
  const double out = bytes_out_per_particle * n / gpus;
  const T& t_kernel = parameter[0];
  switch (term) {
    case ComTerm::star_serial:
      return gpus * (curve_time(Route::h2d, in) + curve_time(Route::d2h, out) + t_kernel);
    case ComTerm::star_async:
      return curve_time(Route::h2d, in) + curve_time(Route::d2h, out) +
             (gpus - 1) * (in + out) / parameter[1] + gpus * t_kernel;
    case ComTerm::allgather:
      return (gpus - 1) * curve_time(Route::peer, in / gpus) + gpus * t_kernel;
    case ComTerm::mpi:
      return curve_time(Route::h2d, in) + curve_time(Route::d2h, out) + t_kernel +
             (gpus - 1) * curve_time(Route::net, in / gpus);
  }
  throw std::invalid_argument("unknown communication term");
}

}  // namespace gpucast::model
