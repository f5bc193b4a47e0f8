#include "fake/graphs.h"

#include <algorithm>
#include <utility>

namespace gpucast::fake {

CUgraph Graphs::create() {
  const std::lock_guard lock(mutex_);
  auto owned = std::make_unique<Graph>();
  auto* const handle = reinterpret_cast<CUgraph>(owned.get());
  graphs_[handle] = std::move(owned);
  return handle;
}

CUresult Graphs::destroy(CUgraph graph) {
  const std::lock_guard lock(mutex_);
  return graphs_.erase(graph) == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult Graphs::add(CUgraphNode& made, CUgraph graph, const CUgraphNode* after, std::size_t count,
                     GraphNode node) {
  const std::lock_guard lock(mutex_);
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return CUDA_ERROR_INVALID_VALUE;
  auto& nodes = found->second->nodes;
  for (std::size_t k = 0; k < count; ++k) {
    const auto* before = reinterpret_cast<const GraphNode*>(after[k]);
    if (std::ranges::none_of(nodes, [&](const auto& each) { return each.get() == before; }))
      return CUDA_ERROR_INVALID_VALUE;
  }
  nodes.push_back(std::make_unique<GraphNode>(std::move(node)));
  made = reinterpret_cast<CUgraphNode>(nodes.back().get());
  return CUDA_SUCCESS;
}

CUresult Graphs::instantiate(CUgraphExec& made, CUgraph graph) {
  const std::lock_guard lock(mutex_);
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return CUDA_ERROR_INVALID_VALUE;
  auto owned = std::make_unique<GraphExec>();
  for (const auto& each : found->second->nodes) {
    owned->places[each.get()] = owned->nodes.size();
    owned->nodes.push_back(*each);
  }
  made = reinterpret_cast<CUgraphExec>(owned.get());
  execs_[made] = std::move(owned);
  return CUDA_SUCCESS;
}

CUresult Graphs::destroy(CUgraphExec exec) {
  const std::lock_guard lock(mutex_);
  return execs_.erase(exec) == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult Graphs::set(CUgraphExec exec, CUgraphNode node, GraphNode content) {
  const std::lock_guard lock(mutex_);
  const auto found = execs_.find(exec);
  if (found == execs_.end()) return CUDA_ERROR_INVALID_VALUE;
  const auto place = found->second->places.find(reinterpret_cast<const GraphNode*>(node));
  if (place == found->second->places.end()) return CUDA_ERROR_INVALID_VALUE;
  found->second->nodes[place->second] = std::move(content);
  return CUDA_SUCCESS;
}

std::shared_ptr<const std::vector<GraphNode>> Graphs::content(CUgraphExec exec) {
  const std::lock_guard lock(mutex_);
  const auto found = execs_.find(exec);
  if (found == execs_.end()) return nullptr;
  return std::make_shared<const std::vector<GraphNode>>(found->second->nodes);
}

}  // namespace gpucast::fake
