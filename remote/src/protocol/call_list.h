// The one list of what a client asks of a server. From it follow the numbers on the wire, which
// never change (a new call goes to the end), what the server does with each, and what waits for
// what.
//
//   CALL(name, Message, handling, order)
//
// Message: its fields, in protocol/calls.h, with its Result.
// handling, by the server's session:
//   at_once      Gpu::run does it and the client is told the result
//   synchronize  answered once the GPU has come so far
//   own          a function of the session's own
// order, behind large copies to the client that the rings have no room for yet:
//   behind_none    it goes on
//   behind_stream  it waits for those whose stream its own waits for
//   behind_all     it waits for all of them
#pragma once

#include <cstdint>

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): a list, which C++20 cannot iterate over otherwise
#define GPUCAST_CALLS(CALL)                                                \
  CALL(open, Open, own, behind_all)                                        \
  CALL(ping, Ping, own, behind_none)                                       \
  CALL(reset, Reset, at_once, behind_all)                                  \
  CALL(mem_alloc, MemAlloc, at_once, behind_none)                          \
  CALL(mem_free, MemFree, at_once, behind_all)                             \
  CALL(mem_info, MemInfo, at_once, behind_none)                            \
  CALL(memset, Memset, at_once, behind_stream)                             \
  CALL(copy_to, CopyTo, own, behind_stream)                                \
  CALL(copy_to_bulk, CopyToBulk, own, behind_stream)                       \
  CALL(copy_from, CopyFrom, own, behind_stream)                            \
  CALL(copy_within, CopyWithin, at_once, behind_stream)                    \
  CALL(stream_create, StreamCreate, at_once, behind_none)                  \
  CALL(stream_destroy, StreamDestroy, at_once, behind_all)                 \
  CALL(stream_query, StreamQuery, own, behind_none)                        \
  CALL(stream_sync, StreamSync, synchronize, behind_none)                  \
  CALL(stream_wait_event, StreamWaitEvent, at_once, behind_stream)         \
  CALL(event_create, EventCreate, at_once, behind_none)                    \
  CALL(event_destroy, EventDestroy, at_once, behind_none)                  \
  CALL(event_record, EventRecord, at_once, behind_stream)                  \
  CALL(event_query, EventQuery, at_once, behind_none)                      \
  CALL(event_sync, EventSync, synchronize, behind_none)                    \
  CALL(event_elapsed, EventElapsed, at_once, behind_none)                  \
  CALL(device_sync, DeviceSync, synchronize, behind_none)                  \
  CALL(module_piece, ModulePiece, own, behind_none)                        \
  CALL(module_load, ModuleLoad, at_once, behind_none)                      \
  CALL(module_kernels, ModuleKernels, at_once, behind_none)                \
  CALL(module_global, ModuleGlobal, at_once, behind_none)                  \
  CALL(module_unload, ModuleUnload, at_once, behind_all)                   \
  CALL(launch, Launch, at_once, behind_stream)                             \
  CALL(function_attributes, FunctionAttributes, at_once, behind_none)      \
  CALL(function_set_attribute, FunctionSetAttribute, at_once, behind_none) \
  CALL(occupancy, Occupancy, at_once, behind_none)                         \
  CALL(fence_sync, FenceSync, own, behind_none)                            \
  CALL(share, Share, at_once, behind_none)                                 \
  CALL(attach, Attach, at_once, behind_none)                               \
  CALL(detach, Detach, own, behind_all)

namespace gpucast::remote {

enum class Call : std::uint16_t {
  none,
  reply,
  data,
#define GPUCAST_NAME(name, ...) name,
  GPUCAST_CALLS(GPUCAST_NAME)
#undef GPUCAST_NAME
};

#define GPUCAST_DECLARE(name, Message, ...) struct Message;
GPUCAST_CALLS(GPUCAST_DECLARE)
#undef GPUCAST_DECLARE

// A message's number on the wire.
template <class Message>
consteval Call call_of() = delete;

}  // namespace gpucast::remote
