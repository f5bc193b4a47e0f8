// Graphs that are ready to launch: their parts, and what goes to each GPU.
#include <algorithm>
#include <map>
#include <utility>

#include "client/graphs.h"
#include "client/runtime.h"

namespace gpucast::remote::client {
namespace {

bool moves_host_memory(GraphWork work) {
  return work == GraphWork::copy_to || work == GraphWork::copy_from;
}

bool same_host_memory(const Work& first, const Work& second) {
  return first.host < second.host + second.content.copy.width &&
         second.host < first.host + first.content.copy.width;
}

}  // namespace

GraphExec::GraphExec(const ProgramGraph& graph, unsigned long long its_flags) : flags(its_flags) {
  const std::vector<const Node*> nodes = graph.in_order();
  if (nodes.size() > most_graph_nodes)
    require(runtime().unsupported("graphs of more than " + std::to_string(most_graph_nodes) +
                                  " nodes"));
  for (const Node* node : nodes) {
    Entry entry{.work = node->work, .after = {}};
    for (const Node* each : node->after)
      entry.after.push_back(places_.at(each));
    places_[node] = entries_.size();
    entries_.push_back(std::move(entry));
  }
  divide();
  require_sendable();
}

// What goes to a GPU goes with the launch: it cannot be what the launch brings before.
void GraphExec::require_sendable() const {
  std::vector<std::size_t> brings;
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    const GraphWork work = entries_[k].work.content.work;
    if (work == GraphWork::copy_from) brings.push_back(k);
    if (work != GraphWork::copy_to) continue;
    for (const std::size_t each : brings) {
      if (same_host_memory(entries_[each].work, entries_[k].work) && waits_for(k, each))
        require(runtime().unsupported("a graph that sends memory which it has brought"));
    }
  }
}

bool GraphExec::waits_for(std::size_t later, std::size_t earlier) const {
  std::vector<std::size_t> next{later};
  std::vector<bool> seen(entries_.size());
  while (!next.empty()) {
    const std::size_t k = next.back();
    next.pop_back();
    if (k == earlier) return true;
    for (const std::size_t each : entries_[k].after) {
      if (!seen[each]) next.push_back(each);
      seen[each] = true;
    }
  }
  return false;
}

void GraphExec::make_ready() {
  for (Part& part : parts_) {
    Gpu& gpu = runtime().gpu(part.device);
    part.graph = gpu.new_id();
    for (const std::size_t k : part.entries)
      tell(entries_[k]);
    require(gpu.call(
        GraphReady{.graph = part.graph, .nodes = static_cast<std::uint32_t>(part.entries.size())}));
  }
}

// A part's graph that could not be made ready is known to the server all the same.
GraphExec::~GraphExec() {
  for (const Part& part : parts_) {
    try {
      Gpu& gpu = runtime().gpu(part.device);
      if (part.graph != 0) gpu.send(GraphDestroy{.graph = part.graph});
      if (part.stream != 0 && part.generation == gpu.generation()) gpu.destroy_stream(part.stream);
    } catch (const Failure&) {
      return;  // the process ends
    }
  }
}

// By GPU, and by how many times what a node waits for has gone from one GPU to another.
void GraphExec::divide() {
  const auto some =
      std::ranges::find_if(entries_, [](const Entry& each) { return each.work.device >= 0; });
  const int usual = some == entries_.end() ? this_thread().device : some->work.device;
  std::map<std::pair<std::size_t, int>, std::size_t> known;
  std::vector<std::size_t> phases;
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    Entry& entry = entries_[k];
    int& device = entry.work.device;
    if (device < 0)
      device = entry.after.empty() ? usual : entries_[entry.after.front()].work.device;
    std::size_t phase = 0;
    for (const std::size_t each : entry.after)
      phase = std::max(phase, phases[each] + (entries_[each].work.device == device ? 0U : 1U));
    phases.push_back(phase);
    const auto [found, is_new] = known.try_emplace({phase, device}, parts_.size());
    if (is_new) parts_.push_back({.device = device, .phase = phase, .entries = {}});
    entry.part = found->second;
    entry.number = static_cast<std::uint32_t>(parts_[entry.part].entries.size());
    parts_[entry.part].entries.push_back(k);
  }
  std::ranges::sort(parts_, {}, [](const Part& each) {
    return std::pair(each.phase, each.entries.front());  // each has one at least
  });
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    for (const std::size_t each : parts_[k].entries)
      entries_[each].part = k;
  }
}

void GraphExec::tell(const Entry& entry) const {
  const Part& part = parts_[entry.part];
  GraphNode message = entry.work.content;
  message.graph = part.graph;
  message.node = entry.number;
  message.kernel.arguments = entry.work.arguments;
  for (const std::size_t each : entry.after) {
    if (entries_[each].part == entry.part) message.after.push_back(entries_[each].number);
  }
  require(runtime().gpu(part.device).send(message));
}

// ---- changes ----

bool GraphExec::same_shape(const Work& before, const Work& after) {
  return before.type == after.type && before.content.work == after.content.work &&
         (after.device < 0 || before.device == after.device);
}

void GraphExec::replace(std::size_t k, Work work) {
  Entry& entry = entries_[k];
  work.device = entry.work.device;
  entry.work = std::move(work);
  tell(entry);
}

void GraphExec::set(const Node& node, Work work) {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(&node);
  if (found == places_.end()) throw Failure{cudaErrorInvalidValue};
  if (!same_shape(entries_[found->second].work, work)) throw Failure{cudaErrorInvalidValue};
  replace(found->second, std::move(work));
}

bool GraphExec::update(const ProgramGraph& graph) {
  const std::lock_guard lock(mutex_);
  const std::vector<const Node*> nodes = graph.in_order();
  if (nodes.size() != entries_.size()) return false;
  std::unordered_map<const Node*, std::size_t> places;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    std::vector<std::size_t> after;
    after.reserve(nodes[k]->after.size());
    for (const Node* each : nodes[k]->after)
      after.push_back(places.at(each));
    if (!same_shape(entries_[k].work, nodes[k]->work) || after != entries_[k].after) return false;
    places[nodes[k]] = k;
  }
  for (std::size_t k = 0; k < nodes.size(); ++k)
    replace(k, nodes[k]->work);
  for (std::size_t k = 0; k < nodes.size(); ++k)
    places_[nodes[k]] = k;
  return true;
}

// ---- launches ----

void GraphExec::launch(Part& part, Id stream) const {
  std::vector<Bytes> sends;
  std::vector<std::span<std::byte>> receives;
  for (const std::size_t k : part.entries) {
    const Work& work = entries_[k].work;
    if (!moves_host_memory(work.content.work)) continue;
    const std::span memory(work.host, work.content.copy.width);
    if (work.content.work == GraphWork::copy_to) {
      sends.emplace_back(memory);
    } else {
      receives.push_back(memory);
    }
  }
  require(runtime().gpu(part.device).launch_graph(part.graph, sends, receives, stream));
}

Id GraphExec::own_stream(Part& part) const {
  Gpu& gpu = runtime().gpu(part.device);
  if (part.stream == 0 || part.generation != gpu.generation()) {
    part.stream = gpu.new_id();
    part.generation = gpu.generation();
    require(gpu.create_stream(part.stream, cudaStreamNonBlocking, 0));
  }
  return part.stream;
}

void GraphExec::launch(const OnStream& on) {
  const std::lock_guard lock(mutex_);
  const auto elsewhere = [&](const Part& part) { return part.device != on.device; };
  if (std::ranges::none_of(parts_, elsewhere)) {
    for (Part& part : parts_)
      launch(part, on.id);
    return;
  }
  // Other GPUs know nothing of the stream, and it knows nothing of them.
  require(on.gpu->synchronize_stream(on.id));
  for (std::size_t first = 0; first < parts_.size();) {
    std::size_t end = first;
    for (; end < parts_.size() && parts_[end].phase == parts_[first].phase; ++end) {
      Part& part = parts_[end];
      launch(part, elsewhere(part) ? own_stream(part) : on.id);
    }
    const bool is_last = end == parts_.size();
    for (; first < end; ++first) {
      const Part& part = parts_[first];
      if (elsewhere(part)) {
        require(runtime().gpu(part.device).synchronize_stream(part.stream));
      } else if (!is_last) {
        require(on.gpu->synchronize_stream(on.id));
      }
    }
  }
}

}  // namespace gpucast::remote::client
