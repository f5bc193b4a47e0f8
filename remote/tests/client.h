// The client within a test, and its servers.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/server_process.h"

namespace gpucast::remote {

using Content = std::vector<std::uint8_t>;

#define EXPECT_OK(call) EXPECT_EQ(call, cudaSuccess)
#define ASSERT_OK(call) ASSERT_EQ(call, cudaSuccess)

inline cudaError_t copy(void* to, const void* from, std::size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}
inline cudaError_t copy_async(void* to, const void* from, std::size_t bytes,
                              cudaStream_t stream = nullptr) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}

// Bytes that depend on their position.
inline Content pattern(std::size_t bytes, unsigned seed) {
  Content result(bytes);
  for (std::size_t k = 0; k < bytes; ++k)
    result[k] = static_cast<std::uint8_t>((k * 2654435761U + std::size_t{seed} * 40503) >> 13U);
  return result;
}

// A resource of the test, released with this object.
template <class Handle, cudaError_t (*end)(Handle)>
class Owned {
 public:
  explicit Owned(Handle handle = nullptr) : handle_(handle) {}
  ~Owned() {
    if (handle_ != nullptr) end(handle_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  operator Handle() const { return handle_; }
  void free() { EXPECT_OK(end(std::exchange(handle_, nullptr))); }

 protected:
  Handle handle_;
};

class DeviceMemory : public Owned<void*, cudaFree> {
 public:
  DeviceMemory(int device, std::size_t bytes) : device_(device), bytes_(bytes) {
    EXPECT_OK(cudaSetDevice(device));
    EXPECT_OK(cudaMalloc(&handle_, bytes));
  }
  DeviceMemory(int device, const Content& content) : DeviceMemory(device, content.size()) {
    EXPECT_OK(copy(handle_, content.data(), bytes_));
  }

  int device() const { return device_; }
  std::uint8_t* data() const { return static_cast<std::uint8_t*>(handle_); }
  float* floats() const { return static_cast<float*>(handle_); }
  Content content() const {
    Content result(bytes_);
    EXPECT_OK(cudaSetDevice(device_));
    EXPECT_OK(copy(result.data(), handle_, bytes_));
    return result;
  }

 private:
  int device_;
  std::size_t bytes_;
};

class PinnedMemory : public Owned<void*, cudaFreeHost> {
 public:
  explicit PinnedMemory(std::size_t bytes) : bytes_(bytes) {
    EXPECT_OK(cudaMallocHost(&handle_, bytes));
  }

  std::uint8_t* data() const { return static_cast<std::uint8_t*>(handle_); }
  float* floats() const { return static_cast<float*>(handle_); }
  Content content() const { return {data(), data() + bytes_}; }

 private:
  std::size_t bytes_;
};

// A stream of the device, non-blocking by default.
class Stream : public Owned<cudaStream_t, cudaStreamDestroy> {
 public:
  explicit Stream(int device, unsigned flags = cudaStreamNonBlocking) {
    EXPECT_OK(cudaSetDevice(device));
    EXPECT_OK(cudaStreamCreateWithFlags(&handle_, flags));
  }
  void wait() const { EXPECT_OK(cudaStreamSynchronize(handle_)); }
};

class Event : public Owned<cudaEvent_t, cudaEventDestroy> {
 public:
  explicit Event(unsigned flags = cudaEventDefault) {
    EXPECT_OK(cudaEventCreateWithFlags(&handle_, flags));
  }
};

// One server per device; each test is a process of its own (CTest), since a process connects once.
class Servers {
 public:
  explicit Servers(int count = 0) {
    for (int k = 0; k < count; ++k)
      serve();
  }
  // Starts another server with the present environment (and delays of the fake driver), and memory
  // at addresses of its own.
  void serve(const char* delays = nullptr) {
    constexpr std::array bases = {"0x7e9000000000", "0x7ea000000000", "0x7eb000000000"};
    ::setenv("GPUCAST_FAKE_BASE", bases.at(servers_.size()), 1);
    if (delays != nullptr) ::setenv("GPUCAST_FAKE_DELAY", delays, 1);
    serve_anywhere();
  }
  void serve_anywhere() {
    ::setenv("GPUCAST_FAKE_DEVICES", "3", 1);
    servers_.push_back(std::make_unique<ServerProcess>(static_cast<int>(servers_.size())));
    names_ += (names_.empty() ? "" : ",") + servers_.back()->address();
    ::setenv("GPUCAST_REMOTE", names_.c_str(), 1);
  }
  const ServerProcess& server(std::size_t k) const { return *servers_.at(k); }
  void end(std::size_t k) { servers_.at(k).reset(); }

 private:
  std::vector<std::unique_ptr<ServerProcess>> servers_;
  std::string names_;
};

class OverServers : public testing::Test {
 protected:
  Servers servers_;
};

// Sizes of copies that travel within their message, through either kind of staging, and one that
// does not.
class OverSizes : public OverServers, public testing::WithParamInterface<std::size_t> {};
inline auto way_sizes() { return testing::Values(4096, 300'000, std::size_t{4} << 20); }

// Forks; returns 0 in the child, which is killed if it hangs.
inline pid_t begin_child() {
  constexpr unsigned patience = 60;  // s
  const pid_t child = ::fork();
  if (child == 0) ::alarm(patience);
  return child;
}

// Returns the exit status, or minus the number of the signal that killed the child.
inline int status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// The counters of an entry point in a separate process, which runs the body and ends.
class Counted {
 public:
  template <class Body>
  explicit Counted(const char* entry_point, const Body& body) {
    const std::string file =
        testing::TempDir() + "counters-" + std::to_string(::getpid()) + ".jsonl";
    ::setenv("GPUCAST_REMOTE_COUNTERS", file.c_str(), 1);
    const pid_t child = begin_child();
    if (child == 0) std::exit(body() ? 0 : 1);
    EXPECT_EQ(status_of(child), 0);
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);)
      if (line.find(std::string("\"") + entry_point + "\"") != std::string::npos) line_ = line;
    ::unlink(file.c_str());
  }
  // Returns a field of the line, or 0 if there is none.
  std::uint64_t operator[](const std::string& field) const {
    const std::string before = "\"" + field + "\":";
    return line_.empty() ? 0 : std::stoull(line_.substr(line_.find(before) + before.size()));
  }

 private:
  std::string line_;
};

}  // namespace gpucast::remote
