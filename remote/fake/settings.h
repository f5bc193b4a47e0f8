// What the environment asks of the fake driver:
//
//   GPUCAST_FAKE_DEVICES   how many (default 1)
//   GPUCAST_FAKE_MEMORY    bytes of each (default 1 GiB)
//   GPUCAST_FAKE_BASE      address where allocations begin (default: the system's choice)
//   GPUCAST_FAKE_LEAD      bytes that the driver maps before each allocation (default 0)
//   GPUCAST_FAKE_REACHES_ALL   1: copies take any address, as where a GPU reaches host memory
//   GPUCAST_FAKE_KERNELS   libraries of kernels (kernels.h)
//   GPUCAST_FAKE_ANY_KERNEL    1: kernels that are in none of them can be launched, and do nothing
//   GPUCAST_FAKE_DELAY     NAME:SECONDS,...       a driver function, or `kernel` or `copy` on
//                          the GPU
//   GPUCAST_FAKE_HOLD      NAME:FILE,...          the same, while the file is there; each one adds
//                          a byte to it before it waits
//   GPUCAST_FAKE_FAIL      NAME:NTH:STATUS,...    the nth call of a driver function fails
//                          (0: all of them)
//   GPUCAST_FAKE_KILL      NAME:NTH               the process is killed in it
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

// std::invalid_argument where a variable is wrong.
Settings read_settings();

}  // namespace gpucast::fake
