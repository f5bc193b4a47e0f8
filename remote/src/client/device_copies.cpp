#include "client/device_copies.h"

#include <algorithm>
#include <vector>

namespace gpucast::remote::client {
namespace {

using DeviceMemory = MemoryBook::DeviceMemory;

// By the server that has the stream, so that the stream's order holds; false where it has no access
// to the other device's memory.
bool directly(void* to, const DeviceMemory& to_memory, const void* from,
              const DeviceMemory& from_memory, const Rows& rows, const OnStream& stream,
              Waiting waiting) {
  const bool receives = stream.device == to_memory.device;
  if (!receives && stream.device != from_memory.device) return false;
  const DeviceMemory& others = receives ? from_memory : to_memory;
  const auto attached = runtime().attachments.find(others, stream.device);
  if (!attached) return false;
  // The stream does not know what the other device still has to do.
  Gpu& other = runtime().gpu(others.device);
  const bool blocking = waiting == Waiting::blocking;
  require(blocking ? other.synchronize_stream(legacy_stream) : other.wait_for_fences());
  // No fence: a blocking copy is over when this returns.
  CopyWithin message =
      copy_message(address_of(to), address_of(from), rows, stream.id, Waiting::asynchronous);
  (receives ? message.from : message.to) += *attached - others.begin;
  require(stream.gpu->tell(message));
  // Nor do the other device's streams know of the copy.
  if (blocking) require(stream.gpu->synchronize_stream(stream.id));
  static Counter& counter = runtime().counters.of("(copies between devices, direct)");
  counter.calls.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Through this process, part by part.
void staged(void* to, int to_device, const void* from, int from_device, const Rows& rows,
            const OnStream& stream) {
  require(stream.gpu->synchronize_stream(stream.id));
  static Counter& counter = runtime().counters.of("(copies between devices, staged)");
  counter.calls.fetch_add(1, std::memory_order_relaxed);
  Gpu& source = runtime().gpu(from_device);
  Gpu& destination = runtime().gpu(to_device);
  constexpr std::size_t part = std::size_t{16} << 20;
  std::vector<std::byte> between(std::min(part, rows.width * rows.height));
  for_each_piece(to, from, rows, [&](std::byte* out, const std::byte* in, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes; done += part) {
      const std::size_t count = std::min(part, bytes - done);
      if (between.size() < count) between.resize(count);
      require(source.copy_from(between.data(), address_of(in) + done, count, legacy_stream, false));
      require(destination.copy_to(address_of(out) + done, between.data(), count, legacy_stream,
                                  true, false));
      counter.bytes_sent.fetch_add(count, std::memory_order_relaxed);
      counter.bytes_received.fetch_add(count, std::memory_order_relaxed);
    }
  });
}

}  // namespace

void copy_between_devices(void* to, const DeviceMemory& to_memory, const void* from,
                          const DeviceMemory& from_memory, const Rows& rows, const OnStream& stream,
                          Waiting waiting) {
  if (!directly(to, to_memory, from, from_memory, rows, stream, waiting))
    staged(to, to_memory.device, from, from_memory.device, rows, stream);
}

}  // namespace gpucast::remote::client
