// Shared parts of communication terms: routes, and common parameters.
#pragma once

#include "gpucast/model/poll.h"
#include "gpucast/model/transfer_curve.h"

namespace gpucast::model {

// The first parameter of every communication term.
inline Parameter launch_parameter() {
  return {"t_kernel", "s", "kernel-launch delay", plausible_launch};
}

// Throughput of the shared host side of concurrent transfers: root port, memory.
inline Parameter shared_host_parameter() {
  return {"B_host", "B/s", "throughput of what concurrent transfers share", plausible_shared_host,
          true};
}

inline Parameter queue_parameter() {
  return {"t_queue", "s", "host time to queue a GPU's step beside its launch", plausible_queueing};
}

inline Parameter share_parameter() {
  return {"s_next", "", "share of a further GPU's copies that is not hidden", plausible_share};
}

// The host's time for the copies and launches of a step on N GPUs, if a share s_next of each
// further GPU's copies is not hidden; parameters t_kernel and s_next.
template <class T, class Curves>
T copies_by_share(const T* parameter, const Curves& curve, const ComStep<T>& step) {
  const T copies = curve(Route::h2d, step.bytes_in()) + curve(Route::d2h, step.bytes_out());
  return (1.0 + (step.gpus - 1) * parameter[1]) * copies + step.gpus * parameter[0];
}

// star-serial, the paper's equation (3): the host talks to one GPU after another, every GPU gets
// all positions, each sends back its share, each is launched once:
//
//     T_com = N T_h2d(16 n) + N T_d2h(12 n / N) + N t_kernel
//
// which is, for straight lines,
//
//     T_com = (16 n N / B_h2d + N L_h2d) + (12 n / B_d2h + N L_d2h) + t_kernel N

struct StarSerial {
  static constexpr TermInfo info{.name = "star-serial",
                                 .summary = "the host serves one GPU after another",
                                 .schedule = "star-serial"};
  static constexpr Route routes[] = {Route::h2d, Route::d2h};

  static std::vector<Parameter> parameters() { return {launch_parameter()}; }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    return step.gpus * (curve(Route::h2d, step.bytes_in()) + curve(Route::d2h, step.bytes_out()) +
                        parameter[0]);
  }
};

// star-serial-hide: star-serial where the GPUs' work hides a part of the launches, and its end is
// seen at once.
//
// The host launches all GPUs before it waits for the first, so that N - 1 launches have passed when
// it comes to wait, and T_gpu - (N - 1) t_kernel is left, if anything is. As star-serial-poll,
// without its ticks, where copies are not held up by the kernel before them or nobody knows:
//
//     T_com = (1 + (N - 1) s_next) (T_h2d(16 n) + T_d2h(12 n / N)) + N t_kernel
//             + h(T_gpu - (N - 1) t_kernel) - T_gpu
//
// h(x) = max(x, 0), rounded within a microsecond or so of 0: launches do not all take the same, and
// what is left is sometimes more, sometimes less than nothing.

// The positive part of x in seconds: tau ln(1 + exp(x / tau)), which is x + tau ln(1 + exp(-x /
// tau)), the form that does not overflow for x > 0.
template <class T>
T left_over(const T& x) {
  using std::exp;
  using std::log;
  constexpr double tau = 1e-6;  // s
  return x > 0.0 ? T(x + tau * log(1.0 + exp(-x / tau))) : T(tau * log(1.0 + exp(x / tau)));
}

struct StarSerialHide {
  static constexpr TermInfo info{.name = "star-serial-hide",
                                 .summary = "star-serial, launches hidden behind the GPUs' work",
                                 .linear = false,
                                 .schedule = "star-serial"};
  static constexpr Route routes[] = {Route::h2d, Route::d2h};

  static std::vector<Parameter> parameters() { return {launch_parameter(), share_parameter()}; }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    const T& t_kernel = parameter[0];
    const double others = step.gpus - 1;
    const T sent = copies_by_share(parameter, curve, step);
    return step.linear ? sent : T(sent + left_over(T(step.t_gpu - others * t_kernel)) - step.t_gpu);
  }
};

// star-serial-poll: star-serial where the GPUs' work hides a part of the launches and is seen late.
//
// The host launches all GPUs before it waits for the first, so that when it comes to wait, N - 1
// launches and t_lead have passed and T_gpu - (N - 1) t_kernel - t_lead is left; the copies from
// the other GPUs, one after another, find theirs finished. It sees the end of what is left at a
// tick of the copy engine (W and t_lead: poll.h):
//
//     T_com = (1 + (N - 1) s_next) (T_h2d(16 n) + T_d2h(12 n / N)) + N t_kernel
//             + W(T_gpu - (N - 1) t_kernel - t_lead) - T_gpu
//
// s_next is 1 where each copy waits for the one before. From pageable memory a driver returns once
// it has the data, and goes on to the next GPU while the bytes are under way.

struct StarSerialPoll {
  static constexpr TermInfo info{.name = "star-serial-poll",
                                 .summary = "star-serial, launches hidden, the end seen at a tick",
                                 .linear = false,
                                 .schedule = "star-serial",
                                 .sees_ticks = true};
  static constexpr Route routes[] = {Route::h2d, Route::d2h};

  static std::vector<Parameter> parameters() { return {launch_parameter(), share_parameter()}; }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    const T& t_kernel = parameter[0];
    const double others = step.gpus - 1;
    const T sent = copies_by_share(parameter, curve, step);
    return step.linear
               ? sent
               : T(sent + polled(T(step.t_gpu - others * t_kernel - poll_lead)) - step.t_gpu);
  }
};

// star-async: pinned copies, one stream a GPU, all under way at once. Latencies and the GPUs' own
// links overlap; launches are submitted one after another; whatever the transfers share on the host
// side (root port, memory) passes the bytes of the other N - 1 GPUs at B_host:
//
//     T_com = T_h2d(16 n) + T_d2h(12 n / N) + (N - 1) (16 n + 12 n / N) / B_host + N t_kernel

struct StarAsync {
  static constexpr TermInfo info{.name = "star-async",
                                 .summary = "all GPUs at once, a shared host side",
                                 .tried = Tried::by_name,
                                 .schedule = "star-async"};
  static constexpr Route routes[] = {Route::h2d, Route::d2h};

  static std::vector<Parameter> parameters() {
    return {launch_parameter(), shared_host_parameter()};
  }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    const double others = (step.gpus - 1) * (step.bytes_in() + step.bytes_out());
    return curve(Route::h2d, step.bytes_in()) + curve(Route::d2h, step.bytes_out()) +
           others / parameter[1] + step.gpus * parameter[0];
  }
};

// star-async-queue: star-async where queueing a GPU's copies takes the host t_queue in addition to
// the launch; the copy back follows the kernel at once (star-async-poll: at a tick):
//
//     T_com = T_h2d(16 n) + T_d2h(12 n / N) + (N - 1) (16 n + 12 n / N) / B_host
//             + N (t_kernel + t_queue)

struct StarAsyncQueue {
  static constexpr TermInfo info{.name = "star-async-queue",
                                 .summary = "star-async, each GPU's copies queued by the host",
                                 .schedule = "star-async"};
  static constexpr Route routes[] = {Route::h2d, Route::d2h};

  static std::vector<Parameter> parameters() {
    return {launch_parameter(), shared_host_parameter(), queue_parameter()};
  }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    return StarAsync::seconds(parameter, curve, step) + step.gpus * parameter[2];
  }
};

// star-async-poll: star-async where queueing a GPU's copies takes the host t_queue in addition to
// the launch, and the copy back sees the kernel's end at a tick (W and t_lead: poll.h):
//
//     T_com = T_h2d(16 n) + T_d2h(12 n / N) + (N - 1) (16 n + 12 n / N) / B_host
//             + N (t_kernel + t_queue) + W(T_gpu - t_lead) - T_gpu

struct StarAsyncPoll {
  static constexpr TermInfo info{.name = "star-async-poll",
                                 .summary = "star-async, queued, the end seen at a tick",
                                 .linear = false,
                                 .schedule = "star-async",
                                 .sees_ticks = true};
  static constexpr Route routes[] = {Route::h2d, Route::d2h};

  static std::vector<Parameter> parameters() {
    return {launch_parameter(), shared_host_parameter(), queue_parameter()};
  }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    const double others = (step.gpus - 1) * (step.bytes_in() + step.bytes_out());
    const T sent = curve(Route::h2d, step.bytes_in()) + curve(Route::d2h, step.bytes_out()) +
                   others / parameter[1] + step.gpus * (parameter[0] + parameter[2]);
    return step.linear ? sent : T(sent + polled(T(step.t_gpu - poll_lead)) - step.t_gpu);
  }
};

// star-async-turns: work that should run concurrently runs in turns, because the caller waits for
// each call (remote GPUs in synchronous mode): the GPUs compute one after another, too:
//
//     T_com = N T_h2d(16 n) + N T_d2h(12 n / N) + N t_kernel + (N - 1) T_gpu

struct StarAsyncTurns {
  static constexpr TermInfo info{.name = "star-async-turns",
                                 .summary = "star-async by turns, GPUs one after another",
                                 .schedule = "star-async"};
  static constexpr Route routes[] = {Route::h2d, Route::d2h};

  static std::vector<Parameter> parameters() { return StarSerial::parameters(); }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    return StarSerial::seconds(parameter, curve, step) + (step.gpus - 1) * step.t_gpu;
  }
};

// allgather: positions stay on the GPUs and go round a ring, N - 1 rounds of 16 n / N bytes from
// each GPU to its neighbour (Thakur, Rabenseifner & Gropp 2005); one launch a GPU from one thread:
//
//     T_com = (N - 1) T_peer(16 n / N) + N t_kernel

struct Allgather {
  static constexpr TermInfo info{
      .name = "allgather", .summary = "shares go round a ring of GPUs", .schedule = "allgather"};
  static constexpr Route routes[] = {Route::peer};

  static std::vector<Parameter> parameters() { return {launch_parameter()}; }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    return (step.gpus - 1) * curve(Route::peer, step.bytes_in() / step.gpus) +
           step.gpus * parameter[0];
  }
};

// allgather-once: allgather where the rounds of the ring follow one another without the host. A
// collective is started once, and the GPUs pass on what they get piece by piece, so that all rounds
// together have the latency of one transfer of their bytes; one launch a GPU from one thread:
//
//     T_com = [N > 1] T_peer((N - 1) 16 n / N) + N t_kernel
//
// which is L_peer + (N - 1) 16 n / (N B_peer) + N t_kernel for a straight line.

struct AllgatherOnce {
  static constexpr TermInfo info{.name = "allgather-once",
                                 .summary = "a ring of GPUs whose rounds share one latency",
                                 .schedule = "allgather"};
  static constexpr Route routes[] = {Route::peer};

  static std::vector<Parameter> parameters() { return {launch_parameter()}; }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    const T launched = step.gpus * parameter[0];
    return step.gpus > 1
               ? T(curve(Route::peer, (step.gpus - 1) * step.bytes_in() / step.gpus) + launched)
               : launched;
  }
};

// allgather-queue: the host queues steps ahead, N (t_kernel + t_queue) each, while the GPUs work;
// the slower of the two sets the pace (a p-norm with p = 8 joins them). A collective's rounds
// follow one another on the GPUs, so its latency counts once:
//
//     T_com = |T_gpu + T_peer((N - 1) 16 n / N), N (t_kernel + t_queue)|_8 - T_gpu
//
// With one GPU there is no transfer and no t_queue.

// The larger of two times, smoothly: their p-norm with p = 8.
template <class T>
T slower_of(const T& a, const T& b) {
  using std::pow;
  constexpr double p = 8;
  const T& larger = a > b ? a : b;
  const T& smaller = a > b ? b : a;
  return larger * pow(1.0 + pow(smaller / larger, p), 1 / p);
}

struct AllgatherQueue {
  static constexpr TermInfo info{.name = "allgather-queue",
                                 .summary = "the host queues ahead of the GPUs' allgather",
                                 .linear = false,
                                 .schedule = "allgather"};
  static constexpr Route routes[] = {Route::peer};

  static std::vector<Parameter> parameters() { return {launch_parameter(), queue_parameter()}; }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    const T& t_kernel = parameter[0];
    const bool several = step.gpus > 1;
    const T queued = several ? T(step.gpus * (t_kernel + parameter[1])) : t_kernel;
    const T sent = several ? curve(Route::peer, (step.gpus - 1) * step.bytes_in() / step.gpus)
                           : T(0.0 * t_kernel);
    // Start values assign to the queue what either could explain, and give the transfer a fifth:
    // large steps then determine the transfer's share.
    constexpr double second = 0.2;
    return step.linear ? T(second * sent + queued)
                       : T(slower_of(T(step.t_gpu + sent), queued) - step.t_gpu);
  }
};

// mpi: a rank a GPU. Ranks copy and launch side by side; positions then go round the ring of ranks:
//
//     T_com = T_h2d(16 n) + T_d2h(12 n / N) + t_kernel + (N - 1) T_net(16 n / N)

struct Mpi {
  static constexpr TermInfo info{
      .name = "mpi", .summary = "a rank a GPU, shares go round the ranks", .schedule = "mpi"};
  static constexpr Route routes[] = {Route::h2d, Route::d2h, Route::net};

  static std::vector<Parameter> parameters() { return {launch_parameter()}; }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& curve, const ComStep<T>& step) {
    return curve(Route::h2d, step.bytes_in()) + curve(Route::d2h, step.bytes_out()) + parameter[0] +
           (step.gpus - 1) * curve(Route::net, step.bytes_in() / step.gpus);
  }
};

// halo: domain decomposition in three dimensions (Plimpton 1995). Each of several GPUs gets the
// elements about its own from its neighbours in every step, as many as its domain has surface:
//
//     T_com = t_kernel + [N > 1] (t_edge + (n / N)^(2/3) t_face)
//
// t_edge is the latency of a step's messages, t_face the time of one element of the surface.

struct Halo {
  static constexpr TermInfo info{.name = "halo",
                                 .summary = "the surface of a domain goes to its neighbours"};
  // Transfers alone do not show how long a halo takes.
  static constexpr std::array<Route, 0> routes{};

  static std::vector<Parameter> parameters() {
    return {launch_parameter(),
            {"t_edge", "s", "latency of a step's messages to neighbours"},
            {"t_face", "s", "time to send one element of a domain's surface"}};
  }

  template <class T, class Curves>
  static T seconds(const T* parameter, const Curves& /*curve*/, const ComStep<T>& step) {
    const double several = step.gpus > 1 ? 1 : 0;
    const double surface = std::pow(step.n / step.gpus, 2.0 / 3);
    return parameter[0] + several * (parameter[1] + surface * parameter[2]);
  }
};

}  // namespace gpucast::model
