// The one list of what a client asks of a server. From it follow the numbers on the wire, which
// never change (a new call goes to the end), and what the server does with each.
//
//   CALL(Message, Result, order)
//
// Message, Result: their fields are in protocol/calls.h. The server's GPU does a call at once
// (Gpu::run) where its session has no function of its own for it (Session::handle).
// order, behind large copies to the client that the rings have no room for yet:
//   behind_none    it goes on
//   behind_stream  it waits for those whose stream its own waits for
//   behind_all     it waits for all of them
#pragma once

#include <cstdint>

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): a list, which C++20 cannot iterate over otherwise
#define GPUCAST_CALLS(CALL)                        \
  CALL(Open, Opened, behind_all)                   \
  CALL(Ping, Nothing, behind_none)                 \
  CALL(Reset, Nothing, behind_all)                 \
  CALL(MemAlloc, Allocated, behind_none)           \
  CALL(MemFree, Nothing, behind_all)               \
  CALL(MemInfo, MemAmounts, behind_none)           \
  CALL(Memset, Nothing, behind_stream)             \
  CALL(CopyTo, Nothing, behind_stream)             \
  CALL(CopyToBulk, Nothing, behind_stream)         \
  CALL(CopyFrom, Nothing, behind_stream)           \
  CALL(CopyWithin, Nothing, behind_stream)         \
  CALL(StreamCreate, Nothing, behind_none)         \
  CALL(StreamDestroy, Nothing, behind_all)         \
  CALL(StreamQuery, Nothing, behind_none)          \
  CALL(StreamSync, Elapsed, behind_none)           \
  CALL(StreamWaitEvent, Nothing, behind_stream)    \
  CALL(EventCreate, Nothing, behind_none)          \
  CALL(EventDestroy, Nothing, behind_none)         \
  CALL(EventRecord, Nothing, behind_stream)        \
  CALL(EventQuery, Nothing, behind_none)           \
  CALL(EventSync, Elapsed, behind_none)            \
  CALL(EventElapsed, Elapsed, behind_none)         \
  CALL(DeviceSync, Elapsed, behind_none)           \
  CALL(ModulePiece, Nothing, behind_none)          \
  CALL(ModuleLoad, Nothing, behind_none)           \
  CALL(ModuleKernels, Kernels, behind_none)        \
  CALL(ModuleGlobal, Global, behind_none)          \
  CALL(ModuleUnload, Nothing, behind_all)          \
  CALL(Launch, Nothing, behind_stream)             \
  CALL(FunctionAttributes, Values, behind_none)    \
  CALL(FunctionSetAttribute, Nothing, behind_none) \
  CALL(Occupancy, Blocks, behind_none)             \
  CALL(FenceSync, Nothing, behind_none)            \
  CALL(Share, Shared, behind_none)                 \
  CALL(Attach, Attached, behind_none)              \
  CALL(Detach, Nothing, behind_all)                \
  CALL(AskServer, ServerFacts, behind_none)        \
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

enum class Order : std::uint8_t { behind_none, behind_stream, behind_all };

// A message's number on the wire, what it is answered with, and its order.
template <class Message>
struct CallOf;

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

}  // namespace gpucast::remote
