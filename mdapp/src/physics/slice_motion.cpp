#include "physics/slice_motion.h"

namespace gpucast::mdapp {
namespace {

// body(k, type) for each particle of the slice.
template <class Body>
void each(const SliceOfParticles& slice, Body body) {
  for (int k = 0; k < slice.cations; ++k)
    body(k, 0);
  for (int k = slice.cations; k < slice.count; ++k)
    body(k, 1);
}

// Forces as one array of components, like r and v.
const float* components(const SliceOfParticles& slice) {
  static_assert(sizeof(Force) == 3 * sizeof(float));
  return reinterpret_cast<const float*>(slice.forces);
}

// body(first, last, type) over the components of the particles of each type. Without a mean force
// the three axes are alike, and a loop over components becomes vector instructions.
template <class Body>
void each_type(const SliceOfParticles& slice, Body body) {
  const auto border = 3 * static_cast<std::ptrdiff_t>(slice.cations);
  body(std::ptrdiff_t{0}, border, 0);
  body(border, 3 * static_cast<std::ptrdiff_t>(slice.count), 1);
}

Motion without_mean_force(Motion motion) {
  for (double& force : motion.mean_force)
    force = 0;
  return motion;
}

}  // namespace

bool all_sound(const SliceOfParticles& slice) {
  const float* f = components(slice);
  int unsound = 0;
  for (std::ptrdiff_t k = 0; k < 3 * static_cast<std::ptrdiff_t>(slice.count); ++k) {
    unsound |= static_cast<int>(!sound(f[k]));
  }
  return unsound == 0;
}

void kick_all(const SliceOfParticles& slice, const Motion& given) {
  const Motion motion = without_mean_force(given);
  const float* f = components(slice);
  double* v = slice.v;
  each_type(slice, [&, v, f](std::ptrdiff_t first, std::ptrdiff_t last, int type) {
    for (std::ptrdiff_t k = first; k < last; ++k)
      kick(v[k], f[k], motion, type, 0);
  });
}

void kick_and_drift_all(const SliceOfParticles& slice, const Motion& given) {
  kick_all(slice, given);
  const Motion motion = given;
  double* r = slice.r;
  double* v = slice.v;
  const std::ptrdiff_t count = 3 * static_cast<std::ptrdiff_t>(slice.count);
  for (std::ptrdiff_t k = 0; k < count; ++k)
    drift(r[k], v[k], motion);
}

void pack_all(const SliceOfParticles& slice, double inverse_lambda) {
  each(slice, [&](int k, int type) {
    slice.positions[k] = packed(slice.r + 3 * static_cast<std::ptrdiff_t>(k), type, inverse_lambda);
  });
}

void add_forces(const SliceOfParticles& slice, std::int64_t (&sums)[3]) {
  for (int k = 0; k < slice.count; ++k) {
    const Force f = slice.forces[k];
    // A force that is not sound ends the run; as an integer it would be undefined.
    sums[0] += sound(f.x) ? to_quanta(f.x) : 0;
    sums[1] += sound(f.y) ? to_quanta(f.y) : 0;
    sums[2] += sound(f.z) ? to_quanta(f.z) : 0;
  }
}

std::int64_t kick_and_drift_counting(const SliceOfParticles& slice, const Motion& motion) {
  std::int64_t twice_kinetic = 0;
  each(slice, [&](int k, int type) {
    for (int axis = 0; axis < 3; ++axis) {
      const auto at = 3 * static_cast<std::ptrdiff_t>(k) + axis;
      double& v = slice.v[at];
      kick(v, components(slice)[at], motion, type, axis);
      twice_kinetic += to_quanta(motion.mass[type] * v * v);
      drift(slice.r[at], v, motion);
    }
  });
  return twice_kinetic;
}

}  // namespace gpucast::mdapp
