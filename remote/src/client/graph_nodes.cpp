#include "client/works.h"

#include "client/entry.h"

namespace gpucast::remote::client {
namespace {

Work single_work(std::vector<Work> works) {
  refuse_if(works.size() != 1, "a graph's copy of rows that lie apart");
  return std::move(works.front());
}

}  // namespace

std::vector<Node*> nodes_of(const cudaGraphNode_t* handles, std::size_t count) {
  require_valid(handles != nullptr || count == 0);
  std::vector<Node*> result;
  result.reserve(count);
  for (std::size_t k = 0; k < count; ++k)
    result.push_back(&runtime().graphs.node(handles[k]));
  return result;
}

void require_plain(const cudaGraphEdgeData* edges, std::size_t count) {
  for (std::size_t k = 0; edges != nullptr && k < count; ++k) {
    refuse_if(edges[k].from_port != 0 || edges[k].to_port != 0 || edges[k].type != 0,
              "programmatic edges of graphs");
  }
}

void give_nodes(const std::vector<const Node*>& all, cudaGraphNode_t* nodes, std::size_t* count) {
  require_valid(count != nullptr);
  if (nodes != nullptr) {
    for (std::size_t k = 0; k < *count; ++k)
      nodes[k] = k < all.size() ? handle_of(all[k]) : nullptr;
    *count = std::min(*count, all.size());
  } else {
    *count = all.size();
  }
}

Work work_of(const cudaKernelNodeParams* parameters) {
  require_valid(parameters != nullptr);
  refuse_if(parameters->extra != nullptr, "cudaKernelNodeParams.extra");
  return kernel_work(parameters->func,
                     {.grid = parameters->gridDim,
                      .block = parameters->blockDim,
                      .shared = parameters->sharedMemBytes,
                      .stream = nullptr},
                     parameters->kernelParams, {}, this_thread().device);
}

Work work_of(const cudaMemcpy3DParms* parameters) {
  require_valid(parameters != nullptr);
  const cudaMemcpy3DParms& p = *parameters;
  refuse_if(p.srcArray != nullptr || p.dstArray != nullptr, "copies of arrays in a graph");
  const auto at = [](const cudaPitchedPtr& memory, const cudaPos& position) {
    return static_cast<std::byte*>(memory.ptr) +
           (position.z * memory.ysize + position.y) * memory.pitch + position.x;
  };
  const auto depth = p.extent.depth;
  const bool flat =
      depth == 1 || (p.srcPtr.ysize == p.extent.height && p.dstPtr.ysize == p.extent.height);
  refuse_if(!flat, "copies of boxes in a graph");
  require_valid(p.extent.width > 0 && p.extent.height > 0 && depth > 0);
  return single_work(copy_works(at(p.dstPtr, p.dstPos), at(p.srcPtr, p.srcPos),
                                {.to_pitch = p.dstPtr.pitch,
                                 .from_pitch = p.srcPtr.pitch,
                                 .width = p.extent.width,
                                 .height = p.extent.height * depth},
                                p.kind));
}

// A value of several equal bytes is set like a value of one byte.
Work work_of(const cudaMemsetParams* parameters) {
  require_valid(parameters != nullptr);
  const unsigned size = parameters->elementSize;
  require_valid((size == 1 || size == 2 || size == 4) && parameters->width > 0 &&
                parameters->height > 0);
  constexpr unsigned byte_bits = 8;
  constexpr unsigned lowest = 0xff;
  const unsigned value = parameters->value & lowest;
  for (unsigned k = 1; k < size; ++k) {
    refuse_if((parameters->value >> (byte_bits * k) & lowest) != value,
              "a graph's memset of elements whose bytes differ");
  }
  return memset_work(parameters->dst, static_cast<int>(value), parameters->pitch,
                     parameters->width * size, parameters->height);
}

Work copy_work(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  require_valid(bytes > 0);
  return single_work(copy_works(to, from, row(bytes), kind));
}

}  // namespace gpucast::remote::client
