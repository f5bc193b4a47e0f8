#include "engine/skeleton.h"

#include <algorithm>

#include "gpucast/devices/clock.h"

namespace gpucast::microbench {
namespace {

// For each particle, a position and a type go to the devices and a force comes back; position and
// force have three components.
constexpr std::size_t components = 3;
constexpr std::size_t sent_a_particle = 4;

}  // namespace

Skeleton::Skeleton(const StepShape& shape)
    : shape_(shape),
      velocity_(floats_of(shape.gpus() * shape.d2h_bytes)),
      position_(velocity_.size()) {}

double Skeleton::step() {
  integrate();
  const auto begin = devices::Clock::now();
  const std::size_t count = shape_.devices.size();
  if (shape_.schedule == records::Schedule::star_serial) {
    for (std::size_t k = 0; k < count; ++k)
      upload(k);
    for (std::size_t k = 0; k < count; ++k)
      compute(k);
    for (std::size_t k = 0; k < count; ++k)
      download(k);
  } else {
    for (std::size_t k = 0; k < count; ++k) {
      upload(k);
      compute(k);
      download(k);
    }
  }
  for (std::size_t k = 0; k < count; ++k)
    wait(k);
  return devices::seconds_since(begin);
}

// Velocities from forces, positions from velocities, kept in double precision as programs do, and
// packed for the devices.
void Skeleton::integrate() {
  constexpr double dt = 1e-3;
  const auto forces = received();
  const auto packed = sent();
  const std::size_t particles =
      std::min(forces.size() / components, packed.size() / sent_a_particle);
  for (std::size_t i = 0; i < particles; ++i) {
    for (std::size_t c = 0; c < components; ++c) {
      const std::size_t at = components * i + c;
      velocity_[at] += dt * static_cast<double>(forces[at]);
      position_[at] += dt * (1 + velocity_[at]);
      packed[sent_a_particle * i + c] = static_cast<float>(position_[at]);
    }
  }
}

}  // namespace gpucast::microbench
