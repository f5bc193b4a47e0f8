// Exchange among worker threads: each copies what it needs from the others' memory.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/host/host_device.h"

namespace gpucast::mdapp::host {

class HostExchange : public Exchange {
 public:
  explicit HostExchange(std::vector<HostDevice*> devices)
      : devices_(std::make_shared<const Devices>(std::move(devices))) {}
  void positions() override;
  void add_up() override;

 private:
  using Devices = std::vector<HostDevice*>;

  // Queues on every device: wait for all the others, read(device), wait for all the others,
  // write(device).
  template <class Read, class Write>
  void together(const Read& read, const Write& write);

  // Shared with the operations that are still queued.
  std::shared_ptr<const Devices> devices_;
};

}  // namespace gpucast::mdapp::host
