#include "server/modules.h"

#include <algorithm>
#include <array>

#include "server/ranges.h"

namespace gpucast::remote::server {
namespace {

// More than programs have, and little enough for this process.
constexpr std::size_t most_modules = std::size_t{1} << 16;
constexpr std::size_t most_kernels = std::size_t{1} << 20;

}  // namespace

Modules::Modules(const Driver& driver, Streams& streams, std::size_t most_image_bytes)
    : driver_(driver), streams_(streams), most_image_bytes_(most_image_bytes) {}

bool Modules::holds(Address address, std::uint64_t bytes) const {
  return holder(variables_, address, bytes) != variables_.end();
}

void Modules::reset() {
  kernels_.clear();
  variables_.clear();
  for (const auto& [id, module] : modules_) {
    if (module.library != nullptr) driver_.cuLibraryUnload(module.library);
  }
  modules_.clear();
  image_bytes_ = 0;
}

CUresult Modules::run(const ModulePiece& call, Bytes piece) {
  if (!modules_.contains(call.module) && modules_.size() >= most_modules)
    return CUDA_ERROR_OUT_OF_MEMORY;
  Module& module = modules_[call.module];
  if (module.library != nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (piece.size() > most_module - module.image.size() ||
      piece.size() > most_image_bytes_ - image_bytes_) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  module.image.insert(module.image.end(), piece.begin(), piece.end());
  image_bytes_ += piece.size();
  return CUDA_SUCCESS;
}

CUresult Modules::run(const ModuleLoad& call, Nothing& /*result*/) {
  const auto found = modules_.find(call.module);
  if (found == modules_.end() || found->second.library != nullptr) return CUDA_ERROR_INVALID_HANDLE;
  Module& module = found->second;
  // The image stays: the driver may read it when kernels are first used.
  return driver_.cuLibraryLoadData(&module.library, module.image.data(), nullptr, nullptr, 0,
                                   nullptr, nullptr, 0);
}

std::vector<Parameter> Modules::parameters_of(CUkernel kernel, Status& status) const {
  std::vector<Parameter> result;
  if (driver_.cuKernelGetParamInfo == nullptr) {
    status = CUDA_ERROR_NOT_SUPPORTED;
    return result;
  }
  for (std::size_t k = 0; k < most_parameters; ++k) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    const CUresult got = driver_.cuKernelGetParamInfo(kernel, k, &offset, &bytes);
    if (got == CUDA_ERROR_INVALID_VALUE) break;  // no more
    if (got != CUDA_SUCCESS) {
      status = got;
      break;
    }
    result.push_back(
        {.offset = static_cast<std::uint32_t>(offset), .bytes = static_cast<std::uint32_t>(bytes)});
  }
  return result;
}

CUresult Modules::run(const ModuleKernels& call, Kernels& result) {
  const auto found = modules_.find(call.module);
  if (found == modules_.end() || found->second.library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (kernels_.size() >= most_kernels) return CUDA_ERROR_OUT_OF_MEMORY;
  for (std::size_t k = 0; k < call.names.size(); ++k) {
    Kernel told;
    KernelOfModule entry{.module = call.module};
    told.status =
        driver_.cuLibraryGetKernel(&entry.kernel, found->second.library, call.names[k].c_str());
    if (told.status == CUDA_SUCCESS) {
      told.parameters = parameters_of(entry.kernel, told.status);
      entry.parameters = told.parameters;
      entry.argument_bytes = argument_bytes(entry.parameters);
      kernels_[call.first + k] = std::move(entry);
    }
    result.kernels.push_back(std::move(told));
  }
  return CUDA_SUCCESS;
}

CUresult Modules::run(const ModuleGlobal& call, Global& result) {
  const auto found = modules_.find(call.module);
  if (found == modules_.end() || found->second.library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  const CUresult status =
      driver_.cuLibraryGetGlobal(&address, &bytes, found->second.library, call.name.c_str());
  if (status != CUDA_SUCCESS) return status;
  variables_[address] = {.bytes = bytes, .module = call.module};
  result = {.address = address, .bytes = bytes};
  return CUDA_SUCCESS;
}

CUresult Modules::run(const ModuleUnload& call, Nothing& /*result*/) {
  const auto found = modules_.find(call.module);
  if (found == modules_.end()) return CUDA_ERROR_INVALID_HANDLE;
  auto* const library = found->second.library;
  const auto belongs = [&](const auto& entry) { return entry.second.module == call.module; };
  std::erase_if(kernels_, belongs);
  std::erase_if(variables_, belongs);
  image_bytes_ -= found->second.image.size();
  const CUresult status = library == nullptr ? CUDA_SUCCESS : driver_.cuLibraryUnload(library);
  modules_.erase(found);
  return status;
}

Modules::KernelOfModule& Modules::kernel(Id id) {
  const auto found = kernels_.find(id);
  if (found == kernels_.end()) throw DriverError(CUDA_ERROR_INVALID_HANDLE, "no such kernel");
  KernelOfModule& kernel = found->second;
  if (kernel.function == nullptr) {
    const CUresult status = driver_.cuKernelGetFunction(&kernel.function, kernel.kernel);
    if (status != CUDA_SUCCESS) throw DriverError(status, "cuKernelGetFunction");
  }
  return kernel;
}

CUresult Modules::run(const Launch& call, Nothing& /*result*/) {
  KernelOfModule& what = kernel(call.kernel);
  if (call.arguments.size() != what.argument_bytes) return CUDA_ERROR_INVALID_VALUE;
  // Aligned as the parameters may ask for.
  alignas(128) std::array<std::byte, most_argument_bytes> arguments;  // NOLINT: filled where used
  std::ranges::copy(call.arguments, arguments.begin());
  std::vector<void*> pointers;
  pointers.reserve(what.parameters.size());
  for (const Parameter& each : what.parameters)
    pointers.push_back(arguments.data() + each.offset);
  std::array<CUlaunchAttribute, 2> attributes{};
  CUlaunchConfig config{};
  config.gridDimX = call.grid[0];
  config.gridDimY = call.grid[1];
  config.gridDimZ = call.grid[2];
  config.blockDimX = call.block[0];
  config.blockDimY = call.block[1];
  config.blockDimZ = call.block[2];
  config.sharedMemBytes = call.shared;
  config.hStream = streams_.stream(call.stream);
  config.attrs = attributes.data();
  if (call.cluster[0] != 0) {
    CUlaunchAttribute& attribute = attributes.at(config.numAttrs++);
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = call.cluster[0];
    attribute.value.clusterDim.y = call.cluster[1];
    attribute.value.clusterDim.z = call.cluster[2];
  }
  if (call.cooperative != 0) {
    CUlaunchAttribute& attribute = attributes.at(config.numAttrs++);
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
  }
  return driver_.cuLaunchKernelEx(&config, what.function, pointers.data(), nullptr);
}

CUresult Modules::run(const FunctionAttributes& call, Values& result) {
  auto* const function = kernel(call.kernel).function;
  for (int k = 0; k < CU_FUNC_ATTRIBUTE_MAX; ++k) {
    int value = 0;
    const CUresult status =
        driver_.cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(k), function);
    if (status != CUDA_SUCCESS && k <= CU_FUNC_ATTRIBUTE_BINARY_VERSION) return status;
    result.values.push_back(status == CUDA_SUCCESS ? value : 0);
  }
  return CUDA_SUCCESS;
}

CUresult Modules::run(const FunctionSetAttribute& call, Nothing& /*result*/) {
  return driver_.cuFuncSetAttribute(kernel(call.kernel).function,
                                    static_cast<CUfunction_attribute>(call.attribute), call.value);
}

CUresult Modules::run(const Occupancy& call, Blocks& result) {
  return driver_.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      &result.blocks, kernel(call.kernel).function, call.block, call.shared, call.flags);
}

}  // namespace gpucast::remote::server
