// A step's communication without its work: what a multi-GPU program pays around its kernels, timed
// in the order and under the conditions of a real step. Copies in a loop find caches, threads and
// links warm; in a step the host has just written what it sends, and GPUs and connections have
// waited for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpucast/devices/clock.h"
#include "gpucast/model/workload.h"
#include "gpucast/records/records.h"
#include "gpucast/support/interface.h"

namespace gpucast::microbench {

struct StepShape {
  // star_serial: blocking copies, one device after another. star_async: all is queued, then waited
  // for.
  records::Schedule schedule = records::Schedule::star_serial;
  records::Memory memory = records::Memory::pageable;  // of the host
  std::vector<int> devices{0};
  std::int64_t h2d_bytes = 0;  // to each device, the same for all
  std::int64_t d2h_bytes = 0;  // from each
  double busy = 0;             // seconds that a kernel keeps each device busy

  int gpus() const { return static_cast<int>(devices.size()); }
};

// How many floats hold `bytes`.
constexpr std::size_t floats_of(std::int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + sizeof(float) - 1) / sizeof(float);
}

class Skeleton : public support::Interface {
 public:
  explicit Skeleton(const StepShape& shape)
      : shape_(shape),
        velocity_(floats_of(shape.gpus() * shape.d2h_bytes)),
        position_(velocity_.size()) {}

  // Seconds of one step: from the first copy until the host has everything. Before, the host
  // integrates: reads what came last and writes what goes next.
  double step() {
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
  // Seconds that the kernel takes by the device's own clock, its start included: a little more than
  // `busy`.
  virtual double kernel_seconds() = 0;
  // Whether each device has what the host sent, and the host what each device holds, after another
  // step.
  virtual bool correct() {
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

 protected:
  const StepShape& shape() const { return shape_; }
  std::size_t up_bytes() const { return static_cast<std::size_t>(shape_.h2d_bytes); }
  std::size_t down_bytes() const { return static_cast<std::size_t>(shape_.d2h_bytes); }
  bool blocking() const { return shape_.schedule == records::Schedule::star_serial; }

  // In the schedule's manner: blocking, or queued. k counts the shape's devices.
  virtual void upload(std::size_t k) = 0;
  virtual void compute(std::size_t k) = 0;
  virtual void download(std::size_t k) = 0;
  virtual void wait(std::size_t k) = 0;
  virtual std::span<float> sent() = 0;      // on the host
  virtual std::span<float> received() = 0;  // of all devices, one behind the other
  // What came to a device.
  virtual std::vector<std::byte> arrived(std::size_t k) = 0;
  // What every byte holds that comes from a device.
  static std::byte mark(std::size_t k) {
    constexpr std::size_t most = 100;  // floats of such bytes are numbers
    return static_cast<std::byte>(k % most + 1);
  }

 private:
  // Velocities from forces, positions from velocities, kept in double precision as programs do, and
  // packed for the devices.
  void integrate() {
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

  // Floats of each particle: a position and its type go to the devices, a force comes back.
  static constexpr auto sent_a_particle =
      static_cast<std::size_t>(model::all_pairs.to_gpu.factor) / sizeof(float);
  static constexpr auto components =
      static_cast<std::size_t>(model::all_pairs.from_gpu.factor) / sizeof(float);

  StepShape shape_;
  std::vector<double> velocity_, position_;
};

}  // namespace gpucast::microbench
