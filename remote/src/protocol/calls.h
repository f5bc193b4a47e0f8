// All messages between client and server after the handshake (protocol/handshake.h): the list of
// calls, which defines their numbers on the wire, and the fields of each, in their order on the
// wire. Numbers never change: a new call is appended.
//
// Messages of the control connection are handled in order. The client chooses the ids of streams,
// events and modules, so that creating one needs no answer; the server chooses addresses. A message
// whose header has a request number is answered by a Reply and, if `status` is 0, the fields of the
// call's Result. Errors of calls without a request are latched and sent with the next Reply.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "protocol/handshake.h"
#include "protocol/wire.h"

//   CALL(Message, Result, order)
//
// The server's GPU handles a call directly (server/gpu.h) unless the session has a function of its
// own for it (Session::handle). The order says how a call behaves behind large copies to the client
// that the rings have no room for yet:
//   only_asks      it does not wait, and leaves no work that later calls would have to wait for
//   behind_none    it does not wait
//   behind_stream  it waits for copies whose stream its own stream waits for
//   behind_all     it waits for all of them
//
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): a list, which C++20 cannot iterate over otherwise
#define GPUCAST_CALLS(CALL)                        \
  CALL(Open, Opened, behind_all)                   \
  CALL(Ping, Nothing, only_asks)                   \
  CALL(Reset, Nothing, behind_all)                 \
  CALL(MemAlloc, Allocated, behind_none)           \
  CALL(MemFree, Nothing, behind_all)               \
  CALL(MemInfo, MemAmounts, only_asks)             \
  CALL(Memset, Nothing, behind_stream)             \
  CALL(CopyTo, Nothing, behind_stream)             \
  CALL(CopyToBulk, Nothing, behind_stream)         \
  CALL(CopyFrom, Nothing, behind_stream)           \
  CALL(CopyWithin, Nothing, behind_stream)         \
  CALL(StreamCreate, Nothing, behind_none)         \
  CALL(StreamDestroy, Nothing, behind_all)         \
  CALL(StreamQuery, Nothing, only_asks)            \
  CALL(StreamSync, Elapsed, only_asks)             \
  CALL(StreamWaitEvent, Nothing, behind_stream)    \
  CALL(EventCreate, Nothing, behind_none)          \
  CALL(EventDestroy, Nothing, behind_none)         \
  CALL(EventRecord, Nothing, behind_stream)        \
  CALL(EventQuery, Nothing, only_asks)             \
  CALL(EventSync, Elapsed, only_asks)              \
  CALL(EventElapsed, Elapsed, only_asks)           \
  CALL(DeviceSync, Elapsed, only_asks)             \
  CALL(ModulePiece, Nothing, behind_none)          \
  CALL(ModuleLoad, Nothing, behind_none)           \
  CALL(ModuleKernels, Kernels, behind_none)        \
  CALL(ModuleGlobal, Global, behind_none)          \
  CALL(ModuleUnload, Nothing, behind_all)          \
  CALL(Launch, Nothing, behind_stream)             \
  CALL(FunctionAttributes, Values, behind_none)    \
  CALL(FunctionSetAttribute, Nothing, behind_none) \
  CALL(Occupancy, Blocks, behind_none)             \
  CALL(FenceSync, Nothing, only_asks)              \
  CALL(Share, Shared, behind_none)                 \
  CALL(Attach, Attached, behind_none)              \
  CALL(Detach, Nothing, behind_all)                \
  CALL(AskServer, ServerFacts, only_asks)          \
  CALL(SegmentMap, Nothing, behind_none)           \
  CALL(SegmentUnmap, Nothing, behind_all)          \
  CALL(CopyToShared, Nothing, behind_stream)       \
  CALL(CopyFromShared, Nothing, behind_stream)     \
  CALL(ModulesKnown, KnownModules, behind_none)    \
  CALL(ModulePacked, Nothing, behind_none)         \
  CALL(ModulesLoad, LoadedModules, behind_none)    \
  CALL(GraphNode, Nothing, behind_none)            \
  CALL(GraphReady, Nothing, behind_none)           \
  CALL(GraphData, Nothing, behind_none)            \
  CALL(GraphLaunch, Nothing, behind_stream)        \
  CALL(GraphDestroy, Nothing, behind_none)         \
  CALL(PoolAlloc, Allocated, behind_stream)        \
  CALL(PoolFree, Nothing, behind_stream)           \
  CALL(PoolCreate, Nothing, behind_none)           \
  CALL(PoolDestroy, Nothing, behind_none)          \
  CALL(PoolTrim, Nothing, behind_none)             \
  CALL(PoolSet, Nothing, behind_none)              \
  CALL(PoolGet, PoolValue, behind_none)            \
  CALL(LaunchHost, Nothing, behind_stream)         \
  CALL(LimitSet, Nothing, behind_none)             \
  CALL(LimitGet, LimitValue, only_asks)

namespace gpucast::remote {

enum class Call : std::uint16_t {
  none,
  reply,
  data,
#define GPUCAST_NAME(Message, ...) Message,
  GPUCAST_CALLS(GPUCAST_NAME)
#undef GPUCAST_NAME
};

enum class Order : std::uint8_t { only_asks, behind_none, behind_stream, behind_all };

// Defines CallOf (protocol/wire.h): a message's number, its answer, and its order.
#define GPUCAST_DECLARE(Message, Answer, behind)  \
  struct Message;                                 \
  struct Answer;                                  \
  template <>                                     \
  struct CallOf<Message> {                        \
    static constexpr Call number = Call::Message; \
    using Result = Answer;                        \
    static constexpr Order order = Order::behind; \
  };
GPUCAST_CALLS(GPUCAST_DECLARE)
#undef GPUCAST_DECLARE

template <class Message>
using ResultOf = CallOf<Message>::Result;

// A driver's status code (CUresult); 0 is success.
using Status = std::uint32_t;
using Address = std::uint64_t;
using Id = std::uint64_t;

// The default stream, which exists without being created.
inline constexpr Id legacy_stream = 0;
inline constexpr Id first_id = 16;

struct Nothing {};

// The answer to a call. The result follows only on success.
template <class Result = Nothing>
struct Reply {
  Status status = 0;
  Status latched = 0;  // of the first call without a request that has failed since the last Reply
  Result result = {};
  Tail tail = {};
};
template <class Result>
struct CallOf<Reply<Result>> {
  static constexpr Call number = Call::reply;
};

// Sent to the client: the data of a `copy_from` without a request.
struct Data {
  Id transfer = 0;
  Status status = 0;
  Tail tail = {};
};
template <>
struct CallOf<Data> {
  static constexpr Call number = Call::data;
};

// ---- the device ----

struct DeviceInfo {
  std::string name = {};
  std::string pci = {};
  std::array<std::uint8_t, 16> uuid{};
  std::uint64_t memory = 0;  // bytes
  std::int32_t driver_version = 0;
  std::string host = {};  // of the server
  List<std::int32_t, most_attributes> attributes =
      {};                  // CUdevice_attribute 0, 1, ...; 0 for numbers without an attribute
  std::string group = {};  // servers of the same group may Share and Attach; empty: none
};

// Properties of the server and not of the client's own session.
struct ServerFacts {
  std::string version = {};   // of gpucast
  std::uint32_t clients = 0;  // clients that it serves, including this one
};
struct AskServer {};

// Initializes the driver. On failure `problem` gives the reason in one line; DeviceInfo follows if
// it is empty.
struct Opened {
  std::string problem = {};
  DeviceInfo device;
};
struct Open {};

struct Ping {};

// CUlimit: what kernels may use of the GPU's memory for stacks, printf() and malloc(), in bytes.
struct LimitSet {
  std::int32_t limit = 0;
  std::uint64_t value = 0;
};
struct LimitValue {
  std::uint64_t value = 0;
};
struct LimitGet {
  std::int32_t limit = 0;
};

// Frees everything that the client has, once it is no longer in use.
struct Reset {};

// ---- memory ----

struct Allocated {
  Address address = 0;
};
// Allocates at address `at` if that is not 0: the address that the server chose has another use at
// the client.
struct MemAlloc {
  std::uint64_t bytes = 0;
  Address at = 0;
};

struct MemFree {
  Address address = 0;
};

struct MemAmounts {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};
struct MemInfo {};

// Sets `height` rows of `width` bytes, `pitch` bytes apart.
struct Memset {
  Address to = 0;
  std::uint8_t value = 0;
  std::uint64_t pitch = 0;
  std::uint64_t width = 0;
  std::uint64_t height = 1;
  Id stream = 0;
  std::uint8_t fence = 0;  // as in CopyTo
};

// The data is the tail. `fence`: for the program the copy was a blocking one, so that later work on
// any stream has to see its result.
struct CopyTo {
  Address to = 0;
  Id stream = 0;
  std::uint8_t fence = 0;
  Tail tail = {};
};

// The data arrives over the bulk connections, in pieces and in any order.
struct CopyToBulk {
  Address to = 0;
  std::uint64_t bytes = 0;
  Id stream = 0;
  Id transfer = 0;
  std::uint8_t fence = 0;
};

// The data is sent as the Reply's tail if there is a request, and otherwise as Data. A copy with a
// `piece` is sent in pieces of that size over the bulk connections 1 to `connections` in turn, and
// the Reply then has no tail and is sent once all pieces are queued. Two copies of the same shape
// therefore arrive in order.
struct CopyFrom {
  Address from = 0;
  std::uint64_t bytes = 0;
  Id stream = 0;
  Id transfer = 0;
  std::uint32_t piece = 0;  // bytes; 0: not in pieces, and at most most_inline
  std::uint16_t connections = 0;
};

// ---- memory of the client's host that is shared with the server (Connection::give) ----

// Maps the first `bytes` bytes of the memory that was given with this call.
struct SegmentMap {
  Id segment = 0;
  std::uint64_t bytes = 0;
};
// Answered once all work of the streams is finished.
struct SegmentUnmap {
  Id segment = 0;
};

// Copies between such memory and the device, in the stream's order. A request is answered when the
// copy is finished; a copy that names a transfer and is no request is then followed by Data without
// a tail. Errors of copies to the device are latched, too.
struct CopyToShared {
  Address to = 0;
  Id segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  Id stream = 0;
  Id transfer = 0;         // 0: none
  std::uint8_t fence = 0;  // as in CopyTo
};
struct CopyFromShared {
  Address from = 0;
  Id segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  Id stream = 0;
  Id transfer = 0;  // 0: none
};

// Copies rows within the device; a single row if height is 1.
struct CopyWithin {
  Address to = 0;
  std::uint64_t to_pitch = 0;
  Address from = 0;
  std::uint64_t from_pitch = 0;
  std::uint64_t width = 0;
  std::uint64_t height = 1;
  Id stream = 0;
  std::uint8_t fence = 0;  // as in CopyTo
};

// ---- memory that several servers of one host share ----

using IpcHandle = std::array<std::uint8_t, 64>;  // of the driver

// An allocation, for another server of the same group. Other clients cannot make one up: the proof
// needs a key that only servers have.
struct Shared {
  IpcHandle handle{};
  std::uint64_t offset = 0;  // of the allocation in the memory that the handle opens
  std::uint64_t bytes = 0;
  Mac proof{};
};
// Shares the allocation that holds the address. Invalid if there is none that can be shared, like
// those at an address that the client chose; any other error comes from the server or its driver.
struct Share {
  Address address = 0;
};

// The allocation's address on this server.
struct Attached {
  Address address = 0;
};
struct Attach {
  Id id = 0;
  Shared memory = {};
};
// Answered once all work of the streams is finished, so that the owner may free the memory.
struct Detach {
  Id id = 0;
};

// The header of each piece on a bulk connection, in both directions. If the status is not 0, no
// data follows.
struct Piece {
  Id transfer = 0;
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  Status status = 0;
  static constexpr std::size_t size = 24;
};

// ---- streams and events ----

// Two events whose elapsed time is requested with an answer that is sent anyway.
struct EventPair {
  Id begin = 0;
  Id end = 0;
  bool operator==(const EventPair&) const = default;
};
struct Elapsed {
  List<float, most_pairs> milliseconds = {};  // per pair; NaN if an event has not completed
};

struct StreamCreate {
  Id stream = 0;
  std::uint32_t flags = 0;
  std::int32_t priority = 0;
};
struct StreamDestroy {
  Id stream = 0;
};
struct StreamQuery {
  Id stream = 0;
};
struct StreamSync {
  Id stream = 0;
  List<EventPair, most_pairs> pairs = {};
};
struct StreamWaitEvent {
  Id stream = 0;
  Id event = 0;
  std::uint32_t flags = 0;
};
struct EventCreate {
  Id event = 0;
  std::uint32_t flags = 0;
};
struct EventDestroy {
  Id event = 0;
};
struct EventRecord {
  Id event = 0;
  Id stream = 0;
};
struct EventQuery {
  Id event = 0;
};
struct EventSync {
  Id event = 0;
  List<EventPair, most_pairs> pairs = {};
};
struct EventElapsed {
  EventPair pair;
};
struct DeviceSync {
  List<EventPair, most_pairs> pairs = {};
};
// Answered once everything is finished that the program considers finished (`fence` in CopyTo).
struct FenceSync {};

// ---- modules and kernels ----

// The next part of a module's fat binary.
struct ModulePiece {
  Id module = 0;
  Tail tail = {};
};
struct ModuleLoad {
  Id module = 0;
};

// Names a fat binary by its digest, for servers that may have it.
struct ImageOf {
  Id module = 0;
  std::uint64_t bytes = 0;
  std::array<std::uint8_t, 32> sha256{};
};
// For each requested image, in order: 1 if the module now has its fat binary, as though all its
// pieces had arrived.
struct KnownModules {
  List<std::uint8_t, most_names> known = {};
  std::uint8_t unpacks = 0;  // whether the server accepts ModulePacked
};
struct ModulesKnown {
  List<ImageOf, most_names> images = {};
};
// A ModulePiece of `bytes` bytes, compressed as a frame of Zstandard.
struct ModulePacked {
  Id module = 0;
  std::uint32_t bytes = 0;
  Tail tail = {};
};
// The status of each module, in order. A failure does not affect the others.
struct LoadedModules {
  List<Status, most_names> statuses = {};
};
struct ModulesLoad {
  List<Id, most_names> modules = {};
};

struct Parameter {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  bool operator==(const Parameter&) const = default;
};
// Returns the size of a buffer that holds arguments at the offsets of these parameters.
inline std::size_t argument_bytes(const std::vector<Parameter>& parameters) {
  std::size_t result = 0;
  for (const Parameter& parameter : parameters)
    result = std::max(result, std::size_t{parameter.offset} + parameter.bytes);
  return result;
}
struct Kernel {
  Status status = 0;  // of the lookup
  std::int32_t most_threads = 0;
  List<Parameter, most_parameters> parameters = {};
};
struct Kernels {
  List<Kernel, most_names> kernels = {};
};
// Gives the named kernels the ids first, first + 1, ...
struct ModuleKernels {
  Id module = 0;
  Id first = 0;
  List<std::string, most_names> names = {};
};

struct Global {
  Address address = 0;
  std::uint64_t bytes = 0;
};
struct ModuleGlobal {
  Id module = 0;
  std::string name = {};
};
struct ModuleUnload {
  Id module = 0;
};

struct Launch {
  Id kernel = 0;
  std::array<std::uint32_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};
  std::array<std::uint32_t, 3> cluster{};  // 0: none
  std::uint8_t cooperative = 0;
  std::uint32_t shared = 0;  // bytes
  Id stream = 0;
  Bytes arguments = {};  // in the layout of the kernel's parameters
};

struct Values {
  List<std::int32_t, most_attributes> values = {};  // CUfunction_attribute 0, 1, ...
};
struct FunctionAttributes {
  Id kernel = 0;
};
struct FunctionSetAttribute {
  Id kernel = 0;
  std::int32_t attribute = 0;
  std::int32_t value = 0;
};
struct Blocks {
  std::int32_t blocks = 0;
};
struct Occupancy {
  Id kernel = 0;
  std::int32_t block = 0;
  std::uint64_t shared = 0;
  std::uint32_t flags = 0;
};

// ---- graphs: repeated work of a stream, which is described once and launched by one message ----

enum class GraphWork : std::uint8_t {
  nothing = 0,  // only joins its predecessors
  kernel,
  copy_within,
  memset,
  copy_to,    // from the client's memory, whose content is sent with each launch
  copy_from,  // to the client's memory, announced with each launch
};

// Describes the node with this number, from 0: a new node if the number is the next one; otherwise
// new content for that node, which keeps its kind. Its predecessors have lower numbers. `work`
// selects which of the last three fields count: copies to and from the client have `width` bytes in
// `copy`. Their streams and fences are ignored.
struct GraphNode {
  Id graph = 0;
  std::uint32_t node = 0;
  GraphWork work = GraphWork::nothing;
  List<std::uint32_t, most_graph_nodes> after = {};
  Launch kernel = {};
  CopyWithin copy = {};
  Memset memset = {};
};
// Makes the described graph, which has `nodes` nodes, ready to launch.
struct GraphReady {
  Id graph = 0;
  std::uint32_t nodes = 0;
};
// A part of the data for the copies to the device in the next launch, if that does not fit into its
// own message.
struct GraphData {
  Id graph = 0;
  Tail tail = {};
};
// The tail is the last part of the data for the copies to the device, in the nodes' order and
// without gaps. The data of copies from the device is sent as Data, in the nodes' order, in
// `pieces` pieces of at most most_inline, whose transfers are `transfer`, `transfer` + 1, ...
struct GraphLaunch {
  Id graph = 0;
  Id stream = 0;
  Id transfer = 0;
  std::uint32_t pieces = 0;
  Tail tail = {};
};
struct GraphDestroy {
  Id graph = 0;
};

// ---- host functions of the program, on a connection of their own ----

// The stream's later work has to wait until the client has run this function. Both sides identify
// it by this number.
struct LaunchHost {
  Id stream = 0;
  Id function = 0;
};
// To the client: a stream has reached the function, or with an error, never will.
struct HostTurn {
  Id function = 0;
  Status status = 0;
  static constexpr std::size_t size = 12;
};
// To the server: the function has run.
struct HostDone {
  Id function = 0;
  static constexpr std::size_t size = 8;
};

// ---- memory pools ----

// The default pool of a device.
inline constexpr Id usual_pool = 0;

struct PoolAlloc {
  std::uint64_t bytes = 0;
  Id pool = usual_pool;
  Id stream = 0;
};
// Memory that came from a pool.
struct PoolFree {
  Address address = 0;
  Id stream = 0;
};
struct PoolCreate {
  Id pool = 0;
  std::uint64_t most = 0;  // bytes; 0: the GPU's memory
};
struct PoolDestroy {
  Id pool = 0;
};
struct PoolTrim {
  Id pool = 0;
  std::uint64_t bytes = 0;  // bytes to keep
};
// CUmemPool_attribute; a flag is 0 or 1.
struct PoolSet {
  Id pool = 0;
  std::int32_t attribute = 0;
  std::uint64_t value = 0;
};
struct PoolValue {
  std::uint64_t value = 0;
};
struct PoolGet {
  Id pool = 0;
  std::int32_t attribute = 0;
};

}  // namespace gpucast::remote
