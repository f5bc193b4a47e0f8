// The state behind the fake driver's functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "fake/device.h"
#include "fake/kernels.h"
#include "fake/settings.h"
#include "images/kernel_parameters.h"

namespace gpucast::fake {

struct Event {
  bool timed = true;
  Work record = {};        // the work that records it
  Clock::time_point time;  // written by the device's thread
};

// The name of a kernel or variable in its source.
std::string source_name(std::string_view mangled);

class Driver {
 public:
  Driver();

  // Counts a call of a driver function and delays, fails or ends it as the settings say.
  CUresult call(const std::string& name);

  const Settings& settings() const { return settings_; }
  Device& device(int ordinal) { return *devices_.at(static_cast<std::size_t>(ordinal)); }
  Device& current() { return device(current_device); }
  // Returns nullptr if no kernel has the name.
  const Kernel* kernel(std::string_view mangled) const { return named(contents_.kernels, mangled); }
  const Variable* variable(std::string_view mangled) const {
    return named(contents_.variables, mangled);
  }
  // Registers a program's image; its kernels are replaced by ones that do nothing. The image has to
  // stay in memory.
  remote::images::KernelParameters* add_image(const void* image);
  // Returns a kernel with the image's parameters that does nothing, or nullptr if the image has no
  // such kernel.
  const Kernel* silent_kernel(remote::images::KernelParameters& image, const std::string& mangled);

  // Handle 0 is the default stream.
  Stream& stream(CUstream handle);
  // Streams that nobody removes are destroyed with the driver.
  Stream& add_stream(bool blocking);
  void remove(const Stream& stream);
  // Queues an operation behind the stream's work and `also`; the pause that is set for its kind
  // comes first.
  CUresult queue(CUstream stream, const char* kind, std::function<void()> operation,
                 const Work& also = {});
  CUresult record(const std::shared_ptr<Event>& event, CUstream stream);
  // The work that records the event; null if the event was never recorded.
  Work recorded(const Event& event);
  Queues& queues() { return current().queues(); }

  // Registers host memory of the caller. Returns false if some of it is registered already or it is
  // not made of whole pages; unregistering returns false if no registered memory begins there.
  bool register_memory(void* memory, std::size_t bytes);
  bool unregister_memory(void* memory);
  // Waits as the delay and the hold of a driver function, or of a kind of operation, say.
  void pause(const std::string& name) const;

  static thread_local int current_device;

 private:
  template <class Entry>
  static const Entry* named(const std::vector<Entry>& all, std::string_view mangled) {
    const auto entry = std::ranges::find(all, source_name(mangled), &Entry::name);
    return entry == all.end() ? nullptr : &*entry;
  }
  Settings settings_;
  Contents contents_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::mutex mutex_;
  std::unordered_map<std::string, unsigned> calls_;
  std::deque<remote::images::KernelParameters> images_;
  std::deque<Kernel> silent_kernels_;
  std::unordered_map<const Stream*, std::unique_ptr<Stream>> streams_;
  std::map<std::uintptr_t, std::size_t> registered_;  // bytes, by address
};

}  // namespace gpucast::fake
