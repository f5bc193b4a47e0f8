// CPU cores as devices.
#include <unistd.h>

#include <fstream>
#include <latch>
#include <memory>
#include <stdexcept>
#include <utility>

#include "engine/host/host_device.h"
#include "gpucast/records/records.h"

namespace gpucast::mdapp {
namespace host {
namespace {

class HostExchange : public Exchange {
 public:
  explicit HostExchange(std::vector<HostDevice*> devices)
      : devices_(std::make_shared<const Devices>(std::move(devices))) {}

  void positions() override {
    const auto copy_others = [devices = devices_](HostDevice& to, StepSums& /*total*/) {
      for (HostDevice* from : *devices) {
        if (from == &to) continue;
        const Slice slice = from->workload().slice;
        std::copy_n(from->positions() + slice.first, slice.count, to.positions() + slice.first);
      }
    };
    together(copy_others, [](HostDevice&, const StepSums&) {});
    for (HostDevice* device : *devices_)
      device->count({.exchange = bytes_of_others(device->workload())});
  }

  void add_up() override {
    const auto add = [devices = devices_](HostDevice& /*to*/, StepSums& total) {
      for (HostDevice* from : *devices) {
        for (int a = 0; a < 3; ++a)
          total.force[a] += from->sums().force[a];
        total.twice_kinetic += from->sums().twice_kinetic;
      }
    };
    together(add, [](HostDevice& to, const StepSums& total) { to.sums() = total; });
  }

 private:
  using Devices = std::vector<HostDevice*>;

  // Queues on every device: wait for all the others, read(device, total), wait for all the others,
  // write(device, total), with a separate total for each device.
  template <class Read, class Write>
  void together(const Read& read, const Write& write) {
    const auto count = static_cast<std::ptrdiff_t>(devices_->size());
    const auto written = std::make_shared<std::latch>(count);
    const auto done = std::make_shared<std::latch>(count);
    // A failed device takes part nevertheless; otherwise the others would wait forever.
    for (HostDevice* device : *devices_) {
      Worker& worker = device->worker();
      const auto total = std::make_shared<StepSums>();
      worker.queue([written] { written->arrive_and_wait(); }, Worker::When::always);
      worker.queue([read, device, total] { read(*device, *total); });
      worker.queue([done] { done->arrive_and_wait(); }, Worker::When::always);
      worker.queue([write, device, total] { write(*device, *total); });
    }
  }

  // Shared with the operations that are still queued.
  std::shared_ptr<const Devices> devices_;
};

class HostEngine : public Engine {
 public:
  explicit HostEngine(int count) : count_(count) {}

  schema::Path path() const override { return schema::Path::host; }

  std::vector<DeviceInfo> devices() const override {
    std::ifstream cpuinfo("/proc/cpuinfo");
    DeviceInfo thread;
    thread.name = records::cpu_model(cpuinfo).value_or("CPU") + ", one thread, " +
                  instruction_sets().front().name;
    return std::vector<DeviceInfo>(static_cast<std::size_t>(count_), thread);
  }

  std::int64_t bytes_needed(const Workload& workload) const override {
    const auto slice = static_cast<std::int64_t>(workload.slice.count);
    constexpr auto state = static_cast<std::int64_t>(6 * sizeof(double));
    return static_cast<std::int64_t>(sizeof(Position)) * workload.n +
           slice * (static_cast<std::int64_t>(sizeof(Force) + sizeof(PairSums)) + state);
  }

  std::int64_t bytes_free(int /*device*/) const override {
    return static_cast<std::int64_t>(sysconf(_SC_AVPHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  }

  int default_block(KernelName /*kernel*/) const override { return 1; }

  void check(const KernelChoice& choice) const override {
    if (choice.block < 0 || choice.block > 1 || choice.j_split != 0) {
      throw std::invalid_argument(
          "block, particles a thread and j split belong to GPUs; the host engine has none of them");
    }
  }

  HostMemory allocate(std::size_t bytes, Memory /*memory*/) override {
    return pageable_memory(bytes);
  }

  std::unique_ptr<Device> open(int device, const Workload& workload) override {
    if (device < 0 || device >= count_) {
      throw std::invalid_argument("the host engine has no device " + std::to_string(device) +
                                  ", but " + std::to_string(count_) + " from 0 on");
    }
    check(workload.kernel);
    return std::make_unique<HostDevice>("host device " + std::to_string(device), workload);
  }

  std::unique_ptr<Exchange> connect(std::span<Device* const> devices) override {
    std::vector<HostDevice*> own;
    for (Device* device : devices)
      own.push_back(&dynamic_cast<HostDevice&>(*device));
    return std::make_unique<HostExchange>(std::move(own));
  }

  std::function<void()> record(std::span<Device* const> /*devices*/,
                               const std::function<void()>& /*queue*/) override {
    throw std::invalid_argument("the host engine has no CUDA graphs");
  }

 private:
  int count_;
};

}  // namespace
}  // namespace host

std::unique_ptr<Engine> host_engine(int count) {
  const auto cores = static_cast<int>(records::allowed_cores());
  return std::make_unique<host::HostEngine>(count > 0 ? count : cores);
}

#ifndef GPUCAST_HAS_CUDA
std::unique_ptr<Engine> cuda_engine(std::string& why_not) {
  why_not = "this program was built without CUDA";
  return nullptr;
}
#endif

}  // namespace gpucast::mdapp
