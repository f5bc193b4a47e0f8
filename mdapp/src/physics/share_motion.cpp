#include "physics/share_motion.h"

namespace gpucast::mdapp {
namespace {

// body(k, type) for each particle of the share.
template <class Body>
void each(const ShareOfParticles& share, Body body) {
  for (int k = 0; k < share.cations; ++k)
    body(k, 0);
  for (int k = share.cations; k < share.count; ++k)
    body(k, 1);
}

void kick_one(const ShareOfParticles& share, const Motion& motion, int k, int type) {
  const Force f = share.forces[k];
  double* v = share.v + 3 * static_cast<std::ptrdiff_t>(k);
  kick(v[0], f.x, motion, type, 0);
  kick(v[1], f.y, motion, type, 1);
  kick(v[2], f.z, motion, type, 2);
}

void drift_one(const ShareOfParticles& share, const Motion& motion, int k) {
  const auto first = 3 * static_cast<std::ptrdiff_t>(k);
  for (std::ptrdiff_t a = first; a < first + 3; ++a)
    drift(share.r[a], share.v[a], motion);
}

}  // namespace

bool all_sound(const ShareOfParticles& share) {
  bool all = true;
  for (int k = 0; k < share.count; ++k) {
    const Force f = share.forces[k];
    all &= sound(f.x) & sound(f.y) & sound(f.z);
  }
  return all;
}

void kick_all(const ShareOfParticles& share, const Motion& motion) {
  each(share, [&](int k, int type) { kick_one(share, motion, k, type); });
}

void kick_and_drift_all(const ShareOfParticles& share, const Motion& motion) {
  each(share, [&](int k, int type) {
    kick_one(share, motion, k, type);
    drift_one(share, motion, k);
  });
}

void pack_all(const ShareOfParticles& share, double inverse_lambda) {
  each(share, [&](int k, int type) {
    share.positions[k] = packed(share.r + 3 * static_cast<std::ptrdiff_t>(k), type, inverse_lambda);
  });
}

void add_forces(const ShareOfParticles& share, std::int64_t (&sums)[3]) {
  for (int k = 0; k < share.count; ++k) {
    const Force f = share.forces[k];
    // A force that is not sound ends the run; as an integer it would be undefined.
    sums[0] += sound(f.x) ? to_quanta(f.x) : 0;
    sums[1] += sound(f.y) ? to_quanta(f.y) : 0;
    sums[2] += sound(f.z) ? to_quanta(f.z) : 0;
  }
}

std::int64_t kick_and_drift_counting(const ShareOfParticles& share, const Motion& motion) {
  std::int64_t twice_kinetic = 0;
  each(share, [&](int k, int type) {
    kick_one(share, motion, k, type);
    for (int a = 0; a < 3; ++a) {
      const double v = share.v[3 * static_cast<std::ptrdiff_t>(k) + a];
      twice_kinetic += to_quanta(motion.mass[type] * v * v);
    }
    drift_one(share, motion, k);
  });
  return twice_kinetic;
}

}  // namespace gpucast::mdapp
