#include "fake/driver.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>

#include <csignal>
#include <cstdlib>
#include <iterator>

namespace gpucast::fake {

thread_local int Driver::current_device = 0;

// The part before the arguments and behind the last :: or space outside of brackets.
std::string source_name(std::string_view mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), std::free);
  if (!demangled) return std::string(mangled);
  std::string name(demangled.get());
  int depth = 0;
  if (name.ends_with(')')) {
    for (std::size_t k = name.size(); k-- > 0;) {
      if (name[k] == ')') ++depth;
      if (name[k] == '(' && --depth == 0) {
        name.resize(k);
        break;
      }
    }
  }
  depth = 0;
  for (std::size_t k = name.size(); k-- > 0;) {
    if (name[k] == '>' || name[k] == ')') ++depth;
    if (name[k] == '<' || name[k] == '(') --depth;
    if (depth == 0 && (name[k] == ' ' || name[k] == ':')) return name.substr(k + 1);
  }
  return name;
}

Driver::Driver() : settings_(read_settings()) {
  for (const std::string& file : settings_.kernels) {
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    void* function = dlsym(library, contents_function);
    if (function == nullptr) throw std::runtime_error(dlerror());
    reinterpret_cast<ContentsFunction>(function)(contents_);
  }
  for (int k = 0; k < settings_.devices; ++k)
    devices_.push_back(std::make_unique<Device>(settings_));
  for (const Variable& variable : contents_.variables)
    for (const auto& device : devices_)
      device->adopt(reinterpret_cast<CUdeviceptr>(variable.data), variable.bytes);
}

remote::images::KernelParameters* Driver::add_image(const void* image) {
  remote::images::Container container;
  std::memcpy(&container, image, sizeof container);
  const std::lock_guard lock(mutex_);
  return &images_.emplace_back(remote::Bytes(static_cast<const std::byte*>(image),
                                             remote::images::container_bytes(container)));
}

const Kernel* Driver::silent_kernel(remote::images::KernelParameters& image,
                                    const std::string& mangled) {
  const std::lock_guard lock(mutex_);
  const auto* layout = image.of(mangled);
  if (layout == nullptr) return nullptr;
  Kernel silent{.name = mangled, .parameters = {}, .run = [](const auto&, const auto&) {}};
  for (const auto& [offset, bytes] : *layout)
    silent.parameters.push_back({.offset = offset, .bytes = bytes});
  return &silent_kernels_.emplace_back(std::move(silent));
}

void Driver::pause(const std::string& name) const {
  if (const auto delay = settings_.delays.find(name); delay != settings_.delays.end())
    std::this_thread::sleep_for(std::chrono::duration<double>(delay->second));
  const auto hold = settings_.holds.find(name);
  if (hold == settings_.holds.end()) return;
  const char* file = hold->second.c_str();
  constexpr char reached = '.';
  const support::Descriptor opened(::open(file, O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!opened || ::write(opened.get(), &reached, sizeof reached) != sizeof reached) return;
  constexpr std::chrono::milliseconds moment(1);
  while (::access(file, F_OK) == 0)
    std::this_thread::sleep_for(moment);
}

CUresult Driver::call(const std::string& name) {
  unsigned count = 0;
  {
    const std::lock_guard lock(mutex_);
    count = ++calls_[name];
  }
  pause(name);
  if (const auto kill = settings_.kills.find(name);
      kill != settings_.kills.end() && kill->second.nth == count) {
    raise(SIGKILL);
  }
  const auto failure = settings_.failures.find(name);
  const bool fails = failure != settings_.failures.end() &&
                     (failure->second.nth == 0 || failure->second.nth == count);
  return fails ? static_cast<CUresult>(failure->second.status) : CUDA_SUCCESS;
}

Stream& Driver::stream(CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return queues().legacy();
  return *reinterpret_cast<Stream*>(handle);
}

Stream& Driver::add_stream(bool blocking) {
  const std::lock_guard lock(mutex_);
  auto made = std::make_unique<Stream>(blocking);
  Stream& result = *made;
  streams_[&result] = std::move(made);
  return result;
}

void Driver::remove(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(&stream);
}

CUresult Driver::queue(CUstream handle, const char* kind, std::function<void()> operation,
                       const Work& also) {
  if (const CUresult status = queues().failure(); status != CUDA_SUCCESS) return status;
  if (settings_.delays.contains(kind) || settings_.holds.contains(kind)) {
    operation = [this, kind, inner = std::move(operation)] {
      pause(kind);
      inner();
    };
  }
  queues().queue(stream(handle), std::move(operation), also);
  return CUDA_SUCCESS;
}

CUresult Driver::record(const std::shared_ptr<Event>& event, CUstream handle) {
  if (const CUresult status = queues().failure(); status != CUDA_SUCCESS) return status;
  Work work = queues().queue(stream(handle), [event] { event->time = Clock::now(); });
  const std::lock_guard lock(mutex_);
  event->record = std::move(work);
  return CUDA_SUCCESS;
}

Work Driver::recorded(const Event& event) {
  const std::lock_guard lock(mutex_);
  return event.record;
}

bool Driver::register_memory(void* memory, std::size_t bytes) {
  constexpr std::uintptr_t page = 4096;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::lock_guard lock(mutex_);
  const auto next = registered_.lower_bound(begin);
  const bool reaches_next = next != registered_.end() && next->first - begin < bytes;
  const bool in_last =
      next != registered_.begin() && begin - std::prev(next)->first < std::prev(next)->second;
  if (begin % page != 0 || bytes % page != 0 || bytes == 0 || reaches_next || in_last) return false;
  registered_[begin] = bytes;
  return true;
}

bool Driver::unregister_memory(void* memory) {
  const std::lock_guard lock(mutex_);
  return registered_.erase(reinterpret_cast<std::uintptr_t>(memory)) != 0;
}

}  // namespace gpucast::fake
