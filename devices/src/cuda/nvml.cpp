#include "gpucast/devices/cuda/nvml.h"

#include <dlfcn.h>

#include <nlohmann/json.hpp>

namespace gpucast::devices::cuda {

using Json = nlohmann::ordered_json;

// As NVML's reference states them; its header is not part of every toolkit.
struct Nvml::Calls {
  using Status = int;  // 0: success
  using Device = void*;

  void* library = nullptr;
  Status (*init)() = nullptr;
  Status (*shutdown)() = nullptr;
  Status (*device)(const char* pci, Device*) = nullptr;
  Status (*generation)(Device, unsigned*) = nullptr;
  Status (*width)(Device, unsigned*) = nullptr;
  Status (*link_state)(Device, unsigned link, unsigned* active) = nullptr;
  Status (*link_version)(Device, unsigned link, unsigned* version) = nullptr;

  Calls() = default;
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  ~Calls() {
    if (library != nullptr) dlclose(library);
  }

  template <class Call>
  bool find(Call& call, const char* name) const {
    call = reinterpret_cast<Call>(dlsym(library, name));
    return call != nullptr;
  }
  bool find_all() {
    return find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") &&
           find(device, "nvmlDeviceGetHandleByPciBusId_v2") &&
           find(generation, "nvmlDeviceGetCurrPcieLinkGeneration") &&
           find(width, "nvmlDeviceGetCurrPcieLinkWidth") &&
           find(link_state, "nvmlDeviceGetNvLinkState") &&
           find(link_version, "nvmlDeviceGetNvLinkVersion");
  }
};

Nvml::Nvml(std::unique_ptr<Calls> calls) : calls_(std::move(calls)) {}

Nvml::~Nvml() { calls_->shutdown(); }

std::unique_ptr<Nvml> Nvml::open(std::string& why_not) {
  auto calls = std::make_unique<Calls>();
  calls->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (calls->library == nullptr) {
    why_not = "libnvidia-ml.so.1 cannot be loaded";
  } else if (!calls->find_all()) {
    why_not = "libnvidia-ml.so.1 lacks functions";
  } else if (const int status = calls->init(); status != 0) {
    why_not = "nvmlInit_v2 returned " + std::to_string(status);
  } else {
    return std::unique_ptr<Nvml>(new Nvml(std::move(calls)));
  }
  return nullptr;
}

Json Nvml::links(const std::string& pci) const {
  Calls::Device device = nullptr;
  if (calls_->device(pci.c_str(), &device) != 0) return nullptr;
  Json links = Json::array();
  unsigned generation = 0;
  unsigned width = 0;
  if (calls_->generation(device, &generation) == 0 && calls_->width(device, &width) == 0) {
    links.push_back({{"kind", "pcie"}, {"generation", generation}, {"width", width}});
  }
  constexpr unsigned most_links = 18;
  unsigned count = 0;
  unsigned version = 0;
  for (unsigned link = 0; link < most_links; ++link) {
    unsigned active = 0;
    if (calls_->link_state(device, link, &active) != 0 || active == 0) continue;
    ++count;
    calls_->link_version(device, link, &version);
  }
  if (count > 0) links.push_back({{"kind", "nvlink"}, {"version", version}, {"count", count}});
  return links;
}

}  // namespace gpucast::devices::cuda
