#include "server/graphs.h"

#include <iterator>

#include "protocol/ranges.h"

namespace gpucast::remote::server {
namespace {

// More than programs use, and few enough for this process.
constexpr std::size_t most_graphs = std::size_t{1} << 14;
constexpr std::size_t most_nodes_of_all = std::size_t{1} << 20;
constexpr std::size_t most_pinned = std::size_t{1} << 30;  // bytes, of all instances
// Maximum of launches in progress of a graph that has copies.
constexpr std::size_t most_instances = 4;
constexpr std::size_t least_block = 4096;

std::size_t block_size(std::size_t bytes) { return std::bit_ceil(std::max(bytes, least_block)); }

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
  Graph& known = named(graphs_, id);
  if (known.is_ready < ready) throw DriverError(CUDA_ERROR_INVALID_HANDLE);
  return known;
}

void Graphs::run(const GraphNode& call) {
  if (!graphs_.contains(call.graph) && graphs_.size() >= most_graphs)
    throw DriverError(CUDA_ERROR_OUT_OF_MEMORY);
  Graph& graph = graphs_[call.graph];
  const bool is_new = call.node == graph.nodes.size();
  if (call.node > graph.nodes.size() || (is_new && graph.is_ready) ||
      std::ranges::any_of(call.after, [&](std::uint32_t before) { return before >= call.node; }) ||
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
  Graph& graph = graphs_[call.graph];  // a graph without nodes was not described before
  if (graph.nodes.size() != call.nodes) throw DriverError(CUDA_ERROR_INVALID_VALUE);
  forget_what_is_done();
  lay_out(graph);
  check_rights(graph);
  if (graph.instances.empty()) graph.instances.push_back(build(graph));
  graph.is_ready = true;
}

void Graphs::run(const GraphDestroy& call) {
  Graph& gone = graph(call.graph, false);
  nodes_ -= gone.nodes.size();
  gone.filling.reset();
  leave(gone);
  graphs_.erase(call.graph);
  forget_what_is_done();
}

void Graphs::reset() {
  graphs_.clear();
  left_.clear();
  nodes_ = 0;
}

void Graphs::leave(Graph& graph) {
  std::ranges::move(std::exchange(graph.instances, {}), std::back_inserter(left_));
}

void Graphs::forget_what_is_done() {
  std::erase_if(left_, [this](const std::shared_ptr<Instance>& instance) {
    return !instance->done || driver_.cuEventQuery(instance->done->get()) != CUDA_ERROR_NOT_READY;
  });
}

void Graphs::lay_out(Graph& graph) {
  graph.bytes_to = graph.bytes_from = 0;
  // The sums cannot overflow: copies are bounded by the client's memory.
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
    check(set_node(*made, node, made->nodes.emplace_back()));
  check(driver_.cuGraphInstantiate(&made->ready, made->graph, 0));
  return made;
}

CUresult Graphs::set_node(const Instance& instance, const Node& node, CUgraphNode& place) {
  const bool is_new = place == nullptr;
  std::vector<CUgraphNode> after;
  for (std::size_t k = 0; is_new && k < node.after.size(); ++k)
    after.push_back(instance.nodes[node.after[k]]);
  switch (node.work) {
    case GraphWork::nothing:
      return is_new
                 ? driver_.cuGraphAddEmptyNode(&place, instance.graph, after.data(), after.size())
                 : CUDA_SUCCESS;
    case GraphWork::kernel: {
      PreparedLaunch launch;
      Launch call = node.kernel;
      call.arguments = node.arguments;
      modules_.prepare(call, launch);
      auto what = with_grid<CUDA_KERNEL_NODE_PARAMS>(call);
      what.func = launch.function;
      what.kernelParams = launch.arguments.data();
      if (!is_new) return driver_.cuGraphExecKernelNodeSetParams(instance.ready, place, &what);
      CUresult status =
          driver_.cuGraphAddKernelNode(&place, instance.graph, after.data(), after.size(), &what);
      for (unsigned k = 0; k < launch.attribute_count && status == CUDA_SUCCESS; ++k) {
        const CUlaunchAttribute& attribute = launch.attributes.at(k);
        status = driver_.cuGraphKernelNodeSetAttribute(place, attribute.id, &attribute.value);
      }
      return status;
    }
    case GraphWork::memset: {
      const CUDA_MEMSET_NODE_PARAMS what{.dst = node.memset.to,
                                         .pitch = node.memset.pitch,
                                         .value = node.memset.value,
                                         .elementSize = 1,
                                         .width = node.memset.width,
                                         .height = node.memset.height};
      return is_new
                 ? driver_.cuGraphAddMemsetNode(&place, instance.graph, after.data(), after.size(),
                                                &what, context_)
                 : driver_.cuGraphExecMemsetNodeSetParams(instance.ready, place, &what, context_);
    }
    case GraphWork::copy_within:
    case GraphWork::copy_to:
    case GraphWork::copy_from:
      break;
  }
  const CUDA_MEMCPY3D what = copy_of(instance, node);
  return is_new ? driver_.cuGraphAddMemcpyNode(&place, instance.graph, after.data(), after.size(),
                                               &what, context_)
                : driver_.cuGraphExecMemcpyNodeSetParams(instance.ready, place, &what, context_);
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
    if (node.version > instance.version &&
        set_node(instance, node, instance.nodes[k]) != CUDA_SUCCESS)
      return false;
  }
  instance.version = graph.version;
  return true;
}

// An instance is idle if nobody reads its memory and the GPU has finished with it; one without
// memory always is.
std::shared_ptr<Graphs::Instance> Graphs::idle_instance(Graph& graph) {
  if (graph.shape_changed) {
    lay_out(graph);
    leave(graph);
    forget_what_is_done();
  }
  check_rights(graph);
  for (std::shared_ptr<Instance>& instance : graph.instances) {
    const bool busy =
        instance->bytes > 0 &&
        (instance.use_count() > 1 ||
         (instance->done && driver_.cuEventQuery(instance->done->get()) == CUDA_ERROR_NOT_READY));
    if (busy) continue;
    if (instance->version != graph.version && !update(*instance, graph))
      left_.push_back(std::exchange(instance, build(graph)));
    return instance;
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
  Graph& its = graph(call.graph, true);
  if (!its.filling) its.filling = idle_instance(its);
  if (!its.filling) return false;
  fill(its, call.tail.data);
  return true;
}

std::optional<Graphs::Launched> Graphs::launch(const GraphLaunch& call) {
  Graph& its = graph(call.graph, true);
  auto* const stream = streams_.stream(call.stream);
  if (!its.filling) its.filling = idle_instance(its);
  if (!its.filling) return std::nullopt;
  const auto taken = [&] {
    // Even if this launch fails, the next one begins anew.
    const std::shared_ptr<Instance> instance = its.filling;
    const CUresult status = status_of([&] { fill(its, call.tail.data); });
    const bool whole = its.filled == its.bytes_to;
    its.filling.reset();
    its.filled = 0;
    check(status);
    if (!whole) throw DriverError(CUDA_ERROR_INVALID_VALUE);
    return instance;
  }();
  if (its.last && its.last_stream != call.stream)
    check(driver_.cuStreamWaitEvent(stream, its.last->get(), 0));
  check(driver_.cuGraphLaunch(taken->ready, stream));
  if (its.last) streams_.give_back(std::move(its.last));
  if (taken->done) streams_.give_back(std::move(taken->done));
  taken->done = its.last = streams_.record(stream);
  its.last_stream = call.stream;
  Launched result{.done = its.last, .pieces = {}, .memory = taken};
  for (const Node& node : its.nodes) {
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
