// The host engine with devices that fail after a number of operations, counted over all of them.
#pragma once

#include "engine/engine.h"

namespace gpucast::mdapp::test {

// Operations that still succeed.
class Fuse {
 public:
  explicit Fuse(int operations) : left_(operations) {}
  void burn() {
    if (left_ == 0) throw DeviceError("device 0: out of order");
    --left_;
  }

 private:
  int left_;
};

class FailingDevice : public Device {
 public:
  FailingDevice(std::unique_ptr<Device> sound, Fuse& fuse)
      : sound_(std::move(sound)), fuse_(fuse) {}

  Device& sound() { return *sound_; }

  void upload(std::span<const Position> positions) override { next().upload(positions); }
  void compute(Output output) override { next().compute(output); }
  void download(std::span<Force> forces) override { next().download(forces); }
  void download(std::span<PairSums> sums) override { next().download(sums); }
  void upload_state(std::span<const double> r, std::span<const double> v) override {
    next().upload_state(r, v);
  }
  void download_state(std::span<double> r, std::span<double> v) override {
    next().download_state(r, v);
  }
  void before_forces(const Motion& motion, IntegratorKind kind) override {
    next().before_forces(motion, kind);
  }
  void sum_up() override { next().sum_up(); }
  void after_forces(const Motion& motion, IntegratorKind kind) override {
    next().after_forces(motion, kind);
  }
  bool overlapped() override { return next().overlapped(); }
  void mark(int slot) override { next().mark(slot); }
  void wait() override { next().wait(); }
  double seconds_between(int first, int second) override {
    return next().seconds_between(first, second);
  }
  Traffic traffic() const override { return sound_->traffic(); }

 private:
  Device& next() {
    fuse_.burn();
    return *sound_;
  }

  std::unique_ptr<Device> sound_;
  Fuse& fuse_;
};

class FailingEngine : public Engine {
 public:
  FailingEngine(int devices, int operations) : host_(host_engine(devices)), fuse_(operations) {}

  schema::Path path() const override { return host_->path(); }
  std::vector<DeviceInfo> devices() const override { return host_->devices(); }
  std::int64_t bytes_needed(const Workload& workload) const override {
    return host_->bytes_needed(workload);
  }
  std::int64_t bytes_free(int device) const override { return host_->bytes_free(device); }
  int default_block(KernelName kernel) const override { return host_->default_block(kernel); }
  void check(const KernelChoice& choice) const override { host_->check(choice); }
  HostMemory allocate(std::size_t bytes, Memory memory) override {
    return host_->allocate(bytes, memory);
  }
  std::unique_ptr<Device> open(int device, const Workload& workload) override {
    fuse_.burn();
    return std::make_unique<FailingDevice>(host_->open(device, workload), fuse_);
  }
  std::unique_ptr<Exchange> connect(std::span<Device* const> devices) override {
    fuse_.burn();
    std::vector<Device*> sound;
    for (Device* device : devices)
      sound.push_back(&dynamic_cast<FailingDevice&>(*device).sound());
    return host_->connect(sound);
  }
  std::function<void()> record(std::span<Device* const> devices,
                               const std::function<void()>& queue) override {
    return host_->record(devices, queue);
  }

 private:
  std::unique_ptr<Engine> host_;
  Fuse fuse_;
};

}  // namespace gpucast::mdapp::test
