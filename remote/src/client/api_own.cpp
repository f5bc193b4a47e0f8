// What the CUDA runtime does not have: gpucast's own questions, for `gpucast remote status` and for
// programs that want to know whether they run over remote GPUs.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <exception>
#include <string>

#include "client/entry.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

extern "C" {

// Of a device's server: its version, as text of at most so many bytes with its end, and how many
// clients it serves.
cudaError_t gpucast_remote_server(int device, char* version, std::size_t bytes, unsigned* clients) {
  return entry<"gpucast_remote_server">([&] {
    require_valid(version != nullptr && bytes > 0);
    ServerFacts facts;
    require(runtime().gpu(device).call(AskServer{}, facts));
    const std::size_t length = std::min(facts.version.size(), bytes - 1);
    std::copy_n(facts.version.begin(), length, version);
    version[length] = '\0';
    give(clients, facts.clients);
  });
}

// What carries calls to a device, in the words of records ("tls", "plain", "shm"), for as long as
// the program runs; nullptr where there is no such device.
const char* gpucast_remote_transport(int device) {
  try {
    return runtime().gpu(device).transport();
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // extern "C"
