#include "measurements.h"

#include <cuda_runtime.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
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

constexpr std::size_t small = 64;  // bytes

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
    if (k >= count / 10) all.push_back(taken);  // the first warm up
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

// In the other process: answers small messages, takes and gives streams as it is told.
void serve(const Descriptor& socket, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  std::array<std::byte, small> message{};
  for (;;) {
    read_all(socket.get(), message.data(), small);
    if (message[0] == std::byte{'e'}) return;
    if (message[0] == std::byte{'u'}) read_all(socket.get(), data.data(), bytes);
    if (message[0] == std::byte{'d'}) write_all(socket.get(), data.data(), bytes);
    if (message[0] != std::byte{'d'}) write_all(socket.get(), message.data(), small);
  }
}

// Connected to a forked process that serves.
class Other {
 public:
  explicit Other(std::size_t bytes) {
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
        serve(socket, bytes);
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
    // Other children have this end, too: closing it would not end the process.
    ::shutdown(socket_.get(), SHUT_RDWR);
    socket_.reset();
    ::waitpid(process_, nullptr, 0);
  }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  void say(char what) const {
    std::array<std::byte, small> message{};
    message[0] = static_cast<std::byte>(what);
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
      for (int k = -1; k < times; ++k) {  // the first is not told
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
  // A thread for each connection, as a share of the bytes takes longer than to start one.
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
    other.say('u');
    other.stream(mine, share);
    other.hear(end.data(), small);
  });
  result["socket_down"] = per_second([&](const Other& other, std::byte* mine) {
    other.say('d');
    other.hear(mine, share);
  });
  return result;
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
  require(cudaFreeHost(pinned), "cudaFreeHost");
  return result;
}

}  // namespace gpucast::probe
