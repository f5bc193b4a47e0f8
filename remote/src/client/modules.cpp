#include "client/modules.h"

#include <cuda.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "client/gpu.h"
#include "client/runtime.h"
#include "client/status.h"
#include "images/compression.h"
#include "images/kernel_parameters.h"

namespace gpucast::remote::client {
namespace {

constexpr unsigned kernel_bits = 24;  // of a kernel's id, below its module's

// The server's word, where the program's own code cannot be asked: what every kernel of nvcc might
// have, so that a launch reads no more of the program's memory than old architectures allow.
bool credible(const std::vector<Parameter>& told) {
  constexpr std::uint64_t most_bytes = 4096;
  std::uint64_t end = 0;
  for (const Parameter& each : told) {
    if (each.bytes == 0 || each.offset < end) return false;
    end = std::uint64_t{each.offset} + each.bytes;
    if (end > most_bytes) return false;
  }
  return true;
}

}  // namespace

const LoadedKernel* Modules::known(const Function& function) const {
  const std::shared_lock lock(kernels_mutex_);
  const auto found = kernels_.find(&function);
  return found == kernels_.end() ? nullptr : &found->second;
}

const LoadedKernel& Modules::kernel(const Function& function) {
  if (const LoadedKernel* found = known(function)) return *found;
  const std::lock_guard loading(loading_);
  if (const LoadedKernel* found = known(function)) return *found;
  const Status status = load(*function.binary);
  const std::unique_lock lock(kernels_mutex_);
  const auto [entry, added] = kernels_.try_emplace(&function);
  if (added) entry->second.status = status == 0 ? status_no_kernel : status;
  return entry->second;
}

Status Modules::attributes(const Function& function, std::vector<std::int32_t>& result) {
  const LoadedKernel& known_as = kernel(function);
  if (known_as.status != 0) return known_as.status;
  const std::lock_guard lock(attributes_mutex_);
  auto found = attributes_.find(&function);
  if (found == attributes_.end()) {
    Values told;
    const Status status = gpu_.call(FunctionAttributes{.kernel = known_as.id}, told);
    if (status != 0) return status;
    told.values.resize(CU_FUNC_ATTRIBUTE_MAX);  // a driver of the server's may know fewer
    found = attributes_.emplace(&function, std::move(told.values)).first;
  }
  result = found->second;
  return 0;
}

Status Modules::set_attribute(const Function& function, int attribute, int value) {
  const LoadedKernel& known_as = kernel(function);
  if (known_as.status != 0) return known_as.status;
  const std::lock_guard lock(attributes_mutex_);
  attributes_.erase(&function);
  return gpu_.call(
      FunctionSetAttribute{.kernel = known_as.id, .attribute = attribute, .value = value});
}

Status Modules::load(const FatBinary& binary) {
  if (const auto found = loaded_.find(&binary); found != loaded_.end()) return found->second;
  gpu_.let_functions_run();
  Status status = load_modules(binary);
  if (status == 0) status = load_kernels(binary);
  loaded_[&binary] = status;
  return status;
}

Status Modules::load_modules(const FatBinary& binary) {
  if (const auto found = modules_.find(&binary); found != modules_.end()) return found->second;
  const std::size_t bytes = binary.bytes().size();
  if (bytes == 0 || bytes > most_module) return status_bad_image;
  const Status status = load_together(to_load_with(binary));
  if (status != 0) return status;
  return modules_.at(&binary);
}

// It first, and what the program has beside it, as far as that is little.
std::vector<const FatBinary*> Modules::to_load_with(const FatBinary& binary) const {
  std::vector<const FatBinary*> result = {&binary};
  std::uint64_t left = gpu_.most_loaded_ahead();
  for (const FatBinary* each : runtime().program.all()) {
    const std::uint64_t bytes = each->bytes().size();
    if (result.size() == most_names) break;
    if (each == &binary || modules_.contains(each) || bytes == 0 || bytes > left) continue;
    left -= bytes;
    result.push_back(each);
  }
  return result;
}

Status Modules::load_together(const std::vector<const FatBinary*>& binaries) {
  ModulesKnown question;
  ModulesLoad order;
  for (const FatBinary* each : binaries) {
    question.images.push_back(
        {.module = each->id, .bytes = each->bytes().size(), .sha256 = each->sha256()});
    order.modules.push_back(each->id);
  }
  KnownModules answer;
  Status status = gpu_.call(question, answer);
  if (status != 0) return status;
  if (answer.known.size() != binaries.size())
    return gpu_.give_up("it says what was not asked of the program's GPU code");
  const bool packed = answer.unpacks != 0 && gpu_.is_remote() && images::has_zstandard();
  for (std::size_t k = 0; k < binaries.size() && status == 0; ++k) {
    if (answer.known[k] == 0) status = send_image(*binaries[k], packed);
  }
  LoadedModules loaded;
  if (status == 0) status = gpu_.call(order, loaded);
  if (status != 0) return status;
  if (loaded.statuses.size() != binaries.size())
    return gpu_.give_up("it loaded other GPU code than the program's");
  for (std::size_t k = 0; k < binaries.size(); ++k)
    modules_[binaries[k]] = loaded.statuses[k];
  return 0;
}

Status Modules::send_image(const FatBinary& binary, bool packed) {
  Status status = 0;
  for (Bytes image = binary.bytes(); !image.empty() && status == 0;) {
    const Bytes piece = image.first(std::min(image.size(), most_module_piece));
    const auto frame = packed ? images::compress(piece) : std::nullopt;
    if (frame) {
      status = gpu_.send(ModulePacked{.module = binary.id,
                                      .bytes = static_cast<std::uint32_t>(piece.size()),
                                      .tail = {*frame}});
    } else {
      status = gpu_.send(ModulePiece{.module = binary.id, .tail = {piece}});
    }
    image = image.subspan(piece.size());
  }
  return status;
}

Status Modules::load_kernels(const FatBinary& binary) {
  Status status = 0;
  images::KernelParameters own(binary.bytes());
  for (std::size_t first = 0; status == 0 && first < binary.functions.size(); first += most_names) {
    const std::size_t count = std::min(most_names, binary.functions.size() - first);
    status = find_kernels(binary, own, first, count);
  }
  return status;
}

Status Modules::find_kernels(const FatBinary& binary, images::KernelParameters& own,
                             std::size_t first, std::size_t count) {
  ModuleKernels message{.module = binary.id, .first = (binary.id << kernel_bits) + first};
  for (std::size_t k = 0; k < count; ++k)
    message.names.push_back(binary.functions[first + k].name);
  Kernels result;
  if (const Status status = gpu_.call(message, result); status != 0) return status;
  if (result.kernels.size() != count) return gpu_.give_up("kernels that were not asked for");
  for (std::size_t k = 0; k < count; ++k) {
    Kernel& told = result.kernels[k];
    const std::string& name = message.names[k];
    LoadedKernel kernel{.id = message.first + k, .status = told.status};
    if (kernel.status == 0) kernel.status = take_parameters(kernel, own, name, told.parameters);
    const std::unique_lock lock(kernels_mutex_);
    kernels_[&binary.functions[first + k]] = std::move(kernel);
  }
  return 0;
}

Status Modules::take_parameters(LoadedKernel& kernel, images::KernelParameters& own,
                                const std::string& name, const std::vector<Parameter>& told) {
  const images::Layout* layout = own.of(name);
  if (layout == nullptr) {
    if (own.unread().empty()) return status_bad_image;
    runtime().say_once("the program's GPU code cannot be read here (" + own.unread() +
                       "): what a server says of its kernels' parameters is believed, up to 4096 "
                       "bytes of a launch");
  }
  if (layout == nullptr ? !credible(told) : !images::same_parameters(*layout, told))
    return gpu_.give_up("it says that kernel " + name + " has other parameters than it has");
  kernel.parameters = told;
  kernel.argument_bytes = argument_bytes(told);
  return 0;
}

Status Modules::global(const Variable& variable, Global& result) {
  const std::lock_guard loading(loading_);
  if (const auto found = globals_.find(&variable); found != globals_.end()) {
    result = found->second;
    return 0;
  }
  Status status = load(*variable.binary);
  if (status == 0) {
    status = gpu_.call(ModuleGlobal{.module = variable.binary->id, .name = variable.name}, result);
  }
  if (status != 0) return status;
  if (result.bytes != variable.bytes)
    return gpu_.give_up("it says that variable " + variable.name + " has another size than it has");
  globals_[&variable] = result;
  return 0;
}

std::vector<Address> Modules::unload(const FatBinary& binary) {
  std::vector<Address> variables;
  const std::lock_guard loading(loading_);
  const auto found = modules_.find(&binary);
  if (found == modules_.end()) return variables;
  modules_.erase(found);
  loaded_.erase(&binary);
  for (const Variable& each : binary.variables) {
    if (const auto global = globals_.extract(&each)) variables.push_back(global.mapped().address);
  }
  {
    const std::unique_lock lock(kernels_mutex_);
    for (const Function& each : binary.functions)
      kernels_.erase(&each);
  }
  {
    const std::lock_guard lock(attributes_mutex_);
    for (const Function& each : binary.functions)
      attributes_.erase(&each);
  }
  // One that was not loaded left its image there.
  gpu_.send(ModuleUnload{.module = binary.id});
  return variables;
}

void Modules::forget_all() {
  const std::lock_guard loading(loading_);
  modules_.clear();
  loaded_.clear();
  globals_.clear();
  {
    const std::unique_lock lock(kernels_mutex_);
    kernels_.clear();
  }
  const std::lock_guard lock(attributes_mutex_);
  attributes_.clear();
}

}  // namespace gpucast::remote::client
