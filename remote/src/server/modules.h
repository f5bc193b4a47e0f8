// A client's modules: their kernels, which it launches, and their variables.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "protocol/calls.h"
#include "server/driver.h"
#include "server/streams.h"

namespace gpucast::remote::server {

class Modules {
 public:
  // The images of all stay in this process.
  Modules(const Driver& driver, Streams& streams, std::size_t most_image_bytes);

  // Variables that the client has asked for.
  bool holds(Address address, std::uint64_t bytes) const;
  // All are gone; nothing uses them any more.
  void reset();

  void run(const ModulePiece&);
  void run(const ModuleLoad&);
  Kernels run(const ModuleKernels&);
  Global run(const ModuleGlobal&);
  void run(const ModuleUnload&);
  void run(const Launch&);
  Values run(const FunctionAttributes&);
  void run(const FunctionSetAttribute&);
  Blocks run(const Occupancy&);

 private:
  struct Module {
    std::vector<std::byte> image = {};
    CUlibrary library = nullptr;
  };
  struct KernelOfModule {
    Id module = 0;
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;  // once it was used
    std::vector<Parameter> parameters = {};
    std::size_t argument_bytes = 0;
  };
  struct VariableOfModule {
    std::uint64_t bytes = 0;
    Id module = 0;
  };

  // DriverError if there is none.
  KernelOfModule& kernel(Id id);
  CUlibrary library(Id module) const;
  std::vector<Parameter> parameters_of(CUkernel kernel) const;

  const Driver& driver_;
  Streams& streams_;
  std::size_t most_image_bytes_;
  std::size_t image_bytes_ = 0;
  std::size_t parameters_ = 0;  // of all kernels
  std::unordered_map<Id, Module> modules_;
  std::unordered_map<Id, KernelOfModule> kernels_;
  std::map<Address, VariableOfModule> variables_;
};

}  // namespace gpucast::remote::server
