#include "client/works.h"

#include <cuda.h>

namespace gpucast::remote::client {
namespace {

// Checks what a driver would refuse at once, with the runtime's errors; programs look at the error
// right after the launch.
void check(const Gpu& gpu, const LaunchShape& shape) {
  const auto within = [&](unsigned value, int attribute) {
    return value >= 1 && value <= static_cast<unsigned>(gpu.attribute(attribute));
  };
  const bool fits = within(shape.grid.x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) &&
                    within(shape.grid.y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y) &&
                    within(shape.grid.z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z) &&
                    within(shape.block.x, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) &&
                    within(shape.block.y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y) &&
                    within(shape.block.z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  const auto threads = std::uint64_t{shape.block.x} * shape.block.y * shape.block.z;
  const int most_threads = gpu.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  const int most_shared = gpu.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  if (!fits || threads > static_cast<unsigned>(most_threads) ||
      (most_shared > 0 && shape.shared > static_cast<std::size_t>(most_shared))) {
    throw Failure{cudaErrorInvalidValue};
  }
}

// Copies the arguments to the kernel's layout. Only the kernel knows the number and sizes of its
// arguments: if it has none, the array is empty.
//
// Pinned host addresses are refused here: the GPU cannot reach them, and a kernel that used one
// would destroy the program's context. Values within structures may or may not be addresses, and
// are not checked.
void pack(const Function& function, const LoadedKernel& kernel, void** arguments,
          std::byte* packed) {
  const bool has_pinned = runtime().memory.has_pinned();
  for (std::size_t k = 0; k < kernel.parameters.size(); ++k) {
    const Parameter& parameter = kernel.parameters[k];
    std::memcpy(packed + parameter.offset, arguments[k], parameter.bytes);
    if (!has_pinned || parameter.bytes != sizeof(void*)) continue;
    const void* address = nullptr;
    std::memcpy(&address, arguments[k], sizeof address);
    if (runtime().memory.pinned(address, 1)) {
      refuse("pinned host memory as argument " + std::to_string(k + 1) + " of kernel " +
             function.name);
    }
  }
}

// The message without its stream and arguments.
Launch message_of(const LoadedKernel& kernel, const LaunchShape& shape,
                  const LaunchOptions& options) {
  return {.kernel = kernel.id,
          .grid = {shape.grid.x, shape.grid.y, shape.grid.z},
          .block = {shape.block.x, shape.block.y, shape.block.z},
          .cluster = options.cluster,
          .cooperative = options.cooperative,
          .shared = static_cast<std::uint32_t>(shape.shared)};
}

}  // namespace

const Function& function_of(const void* host) {
  const Function* function = runtime().program.function(host);
  if (function == nullptr) throw Failure{cudaErrorInvalidDeviceFunction};
  return *function;
}

Work kernel_work(const void* host, const LaunchShape& shape, void** arguments,
                 const LaunchOptions& options, int device) {
  Work work{.type = cudaGraphNodeTypeKernel, .device = device};
  Gpu& gpu = runtime().gpu(device);
  const Function& function = function_of(host);
  check(gpu, shape);
  const LoadedKernel& kernel = gpu.modules.kernel(function);
  require_valid(arguments != nullptr || kernel.parameters.empty());
  work.function = &function;
  work.arguments.resize(kernel.argument_bytes);
  for (const Parameter& parameter : kernel.parameters)
    work.offsets.push_back(parameter.offset);
  pack(function, kernel, arguments, work.arguments.data());
  work.content.work = GraphWork::kernel;
  work.content.kernel = message_of(kernel, shape, options);
  return work;
}

void launch(const void* host, const LaunchShape& shape, void** arguments,
            const LaunchOptions& options) {
  const Function& function = function_of(host);
  const OnStream on = runtime().stream(shape.stream);
  if (runtime().graphs.records(on))
    return runtime().graphs.record(on, kernel_work(host, shape, arguments, options, on.device));
  check(*on.gpu, shape);
  const LoadedKernel& kernel = on.gpu->modules.kernel(function);
  std::array<std::byte, most_argument_bytes> packed;  // NOLINT: filled as far as it is used
  std::memset(packed.data(), 0, kernel.argument_bytes);
  pack(function, kernel, arguments, packed.data());
  Launch message = message_of(kernel, shape, options);
  message.stream = on.id;
  message.arguments = Bytes(packed.data(), kernel.argument_bytes);
  on.gpu->send(message);
}

}  // namespace gpucast::remote::client
