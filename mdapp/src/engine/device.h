// The interface between schedules and engines: a device has its own memory and one queue.
//
// A schedule (schedule/) decides what is moved and computed when; an engine (engine.h) provides the
// devices. There are two engines: `host`, whose devices are worker threads, and `cuda`.
#pragma once

#include <span>

#include "gpucast/records/records.h"
#include "gpucast/support/interface.h"
#include "physics/motion.h"
#include "physics/pair.h"

namespace gpucast::mdapp {

enum class KernelName {
  // One thread per particle over all pairs, straightforward arithmetic, as in the paper's program.
  claret,
  tuned,  // the fastest form of the same sum
};

struct KernelChoice {
  KernelName name = KernelName::claret;
  int block = 0;    // threads per block; 0: the kernel chooses
  int j_split = 0;  // tuned: number of parts of the sum over j; 0: enough to fill the GPU
};

// How a device copies.
enum class Copies {
  blocking,  // a call returns when the copy is finished (cudaMemcpy), after all queued work
  queued,    // a call only queues (cudaMemcpyAsync on the device's own stream)
};

// The workload of a device, fixed when it is opened.
struct Workload {
  int n = 0;
  int cations = 0;  // particles [0, cations) are of type 0
  Slice slice;      // whose forces it computes
  int devices = 1;  // among which the particles are shared out
  ForceField<float> field{};
  BoundaryKind boundary = BoundaryKind::open;
  KernelChoice kernel;
  Copies copies = Copies::blocking;
};

// Bytes of the positions outside the slice, which an exchange brings.
inline std::int64_t bytes_of_others(const Workload& workload) {
  return static_cast<std::int64_t>(sizeof(Position)) * (workload.n - workload.slice.count);
}

enum class Output { forces, forces_and_sums };

// Bytes in each direction since the device was opened, counted by the copies; exchange: received
// from other devices.
using Traffic = records::StepBytes;

inline Traffic operator+(const Traffic& a, const Traffic& b) {
  return {.h2d = a.h2d + b.h2d, .d2h = a.d2h + b.d2h, .exchange = a.exchange + b.exchange};
}
inline Traffic operator-(const Traffic& a, const Traffic& b) {
  return {.h2d = a.h2d - b.h2d, .d2h = a.d2h - b.d2h, .exchange = a.exchange - b.exchange};
}

// Operations run in the order of their calls. Errors of queued operations are thrown by the next
// blocking call as DeviceError.
class Device : public support::Interface {
 public:
  // ---- forces of the slice, from positions that the host sends ----
  virtual void upload(std::span<const Position> positions) = 0;  // all n
  virtual void compute(Output output) = 0;
  virtual void download(std::span<Force> forces) = 0;   // the slice's
  virtual void download(std::span<PairSums> sums) = 0;  // the slice's, after forces_and_sums

  // ---- integration on the device (allgather) ----
  virtual void upload_state(std::span<const double> r,
                            std::span<const double> v) = 0;  // the slice's
  virtual void download_state(std::span<double> r, std::span<double> v) = 0;
  // Does the same as Integrator::before_forces: for Verlet, half a kick and a drift; then writes
  // the slice's positions into the device's array of all positions, from which Exchange distributes
  // them.
  virtual void before_forces(const Motion& motion, IntegratorKind kind) = 0;
  // Sums up the slice's forces exactly, and the kinetic energy of the previous step; Exchange adds
  // these over devices. Needed for Nose-Hoover only.
  virtual void sum_up() = 0;
  // Does the same as Integrator::after_forces. For Nose-Hoover, friction (kept on the device) and
  // mean force follow from the sums.
  virtual void after_forces(const Motion& motion, IntegratorKind kind) = 0;
  // True once a force was invalid; the device's particles do not move from then on.
  virtual bool overlapped() = 0;

  // ---- time ----
  // Marks the time when everything queued so far is finished; any number of slots from 0 on.
  virtual void mark(int slot) = 0;
  // Waits until all queued work is finished.
  virtual void wait() = 0;
  // Seconds between two marks that have been passed.
  virtual double seconds_between(int first, int second) = 0;

  virtual Traffic traffic() const = 0;
};

}  // namespace gpucast::mdapp
