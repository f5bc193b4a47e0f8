// Graphs of the fake driver: nodes that are done one after another, in an order that their edges
// allow, as one operation of the stream that a graph is launched on.
#pragma once

#include <cuda.h>

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace gpucast::fake {

struct GraphNode;

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
};

struct GraphNode {
  const char* kind = "";  // what pauses it: `kernel`, `copy`, `memset`
  std::function<void()> work;
};

// As it was when it was instantiated, but for what was set since.
struct GraphExec {
  std::vector<GraphNode> nodes;
  std::unordered_map<const GraphNode*, std::size_t> places;
};

// All of a process.
class Graphs {
 public:
  CUgraph create();
  CUresult destroy(CUgraph graph);
  // Behind nodes that the graph has already.
  CUresult add(CUgraphNode& made, CUgraph graph, const CUgraphNode* after, std::size_t count,
               GraphNode node);
  CUresult instantiate(CUgraphExec& made, CUgraph graph);
  CUresult destroy(CUgraphExec exec);
  CUresult set(CUgraphExec exec, CUgraphNode node, GraphNode content);
  // What it does now; nothing where there is none.
  std::shared_ptr<const std::vector<GraphNode>> content(CUgraphExec exec);

 private:
  std::mutex mutex_;
  std::unordered_map<CUgraph, std::unique_ptr<Graph>> graphs_;
  std::unordered_map<CUgraphExec, std::unique_ptr<GraphExec>> execs_;
};

}  // namespace gpucast::fake
