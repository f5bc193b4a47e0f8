#include "server/modules.h"

#include <atomic>
#include <exception>
#include <thread>

#include "images/compression.h"
#include "images/fat_binary.h"
#include "protocol/ranges.h"

namespace gpucast::remote::server {
namespace {

// More than programs use, and few enough for this process.
constexpr std::size_t most_modules = std::size_t{1} << 16;
constexpr std::size_t most_kernels = std::size_t{1} << 20;
constexpr std::size_t most_parameters_of_all = std::size_t{1} << 22;

}  // namespace

Modules::Modules(const Driver& driver, Streams& streams, std::size_t most_image_bytes,
                 ImageCache* cache)
    : driver_(driver), streams_(streams), most_image_bytes_(most_image_bytes), cache_(cache) {}

bool Modules::holds(Address address, std::uint64_t bytes) const {
  return holder(variables_, address, bytes) != variables_.end();
}

void Modules::reset() {
  ++released_;
  kernels_.clear();
  parameters_ = 0;
  variables_.clear();
  for (const auto& [id, module] : modules_)
    if (module.library != nullptr) driver_.cuLibraryUnload(module.library);
  modules_.clear();
  image_bytes_ = 0;
}

Modules::Module& Modules::with_room(Id id, std::size_t bytes) {
  if (!modules_.contains(id) && modules_.size() >= most_modules)
    throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
  Module& module = modules_[id];
  if (module.library != nullptr) throw DriverError(CUDA_ERROR_INVALID_HANDLE);
  if (bytes > most_module - module.image.size() || bytes > most_image_bytes_ - image_bytes_)
    throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
  return module;
}

void Modules::run(const ModulePiece& call) {
  const Bytes piece = call.tail.data;
  Module& module = with_room(call.module, piece.size());
  module.image.insert(module.image.end(), piece.begin(), piece.end());
  image_bytes_ += piece.size();
}

void Modules::run(const ModulePacked& call) {
  if (call.bytes == 0 || call.bytes > most_module_piece)
    throw DriverError(CUDA_ERROR_INVALID_IMAGE);
  Module& module = with_room(call.module, call.bytes);
  const std::size_t before = module.image.size();
  module.image.resize(before + call.bytes);
  const std::size_t got =
      images::decompress(call.tail.data, std::span(module.image).subspan(before));
  if (got != call.bytes) {
    module.image.resize(before);
    throw DriverError(CUDA_ERROR_INVALID_IMAGE);
  }
  image_bytes_ += call.bytes;
}

KnownModules Modules::run(const ModulesKnown& call) {
  KnownModules result{.unpacks = images::has_zstandard()};
  for (const ImageOf& asked : call.images) {
    const bool known = cache_ != nullptr && asked.bytes <= most_module && [&] {
      if (modules_.contains(asked.module)) throw DriverError(CUDA_ERROR_INVALID_HANDLE);
      auto image = cache_->get(asked.sha256, asked.bytes);
      if (!image) return false;
      Module& module = with_room(asked.module, image->size());
      image_bytes_ += image->size();
      module.image = std::move(*image);
      module.from_cache = true;
      return true;
    }();
    result.known.push_back(known ? 1 : 0);
  }
  return result;
}

void Modules::run(const ModuleLoad& call) {
  Module& module = named(modules_, call.module);
  if (module.library != nullptr) throw DriverError(CUDA_ERROR_INVALID_HANDLE);
  load(module);
}

// Each module takes milliseconds or more, and the driver can load several at a time.
LoadedModules Modules::run(const ModulesLoad& call) {
  LoadedModules result;
  result.statuses.assign(call.modules.size(), CUDA_ERROR_INVALID_HANDLE);
  std::vector<Module*> modules;
  for (const Id id : call.modules) {
    const auto known = modules_.find(id);
    const bool anew = known != modules_.end() && known->second.library == nullptr &&
                      std::ranges::find(modules, &known->second) == modules.end();
    modules.push_back(anew ? &known->second : nullptr);
  }
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t k = next++; k < modules.size(); k = next++)
      if (modules[k] != nullptr) result.statuses[k] = status_of([&] { load(*modules[k]); });
  };
  constexpr std::size_t most_threads = 4;
  std::vector<std::jthread> others;
  for (std::size_t k = 1; k < std::min(most_threads, modules.size()); ++k)
    others.emplace_back(work);
  work();
  others.clear();
  return result;
}

void Modules::load(Module& module) const {
  // The driver reads as far as the image's own header says.
  images::Container container;
  if (module.image.size() < sizeof container) throw DriverError(CUDA_ERROR_INVALID_IMAGE);
  std::memcpy(&container, module.image.data(), sizeof container);
  if (images::container_bytes(container) != module.image.size())
    throw DriverError(CUDA_ERROR_INVALID_IMAGE);
  // The image stays in memory: the driver may read it when kernels are first used.
  check(driver_.cuLibraryLoadData(&module.library, module.image.data(), nullptr, nullptr, 0,
                                  nullptr, nullptr, 0));
  if (cache_ == nullptr || module.from_cache) return;
  try {
    cache_->put(sha256(module.image), module.image);
  } catch (const std::exception&) {
    return;  // the next client sends it again
  }
}

CUlibrary Modules::library(Id module) const {
  auto* const library = named(modules_, module).library;
  if (library == nullptr) throw DriverError(CUDA_ERROR_INVALID_HANDLE);
  return library;
}

std::vector<Parameter> Modules::parameters_of(CUkernel kernel) const {
  if (driver_.cuKernelGetParamInfo == nullptr) throw DriverError(CUDA_ERROR_NOT_SUPPORTED);
  std::vector<Parameter> result;
  for (std::size_t k = 0; k < most_parameters; ++k) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    const CUresult got = driver_.cuKernelGetParamInfo(kernel, k, &offset, &bytes);
    if (got == CUDA_ERROR_INVALID_VALUE) break;  // there are no more parameters
    check(got);
    result.push_back(
        {.offset = static_cast<std::uint32_t>(offset), .bytes = static_cast<std::uint32_t>(bytes)});
  }
  return result;
}

Kernels Modules::run(const ModuleKernels& call) {
  auto* const from = library(call.module);
  if (kernels_.size() >= most_kernels || parameters_ >= most_parameters_of_all)
    throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
  Kernels result;
  for (std::size_t k = 0; k < call.names.size(); ++k) {
    Kernel told;
    told.status = status_of([&] {
      KernelOfModule entry{.module = call.module};
      check(driver_.cuLibraryGetKernel(&entry.kernel, from, call.names[k].c_str()));
      entry.parameters = parameters_of(entry.kernel);
      entry.argument_bytes = argument_bytes(entry.parameters);
      KernelOfModule& place = kernels_[call.first + k];
      parameters_ += entry.parameters.size() - place.parameters.size();
      told.parameters = entry.parameters;
      place = std::move(entry);
    });
    result.kernels.push_back(std::move(told));
  }
  return result;
}

Global Modules::run(const ModuleGlobal& call) {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  check(driver_.cuLibraryGetGlobal(&address, &bytes, library(call.module), call.name.c_str()));
  variables_[address] = {.bytes = bytes, .module = call.module};
  return {.address = address, .bytes = bytes};
}

void Modules::run(const ModuleUnload& call) {
  const auto removed = modules_.extract(call.module);
  if (!removed) throw DriverError(CUDA_ERROR_INVALID_HANDLE);
  ++released_;
  const auto belongs = [&](const auto& entry) { return entry.second.module == call.module; };
  std::erase_if(kernels_, [&](const auto& entry) {
    if (belongs(entry)) parameters_ -= entry.second.parameters.size();
    return belongs(entry);
  });
  std::erase_if(variables_, belongs);
  const Module& module = removed.mapped();
  image_bytes_ -= module.image.size();
  if (module.library != nullptr) check(driver_.cuLibraryUnload(module.library));
}

Modules::KernelOfModule& Modules::kernel(Id id) {
  KernelOfModule& kernel = named(kernels_, id);
  if (kernel.function == nullptr)
    check(driver_.cuKernelGetFunction(&kernel.function, kernel.kernel));
  return kernel;
}

void Modules::prepare(const Launch& call, PreparedLaunch& result) {
  const KernelOfModule& what = kernel(call.kernel);
  if (call.arguments.size() != what.argument_bytes) throw DriverError(CUDA_ERROR_INVALID_VALUE);
  result.function = what.function;
  std::ranges::copy(call.arguments, result.bytes.begin());
  result.arguments.reserve(what.parameters.size());
  for (const Parameter& parameter : what.parameters)
    result.arguments.push_back(result.bytes.data() + parameter.offset);
  if (call.cluster[0] != 0) {
    CUlaunchAttribute& attribute = result.attributes.at(result.attribute_count++);
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = call.cluster[0];
    attribute.value.clusterDim.y = call.cluster[1];
    attribute.value.clusterDim.z = call.cluster[2];
  }
  if (call.cooperative != 0) {
    CUlaunchAttribute& attribute = result.attributes.at(result.attribute_count++);
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
  }
}

void Modules::run(const Launch& call) {
  PreparedLaunch launch;
  prepare(call, launch);
  auto config = with_grid<CUlaunchConfig>(call);
  config.hStream = streams_.stream(call.stream);
  config.attrs = launch.attributes.data();
  config.numAttrs = launch.attribute_count;
  check(driver_.cuLaunchKernelEx(&config, launch.function, launch.arguments.data(), nullptr));
}

Values Modules::run(const FunctionAttributes& call) {
  auto* const function = kernel(call.kernel).function;
  Values result;
  for (int k = 0; k < CU_FUNC_ATTRIBUTE_MAX; ++k) {
    int value = 0;
    const CUresult status =
        driver_.cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(k), function);
    if (k <= CU_FUNC_ATTRIBUTE_BINARY_VERSION) check(status);
    result.values.push_back(status == CUDA_SUCCESS ? value : 0);
  }
  return result;
}

void Modules::run(const FunctionSetAttribute& call) {
  check(
      driver_.cuFuncSetAttribute(kernel(call.kernel).function,
                                 enumerator(call.attribute, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                            CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE),
                                 call.value));
}

Blocks Modules::run(const Occupancy& call) {
  Blocks result;
  check(driver_.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      &result.blocks, kernel(call.kernel).function, call.block, call.shared, call.flags));
  return result;
}

}  // namespace gpucast::remote::server
