// Shared parts of communication terms: routes, and common parameters.
#pragma once

#include "gpucast/model/term.h"
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

}  // namespace gpucast::model
