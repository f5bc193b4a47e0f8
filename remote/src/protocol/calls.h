// All that client and server say to one another, once they have greeted (protocol/greeting.h).
//
// Messages of one connection (the lane) are done in order. Ids of streams, events and
// modules are the client's, so that making one needs no answer; addresses are the server's. A
// message whose header carries a request number is answered by a Reply and, if `status` is 0, the
// fields of the call's Result. What fails without being asked is latched, and goes with the next
// Reply.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "protocol/frame.h"
#include "protocol/greeting.h"

namespace gpucast::remote {

enum class Call : std::uint16_t {
  none,
  reply,
  data,
  open,
  ping,
  reset,
  mem_alloc,
  mem_free,
  mem_info,
  memset,
  copy_to,
  copy_to_bulk,
  copy_from,
  copy_within,
  stream_create,
  stream_destroy,
  stream_query,
  stream_sync,
  stream_wait_event,
  event_create,
  event_destroy,
  event_record,
  event_query,
  event_sync,
  event_elapsed,
  device_sync,
  module_piece,
  module_load,
  module_kernels,
  module_global,
  module_unload,
  launch,
  function_attributes,
  function_set_attribute,
  occupancy,
  fence_sync,
  share,
  attach,
  detach,
};

// A driver's status code (CUresult); 0 is success.
using Status = std::uint32_t;
using Address = std::uint64_t;
using Id = std::uint64_t;

// Streams that need not be created.
inline constexpr Id legacy_stream = 0;
inline constexpr Id first_id = 16;

struct Nothing {
  template <class V>
  void visit(V& /*v*/) {}
};

struct Reply {
  static constexpr Call call = Call::reply;
  Status status = 0;
  Status latched = 0;  // of the first message that failed unasked since the last Reply
  template <class V>
  void visit(V& v) {
    v(status), v(latched);
  }
};

// To the client: what a `copy_from` without request brought, as the tail.
struct Data {
  static constexpr Call call = Call::data;
  Id transfer = 0;
  Status status = 0;
  template <class V>
  void visit(V& v) {
    v(transfer), v(status);
  }
};

// ---- the device ----

struct DeviceInfo {
  std::string name = {};
  std::string pci = {};
  std::array<std::uint8_t, 16> uuid{};
  std::uint64_t memory = 0;  // bytes
  std::int32_t driver_version = 0;
  std::string host = {};                      // of the server
  std::vector<std::int32_t> attributes = {};  // CUdevice_attribute 0, 1, ...; 0 where there is none
  std::string group = {};  // servers of the same may Share and Attach; empty: of none
  template <class V>
  void visit(V& v) {
    v(name, most_text_bytes), v(pci, most_text_bytes), v(uuid), v(memory), v(driver_version),
        v(host, most_text_bytes), v(attributes, most_attributes), v(group, most_text_bytes);
  }
};

// Initializes the driver. On failure `problem` says why in a line; DeviceInfo follows if it is
// empty.
struct Opened {
  std::string problem = {};
  DeviceInfo device;
  template <class V>
  void visit(V& v) {
    v(problem, most_text_bytes), v(device);
  }
};
struct Open {
  static constexpr Call call = Call::open;
  using Result = Opened;
  template <class V>
  void visit(V& /*v*/) {}
};

struct Ping {
  static constexpr Call call = Call::ping;
  using Result = Nothing;
  template <class V>
  void visit(V& /*v*/) {}
};

// Frees all that the client has, once it is no longer used.
struct Reset {
  static constexpr Call call = Call::reset;
  using Result = Nothing;
  template <class V>
  void visit(V& /*v*/) {}
};

// ---- memory ----

struct Allocated {
  Address address = 0;
  template <class V>
  void visit(V& v) {
    v(address);
  }
};
// At address `at` if that is not 0: the client's address space is used there otherwise.
struct MemAlloc {
  static constexpr Call call = Call::mem_alloc;
  using Result = Allocated;
  std::uint64_t bytes = 0;
  Address at = 0;
  template <class V>
  void visit(V& v) {
    v(bytes), v(at);
  }
};

struct MemFree {
  static constexpr Call call = Call::mem_free;
  using Result = Nothing;
  Address address = 0;
  template <class V>
  void visit(V& v) {
    v(address);
  }
};

struct MemAmounts {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
  template <class V>
  void visit(V& v) {
    v(free), v(total);
  }
};
struct MemInfo {
  static constexpr Call call = Call::mem_info;
  using Result = MemAmounts;
  template <class V>
  void visit(V& /*v*/) {}
};

// `height` rows of `width` bytes, `pitch` bytes apart.
struct Memset {
  static constexpr Call call = Call::memset;
  using Result = Nothing;
  Address to = 0;
  std::uint8_t value = 0;
  std::uint64_t pitch = 0;
  std::uint64_t width = 0;
  std::uint64_t height = 1;
  Id stream = 0;
  std::uint8_t fence = 0;  // as in CopyTo
  template <class V>
  void visit(V& v) {
    v(to), v(value), v(pitch), v(width), v(height), v(stream), v(fence);
  }
};

// The data is the tail. `fence`: to the program the copy was a blocking one, so that what any
// stream is given after it has to find it done.
struct CopyTo {
  static constexpr Call call = Call::copy_to;
  using Result = Nothing;
  Address to = 0;
  Id stream = 0;
  std::uint8_t fence = 0;
  template <class V>
  void visit(V& v) {
    v(to), v(stream), v(fence);
  }
};

// The data comes over the channels, in pieces, whose order does not matter.
struct CopyToBulk {
  static constexpr Call call = Call::copy_to_bulk;
  using Result = Nothing;
  Address to = 0;
  std::uint64_t bytes = 0;
  Id stream = 0;
  Id transfer = 0;
  std::uint8_t fence = 0;
  template <class V>
  void visit(V& v) {
    v(to), v(bytes), v(stream), v(transfer), v(fence);
  }
};

// The data comes as the Reply's tail if there is a request, as Data if there is none. More than
// most_inline comes over the channels, and the Reply then without a tail, once all is queued.
struct CopyFrom {
  static constexpr Call call = Call::copy_from;
  using Result = Nothing;
  Address from = 0;
  std::uint64_t bytes = 0;
  Id stream = 0;
  Id transfer = 0;
  template <class V>
  void visit(V& v) {
    v(from), v(bytes), v(stream), v(transfer);
  }
};

// Rows within the device; one row where height is 1.
struct CopyWithin {
  static constexpr Call call = Call::copy_within;
  using Result = Nothing;
  Address to = 0;
  std::uint64_t to_pitch = 0;
  Address from = 0;
  std::uint64_t from_pitch = 0;
  std::uint64_t width = 0;
  std::uint64_t height = 1;
  Id stream = 0;
  std::uint8_t fence = 0;  // as in CopyTo
  template <class V>
  void visit(V& v) {
    v(to), v(to_pitch), v(from), v(from_pitch), v(width), v(height), v(stream), v(fence);
  }
};

// ---- memory that several servers of one host use ----

using IpcHandle = std::array<std::uint8_t, 64>;  // the driver's

// An allocation, for another server of the same group. Another client's is of no use: the proof is
// made with a key that servers alone have.
struct Shared {
  IpcHandle handle{};
  std::uint64_t offset = 0;  // of the allocation within what the handle opens
  std::uint64_t bytes = 0;
  Mac proof{};
  template <class V>
  void visit(V& v) {
    v(handle), v(offset), v(bytes), v(proof);
  }
};
// The one that holds the address. Invalid where none does that can be shared: those at an address
// that the client chose cannot; any other failure is the server's or its driver's own.
struct Share {
  static constexpr Call call = Call::share;
  using Result = Shared;
  Address address = 0;
  template <class V>
  void visit(V& v) {
    v(address);
  }
};

// Where the allocation begins for this server.
struct Attached {
  Address address = 0;
  template <class V>
  void visit(V& v) {
    v(address);
  }
};
struct Attach {
  static constexpr Call call = Call::attach;
  using Result = Attached;
  Id id = 0;
  Shared memory = {};
  template <class V>
  void visit(V& v) {
    v(id), v(memory);
  }
};
// Answered once all that the streams hold is done, so that its owner may free the memory.
struct Detach {
  static constexpr Call call = Call::detach;
  using Result = Nothing;
  Id id = 0;
  template <class V>
  void visit(V& v) {
    v(id);
  }
};

// What precedes each piece on a channel, in both directions. A status other than 0: nothing
// follows.
struct Piece {
  Id transfer = 0;
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  Status status = 0;
  static constexpr std::size_t size = 24;
  template <class V>
  void visit(V& v) {
    v(transfer), v(offset), v(bytes), v(status);
  }
};

// ---- streams and events ----

// Two events whose distance in time is wanted with an answer that comes anyway.
struct EventPair {
  Id begin = 0;
  Id end = 0;
  template <class V>
  void visit(V& v) {
    v(begin), v(end);
  }
};
struct Elapsed {
  std::vector<float> milliseconds = {};  // of the pairs; not a number where one has not ended
  template <class V>
  void visit(V& v) {
    v(milliseconds, most_pairs);
  }
};

struct StreamCreate {
  static constexpr Call call = Call::stream_create;
  using Result = Nothing;
  Id stream = 0;
  std::uint32_t flags = 0;
  std::int32_t priority = 0;
  template <class V>
  void visit(V& v) {
    v(stream), v(flags), v(priority);
  }
};
struct StreamDestroy {
  static constexpr Call call = Call::stream_destroy;
  using Result = Nothing;
  Id stream = 0;
  template <class V>
  void visit(V& v) {
    v(stream);
  }
};
struct StreamQuery {
  static constexpr Call call = Call::stream_query;
  using Result = Nothing;
  Id stream = 0;
  template <class V>
  void visit(V& v) {
    v(stream);
  }
};
struct StreamSync {
  static constexpr Call call = Call::stream_sync;
  using Result = Elapsed;
  Id stream = 0;
  std::vector<EventPair> pairs = {};
  template <class V>
  void visit(V& v) {
    v(stream), v(pairs, most_pairs);
  }
};
struct StreamWaitEvent {
  static constexpr Call call = Call::stream_wait_event;
  using Result = Nothing;
  Id stream = 0;
  Id event = 0;
  std::uint32_t flags = 0;
  template <class V>
  void visit(V& v) {
    v(stream), v(event), v(flags);
  }
};
struct EventCreate {
  static constexpr Call call = Call::event_create;
  using Result = Nothing;
  Id event = 0;
  std::uint32_t flags = 0;
  template <class V>
  void visit(V& v) {
    v(event), v(flags);
  }
};
struct EventDestroy {
  static constexpr Call call = Call::event_destroy;
  using Result = Nothing;
  Id event = 0;
  template <class V>
  void visit(V& v) {
    v(event);
  }
};
struct EventRecord {
  static constexpr Call call = Call::event_record;
  using Result = Nothing;
  Id event = 0;
  Id stream = 0;
  template <class V>
  void visit(V& v) {
    v(event), v(stream);
  }
};
struct EventQuery {
  static constexpr Call call = Call::event_query;
  using Result = Nothing;
  Id event = 0;
  template <class V>
  void visit(V& v) {
    v(event);
  }
};
struct EventSync {
  static constexpr Call call = Call::event_sync;
  using Result = Elapsed;
  Id event = 0;
  std::vector<EventPair> pairs = {};
  template <class V>
  void visit(V& v) {
    v(event), v(pairs, most_pairs);
  }
};
struct EventElapsed {
  static constexpr Call call = Call::event_elapsed;
  using Result = Elapsed;
  EventPair pair;
  template <class V>
  void visit(V& v) {
    v(pair);
  }
};
struct DeviceSync {
  static constexpr Call call = Call::device_sync;
  using Result = Elapsed;
  std::vector<EventPair> pairs = {};
  template <class V>
  void visit(V& v) {
    v(pairs, most_pairs);
  }
};
// Answered once all is done that the program takes for done (`fence` in CopyTo).
struct FenceSync {
  static constexpr Call call = Call::fence_sync;
  using Result = Nothing;
  template <class V>
  void visit(V& /*v*/) {}
};

// ---- modules and kernels ----

// The next part of a module's fat binary, as the tail.
struct ModulePiece {
  static constexpr Call call = Call::module_piece;
  using Result = Nothing;
  Id module = 0;
  template <class V>
  void visit(V& v) {
    v(module);
  }
};
struct ModuleLoad {
  static constexpr Call call = Call::module_load;
  using Result = Nothing;
  Id module = 0;
  template <class V>
  void visit(V& v) {
    v(module);
  }
};

struct Parameter {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  template <class V>
  void visit(V& v) {
    v(offset), v(bytes);
  }
};
// Of arguments that lie as they say.
inline std::size_t argument_bytes(const std::vector<Parameter>& parameters) {
  std::size_t result = 0;
  for (const Parameter& each : parameters)
    result = std::max(result, std::size_t{each.offset} + each.bytes);
  return result;
}
struct Kernel {
  Status status = 0;  // of looking it up
  std::int32_t most_threads = 0;
  std::vector<Parameter> parameters = {};
  template <class V>
  void visit(V& v) {
    v(status), v(most_threads), v(parameters, most_parameters);
  }
};
struct Kernels {
  std::vector<Kernel> kernels = {};
  template <class V>
  void visit(V& v) {
    v(kernels, most_names);
  }
};
// Gives the named kernels the ids first, first + 1, ...
struct ModuleKernels {
  static constexpr Call call = Call::module_kernels;
  using Result = Kernels;
  Id module = 0;
  Id first = 0;
  std::vector<std::string> names = {};
  template <class V>
  void visit(V& v) {
    v(module), v(first), v(names, most_names);
  }
};

struct Global {
  Address address = 0;
  std::uint64_t bytes = 0;
  template <class V>
  void visit(V& v) {
    v(address), v(bytes);
  }
};
struct ModuleGlobal {
  static constexpr Call call = Call::module_global;
  using Result = Global;
  Id module = 0;
  std::string name = {};
  template <class V>
  void visit(V& v) {
    v(module), v(name, most_text_bytes);
  }
};
struct ModuleUnload {
  static constexpr Call call = Call::module_unload;
  using Result = Nothing;
  Id module = 0;
  template <class V>
  void visit(V& v) {
    v(module);
  }
};

struct Launch {
  static constexpr Call call = Call::launch;
  using Result = Nothing;
  Id kernel = 0;
  std::array<std::uint32_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};
  std::array<std::uint32_t, 3> cluster{};  // 0: none asked for
  std::uint8_t cooperative = 0;
  std::uint32_t shared = 0;  // bytes
  Id stream = 0;
  Bytes arguments = {};  // laid out as the kernel's parameters are
  template <class V>
  void visit(V& v) {
    v(kernel), v(grid), v(block), v(cluster), v(cooperative), v(shared), v(stream),
        v(arguments, most_argument_bytes);
  }
};

struct Values {
  std::vector<std::int32_t> values = {};  // CUfunction_attribute 0, 1, ...
  template <class V>
  void visit(V& v) {
    v(values, most_attributes);
  }
};
struct FunctionAttributes {
  static constexpr Call call = Call::function_attributes;
  using Result = Values;
  Id kernel = 0;
  template <class V>
  void visit(V& v) {
    v(kernel);
  }
};
struct FunctionSetAttribute {
  static constexpr Call call = Call::function_set_attribute;
  using Result = Nothing;
  Id kernel = 0;
  std::int32_t attribute = 0;
  std::int32_t value = 0;
  template <class V>
  void visit(V& v) {
    v(kernel), v(attribute), v(value);
  }
};
struct Blocks {
  std::int32_t blocks = 0;
  template <class V>
  void visit(V& v) {
    v(blocks);
  }
};
struct Occupancy {
  static constexpr Call call = Call::occupancy;
  using Result = Blocks;
  Id kernel = 0;
  std::int32_t block = 0;
  std::uint64_t shared = 0;
  std::uint32_t flags = 0;
  template <class V>
  void visit(V& v) {
    v(kernel), v(block), v(shared), v(flags);
  }
};

}  // namespace gpucast::remote
