// Entry points for graphs that programs build node by node, and for queries about graphs.
#include <cuda_runtime_api.h>

#include "client/entry.h"
#include "client/works.h"

using namespace gpucast::remote;
using namespace gpucast::remote::client;

namespace {

void add_node(cudaGraphNode_t* made, cudaGraph_t graph, const cudaGraphNode_t* after,
              std::size_t count, Work work) {
  require_valid(made != nullptr);
  *made = handle_of(&runtime().graphs.add(graph, std::move(work), nodes_of(after, count)));
}

// Returns the node, which must have this type.
Node& node_of(cudaGraphNode_t handle, cudaGraphNodeType type) {
  Node& node = runtime().graphs.node(handle);
  require_valid(node.work.type == type);
  return node;
}

void set_node(cudaGraphNode_t handle, Work work) {
  Node& node = node_of(handle, work.type);
  work.device = node.work.device;
  node.work = std::move(work);
}

std::vector<const Node*> all_of(cudaGraph_t graph, bool roots) {
  std::vector<const Node*> result;
  for (const auto& node : runtime().graphs.graph(graph).nodes())
    if (!roots || node->after.empty()) result.push_back(node.get());
  return result;
}

}  // namespace

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return entry([&] {
    require_valid(flags == 0);
    runtime().current();
    give(graph, nullptr);
    *graph = runtime().graphs.create();
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return ENTRY(runtime().graphs.destroy(graph)); }
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  return entry([&] {
    give(clone, nullptr);
    *clone = runtime().graphs.clone(graph);
  });
}

// ---- nodes ----

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* made, cudaGraph_t graph,
                                  const cudaGraphNode_t* after, std::size_t count) {
  return ENTRY(add_node(made, graph, after, count, {}));
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* made, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, std::size_t count,
                                   const cudaKernelNodeParams* parameters) {
  return ENTRY(add_node(made, graph, after, count, work_of(parameters)));
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* made, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, std::size_t count,
                                   const cudaMemcpy3DParms* parameters) {
  return ENTRY(add_node(made, graph, after, count, work_of(parameters)));
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* made, cudaGraph_t graph,
                                     const cudaGraphNode_t* after, std::size_t count, void* to,
                                     const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return ENTRY(add_node(made, graph, after, count, copy_work(to, from, bytes, kind)));
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* made, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, std::size_t count,
                                   const cudaMemsetParams* parameters) {
  return ENTRY(add_node(made, graph, after, count, work_of(parameters)));
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                         const cudaKernelNodeParams* parameters) {
  return ENTRY(set_node(node, work_of(parameters)));
}
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                         const cudaMemcpy3DParms* parameters) {
  return ENTRY(set_node(node, work_of(parameters)));
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from,
                                           std::size_t bytes, cudaMemcpyKind kind) {
  return ENTRY(set_node(node, copy_work(to, from, bytes, kind)));
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* parameters) {
  return ENTRY(set_node(node, work_of(parameters)));
}

// The arguments keep their addresses until the node changes.
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t handle, cudaKernelNodeParams* result) {
  return entry([&] {
    Work& work = node_of(handle, cudaGraphNodeTypeKernel).work;
    const Launch& launch = work.content.kernel;
    work.pointers.clear();
    for (const std::size_t offset : work.offsets)
      work.pointers.push_back(work.arguments.data() + offset);
    give(result, {.func = const_cast<void*>(work.function->host),
                  .gridDim = dim3(launch.grid[0], launch.grid[1], launch.grid[2]),
                  .blockDim = dim3(launch.block[0], launch.block[1], launch.block[2]),
                  .sharedMemBytes = launch.shared,
                  .kernelParams = work.pointers.data(),
                  .extra = nullptr});
  });
}
cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t handle, cudaMemsetParams* result) {
  return entry([&] {
    const Memset& memset = node_of(handle, cudaGraphNodeTypeMemset).work.content.memset;
    give(result, {.dst = reinterpret_cast<void*>(memset.to),
                  .pitch = memset.pitch,
                  .value = memset.value,
                  .elementSize = 1,
                  .width = memset.width,
                  .height = memset.height});
  });
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return ENTRY(give(type, runtime().graphs.node(node).work.type));
}
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  return ENTRY(runtime().graphs.remove(node));
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return ENTRY(give_nodes(all_of(graph, false), nodes, count));
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return ENTRY(give_nodes(all_of(graph, true), nodes, count));
}

// ---- graphs that are ready to launch ----

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
  return ENTRY(give(flags, runtime().graphs.exec(exec)->flags));
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  return ENTRY(runtime().graphs.exec(exec)->set(runtime().graphs.node(node), work_of(parameters)));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* parameters) {
  return ENTRY(runtime().graphs.exec(exec)->set(runtime().graphs.node(node), work_of(parameters)));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                               const void* from, std::size_t bytes,
                                               cudaMemcpyKind kind) {
  return ENTRY(runtime().graphs.exec(exec)->set(runtime().graphs.node(node),
                                                copy_work(to, from, bytes, kind)));
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams* parameters) {
  return ENTRY(runtime().graphs.exec(exec)->set(runtime().graphs.node(node), work_of(parameters)));
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
  return entry([&] {
    give(result,
         {.result = cudaGraphExecUpdateError, .errorNode = nullptr, .errorFromNode = nullptr});
    if (!runtime().graphs.exec(exec)->update(runtime().graphs.graph(graph))) {
      result->result = cudaGraphExecUpdateErrorTopologyChanged;
      throw Failure{cudaErrorGraphExecUpdateFailure};
    }
    result->result = cudaGraphExecUpdateSuccess;
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return ENTRY(runtime().graphs.destroy(exec));
}

// No call disturbs the recording here, so that all modes are the same.
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return entry([&] {
    require_valid(mode != nullptr && *mode >= cudaStreamCaptureModeGlobal &&
                  *mode <= cudaStreamCaptureModeRelaxed);
    std::swap(*mode, this_thread().capture_mode);
  });
}

}  // extern "C"
