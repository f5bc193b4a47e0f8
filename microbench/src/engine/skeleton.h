// A step's communication without its work: what a multi-GPU program pays around its kernels, timed
// in the order and under the conditions of a real step. Copies in a loop find caches, threads and
// links warm; in a step the host has just written what it sends, and GPUs and connections have
// waited for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

class Skeleton : public support::Interface {
 public:
  explicit Skeleton(const StepShape& shape);

  // Seconds of one step: from the first copy until the host has everything. Before, the host
  // integrates: reads what came last and writes what goes next.
  double step();
  // Seconds that the kernel takes by the device's own clock, its start included: a little more than
  // `busy`.
  virtual double kernel_seconds() = 0;
  // Whether each device has what the host sent, and the host what each device holds, after another
  // step.
  virtual bool correct();

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
  void integrate();

  StepShape shape_;
  std::vector<double> velocity_, position_;
};

// How many floats hold `bytes`.
constexpr std::size_t floats_of(std::int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + sizeof(float) - 1) / sizeof(float);
}

}  // namespace gpucast::microbench
