// NCCL, opened at run time. The few declarations below are its documented, stable C interface
// (version 2).
#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/cuda/cuda_device.h"
#include "gpucast/devices/cuda/gpus.h"

namespace gpucast::mdapp::cuda {
namespace {

using Comm = void*;
enum Result : int { success = 0 };
enum DataType : int { int64 = 4, float32 = 7 };
enum Operation : int { sum = 0 };

// The functions of the library that are used.
class Nccl {
  // Converts to the type of any function.
  struct Symbol {
    void* address;
    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };

  static void* open_library() {
    // NCCL would end the program: it brings a CUDA runtime of its own.
    if (devices::cuda::path() != schema::Path::native)
      throw std::runtime_error("allgather needs NCCL, which does not see remote GPUs");
    const char* named = std::getenv("GPUCAST_NCCL");
    void* library = dlopen(named != nullptr ? named : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
    throw std::runtime_error(std::string("allgather needs NCCL: ") + dlerror() +
                             " (GPUCAST_NCCL=/path/to/libnccl.so.2 names it)");
  }
  Symbol find(const char* name) const {
    if (void* address = dlsym(library_, name)) return {address};
    throw std::runtime_error(std::string("the NCCL that was found lacks ") + name);
  }

  void* library_ = open_library();  // never closed: NCCL's own threads may still run its code

 public:
  void check(int result, const char* call) const {
    if (result != success) throw DeviceError(std::string(call) + ": " + error_string(result));
  }

  int (*comm_init_all)(Comm*, int, const int*) = find("ncclCommInitAll");
  int (*comm_destroy)(Comm) = find("ncclCommDestroy");
  int (*group_start)() = find("ncclGroupStart");
  int (*group_end)() = find("ncclGroupEnd");
  int (*all_gather)(const void*, void*, std::size_t, int, Comm,
                    cudaStream_t) = find("ncclAllGather");
  int (*all_reduce)(const void*, void*, std::size_t, int, int, Comm,
                    cudaStream_t) = find("ncclAllReduce");
  const char* (*error_string)(int) = find("ncclGetErrorString");
};

class NcclExchange : public Exchange {
 public:
  explicit NcclExchange(std::vector<CudaDevice*> devices)
      : devices_(std::move(devices)), comms_(devices_.size()) {
    std::vector<int> ids;
    ids.reserve(devices_.size());
    for (const CudaDevice* device : devices_)
      ids.push_back(device->device());
    nccl_.check(nccl_.comm_init_all(comms_.data(), static_cast<int>(ids.size()), ids.data()),
                "ncclCommInitAll");
  }
  ~NcclExchange() override {
    for (Comm comm : comms_)
      nccl_.comm_destroy(comm);
  }
  NcclExchange(const NcclExchange&) = delete;
  NcclExchange& operator=(const NcclExchange&) = delete;

  // In place: slices are contiguous, the first is the longest, and the padding of the last one
  // follows all positions.
  void positions() override {
    constexpr std::size_t floats = sizeof(Position) / sizeof(float);
    const auto longest = static_cast<std::size_t>(devices_.front()->workload().slice.count);
    group([&](std::size_t rank) {
      CudaDevice& device = *devices_[rank];
      nccl_.check(nccl_.all_gather(device.positions() + rank * longest, device.positions(),
                                   longest * floats, float32, comms_[rank], device.stream()),
                  "ncclAllGather");
      device.count({.exchange = bytes_of_others(device.workload())});
    });
  }

  void add_up() override {
    constexpr std::size_t values = sizeof(StepSums) / sizeof(std::int64_t);
    group([&](std::size_t rank) {
      StepSums* sums = devices_[rank]->sums();
      nccl_.check(
          nccl_.all_reduce(sums, sums, values, int64, sum, comms_[rank], devices_[rank]->stream()),
          "ncclAllReduce");
    });
  }

 private:
  template <class Body>
  void group(Body body) {
    nccl_.check(nccl_.group_start(), "ncclGroupStart");
    for (std::size_t rank = 0; rank < devices_.size(); ++rank)
      body(rank);
    nccl_.check(nccl_.group_end(), "ncclGroupEnd");
  }

  Nccl nccl_;
  std::vector<CudaDevice*> devices_;
  std::vector<Comm> comms_;
};

}  // namespace

std::unique_ptr<Exchange> nccl_exchange(std::vector<CudaDevice*> devices) {
  return std::make_unique<NcclExchange>(std::move(devices));
}

}  // namespace gpucast::mdapp::cuda
