// What the driver's management library (NVML) knows of a GPU's links. It is loaded at run time:
// machines without it are served without.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace gpucast::devices::cuda {

class Nvml {
 public:
  // Nothing, and the reason, where it is not there.
  static std::unique_ptr<Nvml> open(std::string& why_not);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // The links of the GPU with this PCI bus id: an array of {kind: "pcie", generation, width} and
  // {kind: "nvlink", version, count} with the links that are up. null: not known.
  nlohmann::ordered_json links(const std::string& pci) const;

 private:
  struct Calls;
  explicit Nvml(std::unique_ptr<Calls> calls);
  std::unique_ptr<Calls> calls_;
};

}  // namespace gpucast::devices::cuda
