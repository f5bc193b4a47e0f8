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

// One that shows what is lost, comes twice, or is another's.
inline Content pattern(std::size_t bytes, unsigned seed) {
  Content result(bytes);
  for (std::size_t k = 0; k < bytes; ++k)
    result[k] = static_cast<std::uint8_t>((k * 2654435761U + std::size_t{seed} * 40503U) >> 13U);
  return result;
}

// Between any two memories; blocking, and on a stream.
inline void copy(void* to, const void* from, std::size_t bytes) {
  EXPECT_EQ(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), cudaSuccess);
}
inline void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  EXPECT_EQ(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), cudaSuccess);
}

class DeviceMemory {
 public:
  DeviceMemory(int device, std::size_t bytes) : device_(device), bytes_(bytes) {
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&data_, bytes), cudaSuccess);
  }
  DeviceMemory(int device, const Content& content) : DeviceMemory(device, content.size()) {
    copy(data_, content.data(), bytes_);
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
    copy(result.data(), data_, bytes_);
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

// A stream of the device, which waits for no other unless it is told to.
class Stream {
 public:
  explicit Stream(int device, unsigned flags = cudaStreamNonBlocking) {
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, flags), cudaSuccess);
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void wait() const { EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess); }

 private:
  cudaStream_t stream_ = nullptr;
};

// An event of the current device.
class Event {
 public:
  explicit Event(unsigned flags = cudaEventDefault) {
    EXPECT_EQ(cudaEventCreateWithFlags(&event_, flags), cudaSuccess);
  }
  ~Event() { EXPECT_EQ(cudaEventDestroy(event_), cudaSuccess); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }
  void record(cudaStream_t stream) const {
    EXPECT_EQ(cudaEventRecord(event_, stream), cudaSuccess);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// A child process, which is killed if it hangs; it ends with 0 where the body says true.
template <class Body>
pid_t begin_child(const Body& body) {
  constexpr unsigned patience = 60;  // s
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(patience);
  std::exit(body() ? 0 : 1);
}
// The exit status, or minus the signal that killed the child.
inline int status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Processes whose round trips and bytes are counted, call by call.
class Counted {
 public:
  Counted() { ::setenv("GPUCAST_REMOTE_COUNTERS", file_.c_str(), 1); }
  ~Counted() { ::unlink(file_.c_str()); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  template <class Body>
  void run(const Body& body) const {
    ::unlink(file_.c_str());
    EXPECT_EQ(status_of(begin_child(body)), 0);
  }
  std::uint64_t number(const std::string& call, const std::string& field) const {
    std::ifstream lines(file_);
    for (std::string line; std::getline(lines, line);) {
      if (line.find('"' + call + '"') == std::string::npos) continue;
      const std::string before = '"' + field + "\":";
      return std::stoull(line.substr(line.find(before) + before.size()));
    }
    return 0;
  }

 private:
  std::string file_ = testing::TempDir() + "counters-" + std::to_string(::getpid()) + ".jsonl";
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
  void end(std::size_t k) { servers_.at(k).reset(); }

 private:
  std::vector<std::unique_ptr<ServerProcess>> servers_;
  std::string names_;
};

}  // namespace gpucast::remote
