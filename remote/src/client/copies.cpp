#include "client/works.h"

namespace gpucast::remote::client {
namespace {

using DeviceMemory = AddressMap::DeviceMemory;

// Host memory: everything that belongs to no device.
constexpr DeviceMemory no_device = {.device = -1, .bytes = ~std::size_t{0}};

// A copy that the program has called for.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  const Rows& rows;
  OnStream stream = {};
  bool blocks = false;
  // The memory at both ends.
  DeviceMemory to_memory = no_device;
  DeviceMemory from_memory = no_device;

  bool to_device() const { return to_memory.device >= 0; }
  bool from_device() const { return from_memory.device >= 0; }
};

bool in_one_piece(const Rows& rows) {
  return rows.height == 1 || (rows.to_pitch == rows.width && rows.from_pitch == rows.width);
}

// Calls `body(to, from, bytes)` for each block that is contiguous at both ends.
template <class Body>
void for_each_piece(const Copy& copy, Body body) {
  const Rows& rows = copy.rows;
  auto* out = static_cast<std::byte*>(copy.to);
  const auto* in = static_cast<const std::byte*>(copy.from);
  if (in_one_piece(rows)) return body(out, in, rows.width * rows.height);
  for (std::size_t row = 0; row < rows.height; ++row)
    body(out + row * rows.to_pitch, in + row * rows.from_pitch, rows.width);
}

// Returns the memory at the address. Failure if the rows reach beyond it.
DeviceMemory memory_at(const void* begin, std::size_t pitch, const Rows& rows) {
  const auto memory = runtime().memory.device_memory(address_of(begin)).value_or(no_device);
  const std::uint64_t bytes = extent(pitch, rows.width, rows.height);
  require_valid(bytes <= memory.begin + memory.bytes - address_of(begin));
  return memory;
}

// Finds the memory at both ends. Failure if it contradicts `kind`.
void find_ends(Copy& copy, cudaMemcpyKind kind) {
  copy.to_memory = memory_at(copy.to, copy.rows.to_pitch, copy.rows);
  copy.from_memory = memory_at(copy.from, copy.rows.from_pitch, copy.rows);
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  require_valid(kind == cudaMemcpyDefault ||
                (to_device == copy.to_device() && from_device == copy.from_device()));
}

// Calls `body(gpu, stream, blocks)` with the device's part of the work. For a stream of another
// device, that stream has completed before, and the work is completed before the stream gets more.
template <class Body>
void on_device(int device, const OnStream& stream, bool blocks, Body body) {
  if (stream.device == device) return body(*stream.gpu, stream.id, blocks);
  Gpu& gpu = runtime().gpu(device);
  stream.gpu->synchronize_stream(stream.id);
  body(gpu, legacy_stream, true);
  gpu.synchronize_stream(legacy_stream);
}

// Returns the program's memory as the device's server sees it, or nothing if that has no access.
std::optional<Place> place_of(const Gpu& gpu, int device, const void* memory, std::size_t bytes) {
  if (!gpu.shares_memory()) return std::nullopt;
  return runtime().segments.find(device, memory, bytes);
}

void to_device(const Copy& copy) {
  const int device = copy.to_memory.device;
  on_device(device, copy.stream, copy.blocks, [&](Gpu& gpu, Id on, bool blocks) {
    for_each_piece(copy, [&](std::byte* to, const std::byte* from, std::size_t bytes) {
      if (const auto place = place_of(gpu, device, from, bytes))
        return gpu.copy_to(address_of(to), *place, bytes, on, blocks);
      const bool pinned = runtime().memory.pinned(from, bytes).has_value();
      gpu.copy_to(address_of(to), from, bytes, on, blocks, pinned);
    });
  });
}

void from_device(const Copy& copy) {
  const int device = copy.from_memory.device;
  const Rows& rows = copy.rows;
  // Copies into pageable memory are not asynchronous.
  const bool waits = copy.blocks || !runtime().memory.pinned(
                                        copy.to, extent(rows.to_pitch, rows.width, rows.height));
  on_device(device, copy.stream, waits, [&](Gpu& gpu, Id on, bool blocks) {
    const bool whole = in_one_piece(rows);
    for_each_piece(copy, [&](std::byte* to, const std::byte* from, std::size_t bytes) {
      const bool asynchronous = !(blocks && whole);
      if (const auto place = place_of(gpu, device, to, bytes))
        return gpu.copy_from(*place, address_of(from), bytes, on, asynchronous);
      gpu.copy_from(to, address_of(from), bytes, on, asynchronous);
    });
    if (blocks && !whole) gpu.synchronize_stream(on);
  });
}

// A copy on one server, for which both addresses are its own.
CopyWithin message_of(const Copy& copy, Id stream, bool fence) {
  const Rows& rows = copy.rows;
  const bool whole = in_one_piece(rows);
  return {.to = address_of(copy.to),
          .to_pitch = rows.to_pitch,
          .from = address_of(copy.from),
          .from_pitch = rows.from_pitch,
          .width = whole ? rows.width * rows.height : rows.width,
          .height = whole ? 1 : rows.height,
          .stream = stream,
          .fence = fence};
}

void within_device(const Copy& copy) {
  on_device(copy.to_memory.device, copy.stream, copy.blocks,
            [&](Gpu& gpu, Id on, bool blocks) { gpu.send(message_of(copy, on, blocks)); });
}

void within_host(const Copy& copy) {
  copy.stream.gpu->synchronize_stream(copy.stream.id);
  for_each_piece(copy, [](std::byte* to, const std::byte* from, std::size_t bytes) {
    std::memmove(to, from, bytes);
  });
}

// ---- from one device to another: by the servers themselves if both run on one host and one of
// them has the stream, and otherwise through this process ----

// Lets the server that has the stream copy, which keeps the stream's order; returns false if it has
// no access to the other device's memory.
bool directly(const Copy& copy) {
  const OnStream& stream = copy.stream;
  const bool receives = stream.device == copy.to_memory.device;
  if (!receives && stream.device != copy.from_memory.device) return false;
  const DeviceMemory& others = receives ? copy.from_memory : copy.to_memory;
  const auto attached = runtime().attachments.find(others, stream.device);
  if (!attached) return false;
  // The stream does not wait for the other device's work by itself.
  Gpu& other = runtime().gpu(others.device);
  copy.blocks ? other.synchronize_stream(legacy_stream) : other.wait_for_fences();
  // No fence is needed: a blocking copy is finished when this returns.
  CopyWithin message = message_of(copy, stream.id, false);
  (receives ? message.from : message.to) += *attached - others.begin;
  stream.gpu->send(message);
  // The other device's streams do not wait for the copy by themselves.
  if (copy.blocks) stream.gpu->synchronize_stream(stream.id);
  static Counter& counter = runtime().counters.of("(copies between devices, direct)");
  counter.calls.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Copies through this process, part by part.
void staged(const Copy& copy) {
  copy.stream.gpu->synchronize_stream(copy.stream.id);
  static Counter& counter = runtime().counters.of("(copies between devices, staged)");
  counter.calls.fetch_add(1, std::memory_order_relaxed);
  Gpu& source = runtime().gpu(copy.from_memory.device);
  Gpu& destination = runtime().gpu(copy.to_memory.device);
  constexpr std::size_t part = std::size_t{16} << 20;
  std::vector<std::byte> between(std::min(part, copy.rows.width * copy.rows.height));
  for_each_piece(copy, [&](std::byte* to, const std::byte* from, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes; done += part) {
      const std::size_t count = std::min(part, bytes - done);
      source.copy_from(between.data(), address_of(from) + done, count, legacy_stream, false);
      destination.copy_to(address_of(to) + done, between.data(), count, legacy_stream, true, false);
      counter.bytes_sent.fetch_add(count, std::memory_order_relaxed);
      counter.bytes_received.fetch_add(count, std::memory_order_relaxed);
    }
  });
}

void check(const void* to, const void* from, const Rows& rows, cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    throw Failure{cudaErrorInvalidMemcpyDirection};
  require_valid(to != nullptr && from != nullptr);
  if (rows.height > 1 && (rows.width > rows.to_pitch || rows.width > rows.from_pitch))
    throw Failure{cudaErrorInvalidPitchValue};
}

}  // namespace

void copy(void* to, const void* from, const Rows& rows, cudaMemcpyKind kind, cudaStream_t stream,
          Waiting waiting) {
  const OnStream on = runtime().stream(stream);
  if (waiting == Waiting::blocking) runtime().graphs.forbid(on);
  if (rows.width == 0 || rows.height == 0) return;
  if (runtime().graphs.records(on)) {
    try {
      for (Work& work : copy_works(to, from, rows, kind))
        runtime().graphs.record(on, std::move(work));
    } catch (const Failure& failure) {
      runtime().graphs.forbid(on, failure.error);
      throw;
    }
    return;
  }
  check(to, from, rows, kind);
  Copy its{
      .to = to, .from = from, .rows = rows, .stream = on, .blocks = waiting == Waiting::blocking};
  find_ends(its, kind);
  if (!its.to_device() && !its.from_device())
    within_host(its);
  else if (!its.from_device())
    to_device(its);
  else if (!its.to_device())
    from_device(its);
  else if (its.to_memory.device == its.from_memory.device)
    within_device(its);
  else if (!directly(its))
    staged(its);
}

std::vector<Work> copy_works(void* to, const void* from, const Rows& rows, cudaMemcpyKind kind) {
  check(to, from, rows, kind);
  Copy its{.to = to, .from = from, .rows = rows};
  find_ends(its, kind);
  const bool up = its.to_device();
  refuse_if(!up && !its.from_device(), "copies within the host's memory in a graph");
  Work work{.type = cudaGraphNodeTypeMemcpy,
            .device = (up ? its.to_memory : its.from_memory).device};
  if (up && its.from_device()) {
    refuse_if(work.device != its.from_memory.device, "copies between devices in a graph");
    work.content.work = GraphWork::copy_within;
    work.content.copy = message_of(its, legacy_stream, false);
    return {work};
  }
  std::vector<Work> result;
  for_each_piece(its, [&](std::byte* at, const std::byte* source, std::size_t bytes) {
    work.content.work = up ? GraphWork::copy_to : GraphWork::copy_from;
    (up ? work.content.copy.to : work.content.copy.from) = address_of(up ? at : source);
    work.content.copy.width = bytes;
    work.host = up ? const_cast<std::byte*>(source) : at;
    result.push_back(work);
  });
  return result;
}

Work memset_work(void* to, int value, std::size_t pitch, std::size_t width, std::size_t height) {
  if (height > 1 && width > pitch) throw Failure{cudaErrorInvalidPitchValue};
  const DeviceMemory memory = memory_at(to, pitch, {.width = width, .height = height});
  require_valid(memory.device >= 0);
  Work work{.type = cudaGraphNodeTypeMemset, .device = memory.device};
  work.content.work = GraphWork::memset;
  work.content.memset = {.to = address_of(to),
                         .value = static_cast<std::uint8_t>(value),
                         .pitch = pitch,
                         .width = width,
                         .height = height};
  return work;
}

void set(void* to, int value, std::size_t pitch, std::size_t width, std::size_t height,
         cudaStream_t stream, Waiting waiting) {
  const OnStream on = runtime().stream(stream);
  const bool blocking = waiting == Waiting::blocking;
  if (blocking) runtime().graphs.forbid(on);
  if (width == 0 || height == 0) return;
  Work work = memset_work(to, value, pitch, width, height);
  if (runtime().graphs.records(on)) return runtime().graphs.record(on, std::move(work));
  on_device(work.device, on, blocking, [&](Gpu& gpu, Id id, bool blocks) {
    Memset& message = work.content.memset;
    message.stream = id;
    message.fence = blocks;
    gpu.send(message);
  });
}

// Allocates at an address that is also free in this process.
static Address allocate_elsewhere(int device, std::size_t bytes) {
  constexpr int tries = 16;
  for (int k = 0; k < tries; ++k) {
    const Address at = runtime().memory.reserve_anywhere(device, bytes);
    if (at == 0) break;
    Address address = 0;
    const Status status = status_of(
        [&] { address = runtime().gpu(device).call(MemAlloc{.bytes = bytes, .at = at}).address; });
    if (status == 0) return address;
    if (status != Status{cudaErrorNotSupported}) require(status);
  }
  refuse("device memory at an address that this process uses otherwise");
}

// Returns the server's allocation, at an address that has no other meaning in this process.
template <class Allocate, class Free>
static void give_memory(void** memory, int device, std::size_t bytes, bool pooled,
                        const Allocate& allocate, const Free& free) {
  Address address = runtime().gpu(device).call(allocate).address;
  if (!runtime().memory.reserve(device, address, bytes)) {
    runtime().gpu(device).send(free(address));
    address = allocate_elsewhere(device, bytes);
    pooled = false;
  }
  runtime().memory.add(device, address, bytes, pooled);
  *memory = reinterpret_cast<void*>(address);
}

void allocate(void** memory, std::size_t bytes) {
  give(memory, nullptr);
  const int device = this_thread().device;
  runtime().gpu(device);
  if (bytes == 0) return;
  give_memory(memory, device, bytes, false, MemAlloc{.bytes = bytes},
              [](Address address) { return MemFree{.address = address}; });
}

void allocate_pooled(void** memory, std::size_t bytes, cudaMemPool_t pool, const OnStream& on) {
  give(memory, nullptr);
  const DeviceObject from =
      runtime().pools.handles.find(pool != nullptr ? pool : runtime().pools.current(on.device));
  refuse_if(from.device != on.device, "a pool of another device");
  if (bytes == 0) return;
  give_memory(memory, on.device, bytes, true,
              PoolAlloc{.bytes = bytes, .pool = from.id, .stream = on.id},
              [&](Address address) { return PoolFree{.address = address, .stream = on.id}; });
}

// Memory that did not come from a pool is freed after all work of the GPU, which is later than
// necessary. A stream of another device does not wait for this one's work.
void deallocate_pooled(void* memory, const OnStream& on) {
  if (memory == nullptr) return;
  const auto allocation = require_valid(runtime().memory.device_memory(address_of(memory)));
  require_valid(allocation.begin == address_of(memory));
  if (allocation.device != on.device) on.gpu->synchronize_stream(on.id);
  if (!allocation.pooled || allocation.device != on.device) return deallocate(memory);
  runtime().memory.remove(allocation.begin);
  on.gpu->send(PoolFree{.address = allocation.begin, .stream = on.id});
}

void deallocate(void* memory) {
  runtime().device_count();
  if (memory == nullptr) return;
  const auto removed = require_valid(runtime().memory.remove(address_of(memory)));
  Gpu& gpu = runtime().gpu(removed.device);
  gpu.let_functions_run();
  runtime().attachments.detach(removed.begin);
  gpu.send(MemFree{.address = removed.begin});
}

Global symbol(const void* host) {
  const Variable* variable = runtime().program.variable(host);
  if (variable == nullptr) throw Failure{cudaErrorInvalidSymbol};
  const int device = this_thread().device;
  const Global global = runtime().gpu(device).modules.global(*variable);
  // Copies find it by its address, like allocated memory.
  if (!runtime().memory.device_memory(global.address)) {
    refuse_if(!runtime().memory.reserve(device, global.address, global.bytes),
              "a variable at an address that is used otherwise");
    runtime().memory.add(device, global.address, global.bytes);
  }
  return global;
}

}  // namespace gpucast::remote::client
