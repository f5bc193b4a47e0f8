// A client's graphs. The data of their copies from and to the client passes through pinned memory,
// which each instance of a graph has for itself: if the GPU still works on the previous launches,
// the next one takes an idle instance, or makes another.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "protocol/calls.h"
#include "server/driver.h"
#include "server/modules.h"
#include "server/streams.h"

namespace gpucast::remote::server {

// Pinned memory in sizes that are powers of two. Returned blocks are kept for reuse: freeing one
// would wait for the GPU.
class PinnedBlocks {
 public:
  explicit PinnedBlocks(const Driver& driver) : driver_(driver) {}
  // Throws DriverError if no more can be allocated.
  std::byte* take(std::size_t bytes);
  void give_back(std::byte* block, std::size_t bytes);

 private:
  const Driver& driver_;
  std::size_t made_ = 0;  // bytes
  std::map<std::size_t, std::vector<std::byte*>> free_;
};

class Graphs {
 public:
  // `require_held`: that of the GPU. `released`: a number that changes whenever memory that passed
  // the check, or a kernel, is released.
  struct Rights {
    std::function<void(Address, std::uint64_t)> require_held;
    std::function<std::uint64_t()> released;
  };
  Graphs(const Driver& driver, Streams& streams, Modules& modules, Rights rights)
      : driver_(driver),
        streams_(streams),
        modules_(modules),
        rights_(std::move(rights)),
        blocks_(driver) {}
  void use(CUcontext context) { context_ = context; }

  void run(const GraphNode&);
  void run(const GraphReady&);
  void run(const GraphDestroy&);
  // Destroys all graphs; nothing uses them any more.
  void reset();

  // The results of a launch, available when the event completes: parts of memory that stay
  // unchanged as long as `memory` lives.
  struct Launched {
    std::shared_ptr<Event> done = {};
    std::vector<Bytes> pieces = {};
    std::shared_ptr<const void> memory = {};
  };
  // These return false and do nothing if every instance is busy. They throw DriverError if there is
  // no such graph, or it is not ready.
  bool take(const GraphData&);
  std::optional<Launched> launch(const GraphLaunch&);

 private:
  struct Node {
    GraphWork work = GraphWork::nothing;
    std::vector<std::uint32_t> after = {};
    Launch kernel = {};
    std::vector<std::byte> arguments = {};  // of the kernel
    CopyWithin copy = {};
    Memset memset = {};
    std::size_t offset = 0;     // of its data in an instance's memory
    std::uint64_t version = 0;  // of the graph when the node was described
  };
  // A launchable copy of the graph. Its memory holds first the data to the device, then the data
  // from it.
  class Instance {
   public:
    explicit Instance(Graphs& its_graphs) : graphs(its_graphs) {}
    ~Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    Graphs& graphs;
    CUgraph graph = nullptr;
    CUgraphExec ready = nullptr;
    std::vector<CUgraphNode> nodes;
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    std::uint64_t version = 0;    // of the graph
    std::shared_ptr<Event> done;  // of its last launch
  };
  struct Graph {
    std::vector<Node> nodes;
    std::uint64_t version = 0;
    bool is_ready = false;
    bool shape_changed = false;  // since the last launch: no instance fits any more
    std::size_t bytes_to = 0;    // to the device
    std::size_t bytes_from = 0;
    std::uint64_t checked = 0;  // the value of `released` at the last check
    std::vector<std::shared_ptr<Instance>> instances;
    std::shared_ptr<Instance> filling;  // the instance of the next launch
    std::size_t filled = 0;             // bytes
    std::shared_ptr<Event> last;        // of the last launch
    Id last_stream = 0;
  };

  // Throws DriverError if there is none.
  Graph& graph(Id id, bool ready);
  void lay_out(Graph& graph);
  void check_rights(Graph& graph);
  std::shared_ptr<Instance> idle_instance(Graph& graph);
  std::shared_ptr<Instance> build(const Graph& graph);
  // Adds the node or, if `place` holds one, changes its content.
  CUresult set_node(const Instance& instance, const Node& node, CUgraphNode& place);
  static CUDA_MEMCPY3D copy_of(const Instance& instance, const Node& node);
  // Updates an instance; returns false if a new one is needed.
  bool update(Instance& instance, const Graph& graph);
  void fill(Graph& graph, Bytes data);
  void leave(Graph& graph);
  void forget_what_is_done();

  const Driver& driver_;
  Streams& streams_;
  Modules& modules_;
  Rights rights_;
  CUcontext context_ = nullptr;
  PinnedBlocks blocks_;
  std::size_t nodes_ = 0;  // of all graphs
  std::unordered_map<Id, Graph> graphs_;
  std::vector<std::shared_ptr<Instance>> left_;  // of destroyed graphs; the GPU may still use them
};

}  // namespace gpucast::remote::server
