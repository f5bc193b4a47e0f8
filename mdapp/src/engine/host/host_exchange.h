// Exchange among worker threads: each copies what it needs from the others' memory.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/host/host_device.h"

namespace gpucast::mdapp::host {

class HostExchange : public Exchange {
 public:
  explicit HostExchange(std::vector<HostDevice*> devices) : devices_(std::move(devices)) {}
  // What is still queued when a run ends early reads this object and all devices.
  ~HostExchange() override;
  HostExchange(const HostExchange&) = delete;
  HostExchange& operator=(const HostExchange&) = delete;

  void positions() override;
  void add_up() override;

 private:
  // Queues on every device: wait for all the others, read(device), wait for all the others,
  // write(device).
  template <class Read, class Write>
  void together(Read read, Write write);

  std::vector<HostDevice*> devices_;
};

}  // namespace gpucast::mdapp::host
