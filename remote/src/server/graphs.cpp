#include "server/graphs.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "protocol/ranges.h"
#include "server/driver_parameters.h"

namespace gpucast::remote::server {
namespace {

// More than programs have, and little enough for this process.
constexpr std::size_t most_graphs = std::size_t{1} << 14;
constexpr std::size_t most_nodes_of_all = std::size_t{1} << 20;
constexpr std::size_t most_pinned = std::size_t{1} << 30;  // bytes, of all instances
// So many launches of one graph the GPU holds at once where they have copies.
constexpr std::size_t most_instances = 4;
constexpr std::size_t least_block = 4096;

std::size_t block_size(std::size_t bytes) { return std::bit_ceil(std::max(bytes, least_block)); }

CUDA_KERNEL_NODE_PARAMS kernel_node(const Launch& call, PreparedLaunch& launch) {
  auto result = with_grid<CUDA_KERNEL_NODE_PARAMS>(call);
  result.func = launch.function;
  result.kernelParams = launch.arguments.data();
  return result;
}

CUDA_MEMSET_NODE_PARAMS memset_node(const Memset& call) {
  return {.dst = call.to,
          .pitch = call.pitch,
          .value = call.value,
          .elementSize = 1,
          .width = call.width,
          .height = call.height};
}

}  // namespace

// ---- pinned memory ----

std::byte* PinnedBlocks::take(std::size_t bytes) {
  const std::size_t size = block_size(bytes);
  auto& free = free_[size];
  if (free.empty()) {
    if (size > most_pinned - std::min(most_pinned, made_))
      throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
    void* made = nullptr;
    check(driver_.cuMemHostAlloc(&made, size, 0));
    made_ += size;
    return static_cast<std::byte*>(made);
  }
  std::byte* block = free.back();
  free.pop_back();
  return block;
}

void PinnedBlocks::give_back(std::byte* block, std::size_t bytes) {
  free_[block_size(bytes)].push_back(block);
}

Graphs::Instance::~Instance() {
  if (ready != nullptr) graphs.driver_.cuGraphExecDestroy(ready);
  if (graph != nullptr) graphs.driver_.cuGraphDestroy(graph);
  if (memory != nullptr) graphs.blocks_.give_back(memory, bytes);
}

// ---- what graphs are ----

Graphs::Graph& Graphs::graph(Id id, bool ready) {
  const auto found = graphs_.find(id);
  if (found == graphs_.end() || found->second.is_ready < ready)
    throw DriverError(CUDA_ERROR_INVALID_HANDLE);
  return found->second;
}

void Graphs::run(const GraphNode& call) {
  if (!graphs_.contains(call.graph) && graphs_.size() >= most_graphs)
    throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
  Graph& graph = graphs_[call.graph];
  const bool is_new = call.node == graph.nodes.size();
  if (call.node > graph.nodes.size() || (is_new && graph.is_ready) ||
      std::ranges::any_of(call.after, [&](std::uint32_t each) { return each >= call.node; }) ||
      (!is_new && graph.nodes[call.node].work != call.work)) {
    throw DriverError(CUDA_ERROR_INVALID_VALUE);
  }
  if (is_new) {
    if (graph.nodes.size() >= most_graph_nodes || nodes_ >= most_nodes_of_all)
      throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
    ++nodes_;
    graph.nodes.push_back({.work = call.work, .after = call.after});
  } else {
    const Node& before = graph.nodes[call.node];
    const bool moves = call.work == GraphWork::copy_to || call.work == GraphWork::copy_from;
    graph.shape_changed = graph.shape_changed || (moves && before.copy.width != call.copy.width) ||
                          before.kernel.cluster != call.kernel.cluster ||
                          before.kernel.cooperative != call.kernel.cooperative;
  }
  Node& node = graph.nodes[call.node];
  node.kernel = call.kernel;
  node.arguments.assign(call.kernel.arguments.begin(), call.kernel.arguments.end());
  node.copy = call.copy;
  node.memset = call.memset;
  node.version = ++graph.version;
  graph.checked = 0;
}

void Graphs::run(const GraphReady& call) {
  Graph& graph = graphs_[call.graph];  // one without nodes was not told of yet
  if (graph.nodes.size() != call.nodes) throw DriverError(CUDA_ERROR_INVALID_VALUE);
  forget_what_is_done();
  lay_out(graph);
  check_rights(graph);
  if (graph.instances.empty()) graph.instances.push_back(build(graph));
  graph.is_ready = true;
}

void Graphs::run(const GraphDestroy& call) {
  leave(graph(call.graph, false));
  graphs_.erase(call.graph);
  forget_what_is_done();
}

void Graphs::reset() {
  graphs_.clear();
  left_.clear();
  nodes_ = 0;
}

void Graphs::leave(Graph& graph) {
  nodes_ -= graph.nodes.size();
  graph.filling.reset();
  for (auto& each : graph.instances)
    left_.push_back(std::move(each));
}

void Graphs::forget_what_is_done() {
  std::erase_if(left_, [this](const std::shared_ptr<Instance>& each) {
    return !each->done || driver_.cuEventQuery(each->done->get()) != CUDA_ERROR_NOT_READY;
  });
}

void Graphs::lay_out(Graph& graph) {
  graph.bytes_to = graph.bytes_from = 0;
  // No overflow: copies are bounded by what a client holds.
  for (const GraphWork work : {GraphWork::copy_to, GraphWork::copy_from}) {
    std::size_t& total = work == GraphWork::copy_to ? graph.bytes_to : graph.bytes_from;
    for (Node& node : graph.nodes) {
      if (node.work != work) continue;
      if (node.copy.width > most_pinned - std::min(most_pinned, graph.bytes_to + graph.bytes_from))
        throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
      node.offset = graph.bytes_to + (work == GraphWork::copy_from ? graph.bytes_from : 0);
      total += node.copy.width;
    }
  }
  graph.shape_changed = false;
}

void Graphs::check_rights(Graph& graph) {
  const std::uint64_t now = rights_.released() + 1;
  if (graph.checked == now) return;
  for (const Node& node : graph.nodes) {
    const CopyWithin& copy = node.copy;
    const auto rows = [&](Address begin, std::uint64_t pitch, std::uint64_t width,
                          std::uint64_t height) {
      rights_.require_held(begin, extent(pitch, width, height));
    };
    switch (node.work) {
      case GraphWork::nothing:
        break;
      case GraphWork::kernel:
        modules_.require_kernel(node.kernel.kernel);
        break;
      case GraphWork::copy_within:
        rows(copy.to, copy.to_pitch, copy.width, copy.height);
        rows(copy.from, copy.from_pitch, copy.width, copy.height);
        break;
      case GraphWork::memset:
        rows(node.memset.to, node.memset.pitch, node.memset.width, node.memset.height);
        break;
      case GraphWork::copy_to:
        rights_.require_held(copy.to, copy.width);
        break;
      case GraphWork::copy_from:
        rights_.require_held(copy.from, copy.width);
        break;
      default:
        throw DriverError(CUDA_ERROR_INVALID_VALUE);
    }
  }
  graph.checked = now;
}

// ---- instances ----

std::shared_ptr<Graphs::Instance> Graphs::build(const Graph& graph) {
  auto made = std::make_shared<Instance>(*this);
  made->version = graph.version;
  made->bytes = graph.bytes_to + graph.bytes_from;
  if (made->bytes > 0) made->memory = blocks_.take(made->bytes);
  check(driver_.cuGraphCreate(&made->graph, 0));
  for (const Node& node : graph.nodes)
    add_node(*made, node);
  check(driver_.cuGraphInstantiate(&made->ready, made->graph, 0));
  return made;
}

void Graphs::add_node(Instance& instance, const Node& node) {
  std::vector<CUgraphNode> after;
  after.reserve(node.after.size());
  for (const std::uint32_t each : node.after)
    after.push_back(instance.nodes[each]);
  CUgraphNode made = nullptr;
  switch (node.work) {
    case GraphWork::nothing:
      check(driver_.cuGraphAddEmptyNode(&made, instance.graph, after.data(), after.size()));
      break;
    case GraphWork::kernel:
      return add_kernel(instance, node, after);
    case GraphWork::memset: {
      const CUDA_MEMSET_NODE_PARAMS what = memset_node(node.memset);
      check(driver_.cuGraphAddMemsetNode(&made, instance.graph, after.data(), after.size(), &what,
                                         context_));
      break;
    }
    case GraphWork::copy_within:
    case GraphWork::copy_to:
    case GraphWork::copy_from: {
      const CUDA_MEMCPY3D what = copy_of(instance, node);
      check(driver_.cuGraphAddMemcpyNode(&made, instance.graph, after.data(), after.size(), &what,
                                         context_));
      break;
    }
  }
  instance.nodes.push_back(made);
}

void Graphs::add_kernel(Instance& instance, const Node& node,
                        const std::vector<CUgraphNode>& after) {
  PreparedLaunch launch;
  Launch call = node.kernel;
  call.arguments = node.arguments;
  modules_.prepare(call, launch);
  const CUDA_KERNEL_NODE_PARAMS what = kernel_node(call, launch);
  CUgraphNode made = nullptr;
  check(driver_.cuGraphAddKernelNode(&made, instance.graph, after.data(), after.size(), &what));
  for (unsigned k = 0; k < launch.attribute_count; ++k) {
    const CUlaunchAttribute& attribute = launch.attributes.at(k);
    check(driver_.cuGraphKernelNodeSetAttribute(made, attribute.id, &attribute.value));
  }
  instance.nodes.push_back(made);
}

CUDA_MEMCPY3D Graphs::copy_of(const Instance& instance, const Node& node) {
  const CopyWithin& copy = node.copy;
  auto result = with_rows<CUDA_MEMCPY3D>(copy);
  result.Depth = 1;
  if (node.work == GraphWork::copy_within) {
    if (copy.height == 1) result.srcPitch = result.dstPitch = copy.width;
    return result;
  }
  result.Height = 1;
  result.srcPitch = result.dstPitch = copy.width;
  if (node.work == GraphWork::copy_to) {
    result.srcMemoryType = CU_MEMORYTYPE_HOST;
    result.srcHost = instance.memory + node.offset;
  } else {
    result.dstMemoryType = CU_MEMORYTYPE_HOST;
    result.dstHost = instance.memory + node.offset;
  }
  return result;
}

bool Graphs::update(Instance& instance, const Graph& graph) {
  if (graph.bytes_to + graph.bytes_from != instance.bytes) return false;
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    const Node& node = graph.nodes[k];
    if (node.version > instance.version && update_node(instance, k, node) != CUDA_SUCCESS)
      return false;
  }
  instance.version = graph.version;
  return true;
}

CUresult Graphs::update_node(const Instance& instance, std::size_t k, const Node& node) {
  switch (node.work) {
    case GraphWork::nothing:
      return CUDA_SUCCESS;
    case GraphWork::kernel: {
      PreparedLaunch launch;
      Launch call = node.kernel;
      call.arguments = node.arguments;
      modules_.prepare(call, launch);
      const CUDA_KERNEL_NODE_PARAMS what = kernel_node(call, launch);
      return driver_.cuGraphExecKernelNodeSetParams(instance.ready, instance.nodes[k], &what);
    }
    case GraphWork::memset: {
      const CUDA_MEMSET_NODE_PARAMS what = memset_node(node.memset);
      return driver_.cuGraphExecMemsetNodeSetParams(instance.ready, instance.nodes[k], &what,
                                                    context_);
    }
    case GraphWork::copy_within:
    case GraphWork::copy_to:
    case GraphWork::copy_from:
      break;
  }
  const CUDA_MEMCPY3D what = copy_of(instance, node);
  return driver_.cuGraphExecMemcpyNodeSetParams(instance.ready, instance.nodes[k], &what, context_);
}

// Idle is one whose memory nobody reads and the GPU has done with; one without memory is always.
std::shared_ptr<Graphs::Instance> Graphs::idle_instance(Graph& graph) {
  if (graph.shape_changed) {
    lay_out(graph);
    for (auto& each : graph.instances)
      left_.push_back(std::move(each));
    graph.instances.clear();
    forget_what_is_done();
  }
  check_rights(graph);
  for (std::shared_ptr<Instance>& each : graph.instances) {
    const bool busy =
        each->bytes > 0 &&
        (each.use_count() > 1 ||
         (each->done && driver_.cuEventQuery(each->done->get()) == CUDA_ERROR_NOT_READY));
    if (busy) continue;
    if (each->version != graph.version && !update(*each, graph)) {
      left_.push_back(std::exchange(each, build(graph)));
    }
    return each;
  }
  if (graph.instances.size() >= most_instances) return nullptr;
  return graph.instances.emplace_back(build(graph));
}

// ---- launches ----

void Graphs::fill(Graph& graph, Bytes data) {
  if (data.size() > graph.bytes_to - graph.filled) throw DriverError(CUDA_ERROR_INVALID_VALUE);
  std::ranges::copy(data, graph.filling->memory + graph.filled);
  graph.filled += data.size();
}

bool Graphs::take(const GraphData& call) {
  Graph& of = graph(call.graph, true);
  if (!of.filling) of.filling = idle_instance(of);
  if (!of.filling) return false;
  fill(of, call.tail.data);
  return true;
}

std::optional<Graphs::Launched> Graphs::launch(const GraphLaunch& call) {
  Graph& of = graph(call.graph, true);
  auto* const stream = streams_.stream(call.stream);
  if (!of.filling) of.filling = idle_instance(of);
  if (!of.filling) return std::nullopt;
  const auto taken = [&] {
    // Whatever becomes of it, the next launch begins anew.
    const std::shared_ptr<Instance> instance = of.filling;
    const CUresult status = status_of([&] { fill(of, call.tail.data); });
    const bool whole = of.filled == of.bytes_to;
    of.filling.reset();
    of.filled = 0;
    check(status);
    if (!whole) throw DriverError(CUDA_ERROR_INVALID_VALUE);
    return instance;
  }();
  if (of.last && of.last_stream != call.stream)
    check(driver_.cuStreamWaitEvent(stream, of.last->get(), 0));
  check(driver_.cuGraphLaunch(taken->ready, stream));
  if (of.last) streams_.give_back(std::move(of.last));
  if (taken->done) streams_.give_back(std::move(taken->done));
  taken->done = of.last = streams_.record(stream);
  of.last_stream = call.stream;
  Launched result{.done = of.last, .pieces = {}, .memory = taken};
  for (const Node& node : of.nodes) {
    if (node.work != GraphWork::copy_from) continue;
    Bytes rest(taken->memory + node.offset, node.copy.width);
    while (!rest.empty()) {
      result.pieces.push_back(rest.first(std::min(rest.size(), most_inline)));
      rest = rest.subspan(result.pieces.back().size());
    }
  }
  if (result.pieces.size() != call.pieces) throw DriverError(CUDA_ERROR_INVALID_VALUE);
  return result;
}

}  // namespace gpucast::remote::server
