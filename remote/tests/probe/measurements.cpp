#include "measurements.h"

#include <cuda_runtime.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "checks.h"
#include "gpucast/devices/cuda/resources.h"
#include "gpucast/support/descriptor.h"
#include "kernels.h"

namespace gpucast::probe {
namespace {

using devices::cuda::DeviceArray;
using support::Descriptor;
using Clock = std::chrono::steady_clock;

constexpr std::size_t small = 64;    // bytes
constexpr std::size_t bytes_at = 8;  // where a message holds the number of bytes

double seconds_of(const std::function<void()>& call) {
  const auto begin = Clock::now();
  call();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median_of(
    int count, const std::function<void()>& call, const std::function<void()>& between = [] {}) {
  std::vector<double> all;
  for (int k = 0; k < count + count / 10; ++k) {
    const double taken = seconds_of(call);
    if (k >= count / 10) all.push_back(taken);  // the first ones warm up
    between();
  }
  std::ranges::nth_element(all, all.begin() + count / 2);
  return all[static_cast<std::size_t>(count / 2)];
}

void wait() { require(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

// ---- sockets ----

void write_all(int to, const std::byte* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = ::send(to, data, bytes, MSG_NOSIGNAL);
    require(sent > 0, "send");
    data += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

void read_all(int from, std::byte* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = ::recv(from, data, bytes, 0);
    require(got > 0, "recv");
    data += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

void send_at_once(const Descriptor& socket) {
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// In the other process: answers small messages, and receives and sends streams as requested.
void serve(const Descriptor& socket, std::size_t most) {
  std::vector<std::byte> data(most);
  std::array<std::byte, small> message{};
  for (;;) {
    read_all(socket.get(), message.data(), small);
    std::size_t bytes = 0;
    std::memcpy(&bytes, message.data() + bytes_at, sizeof bytes);
    if (message[0] == std::byte{'e'}) return;
    if (message[0] == std::byte{'u'}) read_all(socket.get(), data.data(), bytes);
    if (message[0] == std::byte{'d'}) write_all(socket.get(), data.data(), bytes);
    if (message[0] != std::byte{'d'}) write_all(socket.get(), message.data(), small);
  }
}

// Is connected to a forked process that runs serve().
class Other {
 public:
  explicit Other(std::size_t most) {
    const Descriptor listening(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    require(::bind(listening.get(), generic, size) == 0 && ::listen(listening.get(), 1) == 0 &&
                ::getsockname(listening.get(), generic, &size) == 0,
            "a socket on loopback");
    process_ = ::fork();  // NOLINT(cppcoreguidelines-prefer-member-initializer): once it listens
    require(process_ >= 0, "fork");
    if (process_ == 0) {
      try {
        const Descriptor socket(::accept(listening.get(), nullptr, nullptr));
        send_at_once(socket);
        serve(socket, most);
      } catch (const std::exception&) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    socket_ = Descriptor(::socket(AF_INET, SOCK_STREAM, 0));
    require(::connect(socket_.get(), generic, size) == 0, "connect");
    send_at_once(socket_);
  }
  ~Other() {
    // Other children have this end, too, so that closing it would not end the process.
    ::shutdown(socket_.get(), SHUT_RDWR);
    socket_.reset();
    ::waitpid(process_, nullptr, 0);
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  void say(char what, std::size_t bytes = 0) const {
    std::array<std::byte, small> message{};
    message[0] = static_cast<std::byte>(what);
    std::memcpy(message.data() + bytes_at, &bytes, sizeof bytes);
    write_all(socket_.get(), message.data(), small);
  }
  void hear(std::byte* data, std::size_t bytes) const { read_all(socket_.get(), data, bytes); }
  void stream(const std::byte* data, std::size_t bytes) const {
    write_all(socket_.get(), data, bytes);
  }

 private:
  Descriptor socket_;
  pid_t process_ = 0;
};

}  // namespace

void print_copies(const std::vector<std::size_t>& sizes, int times) {
  const std::size_t most = *std::ranges::max_element(sizes);
  const DeviceArray<std::byte> on_device(most);
  void* pinned = nullptr;
  require(cudaMallocHost(&pinned, most), "cudaMallocHost");
  for (const bool up : {true, false}) {
    for (const std::size_t bytes : sizes) {
      std::printf("{\"route\": \"%s\", \"bytes\": %zu, \"seconds\": [", up ? "h2d" : "d2h", bytes);
      for (int k = -1; k < times; ++k) {  // the first one is not printed
        const double taken = seconds_of([&] {
          require(up ? cudaMemcpy(on_device.data(), pinned, bytes, cudaMemcpyHostToDevice)
                     : cudaMemcpy(pinned, on_device.data(), bytes, cudaMemcpyDeviceToHost),
                  "cudaMemcpy");
        });
        if (k >= 0) std::printf("%s%.9g", k == 0 ? "" : ", ", taken);
      }
      std::printf("]}\n");
    }
  }
  require(cudaFreeHost(pinned), "cudaFreeHost");
}

Figures measure_sockets(std::size_t bytes, int connections) {
  const std::size_t share = bytes / static_cast<std::size_t>(connections);
  std::vector<std::unique_ptr<const Other>> others;
  others.reserve(static_cast<std::size_t>(connections));
  for (int k = 0; k < connections; ++k)
    others.push_back(std::make_unique<const Other>(share));
  std::vector<std::byte> data(share * others.size());
  std::array<std::byte, small> answer{};
  Figures result;
  result["socket_round_trip_64"] = median_of(2000, [&] {
    others[0]->say('r');
    others[0]->hear(answer.data(), small);
  });
  // Uses a thread per connection, since sending the bytes takes longer than starting one.
  const auto by_all = [&](const std::function<void(const Other&, std::byte*)>& transfer) {
    std::vector<std::jthread> threads;
    threads.reserve(others.size());
    for (std::size_t k = 0; k < others.size(); ++k)
      threads.emplace_back([&, k] { transfer(*others[k], data.data() + k * share); });
  };
  constexpr int repetitions = 7;
  const auto per_second = [&](const std::function<void(const Other&, std::byte*)>& transfer) {
    return static_cast<double>(data.size()) / median_of(repetitions, [&] { by_all(transfer); });
  };
  result["socket_up"] = per_second([&](const Other& other, std::byte* mine) {
    std::array<std::byte, small> end{};
    other.say('u', share);
    other.stream(mine, share);
    other.hear(end.data(), small);
  });
  result["socket_down"] = per_second([&](const Other& other, std::byte* mine) {
    other.say('d', share);
    other.hear(mine, share);
  });
  return result;
}

namespace {

// Threads that wait for tasks: starting them takes longer than a short copy.
class Crew {
 public:
  explicit Crew(std::size_t threads) {
    for (std::size_t k = 0; k < threads; ++k)
      threads_.emplace_back([this, k](const std::stop_token& stop) { work(k, stop); });
  }
  // Calls `task(k)` for each k up to `count`, the first in this thread, and waits for all.
  void run(std::size_t count, const std::function<void(std::size_t)>& task) {
    {
      const std::lock_guard lock(mutex_);
      task_ = &task;
      count_ = count;
      left_ = count - 1;
      ++round_;
    }
    begin_.notify_all();
    task(0);
    while (left_ != 0)
      std::this_thread::yield();
  }

 private:
  void work(std::size_t k, const std::stop_token& stop) {
    std::uint64_t seen = 0;
    for (;;) {
      std::unique_lock lock(mutex_);
      if (!begin_.wait(lock, stop, [&] { return round_ != seen; })) return;
      seen = round_;
      if (k + 1 >= count_) continue;
      const auto& task = *task_;
      lock.unlock();
      task(k + 1);
      --left_;
    }
  }

  std::mutex mutex_;
  std::condition_variable_any begin_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::size_t count_ = 0;
  std::uint64_t round_ = 0;
  std::atomic<std::size_t> left_{0};
  std::vector<std::jthread> threads_;
};

}  // namespace

void print_socket_copies(int connections, int times, const std::vector<std::size_t>& sizes) {
  const std::size_t most = *std::ranges::max_element(sizes);
  std::vector<std::unique_ptr<const Other>> others;
  others.reserve(static_cast<std::size_t>(connections));
  for (int k = 0; k < connections; ++k)
    others.push_back(std::make_unique<const Other>(most));
  std::vector<std::byte> data(most);
  Crew crew(others.size() - 1);
  for (const bool up : {true, false}) {
    for (const std::size_t bytes : sizes) {
      std::printf("{\"route\": \"%s\", \"bytes\": %zu, \"seconds\": {", up ? "h2d" : "d2h", bytes);
      const char* separator = "";
      for (std::size_t used = 1; used <= others.size(); used *= 2) {
        const std::size_t share = bytes / used;
        const std::function<void(std::size_t)> task = [&](std::size_t k) {
          std::array<std::byte, small> end{};
          others[k]->say(up ? 'u' : 'd', share);
          if (up) others[k]->stream(data.data() + k * share, share);
          if (up) others[k]->hear(end.data(), small);
          if (!up) others[k]->hear(data.data() + k * share, share);
        };
        std::printf("%s\"%zu\": %.9g", separator, used,
                    median_of(times, [&] { crew.run(used, task); }));
        separator = ", ";
      }
      std::printf("}}\n");
    }
  }
}

void print_copy_times(int times, const std::vector<std::size_t>& sizes) {
  const std::size_t most = *std::ranges::max_element(sizes);
  const DeviceArray<std::byte> on_device(most);
  void* pinned = nullptr;
  require(cudaMallocHost(&pinned, most), "cudaMallocHost");
  std::vector<std::byte> pageable(most);
  for (const bool up : {true, false}) {
    for (const bool is_pinned : {true, false}) {
      void* const host = is_pinned ? pinned : pageable.data();
      for (const std::size_t bytes : sizes) {
        const double seconds = median_of(times, [&] {
          require(
              up ? cudaMemcpyAsync(on_device.data(), host, bytes, cudaMemcpyHostToDevice, nullptr)
                 : cudaMemcpyAsync(host, on_device.data(), bytes, cudaMemcpyDeviceToHost, nullptr),
              "cudaMemcpyAsync");
          wait();
        });
        std::printf("{\"route\": \"%s\", \"memory\": \"%s\", \"bytes\": %zu, \"seconds\": %.9g}\n",
                    up ? "h2d" : "d2h", is_pinned ? "pinned" : "pageable", bytes, seconds);
      }
    }
  }
  require(cudaFreeHost(pinned), "cudaFreeHost");
}

Figures measure_calls(std::size_t bytes) {
  const DeviceArray<std::byte> on_device(bytes);
  std::array<std::byte, small> message{};
  void* pinned = nullptr;
  require(cudaMallocHost(&pinned, bytes), "cudaMallocHost");
  Figures result;
  constexpr int many = 1000;
  result["h2d_64"] = median_of(
      many,
      [&] {
        require(cudaMemcpy(on_device.data(), message.data(), small, cudaMemcpyHostToDevice),
                "cudaMemcpy");
      },
      wait);
  result["d2h_64"] = median_of(many, [&] {
    require(cudaMemcpy(message.data(), on_device.data(), small, cudaMemcpyDeviceToHost),
            "cudaMemcpy");
  });
  result["launch_submit"] = median_of(
      many,
      [&] {
        queue_empty(nullptr);
        require(cudaGetLastError(), "launch");
      },
      wait);
  constexpr int in_a_row = 1000;
  result["launch_submit_in_a_row"] = median_of(
                                         20,
                                         [&] {
                                           for (int k = 0; k < in_a_row; ++k)
                                             queue_empty(nullptr);
                                         },
                                         wait) /
                                     in_a_row;
  result["launch_and_wait"] = median_of(many, [&] {
    queue_empty(nullptr);
    wait();
  });
  constexpr int repetitions = 7;
  const auto per_second = [&](void* to, const void* from) {
    return static_cast<double>(bytes) / median_of(repetitions, [&] {
             require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, nullptr),
                     "cudaMemcpyAsync");
             wait();
           });
  };
  result["h2d_pinned"] = per_second(on_device.data(), pinned);
  result["d2h_pinned"] = per_second(pinned, on_device.data());
  std::vector<std::byte> pageable(bytes);
  result["h2d_pageable"] = per_second(on_device.data(), pageable.data());
  result["d2h_pageable"] = per_second(pageable.data(), on_device.data());
  const auto seconds = [&](void* to, const void* from) {
    constexpr std::size_t middle = std::size_t{1} << 20;
    return median_of(200, [&] {
      require(cudaMemcpyAsync(to, from, middle, cudaMemcpyDefault, nullptr), "cudaMemcpyAsync");
      wait();
    });
  };
  result["h2d_pinned_1MiB"] = seconds(on_device.data(), pinned);
  result["d2h_pinned_1MiB"] = seconds(pinned, on_device.data());
  result["h2d_pageable_1MiB"] = seconds(on_device.data(), pageable.data());
  result["d2h_pageable_1MiB"] = seconds(pageable.data(), on_device.data());
  require(cudaFreeHost(pinned), "cudaFreeHost");
  return result;
}

}  // namespace gpucast::probe
