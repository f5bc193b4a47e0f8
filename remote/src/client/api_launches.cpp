// Registration of the program's GPU code, launches of all generations of CUDA, and kernel
// attributes.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cerrno>

#include "client/entry.h"
#include "client/works.h"
#include "end_program.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

FatBinary& binary_of(void** handle) { return *reinterpret_cast<FatBinary*>(handle); }

const LoadedKernel& loaded(const void* host) {
  return runtime().current().modules.kernel(function_of(host));
}

cudaFuncAttributes attributes_of(const void* host) {
  const auto values = runtime().current().modules.attributes(function_of(host));
  const auto a = [&](CUfunction_attribute which) {
    return values[static_cast<std::size_t>(which)];
  };
  const auto size = [&](CUfunction_attribute which) { return static_cast<std::size_t>(a(which)); };
  cudaFuncAttributes result{};
  result.sharedSizeBytes = size(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  result.constSizeBytes = size(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  result.localSizeBytes = size(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  result.maxThreadsPerBlock = a(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  result.numRegs = a(CU_FUNC_ATTRIBUTE_NUM_REGS);
  result.ptxVersion = a(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  result.binaryVersion = a(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  result.cacheModeCA = a(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
  result.maxDynamicSharedSizeBytes = a(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  result.preferredShmemCarveout = a(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  result.clusterDimMustBeSet = a(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
  result.requiredClusterWidth = a(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
  result.requiredClusterHeight = a(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
  result.requiredClusterDepth = a(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
  result.clusterSchedulingPolicyPreference =
      a(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
  result.nonPortableClusterSizeAllowed = a(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  return result;
}

int occupancy_of(const void* host, int block, std::size_t shared, unsigned flags) {
  const Occupancy message{
      .kernel = loaded(host).id, .block = block, .shared = shared, .flags = flags};
  return runtime().current().call(message).blocks;
}

cudaKernel_t kernel_of(const void* host) {
  return reinterpret_cast<cudaKernel_t>(const_cast<Function*>(&function_of(host)));
}

}  // namespace

extern "C" {

// ---- functions that nvcc's code calls; CUDA's headers declare these for nvcc only ----

void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(&runtime().program.add(wrapper));
}
void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}
void __cudaUnregisterFatBinary(void** handle) { runtime().forget(binary_of(handle)); }
void __cudaRegisterFunction(void** handle, const char* host, char* /*device*/, const char* name,
                            int /*thread_limit*/, uint3* /*thread*/, uint3* /*block*/,
                            dim3* /*block_shape*/, dim3* /*grid_shape*/, int* /*warp*/) {
  runtime().program.add_function(binary_of(handle), host, name);
}
void __cudaRegisterVar(void** handle, char* host, char* /*device*/, const char* name, int /*ext*/,
                       std::size_t bytes, int /*constant*/, int /*global*/) {
  runtime().program.add_variable(binary_of(handle), host, name, bytes);
}
void __cudaRegisterManagedVar(void** /*handle*/, void** /*host*/, char* /*device*/,
                              const char* name, int /*ext*/, std::size_t /*bytes*/,
                              int /*constant*/, int /*global*/) {
  // The program would read the variable as soon as it runs, through an address that nobody sets.
  end_program((std::string(program_invocation_name) +
               ": not supported on remote GPUs: __managed__ " + name +
               ": memory that host and GPU both reach; make it a __device__ variable, and " +
               "copy it with cudaMemcpyToSymbol and cudaMemcpyFromSymbol")
                  .c_str());
}
char __cudaInitModule(void** /*handle*/) { return 1; }

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                     CUstream_st* stream) {
  this_thread().shapes.push_back(
      {.grid = grid, .block = block, .shared = shared, .stream = stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  auto& shapes = this_thread().shapes;
  if (shapes.empty()) return remember(cudaErrorMissingConfiguration);
  *grid = shapes.back().grid;
  *block = shapes.back().block;
  *shared = shapes.back().shared;
  *static_cast<cudaStream_t*>(stream) = shapes.back().stream;
  shapes.pop_back();
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  return ENTRY(give(kernel, kernel_of(host)));
}

// ---- functions that programs call ----

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  return ENTRY(give(kernel, kernel_of(host)));
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* result, const void* host) {
  return ENTRY(give(result, attributes_of(host)));
}
cudaError_t cudaFuncSetAttribute(const void* host, cudaFuncAttribute attribute, int value) {
  return ENTRY(runtime().current().modules.set_attribute(function_of(host), attribute, value));
}
// This is a preference, which a device may ignore.
cudaError_t cudaFuncSetCacheConfig(const void* host, cudaFuncCache /*config*/) {
  return ENTRY(function_of(host));
}
cudaError_t cudaFuncGetName(const char** name, const void* host) {
  return ENTRY(give(name, function_of(host).name.c_str()));
}
cudaError_t cudaFuncGetParamInfo(const void* host, std::size_t index, std::size_t* offset,
                                 std::size_t* bytes) {
  return entry([&] {
    const auto& parameters = loaded(host).parameters;
    require_valid(index < parameters.size());
    give(offset, parameters[index].offset);
    if (bytes != nullptr) *bytes = parameters[index].bytes;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int block,
                                                          std::size_t shared) {
  return ENTRY(give(blocks, occupancy_of(host, block, shared, 0)));
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* host,
                                                                   int block, std::size_t shared,
                                                                   unsigned flags) {
  return ENTRY(give(blocks, occupancy_of(host, block, shared, flags)));
}

}  // extern "C"
