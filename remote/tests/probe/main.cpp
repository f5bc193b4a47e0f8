// gpucast-remote-probe checks that a CUDA runtime does what programs rely on, and measures how long
// its calls take. It knows nothing of remote GPUs: the same binary runs with either runtime.
//
//   gpucast-remote-probe check [NAME]      all checks or one; 0 if all pass
//   gpucast-remote-probe measure [BYTES]   a JSON object: seconds, bytes/second
//   gpucast-remote-probe copy BYTES TIMES  copies there and back, compared
//   gpucast-remote-probe copies TIMES SIZE...  times of blocking copies of each size: JSON Lines
//   gpucast-remote-probe touch             allocates, frees and ends
//   gpucast-remote-probe soak SECONDS      calls of all kinds by several threads, compared
#include <cuda_runtime.h>

#include <cstdio>
#include <exception>
#include <iostream>

#include "checks.h"
#include "gpucast/devices/cuda/resources.h"
#include "measurements.h"

namespace {

using namespace gpucast::probe;

int check(const std::string& only) {
  int failed = 0;
  for (const auto& [name, run_check] : checks()) {
    if (!only.empty() && only != name) continue;
    try {
      run_check();
      std::cout << "ok      " << name << '\n' << std::flush;
    } catch (const std::exception& error) {
      std::cout << "FAILED  " << name << ": " << error.what() << '\n' << std::flush;
      ++failed;
    }
  }
  return failed == 0 ? 0 : 1;
}

int print(const Figures& figures) {
  const char* separator = "{";
  for (const auto& [name, value] : figures) {
    std::printf("%s\"%s\": %.6g", separator, name.c_str(), value);
    separator = ", ";
  }
  std::printf("}\n");
  return 0;
}

int copy(std::size_t bytes, int times) {
  const gpucast::devices::cuda::DeviceArray<unsigned char> on_device(bytes);
  std::vector<unsigned char> there(bytes);
  std::vector<unsigned char> back(bytes);
  for (int k = 0; k < times; ++k) {
    for (std::size_t j = 0; j < bytes; ++j)
      there[j] = static_cast<unsigned char>(j * 31 + static_cast<std::size_t>(k));
    require(cudaMemcpy(on_device.data(), there.data(), bytes, cudaMemcpyDefault), "cudaMemcpy");
    require(cudaMemcpy(back.data(), on_device.data(), bytes, cudaMemcpyDefault), "cudaMemcpy");
    require(there == back, "what was copied comes back");
  }
  return 0;
}

int touch() {
  const gpucast::devices::cuda::DeviceArray<unsigned char> on_device(1 << 20);
  require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return 0;
}

int run(const std::vector<std::string>& words) {
  const std::string what = words.empty() ? "" : words[0];
  const auto number = [&](std::size_t k, unsigned long long otherwise) {
    return words.size() > k ? std::stoull(words[k]) : otherwise;
  };
  constexpr unsigned long long large = 256ULL << 20;
  if (what == "check") return check(words.size() > 1 ? words[1] : "");
  if (what == "measure") return print(measure_calls(number(1, large)));
  if (what == "copy") return copy(number(1, large), static_cast<int>(number(2, 1)));
  if (what == "copies" && words.size() > 2) {
    std::vector<std::size_t> sizes;
    for (std::size_t k = 2; k < words.size(); ++k)
      sizes.push_back(number(k, 0));
    print_copies(sizes, static_cast<int>(number(1, 1)));
    return 0;
  }
  if (what == "touch") return touch();
  if (what == "soak") {
    std::cout << soak(static_cast<double>(number(1, 1))) << " rounds\n";
    return 0;
  }
  std::cerr << "gpucast-remote-probe: error: check, measure, copy, copies, touch or soak\n";
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "gpucast-remote-probe: error: " << error.what() << "\n";
    return 1;
  }
}
