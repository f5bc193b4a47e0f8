// A client's modules: their kernels, which it launches, and their variables.
#pragma once

#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "protocol/calls.h"
#include "server/driver.h"
#include "server/image_cache.h"
#include "server/streams.h"

namespace gpucast::remote::server {

// A launch in the driver's form; valid as long as the message exists and this is not moved.
// Launches are frequent: the unused part of `bytes` is not initialized.
// NOLINTBEGIN(cppcoreguidelines-pro-type-member-init)
struct PreparedLaunch {
  PreparedLaunch() = default;
  ~PreparedLaunch() = default;
  PreparedLaunch(const PreparedLaunch&) = delete;
  PreparedLaunch& operator=(const PreparedLaunch&) = delete;

  CUfunction function = nullptr;
  std::vector<void*> arguments;
  std::array<CUlaunchAttribute, 2> attributes{};
  unsigned attribute_count = 0;
  // Aligned to the largest alignment that a parameter may have.
  alignas(128) std::array<std::byte, most_argument_bytes> bytes;  // filled as far as it is used
};
// NOLINTEND(cppcoreguidelines-pro-type-member-init)

class Modules {
 public:
  // The images of all modules stay in this process; `cache` may keep them for others.
  Modules(const Driver& driver, Streams& streams, std::size_t most_image_bytes,
          ImageCache* cache = nullptr);

  // Whether the range belongs to a variable that the client has looked up.
  bool holds(Address address, std::uint64_t bytes) const;
  // A number that changes whenever a module is unloaded.
  std::uint64_t released() const { return released_; }
  // Throws DriverError if there is none.
  void require_kernel(Id id) { kernel(id); }
  // Unloads everything; nothing uses it any more.
  void reset();
  // Throws DriverError if there is no such kernel, or its arguments have another size.
  void prepare(const Launch& call, PreparedLaunch& result);

  void run(const ModulePiece&);
  void run(const ModuleLoad&);
  KnownModules run(const ModulesKnown&);
  void run(const ModulePacked&);
  LoadedModules run(const ModulesLoad&);
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
    bool from_cache = false;
  };
  struct KernelOfModule {
    Id module = 0;
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;  // set when it is first used
    std::vector<Parameter> parameters = {};
    std::size_t argument_bytes = 0;
  };
  struct VariableOfModule {
    std::uint64_t bytes = 0;
    Id module = 0;
  };

  // Returns the module if its image may grow by this many bytes. Throws DriverError if there is
  // none.
  Module& with_room(Id module, std::size_t bytes);
  // Throws DriverError if it cannot be loaded. May be called by several threads for different
  // modules.
  void load(Module& module) const;

  // Throws DriverError if there is none.
  KernelOfModule& kernel(Id id);
  CUlibrary library(Id module) const;
  std::vector<Parameter> parameters_of(CUkernel kernel) const;

  const Driver& driver_;
  Streams& streams_;
  std::size_t most_image_bytes_;
  ImageCache* cache_;
  std::size_t image_bytes_ = 0;
  std::uint64_t released_ = 0;
  std::size_t parameters_ = 0;  // of all kernels
  std::unordered_map<Id, Module> modules_;
  std::unordered_map<Id, KernelOfModule> kernels_;
  std::map<Address, VariableOfModule> variables_;
};

}  // namespace gpucast::remote::server
