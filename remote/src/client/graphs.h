// The program's graphs. Only this process knows a graph until it is made ready to launch: then each
// GPU that has some of its nodes receives its part, and a launch is one message to it.
//
// Copies from the program's memory read it when the graph is launched, after the data of earlier
// copies has arrived there, and are sent with the launch. Copies to that memory arrive like those
// of a stream. Only this process connects different GPUs: where a node of one waits for a node of
// another, the graph is launched in phases, and the launch waits between them.
#pragma once

#include <driver_types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/gpu.h"
#include "protocol/calls.h"

namespace gpucast::remote::client {

struct Function;
struct OnStream;
class ProgramGraph;

// The work of a node.
struct Work {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  int device = -1;                        // -1: no device, as for a node without work
  GraphNode content = {};                 // numbers and arguments are filled in when it is sent
  std::byte* host = nullptr;              // the program's end of a copy
  const Function* function = nullptr;     // of a kernel
  std::vector<std::byte> arguments = {};  // of a kernel, laid out like its parameters
  std::vector<std::size_t> offsets = {};  // of the arguments in this buffer
  std::vector<void*> pointers = {};       // to the arguments, if the program has asked for them
};

struct Node {
  ProgramGraph* graph = nullptr;
  Work work;
  std::vector<Node*> after;
};

inline cudaGraphNode_t handle_of(const Node* node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<Node*>(node));
}

class ProgramGraph {
 public:
  // Failure if one of these is no node of this graph.
  Node& add(Work work, const std::vector<Node*>& after);
  void connect(Node& from, Node& to);
  void disconnect(Node& from, Node& to);
  void remove(Node& node);
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  // Returns the nodes so that each follows those that it waits for. Failure if the graph has a
  // cycle.
  std::vector<const Node*> in_order() const;

 private:
  void require_own(const Node* node) const;
  std::vector<std::unique_ptr<Node>> nodes_;
};

// A graph as it was when it was made ready. Its member functions throw Failure.
class GraphExec {
 public:
  explicit GraphExec(const ProgramGraph& graph, unsigned long long its_flags);
  ~GraphExec();

  // Sends the parts to the GPUs; to be called once, before anything else.
  void make_ready();
  void launch(const OnStream& on);
  // Changes the content of a node that existed when the graph was made ready.
  void set(const Node& node, Work work);
  // Takes over the graph's present contents. Returns false, and changes nothing, if the graphs
  // differ in more than the contents of nodes.
  bool update(const ProgramGraph& graph);
  const unsigned long long flags;

 private:
  struct Entry {
    Work work;
    std::vector<std::size_t> after;
    std::size_t part = 0;
    std::uint32_t number = 0;  // within its part
  };
  // The nodes that one GPU runs without waiting for another.
  struct Part {
    int device = 0;
    std::size_t phase = 0;
    Id graph = 0;
    OwnStream stream = {};  // used if the graph is launched on a stream of another GPU
    std::vector<std::size_t> entries;
  };
  static bool same_shape(const Work& before, const Work& after);
  void divide();
  void require_sendable() const;
  bool waits_for(std::size_t later, std::size_t earlier) const;
  void tell(const Entry& entry) const;
  void replace(std::size_t k, Work work);
  void launch(Part& part, Id stream) const;

  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::unordered_map<const Node*, std::size_t> places_;
  std::vector<Part> parts_;
};

// Which streams are being recorded, and all graphs of the program. Any thread may call this.
class Graphs {
 public:
  // ---- recording ----
  // Whether any stream is being recorded.
  bool recording() const { return captures_count_.load(std::memory_order_relaxed) != 0; }
  // Whether this stream is being recorded. Failure if that recording is invalid.
  bool records(const OnStream& on);
  void record(const OnStream& on, Work work);
  // Records an event; returns whether the stream is being recorded.
  bool record_event(const OnStream& on, cudaEvent_t event);
  // Returns whether the event belongs to a recording, which the stream then joins.
  bool wait_event(const OnStream& on, cudaEvent_t event);
  void forget_event(cudaEvent_t event);
  // Failure if the event was last recorded in a graph: it then has no time and never completes.
  void require_real(cudaEvent_t event);
  // Failure if the stream is being recorded: then it cannot be waited for, and its recording is
  // invalidated.
  void forbid(const OnStream& on, cudaError_t error = cudaErrorStreamCaptureUnsupported);
  // The same for all streams of a device; `legacy`: only those that wait for its default stream.
  void forbid_device(int device, bool legacy);

  void begin(const OnStream& on, bool apart, cudaGraph_t into, const std::vector<Node*>& after);
  cudaGraph_t end(const OnStream& on);
  struct Info {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    cudaGraph_t graph = nullptr;
    const cudaGraphNode_t* after = nullptr;  // valid until the stream gets more work
    std::size_t count = 0;
  };
  Info info(const OnStream& on);
  void set_after(const OnStream& on, const std::vector<Node*>& nodes, bool in_place_of_others);

  // ---- the program's graphs ----
  cudaGraph_t create();
  void destroy(cudaGraph_t graph);
  cudaGraph_t clone(cudaGraph_t graph);
  ProgramGraph& graph(cudaGraph_t handle);
  Node& add(cudaGraph_t graph, Work work, const std::vector<Node*>& after);
  Node& node(cudaGraphNode_t handle);
  void remove(cudaGraphNode_t node);
  cudaGraphExec_t instantiate(cudaGraph_t graph, unsigned long long flags);
  std::shared_ptr<GraphExec> exec(cudaGraphExec_t handle);
  void destroy(cudaGraphExec_t exec);

 private:
  using Stream = std::pair<int, Id>;
  struct Capture {
    cudaGraph_t graph = nullptr;
    Stream origin;
    bool owns_graph = false;
    bool waits_for_legacy = false;
    bool lost = false;
    unsigned long long id = 0;
    // The nodes that the next work of each stream waits for.
    std::map<Stream, std::vector<Node*>> last = {};
  };
  struct CapturedEvent {
    std::weak_ptr<Capture> capture;
    std::vector<Node*> after;
  };
  static Stream key(const OnStream& on);
  std::shared_ptr<Capture> capture(const Stream& stream);
  // The same; Failure if that recording is invalid.
  std::shared_ptr<Capture> valid_capture(const Stream& stream);

  std::recursive_mutex mutex_;
  std::atomic<std::size_t> captures_count_{0};
  std::atomic<std::size_t> events_count_{0};
  unsigned long long last_capture_ = 0;
  std::map<Stream, std::shared_ptr<Capture>> captures_;
  std::unordered_map<cudaEvent_t, CapturedEvent> events_;
  std::unordered_map<cudaGraph_t, std::unique_ptr<ProgramGraph>> graphs_;
  std::unordered_map<cudaGraphNode_t, Node*> nodes_;
  std::unordered_map<cudaGraphExec_t, std::shared_ptr<GraphExec>> execs_;
};

}  // namespace gpucast::remote::client
