// Motion on the GPU: the host's integrator (physics/integrator.cpp), one thread per particle.
// Compiled without contraction, so that it gives the host's bits.
#include "kernels/cuda/launch.h"

namespace gpucast::mdapp::cuda {
namespace {

constexpr int threads = 128;

__device__ int particle() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

// Once a force is invalid nothing moves any more, so that the overlapping pair can be named.
__device__ bool may_move(const State& s, const Force& f) {
  if (!(sound(f.x) && sound(f.y) && sound(f.z))) atomicExch(s.overlapped, 1);
  return *static_cast<volatile int*>(s.overlapped) == 0;
}

__device__ int type_of(const State& s, int own) { return s.slice.first + own < s.cations ? 0 : 1; }

__device__ void kick_all(const State& s, const Motion& motion, const Force& f, int own, int type) {
  const float force[3] = {f.x, f.y, f.z};
  for (int axis = 0; axis < 3; ++axis)
    kick(s.v[3 * own + axis], force[axis], motion, type, axis);
}

__device__ void drift_all(const State& s, const Motion& motion, int own) {
  for (int axis = 0; axis < 3; ++axis)
    drift(s.r[3 * own + axis], s.v[3 * own + axis], motion);
}

__global__ void before_forces(State s, Motion motion, IntegratorKind kind) {
  const int own = particle();
  if (own >= s.slice.count) return;
  const int type = type_of(s, own);
  const Force f = s.forces[own];
  if (kind == IntegratorKind::verlet && may_move(s, f)) {
    kick_all(s, motion, f, own, type);
    drift_all(s, motion, own);
  }
  s.positions[s.slice.first + own] = packed(s.r + 3 * own, type, motion.inverse_lambda);
}

// Adds the terms of a warp's threads to `total`.
__device__ void add_over_warp(std::int64_t& total, std::int64_t term) {
  for (int offset = 16; offset > 0; offset /= 2)
    term += __shfl_down_sync(0xffffffffU, term, static_cast<unsigned>(offset));
  if (threadIdx.x % 32 != 0) return;
  // Two's complement: unsigned addition adds signed numbers.
  atomicAdd(reinterpret_cast<unsigned long long*>(&total), static_cast<unsigned long long>(term));
}

__global__ void sum_up(State s) {
  const int own = particle();
  const bool inside = own < s.slice.count;
  const Force f = inside ? s.forces[own] : Force{0, 0, 0};
  const float force[3] = {f.x, f.y, f.z};
  for (int axis = 0; axis < 3; ++axis)
    add_over_warp(s.sums->force[axis], to_quanta(sound(force[axis]) ? force[axis] : 0.0F));
}

__global__ void verlet_after_forces(State s, Motion motion) {
  const int own = particle();
  if (own >= s.slice.count) return;
  const Force f = s.forces[own];
  if (may_move(s, f)) kick_all(s, motion, f, own, type_of(s, own));
}

// Friction and mean force of this step from the sums of all devices.
__global__ void prepare(State s, Motion motion, Motion* step) {
  if (*s.steps > 0)
    *s.friction = next_friction(*s.friction, from_quanta(s.sums->twice_kinetic), motion);
  *s.steps += 1;
  *step = with_friction(motion, *s.friction);
  for (int axis = 0; axis < 3; ++axis) {
    step->mean_force[axis] = from_quanta(s.sums->force[axis]) / s.n;
    s.sums->force[axis] = 0;
  }
  s.sums->twice_kinetic = 0;
}

__global__ void nose_hoover_after_forces(State s, const Motion* step) {
  const int own = particle();
  std::int64_t twice_kinetic = 0;
  if (own < s.slice.count) {
    const Force f = s.forces[own];
    if (may_move(s, f)) {
      const Motion motion = *step;
      const int type = type_of(s, own);
      kick_all(s, motion, f, own, type);
      for (int axis = 0; axis < 3; ++axis) {
        const double v = s.v[3 * own + axis];
        twice_kinetic += to_quanta(motion.mass[type] * v * v);
      }
      drift_all(s, motion, own);
    }
  }
  add_over_warp(s.sums->twice_kinetic, twice_kinetic);
}

unsigned blocks(const State& s) {
  return static_cast<unsigned>((s.slice.count + threads - 1) / threads);
}

}  // namespace

void launch_before_forces(const State& state, const Motion& motion, IntegratorKind kind,
                          cudaStream_t stream) {
  before_forces<<<blocks(state), threads, 0, stream>>>(state, motion, kind);
}

void launch_sum_up(const State& state, cudaStream_t stream) {
  sum_up<<<blocks(state), threads, 0, stream>>>(state);
}

void launch_after_forces(const State& state, const Motion& motion, IntegratorKind kind,
                         Motion* scratch, cudaStream_t stream) {
  const bool empty = state.slice.count == 0;
  if (kind == IntegratorKind::verlet) {
    if (!empty) verlet_after_forces<<<blocks(state), threads, 0, stream>>>(state, motion);
    return;
  }
  // Every device needs the friction, even one without particles.
  prepare<<<1, 1, 0, stream>>>(state, motion, scratch);
  if (!empty) nose_hoover_after_forces<<<blocks(state), threads, 0, stream>>>(state, scratch);
}

}  // namespace gpucast::mdapp::cuda
