// The program's graphs. A graph is known to this process alone until it is made ready to launch:
// then each GPU that it has nodes on is told its part, and a launch is one message to it.
//
// Copies from the program's memory read it when the graph is launched, once what earlier copies
// bring there has arrived, and go with the launch. Copies to it arrive as those of a stream do.
// Between GPUs nothing but this process knows both: where a node of one waits for a node of
// another, the graph is launched in phases, and the launch waits between them.
#pragma once

#include <driver_types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/gpu.h"
#include "protocol/calls.h"

namespace gpucast::remote::client {

struct Function;
struct OnStream;
class ProgramGraph;

// What a node does.
struct Work {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  int device = -1;                     // of no one: that of others
  GraphNode content = {};              // its work; numbers and arguments are given where it is sent
  std::byte* host = nullptr;           // the program's end of a copy
  const Function* function = nullptr;  // of a kernel
  std::vector<std::byte> arguments = {};  // of a kernel, as its parameters lie
  std::vector<std::size_t> offsets = {};  // of these in them
  std::vector<void*> pointers = {};       // to these, where the program has asked for them
};

struct Node {
  ProgramGraph* graph = nullptr;
  Work work;
  std::vector<Node*> after;
};

class ProgramGraph {
 public:
  // Failure where one of these is no node of this graph.
  Node& add(Work work, const std::vector<Node*>& after);
  void connect(Node& from, Node& to);
  void disconnect(Node& from, Node& to);
  void remove(Node& node);
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  // So that each stands behind those that it waits for. Failure where that cannot be.
  std::vector<const Node*> in_order() const;

 private:
  void require_own(const Node* node) const;
  std::vector<std::unique_ptr<Node>> nodes_;
};

// A graph as it was when it was made ready. Its calls throw Failure.
class GraphExec {
 public:
  explicit GraphExec(const ProgramGraph& graph, unsigned long long its_flags);
  ~GraphExec();
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;

  // Tells the GPUs; once, before anything else.
  void make_ready();
  void launch(const OnStream& on);
  // Another content for a node that it had when it was made ready.
  void set(const Node& node, Work work);
  // As the graph is now. False, and nothing, where it is not the same but for what nodes do.
  bool update(const ProgramGraph& graph);
  const unsigned long long flags;

 private:
  struct Entry {
    Work work;
    std::vector<std::size_t> after;
    std::size_t part = 0;
    std::uint32_t number = 0;  // within its part
  };
  // What one GPU does without waiting for another.
  struct Part {
    int device = 0;
    std::size_t phase = 0;
    Id graph = 0;
    OwnStream stream = {};  // where the graph is launched from another GPU
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

// Which streams are recorded, and all graphs that the program has. Any thread may ask.
class Graphs {
 public:
  // ---- recording ----
  // Whether any stream is recorded.
  bool recording() const { return captures_count_.load(std::memory_order_relaxed) != 0; }
  // Whether this one is. Failure where what is recorded there is worth nothing any more.
  bool records(const OnStream& on);
  void record(const OnStream& on, Work work);
  // An event of the program; whether a recorded stream's.
  bool record_event(const OnStream& on, cudaEvent_t event);
  // Whether that was recorded, or the stream is from now on.
  bool wait_event(const OnStream& on, cudaEvent_t event);
  void forget_event(cudaEvent_t event);
  // Failure where it was last recorded so: it has no time, and is never done.
  void require_real(cudaEvent_t event);
  // Failure if the stream is recorded: it cannot be waited for, and what is recorded is lost.
  void forbid(const OnStream& on, cudaError_t error = cudaErrorStreamCaptureUnsupported);
  // The same for all of a device; `legacy`: of those that wait for its default stream.
  void forbid_device(int device, bool legacy);

  void begin(const OnStream& on, bool apart, cudaGraph_t into, const std::vector<Node*>& after);
  cudaGraph_t end(const OnStream& on);
  struct Info {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    cudaGraph_t graph = nullptr;
    const cudaGraphNode_t* after = nullptr;  // valid until the stream is given more
    std::size_t count = 0;
  };
  Info info(const OnStream& on);
  void set_after(const OnStream& on, const std::vector<Node*>& nodes, bool in_place_of_others);

  // ---- what the program has ----
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
    std::map<Stream, std::vector<Node*>> last = {};  // what each stream does next waits for
  };
  struct CapturedEvent {
    std::weak_ptr<Capture> capture;
    std::vector<Node*> after;
  };
  static Stream key(const OnStream& on);
  std::shared_ptr<Capture> capture(const Stream& stream);
  // The same; Failure where what is recorded there is worth nothing any more.
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
