// The work that entry points give to devices, immediately or as nodes of a graph: copies and
// launches, and operations on nodes. All functions throw Failure.
#pragma once

#include <driver_types.h>

#include <array>
#include <vector>

#include "client/runtime.h"

namespace gpucast::remote::client {

// ---- memory and copies (copies.cpp) ----

enum class Waiting { blocking, asynchronous };

// `height` rows of `width` bytes.
struct Rows {
  std::size_t to_pitch = 0;
  std::size_t from_pitch = 0;
  std::size_t width = 0;
  std::size_t height = 1;
};

inline Rows row(std::size_t bytes) {
  return {.to_pitch = bytes, .from_pitch = bytes, .width = bytes, .height = 1};
}

// Copies between the memory that the program's addresses stand for. On a stream that is being
// recorded these become nodes.
void copy(void* to, const void* from, const Rows& rows, cudaMemcpyKind kind, cudaStream_t stream,
          Waiting waiting);
void set(void* to, int value, std::size_t pitch, std::size_t width, std::size_t height,
         cudaStream_t stream, Waiting waiting);

// Returns a copy as nodes: several, one after another, if the host's rows have gaps.
std::vector<Work> copy_works(void* to, const void* from, const Rows& rows, cudaMemcpyKind kind);
Work memset_work(void* to, int value, std::size_t pitch, std::size_t width, std::size_t height);

// Allocates memory of the current device, at an address that has no other meaning in this process.
void allocate(void** memory, std::size_t bytes);
void deallocate(void* memory);
// The same in the stream's order, from a pool of the stream's device (nullptr: its current pool).
void allocate_pooled(void** memory, std::size_t bytes, cudaMemPool_t pool, const OnStream& on);
void deallocate_pooled(void* memory, const OnStream& on);

// Returns a variable of the current device.
Global symbol(const void* host);

// ---- launches (launches.cpp) ----

struct LaunchOptions {
  std::array<std::uint32_t, 3> cluster{};
  bool cooperative = false;
};

// `host`: the kernel's host symbol, or its handle.
const Function& function_of(const void* host);
void launch(const void* host, const LaunchShape& shape, void** arguments,
            const LaunchOptions& options);
// Returns a launch on the device as a node.
Work kernel_work(const void* host, const LaunchShape& shape, void** arguments,
                 const LaunchOptions& options, int device);

// ---- nodes of graphs, as entry points pass them (graph_nodes.cpp) ----

std::vector<Node*> nodes_of(const cudaGraphNode_t* handles, std::size_t count);
// Requires that edges, if any are given, are ordinary ones.
void require_plain(const cudaGraphEdgeData* edges, std::size_t count);

// Writes as many nodes as fit; without an array, only their number.
void give_nodes(const std::vector<const Node*>& all, cudaGraphNode_t* nodes, std::size_t* count);

Work work_of(const cudaKernelNodeParams* parameters);
Work work_of(const cudaMemcpy3DParms* parameters);
Work work_of(const cudaMemsetParams* parameters);
// Returns a copy that is a single node.
Work copy_work(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);

}  // namespace gpucast::remote::client
