#include "client/copies.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace gpucast::remote::client {
namespace {

using DeviceMemory = AddressMap::DeviceMemory;

// A copy that the program asked for.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  const Rows& rows;
  OnStream stream = {};
  bool blocks = false;
  // What lies at both ends; nothing for the host's memory.
  std::optional<DeviceMemory> to_memory = {};
  std::optional<DeviceMemory> from_memory = {};
};

bool in_one_piece(const Rows& rows) {
  return rows.height == 1 || (rows.to_pitch == rows.width && rows.from_pitch == rows.width);
}

// Calls `body(to, from, bytes)` for what lies without gaps at both ends.
template <class Body>
void for_each_piece(const Copy& copy, Body body) {
  const Rows& rows = copy.rows;
  auto* out = static_cast<std::byte*>(copy.to);
  const auto* in = static_cast<const std::byte*>(copy.from);
  if (in_one_piece(rows)) return body(out, in, rows.width * rows.height);
  for (std::size_t row = 0; row < rows.height; ++row)
    body(out + row * rows.to_pitch, in + row * rows.from_pitch, rows.width);
}

// From the first byte of the first row to the last of the last. Failure where no memory is so
// large.
std::size_t extent_of(std::size_t pitch, const Rows& rows) {
  std::size_t result = 0;
  if (__builtin_mul_overflow(pitch, rows.height - 1, &result) ||
      __builtin_add_overflow(result, rows.width, &result)) {
    throw Failure{cudaErrorInvalidValue};
  }
  return result;
}

void require_inside(const std::optional<DeviceMemory>& memory, Address begin, std::size_t pitch,
                    const Rows& rows) {
  const std::size_t extent = extent_of(pitch, rows);
  if (memory && extent > memory->begin + memory->bytes - begin)
    throw Failure{cudaErrorInvalidValue};
}

// Finds what lies at both ends. Failure where that is not what `kind` says or the rows reach beyond
// it.
void find_ends(Copy& copy, cudaMemcpyKind kind) {
  copy.to_memory = runtime().memory.device_memory(address_of(copy.to));
  copy.from_memory = runtime().memory.device_memory(address_of(copy.from));
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind != cudaMemcpyDefault &&
      (to_device != copy.to_memory.has_value() || from_device != copy.from_memory.has_value())) {
    throw Failure{cudaErrorInvalidValue};
  }
  require_inside(copy.to_memory, address_of(copy.to), copy.rows.to_pitch, copy.rows);
  require_inside(copy.from_memory, address_of(copy.from), copy.rows.from_pitch, copy.rows);
}

// A device's end of a copy, where find_ends found one.
const DeviceMemory& of_device(const std::optional<DeviceMemory>& end) {
  return *end;  // NOLINT(bugprone-unchecked-optional-access): `copy` asks which ends are devices'
}

// Calls `body(gpu, stream, blocks)` for what the device has to do on the stream. One of another
// device has come so far before, and the work is done before that stream is given more.
template <class Body>
void on_device(int device, const OnStream& stream, bool blocks, Body body) {
  if (stream.device == device) return body(*stream.gpu, stream.id, blocks);
  Gpu& gpu = runtime().gpu(device);
  require(stream.gpu->synchronize_stream(stream.id));
  body(gpu, legacy_stream, true);
  require(gpu.synchronize_stream(legacy_stream));
}

// Where the device's server has the program's memory; nothing where it does not.
std::optional<Place> place_of(const Gpu& gpu, int device, const void* memory, std::size_t bytes) {
  if (!gpu.shares_memory()) return std::nullopt;
  return runtime().segments.find(device, memory, bytes);
}

void to_device(const Copy& copy) {
  on_device(of_device(copy.to_memory).device, copy.stream, copy.blocks,
            [&](Gpu& gpu, Id on, bool blocks) {
              for_each_piece(copy, [&](std::byte* to, const std::byte* from, std::size_t bytes) {
                if (const auto place = place_of(gpu, of_device(copy.to_memory).device, from, bytes))
                  return require(gpu.copy_to(address_of(to), *place, bytes, on, blocks));
                const bool pinned = runtime().memory.pinned(from, bytes).has_value();
                require(gpu.copy_to(address_of(to), from, bytes, on, blocks, pinned));
              });
            });
}

void from_device(const Copy& copy) {
  // Into pageable memory copies are not asynchronous.
  const bool waits =
      copy.blocks || !runtime().memory.pinned(copy.to, extent_of(copy.rows.to_pitch, copy.rows));
  on_device(of_device(copy.from_memory).device, copy.stream, waits,
            [&](Gpu& gpu, Id on, bool blocks) {
              const bool whole = in_one_piece(copy.rows);
              for_each_piece(copy, [&](std::byte* to, const std::byte* from, std::size_t bytes) {
                const bool asynchronous = !(blocks && whole);
                if (const auto place = place_of(gpu, of_device(copy.from_memory).device, to, bytes))
                  return require(gpu.copy_from(*place, address_of(from), bytes, on, asynchronous));
                require(gpu.copy_from(to, address_of(from), bytes, on, asynchronous));
              });
              if (blocks && !whole) require(gpu.synchronize_stream(on));
            });
}

// For one server, to which both are addresses of its own.
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
  on_device(of_device(copy.to_memory).device, copy.stream, copy.blocks,
            [&](Gpu& gpu, Id on, bool blocks) { require(gpu.send(message_of(copy, on, blocks))); });
}

void within_host(const Copy& copy) {
  require(copy.stream.gpu->synchronize_stream(copy.stream.id));
  for_each_piece(copy, [](std::byte* to, const std::byte* from, std::size_t bytes) {
    std::memmove(to, from, bytes);
  });
}

// ---- from one device to another: by the servers themselves where both are of one host and the
// stream is one of theirs, through this process otherwise ----

// By the server that has the stream, so that the stream's order holds; false where it has no access
// to the other device's memory.
bool directly(const Copy& copy) {
  const OnStream& stream = copy.stream;
  const bool receives = stream.device == of_device(copy.to_memory).device;
  if (!receives && stream.device != of_device(copy.from_memory).device) return false;
  const DeviceMemory& others = receives ? of_device(copy.from_memory) : of_device(copy.to_memory);
  const auto attached = runtime().attachments.find(others, stream.device);
  if (!attached) return false;
  // The stream does not know what the other device still has to do.
  Gpu& other = runtime().gpu(others.device);
  require(copy.blocks ? other.synchronize_stream(legacy_stream) : other.wait_for_fences());
  // No fence: a blocking copy is over when this returns.
  CopyWithin message = message_of(copy, stream.id, false);
  (receives ? message.from : message.to) += *attached - others.begin;
  require(stream.gpu->send(message));
  // Nor do the other device's streams know of the copy.
  if (copy.blocks) require(stream.gpu->synchronize_stream(stream.id));
  static Counter& counter = runtime().counters.of("(copies between devices, direct)");
  counter.calls.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Through this process, part by part.
void staged(const Copy& copy) {
  require(copy.stream.gpu->synchronize_stream(copy.stream.id));
  static Counter& counter = runtime().counters.of("(copies between devices, staged)");
  counter.calls.fetch_add(1, std::memory_order_relaxed);
  Gpu& source = runtime().gpu(of_device(copy.from_memory).device);
  Gpu& destination = runtime().gpu(of_device(copy.to_memory).device);
  constexpr std::size_t part = std::size_t{16} << 20;
  std::vector<std::byte> between(std::min(part, copy.rows.width * copy.rows.height));
  for_each_piece(copy, [&](std::byte* to, const std::byte* from, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes; done += part) {
      const std::size_t count = std::min(part, bytes - done);
      require(
          source.copy_from(between.data(), address_of(from) + done, count, legacy_stream, false));
      require(destination.copy_to(address_of(to) + done, between.data(), count, legacy_stream, true,
                                  false));
      counter.bytes_sent.fetch_add(count, std::memory_order_relaxed);
      counter.bytes_received.fetch_add(count, std::memory_order_relaxed);
    }
  });
}

void check(const void* to, const void* from, const Rows& rows, cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    throw Failure{cudaErrorInvalidMemcpyDirection};
  if (to == nullptr || from == nullptr) throw Failure{cudaErrorInvalidValue};
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
      for (Work& each : copy_works(to, from, rows, kind))
        runtime().graphs.record(on, std::move(each));
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
  if (!its.to_memory && !its.from_memory) {
    within_host(its);
  } else if (!its.from_memory) {
    to_device(its);
  } else if (!its.to_memory) {
    from_device(its);
  } else if (its.to_memory->device == its.from_memory->device) {
    within_device(its);
  } else if (!directly(its)) {
    staged(its);
  }
}

std::vector<Work> copy_works(void* to, const void* from, const Rows& rows, cudaMemcpyKind kind) {
  check(to, from, rows, kind);
  Copy its{.to = to, .from = from, .rows = rows};
  find_ends(its, kind);
  std::vector<Work> result;
  if (!its.to_memory && !its.from_memory)
    require(runtime().unsupported("copies within the host's memory in a graph"));
  const auto& end = its.to_memory ? its.to_memory : its.from_memory;
  Work work{.type = cudaGraphNodeTypeMemcpy, .device = of_device(end).device};
  if (its.to_memory && its.from_memory) {
    if (its.to_memory->device != its.from_memory->device)
      require(runtime().unsupported("copies between devices in a graph"));
    work.content.work = GraphWork::copy_within;
    work.content.copy = message_of(its, legacy_stream, false);
    result.push_back(std::move(work));
    return result;
  }
  for_each_piece(its, [&](std::byte* at, const std::byte* source, std::size_t bytes) {
    work.content.work = its.to_memory ? GraphWork::copy_to : GraphWork::copy_from;
    work.content.copy = {};
    (its.to_memory ? work.content.copy.to : work.content.copy.from) =
        its.to_memory ? address_of(at) : address_of(source);
    work.content.copy.width = bytes;
    work.host = its.to_memory ? const_cast<std::byte*>(source) : at;
    result.push_back(work);
  });
  return result;
}

Work memset_work(void* to, int value, std::size_t pitch, std::size_t width, std::size_t height) {
  if (height > 1 && width > pitch) throw Failure{cudaErrorInvalidPitchValue};
  const auto memory = runtime().memory.device_memory(address_of(to));
  if (!memory) throw Failure{cudaErrorInvalidValue};
  require_inside(memory, address_of(to), pitch, {.width = width, .height = height});
  Work work{.type = cudaGraphNodeTypeMemset, .device = memory->device};
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
    require(gpu.send(message));
  });
}

// At an address that is free here too.
static void* place(int device, std::size_t bytes) {
  Gpu& gpu = runtime().gpu(device);
  AddressMap& map = runtime().memory;
  Allocated got;
  bool reserved = false;
  constexpr int tries = 16;
  for (int k = 0; k < tries && !reserved; ++k) {
    const Address at = map.reserve_anywhere(device, bytes);
    if (at == 0) break;
    const Status status = gpu.call(MemAlloc{.bytes = bytes, .at = at}, got);
    if (status != Status{cudaErrorNotSupported}) require(status);
    reserved = status == 0;
  }
  if (!reserved) {
    require(runtime().unsupported("device memory at an address that this process uses otherwise"));
  }
  map.add(device, got.address, bytes);
  return reinterpret_cast<void*>(got.address);
}

void allocate(void** memory, std::size_t bytes) {
  if (memory == nullptr) throw Failure{cudaErrorInvalidValue};
  *memory = nullptr;
  const int device = this_thread().device;
  Gpu& gpu = runtime().gpu(device);
  if (bytes == 0) return;
  Allocated got;
  require(gpu.call(MemAlloc{.bytes = bytes}, got));
  if (runtime().memory.reserve(device, got.address, bytes)) {
    runtime().memory.add(device, got.address, bytes);
    *memory = reinterpret_cast<void*>(got.address);
    return;
  }
  require(gpu.send(MemFree{.address = got.address}));
  *memory = place(device, bytes);
}

void allocate_pooled(void** memory, std::size_t bytes, cudaMemPool_t pool, const OnStream& on) {
  if (memory == nullptr) throw Failure{cudaErrorInvalidValue};
  *memory = nullptr;
  const DeviceObject from =
      runtime().pools.handles.find(pool != nullptr ? pool : runtime().pools.current(on.device));
  if (from.device != on.device) require(runtime().unsupported("a pool of another device"));
  if (bytes == 0) return;
  Allocated got;
  require(on.gpu->call(PoolAlloc{.bytes = bytes, .pool = from.id, .stream = on.id}, got));
  if (runtime().memory.reserve(on.device, got.address, bytes)) {
    runtime().memory.add(on.device, got.address, bytes, true);
    *memory = reinterpret_cast<void*>(got.address);
    return;
  }
  require(on.gpu->send(PoolFree{.address = got.address, .stream = on.id}));
  *memory = place(on.device, bytes);
}

// Memory that no pool gave waits for the whole GPU, and so later than it has to. A stream of
// another device knows nothing of this one's work.
void deallocate_pooled(void* memory, const OnStream& on) {
  if (memory == nullptr) return;
  const auto found = runtime().memory.device_memory(address_of(memory));
  if (!found || found->begin != address_of(memory)) throw Failure{cudaErrorInvalidValue};
  if (!found->pooled || found->device != on.device) {
    if (found->device != on.device) require(on.gpu->synchronize_stream(on.id));
    return deallocate(memory);
  }
  runtime().memory.remove(found->begin);
  require(on.gpu->send(PoolFree{.address = found->begin, .stream = on.id}));
}

void deallocate(void* memory) {
  runtime().device_count();
  if (memory == nullptr) return;
  const auto found = runtime().memory.remove(address_of(memory));
  if (!found) throw Failure{cudaErrorInvalidValue};
  runtime().gpu(found->device).let_functions_run();
  runtime().attachments.detach(found->begin);
  require(runtime().gpu(found->device).send(MemFree{.address = found->begin}));
}

Global symbol(const void* host) {
  const Variable* variable = runtime().program.variable(host);
  if (variable == nullptr) throw Failure{cudaErrorInvalidSymbol};
  const int device = this_thread().device;
  Global found;
  require(runtime().gpu(device).modules.global(*variable, found));
  // Copies by its address find it, as those by allocated memory's.
  if (!runtime().memory.device_memory(found.address)) {
    if (!runtime().memory.reserve(device, found.address, found.bytes))
      require(runtime().unsupported("a variable at an address that is used otherwise"));
    runtime().memory.add(device, found.address, found.bytes);
  }
  return found;
}

}  // namespace gpucast::remote::client
