"""What calls took where they were recorded, with waiting taken off.

The parts are chosen so that the same calls with the same times return as they were recorded
(``timeline``):

    work begins at  max(asked + latency, end of what it waits for + delay)
    a call that waits returns at  max(begin + cost, end of what it waits for + tail)

Where work began behind nothing, its latency shows; where it began behind other work, its delay.
What does not show is the median of calls of the same kind.

**Two clocks.** GPU times are mapped to the host's clock by the recorder, which may be off by some
microseconds. No work begins before it is asked for, and no wait ends before what it waits for:
where they seem to, GPU times are moved as little as is needed, device by device. (Their sum, what a
launch and the wait for it take together, does not depend on that.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpucast.data.traces import tables
from gpucast.data.traces.parts import Skew
from gpucast.paths.traced.asked import Asked
from gpucast.paths.traced.program import (
    NONE,
    SYNCS,
    Direction,
    Ints,
    Memory,
    Operation,
    Seconds,
)

COPY_LATENCY, KERNEL_LATENCY = 5e-6, 6e-6
"""s likewise, of a recorded call to its work's begin (h200-traces)."""
USUAL_TAIL = 3e-6
"""s from the end of work until a thread that waits for it goes on, likewise."""
EXTREME = 0.01
"""Share of the records that may contradict the order of two clocks: they drift."""


class _Order(NamedTuple):
    """When what holds each call back was done, by the recorded ends; -inf: at once: what its work
    waits for (its engine aside), and what the host waits for; ``through``: the engine of what
    ``before`` is the end of, -1: none."""

    before: Seconds
    waited: Seconds
    through: Ints


def native_times(asked: Asked, waits: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """What the calls took: columns of ``CallProgram``.

    Args:
        waits: calls by which the host waits, blocking copies left out.
    """
    start, end = asked.work_start, asked.work_end
    skew = _skews(asked, _order(asked, end), start)[asked.device]
    start, end = start + skew, end + skew
    order = _order(asked, end)
    base = asked.start.copy()
    staged = _staged(asked)
    base[staged] = np.maximum(base[staged], order.before[staged])
    latency, delay = _latencies(asked, base, order, start)
    seconds = np.where(asked.works, np.maximum(end - np.fmax(start, order.before), 0), 0.0)
    cost, tail = _host(asked, base, order, end, waits)
    return {
        "gap": _gaps(asked), "cost": cost, "tail": tail, "latency": latency, "delay": delay,
        "seconds": seconds,
    }  # fmt: skip


def _staged(asked: Asked) -> NDArray[np.bool_]:
    """Blocking copies from pageable memory: they wait for their stream first."""
    return np.asarray(
        (asked.operation == Operation.copy)
        & (asked.direction == Direction.h2d)
        & (asked.memory == Memory.pageable)
        & (asked.blocking != 0)
    )


def _order(asked: Asked, end: Seconds) -> _Order:
    streams = asked.streams
    none = (-np.inf, NONE)
    # When what a stream was given is done, and by which engine.
    stream_end = [none] * streams.device.size
    device_of, kind_of = streams.device.tolist(), streams.kind.tolist()
    blocking: dict[int, list[int]] = {}
    legacy: dict[int, int] = {}
    of_device: dict[int, list[int]] = {}
    for stream, (device, kind) in enumerate(zip(device_of, kind_of, strict=True)):
        of_device.setdefault(device, []).append(stream)
        if kind == tables.LEGACY_DEFAULT:
            legacy[device] = stream
        elif kind != tables.NON_BLOCKING:
            blocking.setdefault(device, []).append(stream)

    def reached(stream: int) -> tuple[float, int]:
        device, kind = device_of[stream], kind_of[stream]
        if kind == tables.LEGACY_DEFAULT:
            others = (stream_end[stream] for stream in blocking.get(device, ()))
            return max(stream_end[stream], max(others, default=none))
        if kind != tables.NON_BLOCKING and device in legacy:
            return max(stream_end[stream], stream_end[legacy[device]])
        return stream_end[stream]

    size = asked.start.size
    before, waited, marked = [none] * size, [none] * size, [none] * size
    listed = zip(
        asked.operation.tolist(), asked.stream.tolist(), asked.device.tolist(),
        asked.recording.tolist(), asked.engine.tolist(), end.tolist(), strict=True,
    )  # fmt: skip
    for call, (operation, stream, device, recording, engine, ended) in enumerate(listed):
        if engine != NONE:
            before[call] = reached(stream)
            stream_end[stream] = max((ended, engine), before[call])
        elif operation == Operation.record:
            marked[call] = reached(stream)
        elif operation == Operation.wait_stream_event and recording != NONE:
            stream_end[stream] = max(stream_end[stream], marked[recording])
        elif operation == Operation.sync_event and recording != NONE:
            waited[call] = marked[recording]
        elif operation == Operation.sync_stream:
            waited[call] = reached(stream)
        elif operation in (Operation.sync_device, Operation.free, Operation.alloc):
            waited[call] = max(stream_end[other] for other in of_device[device])
    return _Order(
        np.array([time for time, _ in before]),
        np.array([time for time, _ in waited]),
        np.array([engine for _, engine in before]),
    )


def _skews(asked: Asked, order: _Order, start: Seconds) -> Seconds:
    """By how much each device's times have to be moved."""
    result = np.zeros(asked.streams.devices.size)
    early = np.where(asked.works, asked.start - start, np.nan)
    own = _waits_for_own(asked)
    late = np.where(own, asked.end - asked.work_end, np.nan)
    syncs = np.isin(asked.operation, SYNCS) & (order.waited > asked.start)
    late[syncs] = (asked.end - order.waited)[syncs]
    for device in range(result.size):
        at_least = early[(asked.device == device) & ~np.isnan(early)]
        at_most = late[(asked.device == device) & ~np.isnan(late)]
        low = float(np.quantile(at_least, 1 - EXTREME)) if at_least.size else None
        high = float(np.quantile(at_most, EXTREME)) if at_most.size else None
        result[device] = Skew(low, high).least
    return result


def _waits_for_own(asked: Asked) -> NDArray[np.bool_]:
    """Copies whose callers wait until they are done."""
    return np.asarray(
        (asked.operation == Operation.copy)
        & (asked.blocking != 0)
        & np.isin(asked.direction, (Direction.h2d, Direction.d2h, Direction.peer))
        & ~_staged(asked)
        & asked.works
    )


def _latencies(
    asked: Asked, base: Seconds, order: _Order, start: Seconds
) -> tuple[Seconds, Seconds]:
    before = order.before
    switches = (order.through != NONE) & (order.through != asked.engine) & (before > base)
    latency, delay = np.zeros(base.size), np.zeros(base.size)
    kinds = asked.operation * len(Direction) + asked.direction
    shown, waited = np.maximum(start - base, 0), np.maximum(start - before, 0)
    for kind in np.unique(kinds[asked.works]):
        own = asked.works & (kinds == kind)
        free = own & (before <= base)
        copies = kind // len(Direction) == Operation.copy
        most = usual = COPY_LATENCY if copies else KERNEL_LATENCY
        if free.any():
            usual, most = (float(np.quantile(shown[free], share)) for share in (0.5, 0.95))
        # Work that began sooner than is usual where it waited for nothing.
        usual = min(usual, float(np.median(shown[own])))
        # Behind another engine it began when that was seen to be done: no latency shows.
        queued = own & ((before > base + most) | (switches & (shown > usual)))
        usual_delay = float(np.median(waited[queued])) if queued.any() else 0.0
        latency[own] = np.where(queued[own], usual, shown[own])
        delay[own] = np.where(queued[own], waited[own], np.minimum(waited[own], usual_delay))
    return latency, delay


def _host(
    asked: Asked, base: Seconds, order: _Order, end: Seconds, waits: NDArray[np.bool_]
) -> tuple[Seconds, Seconds]:
    taken = asked.end - asked.start
    cost, tail = taken.copy(), np.zeros(taken.size)
    staged = _staged(asked)
    cost[staged] = np.maximum(asked.end - base, 0)[staged]
    own = _waits_for_own(asked)
    cost[own] = 0
    tail[own] = np.maximum(asked.end - end, 0)[own]
    for operation in np.unique(asked.operation[waits]):
        same = waits & (asked.operation == operation)
        held = same & (order.waited > asked.start)
        idle = same & ~held
        tail[held] = np.maximum(asked.end - order.waited, 0)[held]
        tail[idle] = np.median(tail[held]) if held.any() else USUAL_TAIL
        usual = float(np.median(taken[idle])) if idle.any() else 1e-6
        cost[held] = np.minimum(usual, taken[held])
    return cost, tail


def _gaps(asked: Asked) -> Seconds:
    gap = np.zeros(asked.start.size)
    for thread in np.unique(asked.thread):
        own = np.flatnonzero(asked.thread == thread)
        ends = np.concatenate([[0.0], asked.end[own][:-1]])
        gap[own] = np.maximum(asked.start[own] - ends, 0)
    return gap
