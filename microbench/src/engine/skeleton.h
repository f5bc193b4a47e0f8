// A step's communication without its work: the time that a multi-GPU program spends around its
// kernels, measured in the order and under the conditions of a real step. Copies in a loop find
// caches, threads and links warm; in a step the host has just written the data, and GPUs and
// connections have been idle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "gpucast/devices/clock.h"
#include "gpucast/model/workload.h"
#include "gpucast/records/records.h"
#include "gpucast/support/interface.h"

namespace gpucast::microbench {

struct StepShape {
  // star_serial: blocking copies, one device after another. star_async: everything is queued, and
  // then awaited.
  records::Schedule schedule = records::Schedule::star_serial;
  records::Memory memory = records::Memory::pageable;  // of the host
  std::vector<int> devices{0};
  std::int64_t h2d_bytes = 0;  // to each device, the same for all
  std::int64_t d2h_bytes = 0;  // from each
  double busy = 0;             // seconds that a kernel keeps each device busy

  int gpus() const { return static_cast<int>(devices.size()); }
};

// The number of floats in `bytes`.
constexpr std::size_t floats_of(std::int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + sizeof(float) - 1) / sizeof(float);
}

class Skeleton : public support::Interface {
 public:
  explicit Skeleton(const StepShape& shape)
      : shape_(shape),
        velocity_(floats_of(shape.gpus() * shape.d2h_bytes)),
        position_(velocity_.size()) {}

  // Seconds of one step: from the first copy until the host has everything. Before it the host
  // integrates: reads the last results and writes the next data.
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
  // Seconds of the kernel by the device's own clock, with its start: a little more than `busy`.
  virtual double kernel_seconds() = 0;
  // Whether, after another step, each device has the host's data, and the host each device's.
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

  // Blocking or queued, as the schedule requires. k counts the shape's devices.
  virtual void upload(std::size_t k) = 0;
  virtual void compute(std::size_t k) = 0;
  virtual void download(std::size_t k) = 0;
  virtual void wait(std::size_t k) = 0;
  virtual std::span<float> sent() = 0;      // on the host
  virtual std::span<float> received() = 0;  // of all devices, one behind the other
  // The data that a device received.
  virtual std::vector<std::byte> arrived(std::size_t k) = 0;
  // The value of every byte that comes from a device.
  static std::byte mark(std::size_t k) {
    constexpr std::size_t most = 100;  // floats of such bytes are numbers
    return static_cast<std::byte>(k % most + 1);
  }

 private:
  // Velocities from forces, positions from velocities, kept in double precision as in programs, and
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

  // Floats per particle: a position and its type are sent to the devices, a force is returned.
  static constexpr auto sent_a_particle =
      static_cast<std::size_t>(model::all_pairs.to_gpu.factor) / sizeof(float);
  static constexpr auto components =
      static_cast<std::size_t>(model::all_pairs.from_gpu.factor) / sizeof(float);

  StepShape shape_;
  std::vector<double> velocity_, position_;
};

}  // namespace gpucast::microbench
