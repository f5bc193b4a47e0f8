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
  Work record = {};        // what records it
  Clock::time_point time;  // written by the device's thread
};

// A kernel's or variable's name in its source.
std::string source_name(std::string_view mangled);

class Driver {
 public:
  Driver();

  // Counts a call of a driver function, and does to it what the settings ask for.
  CUresult call(const std::string& name);

  const Settings& settings() const { return settings_; }
  Device& device(int ordinal) { return *devices_.at(static_cast<std::size_t>(ordinal)); }
  Device& current() { return device(current_device); }
  // nullptr where none has the name.
  const Kernel* kernel(std::string_view mangled) const { return named(contents_.kernels, mangled); }
  const Variable* variable(std::string_view mangled) const {
    return named(contents_.variables, mangled);
  }
  // A program's image, whose kernels have silent ones in their place. It has to stay.
  remote::images::KernelParameters* add_image(const void* image);
  // A kernel with the image's parameters that does nothing; nullptr where the image has none such.
  const Kernel* silent_kernel(remote::images::KernelParameters& image, const std::string& mangled);

  // The default stream is one.
  Stream& stream(CUstream handle);
  // Those that nobody removes are gone with the driver.
  Stream& add_stream(bool blocking);
  void remove(const Stream& stream);
  // As queued on the stream, behind what it holds and `also`; what pauses its kind goes before it.
  CUresult queue(CUstream stream, const char* kind, std::function<void()> operation,
                 const Work& also = {});
  CUresult record(const std::shared_ptr<Event>& event, CUstream stream);
  // What records it; null where it was never recorded.
  Work recorded(const Event& event);
  Queues& queues() { return current().queues(); }

  // Host memory of the caller's. False where some of it is registered already, or it is not whole
  // pages; and where none that begins there is.
  bool register_memory(void* memory, std::size_t bytes);
  bool unregister_memory(void* memory);
  // The delay and the hold of a driver function, or of a kind of operation.
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
  std::map<std::uintptr_t, std::size_t> registered_;  // bytes, by where they begin
};

}  // namespace gpucast::fake
