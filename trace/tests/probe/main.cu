// gpucast-trace-probe MODE [STEPS [LAUNCHES [BUSY_US]]]: makes this number of steps of one kind,
// and prints as one line of JSON the calls it has made in total, and how long a step took (us;
// median, mean).
//
//   launches   LAUNCHES kernels of BUSY_US each, then a blocking copy of 4 bytes to the host
//   copies     copies of all kinds, a memset, a wait for the stream
//   events     two streams, one of which waits for an event of the other, and the host for an event
//   poll       a kernel and an event, which the host queries repeatedly
//   graph      a graph of LAUNCHES kernels, then a wait for the stream
//   threads    8 threads with a stream each, LAUNCHES kernels and a wait for it
//   driver     launches through the driver's API
//   ranges     like launches, with each step in an NVTX range
//   fork       a child, forked before any CUDA call, does `launches`, and the parent after it
//   kill       like launches, then SIGKILL after half a second
//   quit       like launches, then _exit at once
//   spin       launches until it is killed
#include <cuda.h>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define GPUCAST_NVTX
#endif

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

__global__ void busy(float* out, long long ns) {
  if (threadIdx.x == 0 && ns > 0) {
    unsigned long long begin = 0;
    unsigned long long now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
      asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < static_cast<unsigned long long>(ns));
  }
  if (threadIdx.x == 0) out[blockIdx.x] += 1.0F;
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

struct Options {
  std::string mode = "launches";
  int steps = 1000;
  int launches = 8;
  double busy_us = 10;
};

// The calls by name; guarded, for threads.
class Asked {
 public:
  void add(const std::string& what, long long count = 1) {
    const std::scoped_lock lock(mutex_);
    counts_[what] += count;
  }
  void print(const Options& options, std::vector<double> us) {
    std::ranges::sort(us);
    const double mean = us.empty() ? 0 : std::accumulate(us.begin(), us.end(), 0.0) / us.size();
    std::printf(
        "{\"mode\": \"%s\", \"steps\": %d, \"median_us\": %.3f, \"mean_us\": %.3f, \"asked\": {",
        options.mode.c_str(), options.steps, us.empty() ? 0 : us[us.size() / 2], mean);
    const char* comma = "";
    for (const auto& [what, count] : counts_) {
      std::printf("%s\"%s\": %lld", comma, what.c_str(), count);
      comma = ", ";
    }
    std::printf("}}\n");
    std::fflush(stdout);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, long long> counts_;
};

Asked asked;

template <class Step>
std::vector<double> timed(int steps, Step step) {
  std::vector<double> us;
  us.reserve(static_cast<std::size_t>(steps));
  for (int k = 0; k < steps; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    step(k);
    us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
                     .count());
  }
  return us;
}

float* memory(std::size_t bytes) {
  float* result = nullptr;
  CHECK(cudaMalloc(&result, bytes));
  asked.add("cudaMalloc");
  return result;
}

void launch(const Options& options, float* out, cudaStream_t stream, int count) {
  const auto ns = static_cast<long long>(options.busy_us * 1e3);
  for (int k = 0; k < count; ++k)
    busy<<<4, 32, 0, stream>>>(out, ns);
  CHECK(cudaGetLastError());
}

std::vector<double> launches(const Options& options) {
  float* const out = memory(1024);
  float result = 0;
  auto us = timed(options.steps, [&](int step) {
#ifdef GPUCAST_NVTX
    if (options.mode == "ranges") nvtxRangePushA(("step " + std::to_string(step)).c_str());
#endif
    launch(options, out, nullptr, options.launches);
    CHECK(cudaMemcpy(&result, out, sizeof(result), cudaMemcpyDeviceToHost));
#ifdef GPUCAST_NVTX
    if (options.mode == "ranges") nvtxRangePop();
#endif
    static_cast<void>(step);
  });
#ifdef GPUCAST_NVTX
  if (options.mode == "ranges") asked.add("ranges", options.steps);
#endif
  asked.add("kernels", 1LL * options.steps * options.launches);
  asked.add("cudaLaunchKernel", 1LL * options.steps * options.launches);
  asked.add("cudaMemcpy", options.steps);
  asked.add("d2h", options.steps);
  asked.add("d2h bytes", 4LL * options.steps);
  return us;
}

std::vector<double> copies(const Options& options) {
  constexpr std::size_t bytes = 1 << 20;
  float* const out = memory(bytes);
  void* pinned = nullptr;
  CHECK(cudaMallocHost(&pinned, bytes));
  std::vector<char> pageable(bytes);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  auto us = timed(options.steps, [&](int) {
    CHECK(cudaMemcpyAsync(out, pinned, 1000, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(pinned, out, 2000, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(pageable.data(), out, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpy(out, pageable.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyAsync(out + 1024, out, 512, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaMemsetAsync(out, 0, 4096, stream));
    CHECK(cudaStreamSynchronize(stream));
  });
  const long long steps = options.steps;
  asked.add("h2d bytes", steps * (1000 + bytes));
  asked.add("d2h bytes", steps * (2000 + bytes));
  asked.add("d2d", steps);
  asked.add("memset", steps);
  asked.add("memset bytes", steps * 4096);
  asked.add("cudaMemcpyAsync", steps * 4);
  asked.add("cudaMemcpy", steps);
  asked.add("cudaMemsetAsync", steps);
  asked.add("cudaStreamSynchronize", steps);
  asked.add("stream waits", steps);
  return us;
}

std::vector<double> events(const Options& options) {
  float* const out = memory(1024);
  cudaStream_t streams[2] = {};
  for (cudaStream_t& stream : streams)
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaEvent_t done[2] = {};
  for (cudaEvent_t& event : done)
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  auto us = timed(options.steps, [&](int) {
    launch(options, out, streams[0], 1);
    CHECK(cudaEventRecord(done[0], streams[0]));
    CHECK(cudaStreamWaitEvent(streams[1], done[0], 0));
    launch(options, out, streams[1], 1);
    CHECK(cudaEventRecord(done[1], streams[1]));
    CHECK(cudaEventSynchronize(done[1]));
  });
  const long long steps = options.steps;
  asked.add("kernels", steps * 2);
  asked.add("cudaLaunchKernel", steps * 2);
  asked.add("cudaEventRecord", steps * 2);
  asked.add("cudaStreamWaitEvent", steps);
  asked.add("cudaEventSynchronize", steps);
  asked.add("recorded", steps * 2);
  asked.add("stream waits for event", steps);
  asked.add("event waits", steps);
  return us;
}

std::vector<double> poll(const Options& options) {
  float* const out = memory(1024);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaEvent_t done = nullptr;
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  long long queries = 0;
  auto us = timed(options.steps, [&](int) {
    launch(options, out, stream, options.launches);
    CHECK(cudaEventRecord(done, stream));
    for (;; ++queries) {
      const cudaError_t status = cudaEventQuery(done);
      if (status == cudaSuccess) break;
      if (status != cudaErrorNotReady) CHECK(status);
    }
    static_cast<void>(cudaGetLastError());  // "not ready" would be the next launch's error
  });
  std::fprintf(stderr, "%lld queries found nothing done\n", queries);
  asked.add("cudaLaunchKernel", 1LL * options.steps * options.launches);
  asked.add("cudaEventRecord", options.steps);
  return us;
}

std::vector<double> graph(const Options& options) {
  float* const out = memory(1024);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaGraph_t captured = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  launch(options, out, stream, options.launches);
  CHECK(cudaStreamEndCapture(stream, &captured));
  cudaGraphExec_t ready = nullptr;
  CHECK(cudaGraphInstantiate(&ready, captured, 0));
  auto us = timed(options.steps, [&](int) {
    CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaStreamSynchronize(stream));
  });
  asked.add("cudaGraphLaunch", options.steps);
  asked.add("graph kernels", 1LL * options.steps * options.launches);
  asked.add("cudaStreamSynchronize", options.steps);
  return us;
}

std::vector<double> threads(const Options& options) {
  float* const out = memory(1024);
  std::vector<std::thread> all;
  constexpr int count = 8;
  std::vector<double> first;
  for (int number = 0; number < count; ++number) {
    all.emplace_back([&, number] {
      cudaStream_t stream = nullptr;
      CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      auto us = timed(options.steps, [&](int) {
        launch(options, out, stream, options.launches);
        CHECK(cudaStreamSynchronize(stream));
      });
      if (number == 0) first = us;
    });
  }
  for (std::thread& thread : all)
    thread.join();
  asked.add("kernels", 1LL * count * options.steps * options.launches);
  asked.add("cudaLaunchKernel", 1LL * count * options.steps * options.launches);
  asked.add("cudaStreamSynchronize", 1LL * count * options.steps);
  return first;
}

std::vector<double> driver(const Options& options) {
  float* out = memory(1024);
  cudaFunction_t function = nullptr;
  CHECK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(busy)));
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 13000
  CHECK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &entry, 12000, cudaEnableDefault,
                                         &result));
#else
  CHECK(cudaGetDriverEntryPoint("cuLaunchKernel", &entry, cudaEnableDefault, &result));
#endif
  const auto launch_kernel = reinterpret_cast<decltype(&cuLaunchKernel)>(entry);
  auto ns = static_cast<long long>(options.busy_us * 1e3);
  void* arguments[] = {&out, &ns};
  auto us = timed(options.steps, [&](int) {
    for (int k = 0; k < options.launches; ++k)
      launch_kernel(function, 4, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr);
    CHECK(cudaDeviceSynchronize());
  });
  asked.add("kernels", 1LL * options.steps * options.launches);
  asked.add("cuLaunchKernel", 1LL * options.steps * options.launches);
  asked.add("cudaDeviceSynchronize", options.steps);
  asked.add("device waits", options.steps);
  return us;
}

std::vector<double> run(const Options& options) {
  const std::string& mode = options.mode;
  if (mode == "copies") return copies(options);
  if (mode == "events") return events(options);
  if (mode == "poll") return poll(options);
  if (mode == "graph") return graph(options);
  if (mode == "threads") return threads(options);
  if (mode == "driver") return driver(options);
  if (mode == "spin")
    for (;;)
      launches(options);
  return launches(options);
}

}  // namespace

int main(int count, char** words) {
  Options options;
  if (count > 1) options.mode = words[1];
  if (count > 2) options.steps = std::atoi(words[2]);
  if (count > 3) options.launches = std::atoi(words[3]);
  if (count > 4) options.busy_us = std::atof(words[4]);
  if (options.mode == "fork") {
    const pid_t child = fork();
    if (child != 0) waitpid(child, nullptr, 0);
  }
  const std::vector<double> us = run(options);
  asked.print(options, us);
  if (options.mode == "kill") {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    std::raise(SIGKILL);
  }
  if (options.mode == "quit") _exit(0);
  return 0;
}
