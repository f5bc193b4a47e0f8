#include "client/graphs.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "client/runtime.h"

namespace gpucast::remote::client {
namespace {

cudaGraphNode_t handle_of(Node* node) { return reinterpret_cast<cudaGraphNode_t>(node); }

void add_new(std::vector<Node*>& nodes, const std::vector<Node*>& more) {
  for (Node* each : more) {
    if (std::ranges::find(nodes, each) == nodes.end()) nodes.push_back(each);
  }
}

}  // namespace

// ---- a graph ----

void ProgramGraph::require_own(const Node* node) const {
  if (node == nullptr || node->graph != this) throw Failure{cudaErrorInvalidValue};
}

Node& ProgramGraph::add(Work work, const std::vector<Node*>& after) {
  for (const Node* each : after)
    require_own(each);
  auto owned = std::make_unique<Node>();
  owned->graph = this;
  owned->work = std::move(work);
  add_new(owned->after, after);
  nodes_.push_back(std::move(owned));
  return *nodes_.back();
}

void ProgramGraph::connect(Node& from, Node& to) {
  require_own(&from);
  require_own(&to);
  if (&from == &to || std::ranges::find(to.after, &from) != to.after.end())
    throw Failure{cudaErrorInvalidValue};
  to.after.push_back(&from);
}

void ProgramGraph::disconnect(Node& from, Node& to) {
  require_own(&to);
  if (std::erase(to.after, &from) == 0) throw Failure{cudaErrorInvalidValue};
}

void ProgramGraph::remove(Node& node) {
  require_own(&node);
  for (const auto& each : nodes_)
    std::erase(each->after, &node);
  std::erase_if(nodes_, [&](const auto& each) { return each.get() == &node; });
}

std::vector<const Node*> ProgramGraph::in_order() const {
  std::vector<const Node*> result;
  std::unordered_set<const Node*> placed;
  result.reserve(nodes_.size());
  // Most graphs are in order as they were made.
  while (result.size() < nodes_.size()) {
    const std::size_t before = result.size();
    for (const auto& each : nodes_) {
      const auto is_placed = [&](const Node* node) { return placed.contains(node); };
      if (is_placed(each.get()) || !std::ranges::all_of(each->after, is_placed)) continue;
      placed.insert(each.get());
      result.push_back(each.get());
    }
    if (result.size() == before) throw Failure{cudaErrorInvalidValue};
  }
  return result;
}

// ---- recording ----

Graphs::Stream Graphs::key(const OnStream& on) { return {on.device, on.id}; }

std::shared_ptr<Graphs::Capture> Graphs::capture(const Stream& stream) {
  const auto found = captures_.find(stream);
  return found == captures_.end() ? nullptr : found->second;
}

bool Graphs::records(const OnStream& on) {
  if (!recording()) return false;
  const std::lock_guard lock(mutex_);
  const auto found = capture(key(on));
  if (found && found->lost) throw Failure{cudaErrorStreamCaptureInvalidated};
  return found != nullptr;
}

void Graphs::record(const OnStream& on, Work work) {
  const std::lock_guard lock(mutex_);
  const auto found = capture(key(on));
  if (!found || found->lost) throw Failure{cudaErrorStreamCaptureInvalidated};
  auto& last = found->last[key(on)];
  last = {&add_locked(found->graph, std::move(work), last)};
}

bool Graphs::record_event(const OnStream& on, cudaEvent_t event) {
  if (!recording()) {
    forget_event(event);
    return false;
  }
  const std::lock_guard lock(mutex_);
  const auto found = capture(key(on));
  if (!found) {
    events_.erase(event);
  } else if (found->lost) {
    throw Failure{cudaErrorStreamCaptureInvalidated};
  } else {
    events_[event] = {.capture = found, .after = found->last[key(on)]};
  }
  events_count_ = events_.size();
  return found != nullptr;
}

bool Graphs::wait_event(const OnStream& on, cudaEvent_t event) {
  if (events_count_.load(std::memory_order_relaxed) == 0 && !recording()) return false;
  const std::lock_guard lock(mutex_);
  const auto own = capture(key(on));
  const auto found = events_.find(event);
  const auto other = found == events_.end() ? nullptr : found->second.capture.lock();
  if (found == events_.end() && !own) return false;
  if (own && own->lost) throw Failure{cudaErrorStreamCaptureInvalidated};
  if (!other) {
    if (!own) throw Failure{cudaErrorCapturedEvent};
    own->lost = true;
    throw Failure{found == events_.end() ? cudaErrorStreamCaptureIsolation
                                         : cudaErrorCapturedEvent};
  }
  if (own && own != other) {
    own->lost = other->lost = true;
    throw Failure{cudaErrorStreamCaptureMerge};
  }
  if (other->lost) throw Failure{cudaErrorStreamCaptureInvalidated};
  captures_[key(on)] = other;
  captures_count_ = captures_.size();
  add_new(other->last[key(on)], found->second.after);
  return true;
}

void Graphs::forget_event(cudaEvent_t event) {
  if (events_count_.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(mutex_);
  events_.erase(event);
  events_count_ = events_.size();
}

void Graphs::require_real(cudaEvent_t event) {
  if (events_count_.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(mutex_);
  if (events_.contains(event)) throw Failure{cudaErrorCapturedEvent};
}

void Graphs::forbid(const OnStream& on, cudaError_t error) {
  if (!recording()) return;
  const std::lock_guard lock(mutex_);
  if (const auto found = capture(key(on))) {
    found->lost = true;
    throw Failure{error};
  }
}

void Graphs::forbid_device(int device, bool legacy) {
  if (!recording()) return;
  const std::lock_guard lock(mutex_);
  bool any = false;
  for (const auto& [stream, each] : captures_) {
    if (stream.first != device || (legacy && !each->waits_for_legacy)) continue;
    each->lost = any = true;
  }
  if (any)
    throw Failure{legacy ? cudaErrorStreamCaptureImplicit : cudaErrorStreamCaptureUnsupported};
}

void Graphs::begin(const OnStream& on, bool apart, cudaStreamCaptureMode /*mode*/, cudaGraph_t into,
                   const std::vector<Node*>& after) {
  const std::lock_guard lock(mutex_);
  if (captures_.contains(key(on))) throw Failure{cudaErrorIllegalState};
  auto made = std::make_shared<Capture>();
  made->graph = into;
  made->origin = key(on);
  made->owns_graph = into == nullptr;
  made->waits_for_legacy = !apart;
  made->id = ++last_capture_;
  if (into == nullptr) {
    auto owned = std::make_unique<ProgramGraph>();
    made->graph = reinterpret_cast<cudaGraph_t>(owned.get());
    graphs_[made->graph] = std::move(owned);
  }
  made->last[key(on)] = after;
  captures_[key(on)] = std::move(made);
  captures_count_ = captures_.size();
}

cudaGraph_t Graphs::end(const OnStream& on) {
  const std::lock_guard lock(mutex_);
  const auto found = capture(key(on));
  if (!found) throw Failure{cudaErrorIllegalState};
  if (found->origin != key(on)) {
    found->lost = true;
    throw Failure{cudaErrorStreamCaptureUnmatched};
  }
  std::erase_if(captures_, [&](const auto& each) { return each.second == found; });
  captures_count_ = captures_.size();
  // What the origin's stream waits for has to be all.
  std::set<const Node*> joined;
  std::vector<const Node*> next(found->last[found->origin].begin(),
                                found->last[found->origin].end());
  while (!next.empty()) {
    const Node* node = next.back();
    next.pop_back();
    if (joined.insert(node).second) next.insert(next.end(), node->after.begin(), node->after.end());
  }
  bool unjoined = false;
  for (const auto& [stream, last] : found->last) {
    unjoined = unjoined ||
               !std::ranges::all_of(last, [&](const Node* each) { return joined.contains(each); });
  }
  if (!found->lost && !unjoined) return found->graph;
  if (found->owns_graph) remove_graph_locked(found->graph);
  throw Failure{found->lost ? cudaErrorStreamCaptureInvalidated : cudaErrorStreamCaptureUnjoined};
}

Graphs::Info Graphs::info(const OnStream& on) {
  if (!recording()) return {};
  const std::lock_guard lock(mutex_);
  const auto found = capture(key(on));
  if (!found) return {};
  static_assert(sizeof(Node*) == sizeof(cudaGraphNode_t));
  const auto& last = found->last[key(on)];
  return {
      .status = found->lost ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive,
      .id = found->id,
      .graph = found->graph,
      .after = reinterpret_cast<const cudaGraphNode_t*>(last.data()),
      .count = last.size()};
}

void Graphs::set_after(const OnStream& on, const std::vector<Node*>& nodes,
                       bool in_place_of_others) {
  const std::lock_guard lock(mutex_);
  const auto found = capture(key(on));
  if (!found) throw Failure{cudaErrorIllegalState};
  if (found->lost) throw Failure{cudaErrorStreamCaptureInvalidated};
  auto& last = found->last[key(on)];
  if (in_place_of_others) last.clear();
  add_new(last, nodes);
}

// ---- what the program has ----

cudaGraph_t Graphs::create() {
  const std::lock_guard lock(mutex_);
  auto owned = std::make_unique<ProgramGraph>();
  auto* const handle = reinterpret_cast<cudaGraph_t>(owned.get());
  graphs_[handle] = std::move(owned);
  return handle;
}

void Graphs::destroy(cudaGraph_t graph) {
  const std::lock_guard lock(mutex_);
  graph_locked(graph);
  remove_graph_locked(graph);
}

void Graphs::remove_graph_locked(cudaGraph_t handle) {
  const auto removed = graphs_.extract(handle);
  for (const auto& each : removed.mapped()->nodes())
    nodes_.erase(handle_of(each.get()));
}

cudaGraph_t Graphs::clone(cudaGraph_t graph) {
  const std::lock_guard lock(mutex_);
  const ProgramGraph& original = graph_locked(graph);
  auto owned = std::make_unique<ProgramGraph>();
  auto* const handle = reinterpret_cast<cudaGraph_t>(owned.get());
  std::unordered_map<const Node*, Node*> copies;
  for (const Node* node : original.in_order()) {
    std::vector<Node*> after;
    after.reserve(node->after.size());
    for (const Node* each : node->after)
      after.push_back(copies.at(each));
    Node& copy = owned->add(node->work, after);
    copies[node] = &copy;
    nodes_[handle_of(&copy)] = &copy;
  }
  graphs_[handle] = std::move(owned);
  return handle;
}

ProgramGraph& Graphs::graph_locked(cudaGraph_t handle) {
  const auto found = graphs_.find(handle);
  if (found == graphs_.end()) throw Failure{cudaErrorInvalidValue};
  return *found->second;
}

ProgramGraph& Graphs::graph(cudaGraph_t handle) {
  const std::lock_guard lock(mutex_);
  return graph_locked(handle);
}

Node& Graphs::add_locked(cudaGraph_t graph, Work work, const std::vector<Node*>& after) {
  Node& made = graph_locked(graph).add(std::move(work), after);
  nodes_[handle_of(&made)] = &made;
  return made;
}

Node& Graphs::add(cudaGraph_t graph, Work work, const std::vector<Node*>& after) {
  const std::lock_guard lock(mutex_);
  return add_locked(graph, std::move(work), after);
}

Node& Graphs::node(cudaGraphNode_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(handle);
  if (found == nodes_.end()) throw Failure{cudaErrorInvalidValue};
  return *found->second;
}

void Graphs::remove(cudaGraphNode_t handle) {
  const std::lock_guard lock(mutex_);
  const auto removed = nodes_.extract(handle);
  if (!removed) throw Failure{cudaErrorInvalidValue};
  removed.mapped()->graph->remove(*removed.mapped());
}

cudaGraphExec_t Graphs::instantiate(cudaGraph_t handle, unsigned long long flags) {
  const ProgramGraph& from = graph(handle);
  auto made = std::make_shared<GraphExec>(from, flags);
  made->make_ready();
  const std::lock_guard lock(mutex_);
  auto* const result = reinterpret_cast<cudaGraphExec_t>(made.get());
  execs_[result] = std::move(made);
  return result;
}

std::shared_ptr<GraphExec> Graphs::exec(cudaGraphExec_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = execs_.find(handle);
  if (found == execs_.end()) throw Failure{cudaErrorInvalidValue};
  return found->second;
}

void Graphs::destroy(cudaGraphExec_t handle) {
  std::shared_ptr<GraphExec> removed;  // ends without the lock
  const std::lock_guard lock(mutex_);
  const auto found = execs_.find(handle);
  if (found == execs_.end()) throw Failure{cudaErrorInvalidValue};
  removed = std::move(found->second);
  execs_.erase(found);
}

}  // namespace gpucast::remote::client
