// The program's GPU code on one GPU: loaded when the first of its kernels or variables is used.
#pragma once

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "client/program.h"
#include "protocol/calls.h"

namespace gpucast::remote::images {
class KernelParameters;
}

namespace gpucast::remote::client {

class Gpu;

// A kernel on one GPU.
struct LoadedKernel {
  Id id = 0;
  Status status = 0;  // of finding it
  std::vector<Parameter> parameters = {};
  std::size_t argument_bytes = 0;
};

class Modules {
 public:
  explicit Modules(Gpu& gpu) : gpu_(gpu) {}

  // These throw Failure.
  const LoadedKernel& kernel(const Function& function);
  // What a kernel is like, CUfunction_attribute by CUfunction_attribute: the server is asked once,
  // and anew after one was set.
  std::vector<std::int32_t> attributes(const Function& function);
  void set_attribute(const Function& function, int attribute, int value);
  Global global(const Variable& variable);
  // The addresses of its variables, which are nobody's any more.
  std::vector<Address> unload(const FatBinary& binary);
  // Forgets the modules after a reset of the GPU, which unloads them all.
  void forget_all();

 private:
  const LoadedKernel* known(const Function& function) const;
  // As a module, and its kernels.
  void load(const FatBinary& binary);
  // That and others that will be needed: their number does not make round trips.
  void load_modules(const FatBinary& binary);
  std::vector<const FatBinary*> to_load_with(const FatBinary& binary) const;
  void load_together(const std::vector<const FatBinary*>& binaries);
  void send_image(const FatBinary& binary, bool packed);
  void load_kernels(const FatBinary& binary);
  // As the program's own code says; a server that says otherwise is given up.
  Status take_parameters(LoadedKernel& kernel, images::KernelParameters& own,
                         const std::string& name, const std::vector<Parameter>& told);

  Gpu& gpu_;
  std::mutex loading_;
  mutable std::shared_mutex kernels_mutex_;
  std::unordered_map<const Function*, LoadedKernel> kernels_;
  std::unordered_map<const FatBinary*, Status> modules_;  // loaded as modules
  std::unordered_map<const FatBinary*, Status> loaded_;   // their kernels, too
  std::unordered_map<const Variable*, Global> globals_;
  // Held while the server is asked, too: an older answer must not follow a newer one. Never taken
  // before loading_.
  std::mutex attributes_mutex_;
  std::unordered_map<const Function*, std::vector<std::int32_t>> attributes_;
};

}  // namespace gpucast::remote::client
