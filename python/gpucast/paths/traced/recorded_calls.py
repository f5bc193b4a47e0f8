"""The calls of a traced process in the steps that are simulated: what each asks the GPU to do.

There is one entry for each call, in the order in which they begin. Consecutive queries of one
thread count as one wait: how often a polling loop asks depends on how long it waits, and so on the
path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpucast.data.traces import tables, waiting
from gpucast.data.traces.trace import Process
from gpucast.errors import InputError
from gpucast.paths.traced.program import NONE, Calls, Direction, Engine, Ints, Memory, Operation

_DIRECTION = {
    tables.TO_DEVICE: Direction.h2d,
    tables.TO_HOST: Direction.d2h,
    tables.WITHIN_DEVICE: Direction.local,
    tables.BETWEEN_DEVICES: Direction.peer,
    tables.WITHIN_HOST: Direction.host,
}
_ENGINE = {
    Direction.h2d: Engine.h2d,
    Direction.d2h: Engine.d2h,
    Direction.peer: Engine.peer,
}
_WAIT = {
    tables.HOST_WAITS_EVENT: Operation.sync_event,
    tables.STREAM_WAITS_EVENT: Operation.wait_stream_event,
    tables.HOST_WAITS_STREAM: Operation.sync_stream,
    tables.HOST_WAITS_DEVICE: Operation.sync_device,
    tables.EVENT_RECORDED: Operation.record,
}

_PREFIXES: Final = (
    # These stay on the host, or remote/src/client answers them without a message.
    (Operation.other, ("HostAlloc", "MallocHost", "FreeHost", "MemAllocHost", "MemHost")),
    (Operation.query, ("MemGetInfo",)),
    (Operation.other, ("MemGetAddressRange", "MemPool")),
    # Memory of the device.
    (Operation.alloc, ("Malloc", "MemAlloc", "MemCreate")),
    (Operation.free, ("Free", "MemFree")),
    (Operation.set, ("Memset",)),
    # Questions to the device.
    (Operation.query, ("FuncGetAttributes", "Occupancy", "ModuleLoad", "ModuleGet", "LibraryLoad")),
    (Operation.query, ("LibraryGet", "GetSymbol", "StreamQuery", "EventQuery")),
    # Waits, if the recorder did not record them as such.
    (Operation.sync_stream, ("StreamSynchronize",)),
    (Operation.sync_event, ("EventSynchronize",)),
    (Operation.sync_device, ("DeviceSynchronize", "ThreadSynchronize", "CtxSynchronize")),
    (Operation.graph_launch, ("GraphLaunch",)),
    # Messages without an answer that give the GPU no work.
    (Operation.set, ("StreamCreate", "StreamDestroy", "EventCreate", "EventDestroy")),
    (Operation.record, ("EventRecord",)),
    (Operation.wait_stream_event, ("StreamWaitEvent",)),
    (Operation.launch, ("LaunchKernel", "LaunchCooperative")),
)
"""Operations of calls that are in none of a trace's tables of work, waits and events, by the
beginnings of their names; the first match counts."""


@dataclass(frozen=True)
class Streams:
    """The streams of a process.

    Attributes:
        device, kind: device and kind of each stream; the last ones, one per device, stand for
            streams that were not recorded.
        number: index by context and CUPTI's number.
        devices: CUDA's numbers of the devices in use.
    """

    device: Ints
    kind: Ints
    number: dict[tuple[int, int], int]
    devices: Ints

    def find(self, context: int, stream: int) -> int:
        """Return a stream's index; without its context, that of the only stream with this
        number."""
        place = self.number.get((context, stream))
        if place is not None:
            return place
        same = [at for (_, number), at in self.number.items() if number == stream]
        return same[0] if len(same) == 1 else self.unknown(0)

    def unknown(self, device: int) -> int:
        """Return the index of the stream that stands for a device's unrecorded streams."""
        return int(self.device.size) - self.devices.size + device


@dataclass(frozen=True, kw_only=True)
class RecordedCalls(Calls):
    """Calls as they were recorded; ``start`` and ``end`` are in s since the begin of the first
    step.

    Attributes:
        work_start, work_end: begin and end of the call's work, by the GPU's clock as in the trace;
            NaN if there is none.
        work: the first row of its work in the trace, or -1.
        threads: numbers of the threads in the trace.
    """

    start: NDArray[np.float64]
    end: NDArray[np.float64]
    work_start: NDArray[np.float64]
    work_end: NDArray[np.float64]
    work: Ints
    name: Ints
    threads: Ints
    streams: Streams


def recorded_calls(process: Process, begin_ns: int, end_ns: int) -> RecordedCalls:
    """Return the calls of a process between two times.

    Raises:
        InputError: there are none.
    """
    calls = process.calls
    start_ns = calls["start_ns"].to_numpy()
    rows = np.flatnonzero((start_ns >= begin_ns) & (start_ns < end_ns))
    rows = rows[np.argsort(start_ns[rows], kind="stable")]
    if not rows.size:
        raise InputError("the steps have no calls of the CUDA runtime or driver")
    first, last, polls = _joined(process, rows)
    size = last.size
    place = np.full(len(calls), NONE)
    place[last] = np.arange(size)
    streams = _streams(process)
    names = calls["name"].to_numpy()[last].astype(np.int64)
    by_name = {number: operation_of(process.name_of(number)) for number in np.unique(names)}
    columns = {
        name: np.full(size, NONE) for name in ("device", "stream", "recording", "engine", "work")
    }
    zero = ("direction", "memory", "blocking", "bytes")
    columns |= {name: np.zeros(size, np.int64) for name in zero}
    columns["operation"] = np.array([by_name[number] for number in names], np.int64)
    times = {name: np.full(size, np.nan) for name in ("work_start", "work_end")}
    _add_works(process, place, begin_ns, streams, columns, times)
    _add_waits(process, place, streams, columns)
    operation = columns["operation"]
    event = np.array([process.name_of(number).endswith("EventQuery") for number in names])
    operation[polls] = np.where(event, Operation.sync_event, Operation.sync_stream)[polls]
    thread = calls["thread"].to_numpy()[last].astype(np.int64)
    threads, thread = np.unique(thread, return_inverse=True)
    _fill_devices(columns["device"], thread)
    _fill_streams(columns, streams)
    return RecordedCalls(
        start=(start_ns[first] - begin_ns) / 1e9,
        end=(calls["end_ns"].to_numpy()[last] - begin_ns) / 1e9,
        thread=thread,
        name=names,
        threads=threads,
        streams=streams,
        **columns,
        **times,
    )


def operation_of(name: str) -> Operation:
    """Return the operation of a function, such as alloc for ``cudaMalloc``; ``other`` for calls
    that stay on the host and unknown ones."""
    bare = name.removeprefix("cuda").removeprefix("cu")
    known = (operation for operation, starts in _PREFIXES if bare.startswith(starts))
    return next(known, Operation.other)


def _joined(process: Process, rows: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Return the first and last row of each call, and which are joined consecutive queries."""
    again = waiting.asked_again(process, waiting.of_calls(process))
    threads = process.calls["thread"].to_numpy()
    # Within a thread, the first row's query may continue an earlier one.
    ordered = rows[np.argsort(threads[rows], kind="stable")]
    begins = ~again[ordered]
    begins[1:] |= threads[ordered[1:]] != threads[ordered[:-1]]
    begins[:1] = True
    at = np.flatnonzero(begins)
    first, last = ordered[at], ordered[np.append(at[1:], ordered.size) - 1]
    order = np.argsort(process.calls["start_ns"].to_numpy()[first], kind="stable")
    return first[order], last[order], (first != last)[order]


def _streams(process: Process) -> Streams:
    work = process.work
    keys = pd.concat(
        [
            process.streams[["context", "device", "stream", "flags"]],
            work[["context", "device", "stream"]].drop_duplicates().assign(flags=0),
        ]
    ).drop_duplicates(["context", "stream"])
    devices = np.unique(keys["device"].to_numpy()).astype(np.int64)
    if not devices.size:
        devices = np.zeros(1, np.int64)
    flags = keys["flags"].to_numpy(np.int64)
    # A stream without recorded flags counts as blocking, as cudaStreamCreate makes them.
    kind = np.where((flags < 1) | (flags > 4), tables.BLOCKING, flags)
    device = np.searchsorted(devices, keys["device"].to_numpy())
    pairs = zip(keys["context"].tolist(), keys["stream"].tolist(), strict=True)
    return Streams(
        device=np.append(device, np.arange(devices.size)).astype(np.int64),
        kind=np.append(kind, np.full(devices.size, tables.NON_BLOCKING)),
        number={pair: at for at, pair in enumerate(pairs)},
        devices=devices,
    )


def _add_works(
    process: Process,
    place: Ints,
    begin_ns: int,
    streams: Streams,
    columns: dict[str, Ints],
    times: dict[str, NDArray[np.float64]],
) -> None:
    work = process.work
    rows = waiting.calls_of(process, work["correlation"].to_numpy())
    calls = np.where(rows >= 0, place[rows], NONE)
    own = np.flatnonzero(calls >= 0)
    if not own.size:
        return
    own = own[np.argsort(calls[own], kind="stable")]
    call, begins = np.unique(calls[own], return_index=True)
    first = own[begins]
    start, end = work["start_ns"].to_numpy(), work["end_ns"].to_numpy()
    times["work_start"][call] = (np.minimum.reduceat(start[own], begins) - begin_ns) / 1e9
    times["work_end"][call] = (np.maximum.reduceat(end[own], begins) - begin_ns) / 1e9
    columns["work"][call] = first
    columns["bytes"][call] = np.add.reduceat(work["bytes"].to_numpy()[own], begins)
    picked = work.iloc[first]
    kind = picked["kind"].to_numpy()
    direction = np.zeros(call.size, np.int64)
    for number, word in _DIRECTION.items():
        direction[(kind == tables.COPY) & (picked["direction"].to_numpy() == number)] = word
    graph = (kind == tables.GRAPH) | (picked["graph"].to_numpy() != 0)
    direction[graph] = Direction.none  # whatever its first node is
    columns["direction"][call] = direction
    host = np.where(direction == Direction.h2d, picked["from_memory"], picked["to_memory"])
    pageable = host == tables.PAGEABLE
    with_host = np.isin(direction, (Direction.h2d, Direction.d2h))
    columns["memory"][call] = np.where(
        with_host, np.where(pageable, Memory.pageable, Memory.pinned), Memory.none
    )
    columns["operation"][call] = np.select(
        [graph, kind == tables.KERNEL, kind == tables.COPY],
        [Operation.graph_launch, Operation.launch, Operation.copy],
        Operation.set,
    )
    device = np.searchsorted(streams.devices, picked["device"].to_numpy())
    engine = np.full(call.size, int(Engine.compute))
    for word, number in _ENGINE.items():
        engine[direction == word] = number
    columns["device"][call] = device
    columns["engine"][call] = device * len(Engine) + engine
    columns["engine"][call[direction == Direction.host]] = NONE
    pairs = zip(picked["context"].tolist(), picked["stream"].tolist(), strict=True)
    columns["stream"][call] = [streams.find(*pair) for pair in pairs]
    returned = process.calls["end_ns"].to_numpy()[rows[first]]
    # An asynchronous copy of pageable memory that returned after its end has blocked.
    held = pageable & with_host & (returned >= end[first])
    copies = ((kind == tables.COPY) | (kind == tables.SET)) & ~graph
    columns["blocking"][call] = copies & ((picked["asynchronous"].to_numpy() == 0) | held)


def _add_waits(process: Process, place: Ints, streams: Streams, columns: dict[str, Ints]) -> None:
    waits = process.waits
    rows = waiting.calls_of(process, waits["correlation"].to_numpy())
    calls = np.where(rows >= 0, place[rows], NONE)
    own = np.flatnonzero(calls >= 0)
    start = process.calls["start_ns"].to_numpy()
    order = own[np.argsort(start[rows[own]], kind="stable")]
    listed = (waits[name].to_numpy()[order].tolist() for name in
              ("kind", "context", "stream", "event", "recording"))  # fmt: skip
    recorded: dict[int, int] = {}
    last: dict[tuple[int, int], int] = {}
    listed_calls = zip(calls[order].tolist(), *listed, strict=True)
    for call, kind, context, stream, event, recording in listed_calls:
        operation = _WAIT.get(kind, Operation.other)
        by_name = Operation(int(columns["operation"][call]))
        if columns["work"][call] >= 0:
            continue  # the wait of a blocking copy
        if by_name != Operation.query:
            columns["operation"][call] = operation
        if operation in (Operation.record, Operation.sync_stream, Operation.wait_stream_event):
            columns["stream"][call] = streams.find(context, stream)
        if operation == Operation.record:
            recorded[recording] = last[context, event] = call
        elif operation in (Operation.sync_event, Operation.wait_stream_event):
            known = recorded.get(recording) if recording else last.get((context, event))
            columns["recording"][call] = NONE if known is None else known
    named = columns["stream"] >= 0
    columns["device"][named] = streams.device[columns["stream"][named]]


def _fill_devices(device: Ints, thread: Ints) -> None:
    """Give calls without a device the one that their thread used last."""
    for number in np.unique(thread):
        own = np.flatnonzero(thread == number)
        known = device[own] >= 0
        if not known.any():
            device[own] = 0
            continue
        at = np.maximum.accumulate(np.where(known, np.arange(own.size), -1))
        at[at < 0] = int(np.argmax(known))
        device[own] = device[own][at]


def _fill_streams(columns: dict[str, Ints], streams: Streams) -> None:
    needs = np.isin(
        columns["operation"],
        (Operation.record, Operation.wait_stream_event, Operation.sync_stream),
    ) & (columns["stream"] < 0)
    columns["stream"][needs] = [streams.unknown(device) for device in columns["device"][needs]]
