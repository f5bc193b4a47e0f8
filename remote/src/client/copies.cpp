#include "client/copies.h"

#include <cstring>

#include "client/device_copies.h"

namespace gpucast::remote::client {
namespace {

using DeviceMemory = MemoryBook::DeviceMemory;

// What lies at both ends; nothing for the host's memory. Failure where that is not what `kind` says
// or the rows reach beyond it.
struct Ends {
  std::optional<DeviceMemory> to;
  std::optional<DeviceMemory> from;
};

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

Ends ends_of(const void* to, const void* from, const Rows& rows, cudaMemcpyKind kind) {
  const Ends ends{.to = runtime().memory.device_memory(address_of(to)),
                  .from = runtime().memory.device_memory(address_of(from))};
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind != cudaMemcpyDefault &&
      (to_device != ends.to.has_value() || from_device != ends.from.has_value())) {
    throw Failure{cudaErrorInvalidValue};
  }
  require_inside(ends.to, address_of(to), rows.to_pitch, rows);
  require_inside(ends.from, address_of(from), rows.from_pitch, rows);
  return ends;
}

std::uint8_t fence_of(Waiting waiting) { return waiting == Waiting::blocking ? 1 : 0; }

// Calls `body(stream, waiting)` for what the device has to do on the stream. One of another device
// has come so far before, and the work is done before that stream is given more.
template <class Body>
void on_device(int device, const OnStream& stream, Waiting waiting, Body body) {
  if (stream.device == device) return body(stream.id, waiting);
  require(stream.gpu->synchronize_stream(stream.id));
  body(legacy_stream, Waiting::blocking);
  require(runtime().gpu(device).synchronize_stream(legacy_stream));
}

void to_device(void* to, const void* from, const Rows& rows, int device, const OnStream& stream,
               Waiting waiting) {
  Gpu& gpu = runtime().gpu(device);
  on_device(device, stream, waiting, [&](Id on, Waiting wait) {
    for_each_piece(to, from, rows, [&](std::byte* out, const std::byte* in, std::size_t bytes) {
      const bool pinned = runtime().memory.pinned(in, bytes).has_value();
      require(gpu.copy_to(address_of(out), in, bytes, on, wait == Waiting::blocking, pinned));
    });
  });
}

void from_device(void* to, const void* from, const Rows& rows, int device, const OnStream& stream,
                 Waiting waiting) {
  Gpu& gpu = runtime().gpu(device);
  // Into pageable memory copies are not asynchronous.
  if (!runtime().memory.pinned(to, extent_of(rows.to_pitch, rows))) waiting = Waiting::blocking;
  on_device(device, stream, waiting, [&](Id on, Waiting wait) {
    const bool blocks = wait == Waiting::blocking;
    const bool whole = in_one_piece(rows);
    for_each_piece(to, from, rows, [&](std::byte* out, const std::byte* in, std::size_t bytes) {
      require(gpu.copy_from(out, address_of(in), bytes, on, !(blocks && whole)));
    });
    if (blocks && !whole) require(gpu.synchronize_stream(on));
  });
}

void within_device(void* to, const void* from, const Rows& rows, int device, const OnStream& stream,
                   Waiting waiting) {
  on_device(device, stream, waiting, [&](Id on, Waiting wait) {
    require(
        runtime().gpu(device).tell(copy_message(address_of(to), address_of(from), rows, on, wait)));
  });
}

void within_host(void* to, const void* from, const Rows& rows, const OnStream& stream) {
  require(stream.gpu->synchronize_stream(stream.id));
  for_each_piece(to, from, rows, [](std::byte* out, const std::byte* in, std::size_t bytes) {
    std::memmove(out, in, bytes);
  });
}

}  // namespace

CopyWithin copy_message(Address to, Address from, const Rows& rows, Id stream, Waiting waiting) {
  CopyWithin message{.to = to,
                     .to_pitch = rows.to_pitch,
                     .from = from,
                     .from_pitch = rows.from_pitch,
                     .width = rows.width,
                     .height = rows.height,
                     .stream = stream,
                     .fence = fence_of(waiting)};
  if (in_one_piece(rows)) {
    message.width = rows.width * rows.height;
    message.height = 1;
  }
  return message;
}

cudaError_t copy(void* to, const void* from, const Rows& rows, cudaMemcpyKind kind,
                 cudaStream_t stream, Waiting waiting) {
  const OnStream on = runtime().stream(stream);
  if (rows.width == 0 || rows.height == 0) return cudaSuccess;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return cudaErrorInvalidMemcpyDirection;
  if (to == nullptr || from == nullptr) return cudaErrorInvalidValue;
  if (rows.height > 1 && (rows.width > rows.to_pitch || rows.width > rows.from_pitch))
    return cudaErrorInvalidPitchValue;
  const Ends ends = ends_of(to, from, rows, kind);
  if (!ends.to && !ends.from) {
    within_host(to, from, rows, on);
  } else if (!ends.from) {
    to_device(to, from, rows, ends.to->device, on, waiting);
  } else if (!ends.to) {
    from_device(to, from, rows, ends.from->device, on, waiting);
  } else if (ends.to->device == ends.from->device) {
    within_device(to, from, rows, ends.to->device, on, waiting);
  } else {
    copy_between_devices(to, *ends.to, from, *ends.from, rows, on, waiting);
  }
  return cudaSuccess;
}

cudaError_t set(void* to, int value, std::size_t pitch, std::size_t width, std::size_t height,
                cudaStream_t stream, Waiting waiting) {
  const OnStream on = runtime().stream(stream);
  if (width == 0 || height == 0) return cudaSuccess;
  if (height > 1 && width > pitch) return cudaErrorInvalidPitchValue;
  const auto memory = runtime().memory.device_memory(address_of(to));
  if (!memory) return cudaErrorInvalidValue;
  require_inside(memory, address_of(to), pitch, {.width = width, .height = height});
  on_device(memory->device, on, waiting, [&](Id id, Waiting wait) {
    require(runtime()
                .gpu(memory->device)
                .tell(Memset{.to = address_of(to),
                             .value = static_cast<std::uint8_t>(value),
                             .pitch = pitch,
                             .width = width,
                             .height = height,
                             .stream = id,
                             .fence = fence_of(wait)}));
  });
  return cudaSuccess;
}

cudaError_t allocate(void** memory, std::size_t bytes) {
  if (memory == nullptr) return cudaErrorInvalidValue;
  *memory = nullptr;
  const int device = this_thread().device;
  Gpu& gpu = runtime().gpu(device);
  if (bytes == 0) return cudaSuccess;
  MemoryBook& book = runtime().memory;
  Allocated got;
  require(gpu.ask(MemAlloc{.bytes = bytes}, got));
  bool reserved = book.reserve(device, got.address, bytes);
  if (!reserved) require(gpu.tell(MemFree{.address = got.address}));
  constexpr int tries = 16;
  for (int k = 0; k < tries && !reserved; ++k) {
    const Address at = book.reserve_anywhere(device, bytes);
    if (at == 0) break;
    const Status status = gpu.ask(MemAlloc{.bytes = bytes, .at = at}, got);
    if (status != 0 && status != Status{cudaErrorNotSupported}) return to_error(status);
    reserved = status == 0;
  }
  if (!reserved) {
    return runtime().unsupported("device memory at an address that this process uses otherwise");
  }
  book.add(device, got.address, bytes);
  *memory = reinterpret_cast<void*>(got.address);
  return cudaSuccess;
}

cudaError_t deallocate(void* memory) {
  runtime().device_count();
  if (memory == nullptr) return cudaSuccess;
  const auto found = runtime().memory.remove(address_of(memory));
  if (!found) return cudaErrorInvalidValue;
  runtime().attachments.detach(found->begin);
  return to_error(runtime().gpu(found->device).tell(MemFree{.address = found->begin}));
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
      throw Failure{runtime().unsupported("a variable at an address that is used otherwise")};
    runtime().memory.add(device, found.address, found.bytes);
  }
  return found;
}

}  // namespace gpucast::remote::client
