// The program's GPU code on one GPU, loaded when one of its kernels or variables is first used.
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
  Status status = 0;  // of its lookup
  std::vector<Parameter> parameters = {};
  std::size_t argument_bytes = 0;
};

class Modules {
 public:
  explicit Modules(Gpu& gpu) : gpu_(gpu) {}

  // These throw Failure.
  const LoadedKernel& kernel(const Function& function);
  // A kernel's attributes, CUfunction_attribute by CUfunction_attribute: the server is asked once,
  // and again after one was set.
  std::vector<std::int32_t> attributes(const Function& function);
  void set_attribute(const Function& function, int attribute, int value);
  Global global(const Variable& variable);
  // Returns the addresses of its variables, which are now free.
  std::vector<Address> unload(const FatBinary& binary);
  // Forgets the modules after a reset of the GPU, which unloads them all.
  void forget_all();

 private:
  const LoadedKernel* known(const Function& function) const;
  // Loads the module and its kernels.
  void load(const FatBinary& binary);
  // Loads that module and others that will be needed, so that their number does not add round
  // trips.
  void load_modules(const FatBinary& binary);
  std::vector<const FatBinary*> to_load_with(const FatBinary& binary) const;
  void load_together(const std::vector<const FatBinary*>& binaries);
  void send_image(const FatBinary& binary, bool packed);
  void load_kernels(const FatBinary& binary);
  // Takes the layout from the program's own code; a server that contradicts it is given up.
  Status take_parameters(LoadedKernel& kernel, images::KernelParameters& own,
                         const std::string& name, const std::vector<Parameter>& told);

  Gpu& gpu_;
  std::mutex loading_;
  mutable std::shared_mutex kernels_mutex_;
  std::unordered_map<const Function*, LoadedKernel> kernels_;
  std::unordered_map<const FatBinary*, Status> modules_;  // loaded as modules
  std::unordered_map<const FatBinary*, Status> loaded_;   // with their kernels
  std::unordered_map<const Variable*, Global> globals_;
  // Also held while the server is asked: an older answer must not overwrite a newer one. Never
  // locked before loading_.
  std::mutex attributes_mutex_;
  std::unordered_map<const Function*, std::vector<std::int32_t>> attributes_;
};

}  // namespace gpucast::remote::client
