// All that client and server say to one another, after the handshake (protocol/handshake.h): the
// one list of calls, from which follow the numbers on the wire, which never change (a new call goes
// to the end), and the fields that each has on the wire, in their order.
//
// Messages of the control connection are done in order. Ids of streams, events and
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
#include "protocol/handshake.h"

//   CALL(Message, Result, order)
//
// The server's GPU does a call at once (server/gpu.h) where its session has no function of its own
// for it (Session::handle).
// order, behind large copies to the client that the rings have no room for yet:
//   only_asks      it goes on, and leaves no work for which a later one would have to wait
//   behind_none    it goes on
//   behind_stream  it waits for those whose stream its own waits for
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
  CALL(LaunchHost, Nothing, behind_stream)

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

// Defines CallOf (protocol/frame.h): a message's number, what it is answered with, and its order.
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

// Streams that need not be created.
inline constexpr Id legacy_stream = 0;
inline constexpr Id first_id = 16;

struct Nothing {};

// The answer to a call. The result goes only with success.
template <class Result = Nothing>
struct Reply {
  Status status = 0;
  Status latched = 0;  // of the first message that failed unasked since the last Reply
  Result result = {};
  Tail tail = {};
};
template <class Result>
struct CallOf<Reply<Result>> {
  static constexpr Call number = Call::reply;
};

// To the client: what a `copy_from` without request brought.
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
      {};                  // CUdevice_attribute 0, 1, ...; 0 where there is none
  std::string group = {};  // servers of the same may Share and Attach; empty: of none
};

// Facts of the server and not of the client's own session.
struct ServerFacts {
  std::string version = {};   // of gpucast
  std::uint32_t clients = 0;  // that it serves, this one included
};
struct AskServer {};

// Initializes the driver. On failure `problem` says why in a line; DeviceInfo follows if it is
// empty.
struct Opened {
  std::string problem = {};
  DeviceInfo device;
};
struct Open {};

struct Ping {};

// Frees all that the client has, once it is no longer used.
struct Reset {};

// ---- memory ----

struct Allocated {
  Address address = 0;
};
// At address `at` if that is not 0: the client's address space is used there otherwise.
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

// `height` rows of `width` bytes, `pitch` bytes apart.
struct Memset {
  Address to = 0;
  std::uint8_t value = 0;
  std::uint64_t pitch = 0;
  std::uint64_t width = 0;
  std::uint64_t height = 1;
  Id stream = 0;
  std::uint8_t fence = 0;  // as in CopyTo
};

// The data is the tail. `fence`: to the program the copy was a blocking one, so that what any
// stream is given after it has to find it done.
struct CopyTo {
  Address to = 0;
  Id stream = 0;
  std::uint8_t fence = 0;
  Tail tail = {};
};

// The data comes over the bulk connections, in pieces, whose order does not matter.
struct CopyToBulk {
  Address to = 0;
  std::uint64_t bytes = 0;
  Id stream = 0;
  Id transfer = 0;
  std::uint8_t fence = 0;
};

// The data comes as the Reply's tail if there is a request, as Data if there is none. A copy with a
// `piece` comes in pieces of that size over the bulk connections 1 to `connections` in turn, and
// the Reply then without a tail, once all is queued. So the data of two copies of one shape comes
// in their order.
struct CopyFrom {
  Address from = 0;
  std::uint64_t bytes = 0;
  Id stream = 0;
  Id transfer = 0;
  std::uint32_t piece = 0;  // bytes; 0: not in pieces, and no more than most_inline
  std::uint16_t connections = 0;
};

// ---- memory of the client's host that the server has, too (Connection::give) ----

// The first `bytes` bytes of the memory that was given with this call.
struct SegmentMap {
  Id segment = 0;
  std::uint64_t bytes = 0;
};
// Answered once all that the streams hold is done.
struct SegmentUnmap {
  Id segment = 0;
};

// Copies between such memory and the device. They are done when the stream comes to them: a request
// is answered then, and one that names a transfer and is no request is followed by Data without a
// tail. What fails of those to the device is latched, too.
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

// Rows within the device; one row where height is 1.
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

// ---- memory that several servers of one host use ----

using IpcHandle = std::array<std::uint8_t, 64>;  // the driver's

// An allocation, for another server of the same group. Another client's is of no use: the proof is
// made with a key that servers alone have.
struct Shared {
  IpcHandle handle{};
  std::uint64_t offset = 0;  // of the allocation within what the handle opens
  std::uint64_t bytes = 0;
  Mac proof{};
};
// The one that holds the address. Invalid where none does that can be shared: those at an address
// that the client chose cannot; any other failure is the server's or its driver's own.
struct Share {
  Address address = 0;
};

// Where the allocation begins for this server.
struct Attached {
  Address address = 0;
};
struct Attach {
  Id id = 0;
  Shared memory = {};
};
// Answered once all that the streams hold is done, so that its owner may free the memory.
struct Detach {
  Id id = 0;
};

// What precedes each piece on a bulk connection, in both directions. A status other than 0: nothing
// follows.
struct Piece {
  Id transfer = 0;
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  Status status = 0;
  static constexpr std::size_t size = 24;
};

// ---- streams and events ----

// Two events whose distance in time is wanted with an answer that comes anyway.
struct EventPair {
  Id begin = 0;
  Id end = 0;
  bool operator==(const EventPair&) const = default;
};
struct Elapsed {
  List<float, most_pairs> milliseconds = {};  // of the pairs; not a number where one has not ended
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
// Answered once all is done that the program takes for done (`fence` in CopyTo).
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

// A fat binary by what it is, for servers that may have it.
struct ImageOf {
  Id module = 0;
  std::uint64_t bytes = 0;
  std::array<std::uint8_t, 32> sha256{};
};
// For each that was asked for, in their order: 1 where the module has its fat binary now as though
// all its pieces had come.
struct KnownModules {
  List<std::uint8_t, most_names> known = {};
  std::uint8_t unpacks = 0;  // ModulePacked may be sent
};
struct ModulesKnown {
  List<ImageOf, most_names> images = {};
};
// A ModulePiece of `bytes` bytes as a frame of Zstandard.
struct ModulePacked {
  Id module = 0;
  std::uint32_t bytes = 0;
  Tail tail = {};
};
// What became of each, in their order. Those that fail leave the others as they are.
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
// Bytes of the buffer that holds arguments at the offsets of these parameters.
inline std::size_t argument_bytes(const std::vector<Parameter>& parameters) {
  std::size_t result = 0;
  for (const Parameter& parameter : parameters)
    result = std::max(result, std::size_t{parameter.offset} + parameter.bytes);
  return result;
}
struct Kernel {
  Status status = 0;  // of looking it up
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
  std::array<std::uint32_t, 3> cluster{};  // 0: none asked for
  std::uint8_t cooperative = 0;
  std::uint32_t shared = 0;  // bytes
  Id stream = 0;
  Bytes arguments = {};  // laid out as the kernel's parameters are
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

// ---- graphs: what a stream does again and again, told once and begun by one message ----

enum class GraphWork : std::uint8_t {
  nothing = 0,  // joins what it waits for
  kernel,
  copy_within,
  memset,
  copy_to,    // of the client's memory, which comes with each launch
  copy_from,  // to the client's memory, announced with each launch
};

// The node with this number, from 0: a new one where it is the next, another content of one of the
// same kind where it is known. What it waits for has lower numbers. `work` says which of the last
// three fields count: copies to and from the client have `width` bytes in `copy`. The streams and
// fences of all of them are left out of account.
struct GraphNode {
  Id graph = 0;
  std::uint32_t node = 0;
  GraphWork work = GraphWork::nothing;
  List<std::uint32_t, most_graph_nodes> after = {};
  Launch kernel = {};
  CopyWithin copy = {};
  Memset memset = {};
};
// Makes ready to launch what was told, which has `nodes` nodes.
struct GraphReady {
  Id graph = 0;
  std::uint32_t nodes = 0;
};
// The next part of what the next launch's copies to the device bring, where that is too much for
// its own message.
struct GraphData {
  Id graph = 0;
  Tail tail = {};
};
// The tail ends what the copies to the device bring, in the nodes' order, without gaps. What copies
// from the device bring comes as Data, in the nodes' order, in pieces of at most most_inline, whose
// transfers are `transfer`, `transfer` + 1, ...; of those there are `pieces`.
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

// ---- functions of the program's, on the connection that is for them ----

// What the stream is given next has to wait until the client has run this. Both sides know it by
// this number.
struct LaunchHost {
  Id stream = 0;
  Id function = 0;
};
// To the client: a stream has come to the function; or never will, for this reason.
struct HostTurn {
  Id function = 0;
  Status status = 0;
  static constexpr std::size_t size = 12;
};
// To the server: it has run.
struct HostDone {
  Id function = 0;
  static constexpr std::size_t size = 8;
};

// ---- memory pools ----

// The pool that a device has without being asked for one.
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
  std::uint64_t most = 0;  // bytes; 0: what the GPU has
};
struct PoolDestroy {
  Id pool = 0;
};
struct PoolTrim {
  Id pool = 0;
  std::uint64_t bytes = 0;  // that stay
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
