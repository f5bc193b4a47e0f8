// T_com: what a step spends on transfers and kernel launches, one term a schedule.
//
// Positions and types travel as four floats, 16 n bytes; forces come back as three, 12 n bytes in
// all, 12 n / N from each GPU.
#pragma once

#include <cmath>
#include <stdexcept>
#include <vector>

#include "gpucast/model/parameter.h"
#include "gpucast/model/poll.h"
#include "gpucast/model/routes.h"
#include "gpucast/model/transfer_curve.h"

namespace gpucast::model {

enum class ComTerm {
  star_serial,
  star_async,
  allgather,
  mpi,
  star_serial_poll,
  star_async_poll,
  star_async_turns,
  allgather_queue
};

inline constexpr ComTerm all_com_terms[] = {ComTerm::star_serial,      ComTerm::star_async,
                                            ComTerm::allgather,        ComTerm::mpi,
                                            ComTerm::star_serial_poll, ComTerm::star_async_poll,
                                            ComTerm::star_async_turns, ComTerm::allgather_queue};

// Whether the term sees the end of the GPU's work at ticks: a step's time is then wavy in T_gpu.
constexpr bool sees_ticks(ComTerm term) {
  return term == ComTerm::star_serial_poll || term == ComTerm::star_async_poll;
}

// Whether the time is a sum of linear coordinates (and T_gpu) times what does not depend on them.
constexpr bool is_linear(ComTerm term) {
  return !sees_ticks(term) && term != ComTerm::allgather_queue;
}

inline constexpr double bytes_in_per_particle = 16;
inline constexpr double bytes_out_per_particle = 12;

// Routes whose transfer curves the term evaluates.
inline std::vector<Route> routes(ComTerm term) {
  switch (term) {
    case ComTerm::star_serial:
    case ComTerm::star_async:
    case ComTerm::star_serial_poll:
    case ComTerm::star_async_poll:
    case ComTerm::star_async_turns:
      return {Route::h2d, Route::d2h};
    case ComTerm::allgather:
    case ComTerm::allgather_queue:
      return {Route::peer};
    case ComTerm::mpi:
      return {Route::h2d, Route::d2h, Route::net};
  }
  throw std::invalid_argument("unknown communication term");
}

// Parameters of the term itself, beside those of its curves.
inline std::vector<Parameter> parameters(ComTerm term) {
  std::vector<Parameter> result{{"t_kernel", "s", "kernel-launch delay"}};
  if (term == ComTerm::star_async || term == ComTerm::star_async_poll) {
    result.push_back({"B_host", "B/s", "throughput of what concurrent transfers share", true});
  }
  if (term == ComTerm::star_async_poll || term == ComTerm::allgather_queue) {
    result.push_back({"t_queue", "s", "host time to queue a GPU's step beside its launch"});
  }
  if (term == ComTerm::star_serial_poll) {
    result.push_back({"s_next", "", "share of a further GPU's copies that is not hidden"});
  }
  return result;
}

// The larger of two times, smoothly: their p-norm with p = 8.
template <class T>
T slower_of(const T& a, const T& b) {
  using std::pow;
  constexpr double p = 8;
  const T& larger = a > b ? a : b;
  const T& smaller = a > b ? b : a;
  return larger * pow(1.0 + pow(smaller / larger, p), 1 / p);
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
//
// Four more say what such a step costs where the GPU's work hides a part of it, or is seen late.
// T_com is then what a step takes beyond T_gpu + T_cpu.
//
// star-serial-poll: the host launches all GPUs before it waits for the first, so that when it comes
// to wait, N - 1 launches and t_lead have passed and T_gpu - (N - 1) t_kernel - t_lead is left; the
// copies from the other GPUs, one after another, find theirs finished. It sees the end of what is
// left at a tick of the copy engine (W and t_lead: poll.h):
//
//     T_com = (1 + (N - 1) s_next) (T_h2d(16 n) + T_d2h(12 n / N)) + N t_kernel
//             + W(T_gpu - (N - 1) t_kernel - t_lead) - T_gpu
//
// s_next is 1 where each copy waits for the one before. From pageable memory a driver returns once
// it has the data, and goes on to the next GPU while the bytes are under way.
//
// star-async-poll: queueing a GPU's copies costs the host t_queue beside the launch, and the copy
// back sees the kernel's end at a tick:
//
//     T_com = T_h2d(16 n) + T_d2h(12 n / N) + (N - 1) (16 n + 12 n / N) / B_host
//             + N (t_kernel + t_queue) + W(T_gpu - t_lead) - T_gpu
//
// star-async-turns: what is to run at once goes by turns, because each call is waited for (remote
// GPUs in synchronous mode): the GPUs compute one after another, too:
//
//     T_com = N T_h2d(16 n) + N T_d2h(12 n / N) + N t_kernel + (N - 1) T_gpu
//
// allgather-queue: the host queues steps ahead, N (t_kernel + t_queue) each, while the GPUs work;
// the slower of the two sets the pace (a p-norm with p = 8 joins them). A collective's rounds
// follow one another on the GPUs, so its latency counts once:
//
//     T_com = |T_gpu + T_peer((N - 1) 16 n / N), N (t_kernel + t_queue)|_8 - T_gpu
//
// (no transfer with one GPU).
//
// `t_gpu`: T_gpu of the same step. `ticks`: false leaves out what makes a time other than linear in
// its parameters: W(x) = x, nothing hidden, the slower of two taken as their sum.
template <class T, class CurveTime>
T com_time(ComTerm term, const T* parameter, const CurveTime& curve_time, double n, double gpus,
           const T& t_gpu, bool ticks = true) {
  const double in = bytes_in_per_particle * n;
  const double out = bytes_out_per_particle * n / gpus;
  const double others = (gpus - 1) * (in + out);
  const T& t_kernel = parameter[0];
  switch (term) {
    case ComTerm::star_serial:
      return gpus * (curve_time(Route::h2d, in) + curve_time(Route::d2h, out) + t_kernel);
    case ComTerm::star_async:
      return curve_time(Route::h2d, in) + curve_time(Route::d2h, out) + others / parameter[1] +
             gpus * t_kernel;
    case ComTerm::allgather:
      return (gpus - 1) * curve_time(Route::peer, in / gpus) + gpus * t_kernel;
    case ComTerm::mpi:
      return curve_time(Route::h2d, in) + curve_time(Route::d2h, out) + t_kernel +
             (gpus - 1) * curve_time(Route::net, in / gpus);
    case ComTerm::star_serial_poll: {
      const T copies = curve_time(Route::h2d, in) + curve_time(Route::d2h, out);
      const T sent = (1.0 + (gpus - 1) * parameter[1]) * copies + gpus * t_kernel;
      return ticks ? T(sent + polled(T(t_gpu - (gpus - 1) * t_kernel - poll_lead)) - t_gpu) : sent;
    }
    case ComTerm::star_async_poll: {
      const T sent = curve_time(Route::h2d, in) + curve_time(Route::d2h, out) +
                     others / parameter[1] + gpus * (t_kernel + parameter[2]);
      return ticks ? T(sent + polled(T(t_gpu - poll_lead)) - t_gpu) : sent;
    }
    case ComTerm::star_async_turns:
      return gpus * (curve_time(Route::h2d, in) + curve_time(Route::d2h, out) + t_kernel) +
             (gpus - 1) * t_gpu;
    case ComTerm::allgather_queue: {
      const bool several = gpus > 1;
      const T queued = several ? T(gpus * (t_kernel + parameter[1])) : t_kernel;
      const T sent = several ? curve_time(Route::peer, (gpus - 1) * in / gpus) : T(0.0 * t_kernel);
      // For a start the queue explains what either could: large steps then tell the transfer.
      constexpr double second = 0.2;
      return ticks ? T(slower_of(T(t_gpu + sent), queued) - t_gpu) : T(second * sent + queued);
    }
  }
  throw std::invalid_argument("unknown communication term");
}

}  // namespace gpucast::model
