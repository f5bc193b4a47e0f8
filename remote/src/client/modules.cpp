#include "client/modules.h"

#include <cuda.h>

#include "client/gpu.h"
#include "client/runtime.h"
#include "images/compression.h"
#include "images/kernel_parameters.h"

namespace gpucast::remote::client {
namespace {

constexpr unsigned kernel_bits = 24;  // of a kernel's id; the module's follow

// Whether to believe the server where the program's own code cannot be read: only layouts that
// every kernel of nvcc may have, so that a launch reads no more of the program's memory than old
// architectures allow.
bool credible(const std::vector<Parameter>& told) {
  constexpr std::uint64_t most_bytes = 4096;
  std::uint64_t end = 0;
  for (const Parameter& parameter : told) {
    if (parameter.bytes == 0 || parameter.offset < end) return false;
    end = std::uint64_t{parameter.offset} + parameter.bytes;
    if (end > most_bytes) return false;
  }
  return true;
}

}  // namespace

const LoadedKernel* Modules::known(const Function& function) const {
  const std::shared_lock lock(kernels_mutex_);
  return value_at(kernels_, &function);
}

const LoadedKernel& Modules::kernel(const Function& function) {
  const LoadedKernel* kernel = known(function);
  if (kernel == nullptr) {
    const std::lock_guard loading(loading_);
    const Status status = status_of([&] { load(*function.binary); });
    const std::unique_lock lock(kernels_mutex_);
    const auto [at, is_new] = kernels_.try_emplace(&function);
    if (is_new) at->second.status = status == 0 ? status_no_kernel : status;
    kernel = &at->second;
  }
  require(kernel->status);
  return *kernel;
}

std::vector<std::int32_t> Modules::attributes(const Function& function) {
  const Id id = kernel(function).id;
  const std::lock_guard lock(attributes_mutex_);
  if (const auto* known = value_at(attributes_, &function)) return *known;
  Values told = gpu_.call(FunctionAttributes{.kernel = id});
  told.values.resize(CU_FUNC_ATTRIBUTE_MAX);  // a server's driver may know fewer
  return attributes_[&function] = std::move(told.values);
}

void Modules::set_attribute(const Function& function, int attribute, int value) {
  const Id id = kernel(function).id;
  const std::lock_guard lock(attributes_mutex_);
  attributes_.erase(&function);
  gpu_.call(FunctionSetAttribute{.kernel = id, .attribute = attribute, .value = value});
}

void Modules::load(const FatBinary& binary) {
  auto at = loaded_.find(&binary);
  if (at == loaded_.end()) {
    const Status status = status_of([&] {
      gpu_.let_functions_run();
      load_modules(binary);
      load_kernels(binary);
    });
    at = loaded_.emplace(&binary, status).first;
  }
  require(at->second);
}

void Modules::load_modules(const FatBinary& binary) {
  if (!modules_.contains(&binary)) {
    const std::size_t bytes = binary.bytes().size();
    if (bytes == 0 || bytes > most_module) require(status_bad_image);
    load_together(to_load_with(binary));
  }
  require(modules_.at(&binary));
}

// Returns the module, and then others of the program as long as they are small.
std::vector<const FatBinary*> Modules::to_load_with(const FatBinary& binary) const {
  std::vector<const FatBinary*> result = {&binary};
  std::uint64_t left = gpu_.most_loaded_ahead();
  for (const FatBinary* other : runtime().program.all()) {
    const std::uint64_t bytes = other->bytes().size();
    if (result.size() == most_names) break;
    if (other == &binary || modules_.contains(other) || bytes == 0 || bytes > left) continue;
    left -= bytes;
    result.push_back(other);
  }
  return result;
}

void Modules::load_together(const std::vector<const FatBinary*>& binaries) {
  ModulesKnown question;
  ModulesLoad order;
  for (const FatBinary* binary : binaries) {
    question.images.push_back(
        {.module = binary->id, .bytes = binary->bytes().size(), .sha256 = binary->sha256()});
    order.modules.push_back(binary->id);
  }
  const KnownModules answer = gpu_.call(question);
  if (answer.known.size() != binaries.size())
    gpu_.give_up("it answered about other GPU code than the program's");
  const bool packed = answer.unpacks != 0 && gpu_.is_remote() && images::has_zstandard();
  for (std::size_t k = 0; k < binaries.size(); ++k)
    if (answer.known[k] == 0) send_image(*binaries[k], packed);
  const LoadedModules loaded = gpu_.call(order);
  if (loaded.statuses.size() != binaries.size())
    gpu_.give_up("it loaded other GPU code than the program's");
  for (std::size_t k = 0; k < binaries.size(); ++k)
    modules_[binaries[k]] = loaded.statuses[k];
}

void Modules::send_image(const FatBinary& binary, bool packed) {
  for (Bytes image = binary.bytes(); !image.empty();) {
    const Bytes piece = image.first(std::min(image.size(), most_module_piece));
    if (const auto frame = packed ? images::compress(piece) : std::nullopt) {
      gpu_.send(ModulePacked{.module = binary.id,
                             .bytes = static_cast<std::uint32_t>(piece.size()),
                             .tail = {*frame}});
    } else {
      gpu_.send(ModulePiece{.module = binary.id, .tail = {piece}});
    }
    image = image.subspan(piece.size());
  }
}

void Modules::load_kernels(const FatBinary& binary) {
  images::KernelParameters own(binary.bytes());
  const auto& functions = binary.functions;
  for (std::size_t first = 0; first < functions.size(); first += most_names) {
    ModuleKernels message{.module = binary.id, .first = (binary.id << kernel_bits) + first};
    for (std::size_t k = first; k < std::min(functions.size(), first + most_names); ++k)
      message.names.push_back(functions[k].name);
    const Kernels told = gpu_.call(message);
    if (told.kernels.size() != message.names.size())
      gpu_.give_up("it described kernels that were not requested");
    for (std::size_t k = 0; k < told.kernels.size(); ++k) {
      const auto& [status, most_threads, parameters] = told.kernels[k];
      LoadedKernel kernel{.id = message.first + k, .status = status};
      if (status == 0) kernel.status = take_parameters(kernel, own, message.names[k], parameters);
      const std::unique_lock lock(kernels_mutex_);
      kernels_[&functions[first + k]] = std::move(kernel);
    }
  }
}

Status Modules::take_parameters(LoadedKernel& kernel, images::KernelParameters& own,
                                const std::string& name, const std::vector<Parameter>& told) {
  const images::Layout* layout = own.of(name);
  if (layout == nullptr) {
    if (own.unread().empty()) return status_bad_image;
    runtime().say_once("the program's GPU code cannot be read here (" + own.unread() +
                       "): the server's description of kernel parameters is trusted, up to 4096 "
                       "bytes of a launch");
  }
  if (layout == nullptr ? !credible(told) : !images::same_parameters(*layout, told))
    gpu_.give_up("it claims other parameters for kernel " + name + " than it has");
  kernel.parameters = told;
  kernel.argument_bytes = argument_bytes(told);
  return 0;
}

Global Modules::global(const Variable& variable) {
  const std::lock_guard loading(loading_);
  if (const Global* known = value_at(globals_, &variable)) return *known;
  load(*variable.binary);
  const Global global =
      gpu_.call(ModuleGlobal{.module = variable.binary->id, .name = variable.name});
  if (global.bytes != variable.bytes)
    gpu_.give_up("it claims another size for variable " + variable.name + " than it has");
  return globals_[&variable] = global;
}

std::vector<Address> Modules::unload(const FatBinary& binary) {
  std::vector<Address> variables;
  const std::lock_guard loading(loading_);
  if (modules_.erase(&binary) == 0) return variables;
  loaded_.erase(&binary);
  for (const Variable& variable : binary.variables)
    if (const auto global = globals_.extract(&variable))
      variables.push_back(global.mapped().address);
  {
    const std::scoped_lock lock(kernels_mutex_, attributes_mutex_);
    for (const Function& function : binary.functions) {
      kernels_.erase(&function);
      attributes_.erase(&function);
    }
  }
  // A module that was not loaded may have left its image on the server.
  status_of([&] { gpu_.send(ModuleUnload{.module = binary.id}); });
  return variables;
}

void Modules::forget_all() {
  const std::scoped_lock lock(loading_, kernels_mutex_, attributes_mutex_);
  modules_.clear();
  loaded_.clear();
  globals_.clear();
  kernels_.clear();
  attributes_.clear();
}

}  // namespace gpucast::remote::client
