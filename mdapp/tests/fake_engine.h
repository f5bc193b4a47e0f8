// Engine and stepper without any device, for tests of the layers above.
#pragma once

#include <stdexcept>

#include "schedule/schedule.h"

namespace gpucast::mdapp::test {

class FakeEngine : public Engine {
 public:
  explicit FakeEngine(int devices = 2, std::int64_t bytes_free = 1 << 20)
      : devices_(devices), bytes_free_(bytes_free) {}

  schema::Path path() const override { return schema::Path::native; }
  std::vector<DeviceInfo> devices() const override {
    return std::vector<DeviceInfo>(static_cast<std::size_t>(devices_), info());
  }
  std::int64_t bytes_needed(const Workload& workload) const override { return 16L * workload.n; }
  std::int64_t bytes_free(int /*device*/) const override { return bytes_free_; }
  int default_block(KernelName /*kernel*/) const override { return 128; }
  void check(const KernelChoice& choice) const override {
    if (choice.block % 32 != 0) throw std::invalid_argument("a block is whole warps");
  }
  HostMemory allocate(std::size_t /*bytes*/, Memory /*memory*/) override {
    throw std::logic_error("not in this test");
  }
  std::unique_ptr<Device> open(int /*device*/, const Workload& /*workload*/) override {
    throw std::logic_error("not in this test");
  }
  std::unique_ptr<Exchange> connect(std::span<Device* const> /*devices*/) override {
    throw std::logic_error("not in this test");
  }
  std::function<void()> record(std::span<Device* const> /*devices*/,
                               const std::function<void()>& /*queue*/) override {
    throw std::logic_error("not in this test");
  }

 private:
  static DeviceInfo info() {
    DeviceInfo info;
    info.name = "fake";
    return info;
  }

  int devices_;
  std::int64_t bytes_free_;
};

// Steps of a millisecond. `at_step` is called before each with the number of previous steps, and
// may throw.
class FakeStepper : public Stepper {
 public:
  explicit FakeStepper(std::function<void(int)> at_step = {}) : at_step_(std::move(at_step)) {}

  std::vector<double> steps(int count) override {
    for (int k = 0; k < count; ++k)
      step();
    return std::vector<double>(static_cast<std::size_t>(count), 1e-3);
  }
  Phases step_in_phases() override {
    step();
    return {.h2d = 1e-4, .kernel = 7e-4, .d2h = 1e-4, .cpu = 1e-4};
  }
  const System& system() override { return system_; }
  Potential potential() override { return {.energy = -10 + 0.01 * made_}; }
  std::vector<Traffic> traffic() const override {
    return {{.h2d = 128L * made_, .d2h = 48L * made_}, {.h2d = 128L * made_, .d2h = 48L * made_}};
  }

 private:
  void step() {
    if (at_step_) at_step_(made_);
    ++made_;
  }

  std::function<void(int)> at_step_;
  int made_ = 0;
  System system_ = rock_salt(nacl(), 8);
};

}  // namespace gpucast::mdapp::test
