// Graphs that are ready to launch: their parts, and the messages to each GPU.

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
    refuse("graphs of more than " + std::to_string(most_graph_nodes) + " nodes");
  for (const Node* node : nodes) {
    Entry entry{.work = node->work, .after = {}};
    for (const Node* before : node->after)
      entry.after.push_back(places_.at(before));
    places_[node] = entries_.size();
    entries_.push_back(std::move(entry));
  }
  divide();
  require_sendable();
}

// A GPU's input is sent with the launch: it cannot be data that the same launch brings.
void GraphExec::require_sendable() const {
  std::vector<std::size_t> brings;
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    const GraphWork work = entries_[k].work.content.work;
    if (work == GraphWork::copy_from) brings.push_back(k);
    if (work != GraphWork::copy_to) continue;
    for (const std::size_t earlier : brings) {
      refuse_if(same_host_memory(entries_[earlier].work, entries_[k].work) && waits_for(k, earlier),
                "a graph that sends memory which it has brought");
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
    for (const std::size_t before : entries_[k].after) {
      if (!seen[before]) next.push_back(before);
      seen[before] = true;
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
    gpu.call(
        GraphReady{.graph = part.graph, .nodes = static_cast<std::uint32_t>(part.entries.size())});
  }
}

// The server knows a part's graph even if it could not be made ready.
GraphExec::~GraphExec() {
  for (const Part& part : parts_) {
    status_of([&] {  // on failure the server is lost, or the process ends
      Gpu& gpu = runtime().gpu(part.device);
      if (part.graph != 0) gpu.send(GraphDestroy{.graph = part.graph});
      part.stream.destroy(gpu);
    });
  }
}

// Divides the nodes by GPU, and by the number of transfers between GPUs that precede them.
void GraphExec::divide() {
  const auto some =
      std::ranges::find_if(entries_, [](const Entry& entry) { return entry.work.device >= 0; });
  const int usual = some == entries_.end() ? this_thread().device : some->work.device;
  std::map<std::pair<std::size_t, int>, std::size_t> known;
  std::vector<std::size_t> phases;
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    Entry& entry = entries_[k];
    int& device = entry.work.device;
    if (device < 0)
      device = entry.after.empty() ? usual : entries_[entry.after.front()].work.device;
    std::size_t phase = 0;
    for (const std::size_t before : entry.after)
      phase = std::max(phase, phases[before] + (entries_[before].work.device == device ? 0U : 1U));
    phases.push_back(phase);
    const auto [part, is_new] = known.try_emplace({phase, device}, parts_.size());
    if (is_new) parts_.push_back({.device = device, .phase = phase, .entries = {}});
    entry.part = part->second;
    entry.number = static_cast<std::uint32_t>(parts_[entry.part].entries.size());
    parts_[entry.part].entries.push_back(k);
  }
  std::ranges::sort(parts_, {}, [](const Part& part) {
    return std::pair(part.phase, part.entries.front());  // each part has at least one
  });
  for (std::size_t k = 0; k < parts_.size(); ++k)
    for (const std::size_t of_part : parts_[k].entries)
      entries_[of_part].part = k;
}

void GraphExec::tell(const Entry& entry) const {
  const Part& part = parts_[entry.part];
  GraphNode message = entry.work.content;
  message.graph = part.graph;
  message.node = entry.number;
  message.kernel.arguments = entry.work.arguments;
  for (const std::size_t before : entry.after)
    if (entries_[before].part == entry.part) message.after.push_back(entries_[before].number);
  runtime().gpu(part.device).send(message);
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
  const std::size_t* const place = value_at(places_, &node);
  require_valid(place != nullptr && same_shape(entries_[*place].work, work));
  replace(*place, std::move(work));
}

bool GraphExec::update(const ProgramGraph& graph) {
  const std::lock_guard lock(mutex_);
  const std::vector<const Node*> nodes = graph.in_order();
  if (nodes.size() != entries_.size()) return false;
  std::unordered_map<const Node*, std::size_t> places;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    std::vector<std::size_t> after;
    after.reserve(nodes[k]->after.size());
    for (const Node* before : nodes[k]->after)
      after.push_back(places.at(before));
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
    if (work.content.work == GraphWork::copy_to)
      sends.emplace_back(memory);
    else
      receives.push_back(memory);
  }
  runtime().gpu(part.device).launch_graph(part.graph, sends, receives, stream);
}

void GraphExec::launch(const OnStream& on) {
  const std::lock_guard lock(mutex_);
  const auto elsewhere = [&](const Part& part) { return part.device != on.device; };
  const auto stream_of = [&](Part& part) {
    if (!elsewhere(part)) return on.id;
    return part.stream.on(runtime().gpu(part.device), cudaStreamNonBlocking);
  };
  if (std::ranges::none_of(parts_, elsewhere)) {
    for (Part& part : parts_)
      launch(part, on.id);
    return;
  }
  // Other GPUs do not know the stream, and it does not wait for them.
  on.gpu->synchronize_stream(on.id);
  for (std::size_t first = 0; first < parts_.size();) {
    std::size_t end = first;
    for (; end < parts_.size() && parts_[end].phase == parts_[first].phase; ++end)
      launch(parts_[end], stream_of(parts_[end]));
    const bool is_last = end == parts_.size();
    for (; first < end; ++first) {
      Part& part = parts_[first];
      if (elsewhere(part) || !is_last)
        runtime().gpu(part.device).synchronize_stream(stream_of(part));
    }
  }
}

}  // namespace gpucast::remote::client
