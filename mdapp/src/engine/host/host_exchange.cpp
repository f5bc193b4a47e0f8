#include "engine/host/host_exchange.h"

#include <algorithm>
#include <latch>

namespace gpucast::mdapp::host {

template <class Read, class Write>
void HostExchange::together(const Read& read, const Write& write) {
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

void HostExchange::positions() {
  const auto copy_others = [devices = devices_](HostDevice& to) {
    for (HostDevice* from : *devices) {
      if (from == &to) continue;
      const Slice slice = from->workload().slice;
      std::copy_n(from->positions() + slice.first, slice.count, to.positions() + slice.first);
    }
  };
  together(copy_others, [](HostDevice&) {});
  for (HostDevice* device : *devices_) {
    const Workload& work = device->workload();
    device->count_exchanged(static_cast<std::int64_t>(sizeof(Position)) *
                            (work.n - work.slice.count));
  }
}

void HostExchange::add_up() {
  const auto totals = std::make_shared<std::vector<StepSums>>(devices_->size());
  const auto index = [devices = devices_](const HostDevice& device) {
    return static_cast<std::size_t>(std::ranges::find(*devices, &device) - devices->begin());
  };
  const auto read = [devices = devices_, totals, index](HostDevice& to) {
    StepSums& total = (*totals)[index(to)];
    for (HostDevice* from : *devices) {
      for (int a = 0; a < 3; ++a)
        total.force[a] += from->sums().force[a];
      total.twice_kinetic += from->sums().twice_kinetic;
    }
  };
  together(read, [totals, index](HostDevice& to) { to.sums() = (*totals)[index(to)]; });
}

}  // namespace gpucast::mdapp::host
