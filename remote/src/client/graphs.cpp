#include "client/graphs.h"

#include <set>

#include "client/runtime.h"

namespace gpucast::remote::client {
namespace {

// Returns the object of the handle. Failure if the program has no such handle.
template <class Map>
auto& require_value(Map& map, const typename Map::key_type& handle) {
  auto* const value = value_at(map, handle);
  require_valid(value != nullptr);
  return *value;
}

void add_new(std::vector<Node*>& nodes, const std::vector<Node*>& more) {
  for (Node* node : more)
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
}

}  // namespace

// ---- a graph ----

void ProgramGraph::require_own(const Node* node) const {
  require_valid(node != nullptr && node->graph == this);
}

Node& ProgramGraph::add(Work work, const std::vector<Node*>& after) {
  for (const Node* node : after)
    require_own(node);
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
  require_valid(&from != &to && std::ranges::find(to.after, &from) == to.after.end());
  to.after.push_back(&from);
}

void ProgramGraph::disconnect(Node& from, Node& to) {
  require_own(&to);
  require_valid(std::erase(to.after, &from) != 0);
}

void ProgramGraph::remove(Node& node) {
  require_own(&node);
  for (const auto& other : nodes_)
    std::erase(other->after, &node);
  std::erase_if(nodes_, [&](const auto& other) { return other.get() == &node; });
}

std::vector<const Node*> ProgramGraph::in_order() const {
  std::vector<const Node*> result;
  std::unordered_set<const Node*> placed;
  result.reserve(nodes_.size());
  // Most graphs are built in a valid order already.
  while (result.size() < nodes_.size()) {
    const std::size_t before = result.size();
    for (const auto& node : nodes_) {
      const auto is_placed = [&](const Node* other) { return placed.contains(other); };
      if (is_placed(node.get()) || !std::ranges::all_of(node->after, is_placed)) continue;
      placed.insert(node.get());
      result.push_back(node.get());
    }
    require_valid(result.size() > before);
  }
  return result;
}

// ---- recording ----

Graphs::Stream Graphs::key(const OnStream& on) { return {on.device, on.id}; }

std::shared_ptr<Graphs::Capture> Graphs::capture(const Stream& stream) {
  const auto* const capture = value_at(captures_, stream);
  return capture == nullptr ? nullptr : *capture;
}

std::shared_ptr<Graphs::Capture> Graphs::valid_capture(const Stream& stream) {
  auto result = capture(stream);
  if (result && result->lost) throw Failure{cudaErrorStreamCaptureInvalidated};
  return result;
}

bool Graphs::records(const OnStream& on) {
  if (!recording()) return false;
  const std::lock_guard lock(mutex_);
  return valid_capture(key(on)) != nullptr;
}

void Graphs::record(const OnStream& on, Work work) {
  const std::lock_guard lock(mutex_);
  const auto own = valid_capture(key(on));
  if (!own) throw Failure{cudaErrorStreamCaptureInvalidated};
  auto& last = own->last[key(on)];
  last = {&add(own->graph, std::move(work), last)};
}

bool Graphs::record_event(const OnStream& on, cudaEvent_t event) {
  if (!recording()) {
    forget_event(event);
    return false;
  }
  const std::lock_guard lock(mutex_);
  const auto own = valid_capture(key(on));
  if (own)
    events_[event] = {.capture = own, .after = own->last[key(on)]};
  else
    events_.erase(event);
  events_count_ = events_.size();
  return own != nullptr;
}

bool Graphs::wait_event(const OnStream& on, cudaEvent_t event) {
  if (events_count_.load(std::memory_order_relaxed) == 0 && !recording()) return false;
  const std::lock_guard lock(mutex_);
  const auto own = valid_capture(key(on));
  const auto recorded = events_.find(event);
  const bool is_recorded = recorded != events_.end();
  if (!is_recorded && !own) return false;
  const auto other = is_recorded ? recorded->second.capture.lock() : nullptr;
  if (!other) {
    if (own) own->lost = true;
    throw Failure{is_recorded ? cudaErrorCapturedEvent : cudaErrorStreamCaptureIsolation};
  }
  if (own && own != other) {
    own->lost = other->lost = true;
    throw Failure{cudaErrorStreamCaptureMerge};
  }
  if (other->lost) throw Failure{cudaErrorStreamCaptureInvalidated};
  captures_[key(on)] = other;
  captures_count_ = captures_.size();
  add_new(other->last[key(on)], recorded->second.after);
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
  if (const auto own = capture(key(on))) {
    own->lost = true;
    throw Failure{error};
  }
}

void Graphs::forbid_device(int device, bool legacy) {
  if (!recording()) return;
  const std::lock_guard lock(mutex_);
  bool any = false;
  for (const auto& [stream, capture] : captures_) {
    if (stream.first != device || (legacy && !capture->waits_for_legacy)) continue;
    capture->lost = any = true;
  }
  if (any)
    throw Failure{legacy ? cudaErrorStreamCaptureImplicit : cudaErrorStreamCaptureUnsupported};
}

void Graphs::begin(const OnStream& on, bool apart, cudaGraph_t into,
                   const std::vector<Node*>& after) {
  const std::lock_guard lock(mutex_);
  if (captures_.contains(key(on))) throw Failure{cudaErrorIllegalState};
  auto made = std::make_shared<Capture>();
  made->graph = into == nullptr ? create() : into;
  made->origin = key(on);
  made->owns_graph = into == nullptr;
  made->waits_for_legacy = !apart;
  made->id = ++last_capture_;
  made->last[key(on)] = after;
  captures_[key(on)] = std::move(made);
  captures_count_ = captures_.size();
}

cudaGraph_t Graphs::end(const OnStream& on) {
  const std::lock_guard lock(mutex_);
  const auto own = capture(key(on));
  if (!own) throw Failure{cudaErrorIllegalState};
  if (own->origin != key(on)) {
    own->lost = true;
    throw Failure{cudaErrorStreamCaptureUnmatched};
  }
  std::erase_if(captures_, [&](const auto& entry) { return entry.second == own; });
  captures_count_ = captures_.size();
  // The origin's stream has to wait for all other nodes.
  std::set<const Node*> joined;
  const auto& last_of_origin = own->last[own->origin];
  std::vector<const Node*> next(last_of_origin.begin(), last_of_origin.end());
  while (!next.empty()) {
    const Node* node = next.back();
    next.pop_back();
    if (joined.insert(node).second) next.insert(next.end(), node->after.begin(), node->after.end());
  }
  bool unjoined = false;
  for (const auto& [stream, last] : own->last) {
    unjoined = unjoined ||
               !std::ranges::all_of(last, [&](const Node* node) { return joined.contains(node); });
  }
  if (!own->lost && !unjoined) return own->graph;
  if (own->owns_graph) destroy(own->graph);
  throw Failure{own->lost ? cudaErrorStreamCaptureInvalidated : cudaErrorStreamCaptureUnjoined};
}

Graphs::Info Graphs::info(const OnStream& on) {
  if (!recording()) return {};
  const std::lock_guard lock(mutex_);
  const auto own = capture(key(on));
  if (!own) return {};
  static_assert(sizeof(Node*) == sizeof(cudaGraphNode_t));
  const auto& last = own->last[key(on)];
  return {.status = own->lost ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive,
          .id = own->id,
          .graph = own->graph,
          .after = reinterpret_cast<const cudaGraphNode_t*>(last.data()),
          .count = last.size()};
}

void Graphs::set_after(const OnStream& on, const std::vector<Node*>& nodes,
                       bool in_place_of_others) {
  const std::lock_guard lock(mutex_);
  const auto own = valid_capture(key(on));
  if (!own) throw Failure{cudaErrorIllegalState};
  auto& last = own->last[key(on)];
  if (in_place_of_others) last.clear();
  add_new(last, nodes);
}

// ---- the program's graphs ----

cudaGraph_t Graphs::create() {
  const std::lock_guard lock(mutex_);
  auto owned = std::make_unique<ProgramGraph>();
  auto* const handle = reinterpret_cast<cudaGraph_t>(owned.get());
  graphs_[handle] = std::move(owned);
  return handle;
}

void Graphs::destroy(cudaGraph_t graph) {
  const std::lock_guard lock(mutex_);
  const auto removed = graphs_.extract(graph);
  require_valid(!removed.empty());
  for (const auto& node : removed.mapped()->nodes())
    nodes_.erase(handle_of(node.get()));
}

cudaGraph_t Graphs::clone(cudaGraph_t original) {
  const std::lock_guard lock(mutex_);
  const std::vector<const Node*> nodes = graph(original).in_order();
  auto* const handle = create();
  std::unordered_map<const Node*, Node*> copies;
  for (const Node* node : nodes) {
    std::vector<Node*> after;
    after.reserve(node->after.size());
    for (const Node* before : node->after)
      after.push_back(copies.at(before));
    copies[node] = &add(handle, node->work, after);
  }
  return handle;
}

ProgramGraph& Graphs::graph(cudaGraph_t handle) {
  const std::lock_guard lock(mutex_);
  return *require_value(graphs_, handle);
}

Node& Graphs::add(cudaGraph_t to, Work work, const std::vector<Node*>& after) {
  const std::lock_guard lock(mutex_);
  Node& made = graph(to).add(std::move(work), after);
  nodes_[handle_of(&made)] = &made;
  return made;
}

Node& Graphs::node(cudaGraphNode_t handle) {
  const std::lock_guard lock(mutex_);
  return *require_value(nodes_, handle);
}

void Graphs::remove(cudaGraphNode_t handle) {
  const std::lock_guard lock(mutex_);
  const auto removed = nodes_.extract(handle);
  require_valid(!removed.empty());
  removed.mapped()->graph->remove(*removed.mapped());
}

cudaGraphExec_t Graphs::instantiate(cudaGraph_t handle, unsigned long long flags) {
  auto made = std::make_shared<GraphExec>(graph(handle), flags);
  made->make_ready();
  const std::lock_guard lock(mutex_);
  auto* const result = reinterpret_cast<cudaGraphExec_t>(made.get());
  execs_[result] = std::move(made);
  return result;
}

std::shared_ptr<GraphExec> Graphs::exec(cudaGraphExec_t handle) {
  const std::lock_guard lock(mutex_);
  return require_value(execs_, handle);
}

void Graphs::destroy(cudaGraphExec_t handle) {
  std::unique_lock lock(mutex_);
  const auto removed = execs_.extract(handle);
  lock.unlock();  // its GPUs are informed without the lock
  require_valid(!removed.empty());
}

}  // namespace gpucast::remote::client
