// A kernel registered like nvcc's, for tests without a CUDA compiler.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name,
                            int thread_limit, uint3* thread, uint3* block, dim3* block_shape,
                            dim3* grid_shape, int* warp);
void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int ext,
                       std::size_t bytes, int constant, int global);
void __cudaUnregisterFatBinary(void** handle);
}

namespace gpucast::remote {

// The code that nvcc puts into a program; the client knows it as long as this exists. It is PTX
// only, which the fake driver does not need.
class FatBinary {
 public:
  // The code of saxpy, and more.
  explicit FatBinary(const std::string& more = "")
      : image_(image_of(more)),
        wrapper_{.image = image_.data()},
        handle_(__cudaRegisterFatBinary(&wrapper_)) {}
  ~FatBinary() { __cudaUnregisterFatBinary(handle_); }
  FatBinary(const FatBinary&) = delete;
  FatBinary& operator=(const FatBinary&) = delete;
  void** handle() const { return handle_; }
  std::size_t bytes() const { return image_.size(); }
  void add_kernel(const void* host, const char* name = "saxpy") const {
    __cudaRegisterFunction(handle_, static_cast<const char*>(host), nullptr, name, -1, nullptr,
                           nullptr, nullptr, nullptr, nullptr);
  }
  void add_variable(char* host, const char* name, std::size_t bytes) const {
    __cudaRegisterVar(handle_, host, nullptr, name, 0, bytes, 0, 0);
  }

 private:
  static std::string image_of(const std::string& more) {
    const std::string ptx =
        ".visible .entry saxpy(.param .s32 n, .param .f32 a, .param .u64 x, .param .u64 y) {\n" +
        more + "}\n";
    // Magic number, version and bytes of the container; kind, version and bytes of its member.
    const std::array<std::uint64_t, 10> head = {0x0010'0001'ba55'ed50, 64 + ptx.size(),
                                                0x0000'0040'0101'0001, ptx.size()};
    return std::string(reinterpret_cast<const char*>(head.data()), sizeof head) + ptx;
  }
  struct Wrapper {
    std::uint32_t magic = 0x466243b1;
    std::uint32_t version = 1;
    const void* image = nullptr;
    const void* names = nullptr;
  };

  std::string image_;
  Wrapper wrapper_;
  void** handle_;
};

inline void host_saxpy() {}  // only its address is used

// y += a x, on servers that start later.
class Saxpy {
 public:
  // `kernels`: the servers' kernels.
  explicit Saxpy(const char* kernels = GPUCAST_TEST_KERNELS) {
    ::setenv("GPUCAST_FAKE_KERNELS", kernels, 1);
    binary_.add_kernel(host());
  }
  static const void* host() { return reinterpret_cast<const void*>(&host_saxpy); }
  static cudaError_t launch(int n, float a, const float* x, float* y, cudaStream_t stream,
                            const void* kernel = host()) {
    std::array<void*, 4> arguments = {&n, &a, &x, &y};
    return cudaLaunchKernel(kernel, dim3(1), dim3(32), arguments.data(), 0, stream);
  }

 private:
  FatBinary binary_;
};

}  // namespace gpucast::remote
