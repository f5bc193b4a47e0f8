// CPU cores as devices.
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <string>

#include "engine/host/host_device.h"
#include "gpucast/records/this_machine.h"
#include "kernels/host/host_kernels.h"

namespace gpucast::mdapp {
namespace host {
namespace {

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
    return host_exchange(std::move(own));
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

}  // namespace gpucast::mdapp
