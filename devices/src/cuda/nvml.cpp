// A GPU's links, from the driver's management library (NVML). It is loaded at run time: machines
// without it are supported.
#include <dlfcn.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "gpucast/devices/cuda/gpus.h"
#include "gpucast/devices/cuda/resources.h"

namespace gpucast::devices::cuda {
namespace {

using Json = nlohmann::ordered_json;

// NVML's functions as its reference declares them; not every toolkit has its header.
class Nvml {
 public:
  // Throws std::runtime_error with the reason if it is missing.
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) throw std::runtime_error("libnvidia-ml.so.1 cannot be loaded");
    Status (*init)() = nullptr;
    find(init, "nvmlInit_v2");
    find(shutdown_, "nvmlShutdown");
    find(device_, "nvmlDeviceGetHandleByPciBusId_v2");
    find(generation_, "nvmlDeviceGetCurrPcieLinkGeneration");
    find(width_, "nvmlDeviceGetCurrPcieLinkWidth");
    find(link_state_, "nvmlDeviceGetNvLinkState");
    find(link_version_, "nvmlDeviceGetNvLinkVersion");
    if (const Status status = init(); status != 0)
      throw std::runtime_error("nvmlInit_v2 returned " + std::to_string(status));
  }
  ~Nvml() { shutdown_(); }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Returns the links of the GPU with this PCI bus id: an array of {kind: "pcie", generation,
  // width} and {kind: "nvlink", version, count} with the active links. null: unknown.
  Json links(const std::string& pci) const {
    Device device = nullptr;
    if (device_(pci.c_str(), &device) != 0) return nullptr;
    Json links = Json::array();
    unsigned generation = 0;
    unsigned width = 0;
    if (generation_(device, &generation) == 0 && width_(device, &width) == 0)
      links.push_back({{"kind", "pcie"}, {"generation", generation}, {"width", width}});
    constexpr unsigned most_links = 18;
    unsigned count = 0;
    unsigned version = 0;
    for (unsigned link = 0; link < most_links; ++link) {
      unsigned active = 0;
      if (link_state_(device, link, &active) != 0 || active == 0) continue;
      ++count;
      link_version_(device, link, &version);
    }
    if (count > 0) links.push_back({{"kind", "nvlink"}, {"version", version}, {"count", count}});
    return links;
  }

 private:
  using Status = int;  // 0: success
  using Device = void*;

  template <class Call>
  void find(Call& call, const char* name) const {
    call = reinterpret_cast<Call>(dlsym(library_.get(), name));
    if (call == nullptr) throw std::runtime_error("libnvidia-ml.so.1 lacks functions");
  }

  std::unique_ptr<void, Destroy<dlclose>> library_;
  Status (*shutdown_)() = nullptr;
  Status (*device_)(const char* pci, Device*) = nullptr;
  Status (*generation_)(Device, unsigned*) = nullptr;
  Status (*width_)(Device, unsigned*) = nullptr;
  Status (*link_state_)(Device, unsigned link, unsigned* active) = nullptr;
  Status (*link_version_)(Device, unsigned link, unsigned* version) = nullptr;
};

std::unique_ptr<Nvml> open_nvml(std::string& why_not) {
  try {
    return std::make_unique<Nvml>();
  } catch (const std::runtime_error& error) {
    why_not = error.what();
    return nullptr;
  }
}

}  // namespace

std::string why_no_nvml() {
  std::string why_not;
  open_nvml(why_not);
  return why_not;
}

std::vector<records::Gpu> describe_all(int count) {
  std::vector<records::Gpu> result;
  result.reserve(static_cast<std::size_t>(count));
  std::string why_not;
  const auto nvml = open_nvml(why_not);
  for (int device = 0; device < count; ++device) {
    result.push_back(describe(device));
    if (nvml) result.back().links = nvml->links(result.back().pci.value_or(""));
  }
  return result;
}

}  // namespace gpucast::devices::cuda
