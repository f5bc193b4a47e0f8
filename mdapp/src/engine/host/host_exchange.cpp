#include <algorithm>
#include <latch>
#include <memory>
#include <utility>

#include "engine/host/host_device.h"

namespace gpucast::mdapp::host {
namespace {

class HostExchange : public Exchange {
 public:
  explicit HostExchange(std::vector<HostDevice*> devices)
      : devices_(std::make_shared<const Devices>(std::move(devices))) {}

  void positions() override {
    const auto copy_others = [devices = devices_](HostDevice& to) {
      for (HostDevice* from : *devices) {
        if (from == &to) continue;
        const Slice slice = from->workload().slice;
        std::copy_n(from->positions() + slice.first, slice.count, to.positions() + slice.first);
      }
    };
    together(copy_others, [](HostDevice&) {});
    for (HostDevice* device : *devices_)
      device->count({.exchange = bytes_of_others(device->workload())});
  }

  void add_up() override {
    const auto totals = std::make_shared<std::vector<StepSums>>(devices_->size());
    const auto total_of = [devices = devices_, totals](const HostDevice& device) -> StepSums& {
      return (*totals)[static_cast<std::size_t>(std::ranges::find(*devices, &device) -
                                                devices->begin())];
    };
    const auto read = [devices = devices_, total_of](HostDevice& to) {
      StepSums& total = total_of(to);
      for (HostDevice* from : *devices) {
        for (int a = 0; a < 3; ++a)
          total.force[a] += from->sums().force[a];
        total.twice_kinetic += from->sums().twice_kinetic;
      }
    };
    together(read, [total_of](HostDevice& to) { to.sums() = total_of(to); });
  }

 private:
  using Devices = std::vector<HostDevice*>;

  // Queues on every device: wait for all the others, read(device), wait for all the others,
  // write(device).
  template <class Read, class Write>
  void together(const Read& read, const Write& write) {
    const auto count = static_cast<std::ptrdiff_t>(devices_->size());
    const auto written = std::make_shared<std::latch>(count);
    const auto done = std::make_shared<std::latch>(count);
    // A device that failed takes part all the same, or the others would wait for ever.
    for (HostDevice* device : *devices_) {
      Worker& worker = device->worker();
      worker.queue([written] { written->arrive_and_wait(); }, Worker::When::always);
      worker.queue([read, device] { read(*device); });
      worker.queue([done] { done->arrive_and_wait(); }, Worker::When::always);
      worker.queue([write, device] { write(*device); });
    }
  }

  // Shared with the operations that are still queued.
  std::shared_ptr<const Devices> devices_;
};

}  // namespace

std::unique_ptr<Exchange> host_exchange(std::vector<HostDevice*> devices) {
  return std::make_unique<HostExchange>(std::move(devices));
}

}  // namespace gpucast::mdapp::host
