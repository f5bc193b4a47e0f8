#include "engine/cuda/open.h"

#include <algorithm>

#include "engine/numa.h"

namespace gpucast::microbench::cuda {
namespace {

Buffer gpu_buffer(int device, std::size_t bytes) {
  void* data = nullptr;
  check(cudaSetDevice(device), "cudaSetDevice");
  check(cudaMalloc(&data, bytes), "cudaMalloc");
  const auto free = [device](void* memory) {
    cudaSetDevice(device);
    cudaFree(memory);
  };
  return {std::shared_ptr<void>(data, free), bytes, true};
}

unsigned flags_of(records::Memory memory) {
  using records::Memory;
  switch (memory) {
    case Memory::portable:
      return cudaHostAllocPortable;
    case Memory::write_combined:
      return cudaHostAllocWriteCombined;
    case Memory::mapped:
      return cudaHostAllocMapped;
    case Memory::mapped_write_combined:
      return cudaHostAllocMapped | cudaHostAllocWriteCombined;
    default:
      return cudaHostAllocDefault;
  }
}

std::optional<int> near_node(int device) {
  std::array<char, 32> pci{};
  check(cudaDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()), device),
        "cudaDeviceGetPCIBusId");
  return node_of_pci(pci.data());
}

}  // namespace

bool is_mapped(records::Memory memory) { return (flags_of(memory) & cudaHostAllocMapped) != 0; }

Buffer host_buffer(int device, records::Memory memory, std::size_t bytes) {
  const PreferNode near(near_node(device));
  check(cudaSetDevice(device), "cudaSetDevice");
  if (memory == records::Memory::pageable) {
    const auto pages = std::make_shared<UntouchedMemory>(bytes);
    touch_pages(pages->data(), bytes);  // pages that were never touched do not exist yet
    return {std::shared_ptr<void>(pages, pages->data()), bytes, false};
  }
  void* data = nullptr;
  check(cudaHostAlloc(&data, bytes, flags_of(memory)), "cudaHostAlloc");
  return {std::shared_ptr<void>(data, cudaFreeHost), bytes, false};
}

std::optional<int> BufferPool::node_near(int device) {
  const auto known = nodes_.find(device);
  if (known != nodes_.end()) return known->second;
  return nodes_.emplace(device, near_node(device)).first->second;
}

Buffer& BufferPool::on_host(int device, records::Memory memory, Role role, std::size_t number,
                            std::size_t bytes) {
  constexpr int host_itself = -1;
  auto& buffer = buffers_[{node_near(device).value_or(-1), host_itself, memory, role, number}];
  if (buffer.bytes() < bytes) {
    buffer = {};  // frees it first
    buffer = host_buffer(device, memory, bytes);
    note_placement(device, memory, buffer);
  }
  return buffer;
}

void BufferPool::note_placement(int device, records::Memory memory, const Buffer& buffer) {
  const bool known = std::ranges::any_of(placements_, [&](const Placement& placement) {
    return placement.device == device && placement.memory == memory;
  });
  if (known) return;
  placements_.push_back({.device = device,
                         .memory = memory,
                         .wanted = node_near(device),
                         .obtained = node_of(buffer.data())});
}

Buffer& BufferPool::on_gpu(int device, Role role, std::size_t number, std::size_t bytes) {
  auto& buffer = buffers_[{-1, device, records::Memory::unknown, role, number}];
  if (buffer.bytes() < bytes) {
    buffer = {};  // frees it first
    buffer = gpu_buffer(device, bytes);
  }
  return buffer;
}

void BufferPool::fill(Buffer& buffer, std::size_t bytes, std::uint32_t seed, int device) {
  Buffer& there = buffer.on_gpu() ? buffer : on_gpu(device, Role::scratch, 0, bytes);
  check(cudaSetDevice(device), "cudaSetDevice");
  queue_fill(there.data(), static_cast<std::int64_t>(bytes), seed, nullptr);
  if (!buffer.on_gpu())
    check(cudaMemcpy(buffer.data(), there.data(), bytes, cudaMemcpyDefault), "cudaMemcpy");
  check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
}

bool BufferPool::holds(const Buffer& buffer, std::size_t bytes, std::uint32_t seed, int device) {
  constexpr std::size_t counter = 1;  // a separate scratch buffer
  const Buffer& wrong = on_gpu(device, Role::scratch, counter, sizeof(unsigned long long));
  const Buffer* there = &buffer;
  if (!buffer.on_gpu()) {
    there = &on_gpu(device, Role::scratch, 0, bytes);
    check(cudaMemcpy(there->data(), buffer.data(), bytes, cudaMemcpyDefault), "cudaMemcpy");
  }
  check(cudaSetDevice(device), "cudaSetDevice");
  check(cudaMemset(wrong.data(), 0, sizeof(unsigned long long)), "cudaMemset");
  queue_compare(there->data(), static_cast<std::int64_t>(bytes), seed,
                static_cast<unsigned long long*>(wrong.data()), nullptr);
  unsigned long long count = 1;
  check(cudaMemcpy(&count, wrong.data(), sizeof count, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return count == 0;
}

}  // namespace gpucast::microbench::cuda
