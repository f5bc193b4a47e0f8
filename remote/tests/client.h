// The client within a test, and its servers.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/server_process.h"

namespace gpucast::remote {

using Content = std::vector<std::uint8_t>;

class DeviceMemory {
 public:
  DeviceMemory(int device, std::size_t bytes) : device_(device), bytes_(bytes) {
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&data_, bytes), cudaSuccess);
  }
  DeviceMemory(int device, const Content& content) : DeviceMemory(device, content.size()) {
    EXPECT_EQ(cudaMemcpy(data_, content.data(), bytes_, cudaMemcpyDefault), cudaSuccess);
  }
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  int device() const { return device_; }
  std::uint8_t* data() const { return static_cast<std::uint8_t*>(data_); }
  void free() { EXPECT_EQ(cudaFree(std::exchange(data_, nullptr)), cudaSuccess); }
  Content content() const {
    Content result(bytes_);
    EXPECT_EQ(cudaSetDevice(device_), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(result.data(), data_, bytes_, cudaMemcpyDefault), cudaSuccess);
    return result;
  }

 private:
  int device_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t bytes) : bytes_(bytes) {
    EXPECT_EQ(cudaMallocHost(&data_, bytes), cudaSuccess);
  }
  ~PinnedMemory() { cudaFreeHost(data_); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  std::uint8_t* data() const { return static_cast<std::uint8_t*>(data_); }
  Content content() const { return {data(), data() + bytes_}; }

 private:
  std::size_t bytes_;
  void* data_ = nullptr;
};

// A non-blocking stream of the device.
class Stream {
 public:
  explicit Stream(int device) {
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void wait() const { EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess); }

 private:
  cudaStream_t stream_ = nullptr;
};

// One server a device; each test is a process of its own (CTest), since a process connects once.
class Servers {
 public:
  // One more, with the environment that is set now, and memory at addresses of its own.
  void serve() {
    constexpr std::array bases = {"0x7e9000000000", "0x7ea000000000", "0x7eb000000000"};
    ::setenv("GPUCAST_FAKE_BASE", bases.at(servers_.size()), 1);
    serve_anywhere();
  }
  void serve_anywhere() {
    ::setenv("GPUCAST_FAKE_DEVICES", "3", 1);
    servers_.push_back(std::make_unique<ServerProcess>(static_cast<int>(servers_.size())));
    names_ += (names_.empty() ? "" : ",") + servers_.back()->address();
    ::setenv("GPUCAST_REMOTE", names_.c_str(), 1);
  }
  const ServerProcess& server(std::size_t k) const { return *servers_.at(k); }

 private:
  std::vector<std::unique_ptr<ServerProcess>> servers_;
  std::string names_;
};

}  // namespace gpucast::remote
