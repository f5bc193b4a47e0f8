// Nodes of graphs as entry points name them, and what they are told to do.
#pragma once

#include <driver_types.h>

#include <vector>

#include "client/runtime.h"

namespace gpucast::remote::client {

// All of these throw Failure.
std::vector<Node*> nodes_of(const cudaGraphNode_t* handles, std::size_t count);
// That edges, where some are given, are the usual ones.
void require_plain(const cudaGraphEdgeData* edges, std::size_t count);

inline cudaGraphNode_t handle_of(const Node* node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<Node*>(node));
}
// As many as there is room for; without room, how many there are.
void give_nodes(const std::vector<const Node*>& all, cudaGraphNode_t* nodes, std::size_t* count);

// What entry points that have other arguments in another version do.
// Adds or takes away edges, as the method that is named does.
void change_edges(cudaGraph_t graph, void (ProgramGraph::*change)(Node& from, Node& to),
                  const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                  const cudaGraphEdgeData* edges, std::size_t count);
void give_dependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges,
                       std::size_t* count);
void give_edges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                cudaGraphEdgeData* edges, std::size_t* count);
void give_capture(const OnStream& on, cudaStreamCaptureStatus* status, unsigned long long* id,
                  cudaGraph_t* graph, const cudaGraphNode_t** after,
                  const cudaGraphEdgeData** edges, std::size_t* count);
void update_capture(const OnStream& on, const cudaGraphNode_t* nodes,
                    const cudaGraphEdgeData* edges, std::size_t count, unsigned flags);

Work work_of(const cudaKernelNodeParams* parameters);
Work work_of(const cudaMemcpy3DParms* parameters);
Work work_of(const cudaMemsetParams* parameters);
// A copy that is one node.
Work copy_work(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);

}  // namespace gpucast::remote::client
