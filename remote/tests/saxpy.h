// A kernel as nvcc's code registers it, for tests without a CUDA compiler.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>

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

// What nvcc puts into a program; known to the client as long as it lives.
class FatBinary {
 public:
  FatBinary() : handle_(__cudaRegisterFatBinary(&wrapper_)) {}
  ~FatBinary() { __cudaUnregisterFatBinary(handle_); }
  FatBinary(const FatBinary&) = delete;
  FatBinary& operator=(const FatBinary&) = delete;
  void** handle() const { return handle_; }

 private:
  // PTX alone, of which the fake driver needs nothing.
  static constexpr std::string_view ptx =
      ".visible .entry saxpy(.param .s32 n, .param .f32 a, .param .u64 x, .param .u64 y) {}";
  struct Container {
    std::uint32_t magic = 0xba55ed50;
    std::uint16_t version = 1;
    std::uint16_t header_bytes = 16;
    std::uint64_t bytes = 64 + ptx.size();
    std::uint16_t member_kind = 1;
    std::uint16_t member_version = 0x101;
    std::uint32_t member_header_bytes = 64;
    std::uint64_t member_bytes = ptx.size();
    std::array<std::uint64_t, 6> nothing_more{};
    std::array<char, ptx.size()> text = [] {
      std::array<char, ptx.size()> result{};
      std::ranges::copy(ptx, result.begin());
      return result;
    }();
  };
  struct Wrapper {
    std::uint32_t magic = 0x466243b1;
    std::uint32_t version = 1;
    const void* image = nullptr;
    const void* names = nullptr;
  };

  Container container_;
  Wrapper wrapper_{.image = &container_};
  void** handle_;
};

inline void host_saxpy() {}  // only its address is used

// y += a x, on servers that are begun later.
class Saxpy {
 public:
  // With the kernels that servers have.
  explicit Saxpy(const char* kernels = GPUCAST_TEST_KERNELS) {
    ::setenv("GPUCAST_FAKE_KERNELS", kernels, 1);
    __cudaRegisterFunction(binary_.handle(), reinterpret_cast<const char*>(&host_saxpy), nullptr,
                           "saxpy", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  }
  static cudaError_t launch(int n, float a, const float* x, float* y, cudaStream_t stream) {
    std::array<void*, 4> arguments = {&n, &a, &x, &y};
    return cudaLaunchKernel(reinterpret_cast<const void*>(&host_saxpy), dim3(1), dim3(32),
                            arguments.data(), 0, stream);
  }

 private:
  FatBinary binary_;
};

}  // namespace gpucast::remote
