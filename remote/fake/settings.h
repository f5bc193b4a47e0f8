// Settings of the fake driver, from the environment:
//
//   GPUCAST_FAKE_DEVICES   number of devices (default 1)
//   GPUCAST_FAKE_MEMORY    bytes of each (default 1 GiB)
//   GPUCAST_FAKE_BASE      address where allocations begin (default: the system chooses)
//   GPUCAST_FAKE_LEAD      bytes that the driver maps before each allocation (default 0)
//   GPUCAST_FAKE_REACHES_ALL   1: copies accept any address, as where a GPU reaches host memory
//   GPUCAST_FAKE_KERNELS   libraries of kernels (kernels.h)
//   GPUCAST_FAKE_ANY_KERNEL    1: kernels that no library has can be launched, and do nothing
//   GPUCAST_FAKE_DELAY     NAME:SECONDS,...       delays a driver function, or each `kernel` or
//                          `copy` on the GPU
//   GPUCAST_FAKE_HOLD      NAME:FILE,...          the same while the file exists; whoever waits
//                          appends a byte to it first
//   GPUCAST_FAKE_FAIL      NAME:NTH:STATUS,...    the nth call of a driver function fails
//                          (0: every call)
//   GPUCAST_FAKE_KILL      NAME:NTH               the process is killed in that call
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gpucast::fake {

struct Fault {
  unsigned nth = 0;
  int status = 0;
};

struct Settings {
  int devices = 1;
  std::size_t memory = std::size_t{1} << 30;
  std::uintptr_t base = 0;
  std::size_t lead = 0;
  bool reaches_all = false;
  bool any_kernel = false;
  std::vector<std::string> kernels;
  std::map<std::string, double> delays;  // s
  std::map<std::string, std::string> holds;
  std::map<std::string, Fault> failures;
  std::map<std::string, Fault> kills;
};

// Throws std::invalid_argument if a variable is wrong.
Settings read_settings();

}  // namespace gpucast::fake
