#include "engine/skeleton.h"

#include <algorithm>

#include "gpucast/devices/clock.h"
#include "gpucast/model/workload.h"

namespace gpucast::microbench {
namespace {

// Floats of each particle: a position and its type go to the devices, a force comes back.
constexpr auto sent_a_particle =
    static_cast<std::size_t>(model::all_pairs.to_gpu.factor) / sizeof(float);
constexpr auto components =
    static_cast<std::size_t>(model::all_pairs.from_gpu.factor) / sizeof(float);

}  // namespace

Skeleton::Skeleton(const StepShape& shape)
    : shape_(shape),
      velocity_(floats_of(shape.gpus() * shape.d2h_bytes)),
      position_(velocity_.size()) {}

double Skeleton::step() {
  integrate();
  const auto begin = devices::Clock::now();
  const std::size_t count = shape_.devices.size();
  if (blocking()) {
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

bool Skeleton::correct() {
  std::ranges::fill(received(), 0.0F);
  step();
  const auto up = std::as_bytes(sent()).first(up_bytes());
  for (std::size_t k = 0; k < shape_.devices.size(); ++k) {
    const auto down = std::as_bytes(received()).subspan(k * down_bytes(), down_bytes());
    if (!std::ranges::equal(arrived(k), up) ||
        std::ranges::count(down, mark(k)) != std::ssize(down)) {
      return false;
    }
  }
  return true;
}

// Velocities from forces, positions from velocities, kept in double precision as programs do, and
// packed for the devices.
void Skeleton::integrate() {
  constexpr double dt = 1e-3;
  const std::span<const float> forces = received();
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
