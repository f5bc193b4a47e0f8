"""Derives the native times of calls from a recording, without the time of waiting.

The times are chosen so that a simulation (``timeline``) reproduces the recorded returns:

    work begins at  max(call + latency, end of what it waits for + delay)
    a call that waits returns at  max(begin + cost, end of what it waits for + tail)

Work that did not have to wait reveals its latency; work that began after other work reveals its
delay. The other of the two is the median of calls of the same kind.

**Two clocks.** The recorder maps GPU times to the host's clock, with an error of some microseconds.
No work begins before its call, and no wait ends before what it waits for: if the trace violates
this, the GPU times of a device are shifted by the least sufficient amount. (The sum of a launch and
the wait for it does not depend on this.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpucast.data.traces import phases, tables
from gpucast.data.traces.native_step import NativeSteps, light_steps
from gpucast.data.traces.parts import Skew
from gpucast.data.traces.steps import ProcessSteps
from gpucast.data.traces.trace import Process
from gpucast.paths.traced.program import (
    NONE,
    SYNCS,
    CallProgram,
    Direction,
    Ints,
    Memory,
    Operation,
    Seconds,
)
from gpucast.paths.traced.recorded_calls import RecordedCalls
from gpucast.paths.traced.timeline import median_seconds, native_seconds, natively

COPY_LATENCY, KERNEL_LATENCY = 5e-6, 6e-6
"""Usual times (s) from a recorded call to the begin of its work (h200-traces)."""
USUAL_TAIL = 3e-6
"""Usual time (s) from the end of work until a thread that waits for it goes on (h200-traces)."""
EXTREME = 0.01
"""Share of records that may contradict the order, because clocks drift."""


class _Order(NamedTuple):
    """Recorded ends of what each call waits for; -inf: nothing. ``before`` is for its work (apart
    from its engine), ``waited`` for the host; ``through`` is the engine of the work that ended at
    ``before``, or -1."""

    before: Seconds
    waited: Seconds
    through: Ints


def native_times(calls: RecordedCalls, waits: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Return the native times of calls, as columns of ``CallProgram``.

    Args:
        waits: calls by which the host waits, without blocking copies.
    """
    start, end = calls.work_start, calls.work_end
    skew = _skews(calls, _order(calls, end), start)[calls.device]
    start, end = start + skew, end + skew
    order = _order(calls, end)
    base = calls.start.copy()
    staged = _staged(calls)
    base[staged] = np.maximum(base[staged], order.before[staged])
    latency, delay = _latencies(calls, base, order, start)
    seconds = np.where(calls.works, np.maximum(end - np.fmax(start, order.before), 0), 0.0)
    cost, tail = _host(calls, base, order, end, waits)
    return {
        "gap": _gaps(calls), "cost": cost, "tail": tail, "latency": latency, "delay": delay,
        "seconds": seconds,
    }  # fmt: skip


def _staged(calls: RecordedCalls) -> NDArray[np.bool_]:
    """Return the blocking copies from pageable memory, which first wait for their stream."""
    return np.asarray(
        (calls.operation == Operation.copy)
        & (calls.direction == Direction.h2d)
        & (calls.memory == Memory.pageable)
        & (calls.blocking != 0)
    )


def _order(calls: RecordedCalls, end: Seconds) -> _Order:
    streams = calls.streams
    none = (-np.inf, NONE)
    # End of each stream's work so far, and its engine.
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

    size = calls.start.size
    before, waited, marked = [none] * size, [none] * size, [none] * size
    listed = zip(
        calls.operation.tolist(), calls.stream.tolist(), calls.device.tolist(),
        calls.recording.tolist(), calls.engine.tolist(), end.tolist(), strict=True,
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


def _skews(calls: RecordedCalls, order: _Order, start: Seconds) -> Seconds:
    """Return by how much each device's times have to be shifted (s)."""
    result = np.zeros(calls.streams.devices.size)
    early = np.where(calls.works, calls.start - start, np.nan)
    own = _waits_for_own(calls)
    late = np.where(own, calls.end - calls.work_end, np.nan)
    syncs = np.isin(calls.operation, SYNCS) & (order.waited > calls.start)
    late[syncs] = (calls.end - order.waited)[syncs]
    for device in range(result.size):
        at_least = early[(calls.device == device) & ~np.isnan(early)]
        at_most = late[(calls.device == device) & ~np.isnan(late)]
        low = float(np.quantile(at_least, 1 - EXTREME)) if at_least.size else None
        high = float(np.quantile(at_most, EXTREME)) if at_most.size else None
        result[device] = Skew(low, high).least
    return result


def _waits_for_own(calls: RecordedCalls) -> NDArray[np.bool_]:
    """Return the copies whose callers wait until they are done."""
    return np.asarray(
        (calls.operation == Operation.copy)
        & (calls.blocking != 0)
        & np.isin(calls.direction, (Direction.h2d, Direction.d2h, Direction.peer))
        & ~_staged(calls)
        & calls.works
    )


def _latencies(
    calls: RecordedCalls, base: Seconds, order: _Order, start: Seconds
) -> tuple[Seconds, Seconds]:
    before = order.before
    switches = (order.through != NONE) & (order.through != calls.engine) & (before > base)
    latency, delay = np.zeros(base.size), np.zeros(base.size)
    kinds = calls.operation * len(Direction) + calls.direction
    shown, waited = np.maximum(start - base, 0), np.maximum(start - before, 0)
    for kind in np.unique(kinds[calls.works]):
        own = calls.works & (kinds == kind)
        free = own & (before <= base)
        copies = kind // len(Direction) == Operation.copy
        most = usual = COPY_LATENCY if copies else KERNEL_LATENCY
        if free.any():
            usual, most = (float(np.quantile(shown[free], share)) for share in (0.5, 0.95))
        # Some work began sooner than is usual for work that did not have to wait.
        usual = min(usual, float(np.median(shown[own])))
        # Work after another engine's began when that was seen to be done, which hides its latency.
        queued = own & ((before > base + most) | (switches & (shown > usual)))
        usual_delay = float(np.median(waited[queued])) if queued.any() else 0.0
        latency[own] = np.where(queued[own], usual, shown[own])
        delay[own] = np.where(queued[own], waited[own], np.minimum(waited[own], usual_delay))
    return latency, delay


def _host(
    calls: RecordedCalls, base: Seconds, order: _Order, end: Seconds, waits: NDArray[np.bool_]
) -> tuple[Seconds, Seconds]:
    taken = calls.end - calls.start
    cost, tail = taken.copy(), np.zeros(taken.size)
    staged = _staged(calls)
    cost[staged] = np.maximum(calls.end - base, 0)[staged]
    own = _waits_for_own(calls)
    cost[own] = 0
    tail[own] = np.maximum(calls.end - end, 0)[own]
    for operation in np.unique(calls.operation[waits]):
        same = waits & (calls.operation == operation)
        held = same & (order.waited > calls.start)
        idle = same & ~held
        tail[held] = np.maximum(calls.end - order.waited, 0)[held]
        tail[idle] = np.median(tail[held]) if held.any() else USUAL_TAIL
        usual = float(np.median(taken[idle])) if idle.any() else 1e-6
        cost[held] = np.minimum(usual, taken[held])
    return cost, tail


def _gaps(calls: RecordedCalls) -> Seconds:
    gap = np.zeros(calls.start.size)
    for thread in np.unique(calls.thread):
        own = np.flatnonzero(calls.thread == thread)
        ends = np.concatenate([[0.0], calls.end[own][:-1]])
        gap[own] = np.maximum(calls.start[own] - ends, 0)
    return gap


# Removes the overhead of recording from a program's calls.
#
# A recorded call takes longer, because it and its work are noted. The overhead lies in the call
# and after it, and it delays the work, which is submitted within the call. All calls are
# shortened by the same amount, until a simulated step takes its native time; overhead while the
# host waits anyway has no effect. The amount is taken from a call's gap and, if that is too
# short, from the call and its work's latency, at most half of each, because a call itself takes
# time.
#
# The GPU writes records as well: work begins later after other work, and a graph that is recorded
# node by node is slower. If shorter calls are not enough, delays and graphs are shortened.

LEAST: Final = 0.5
"""Least share of a call, or of a latency, that remains."""
MOST: Final = 2.0
"""Largest overhead of recording, relative to a call and the gap before it."""
MANY_CALLS: Final = 100
"""Number of calls of a step from which after-effects of recording matter: in light phases after
full ones, steps of 200 to 600 launches took 4 to 58 % longer than natively (h200-traces, without
the overhead of notes)."""
LEAST_OF_GRAPH: Final = 0.25
"""Least share of a graph's recorded time that remains."""
_TRIED = np.linspace(0, 1, 21)
"""Shares of the largest overhead that are tried; the sufficient one is interpolated."""


def as_natively(
    program: CallProgram, process: Process, steps: ProcessSteps, native: NativeSteps,
    kinds: NDArray[np.int64], calls: RecordedCalls,
) -> CallProgram:  # fmt: skip
    """Return a recorded program without the overhead of recording.

    Args:
        native: step times of the process without a recorder, as far as known.
        kinds: kinds of the program's steps.
        calls: the recorded calls, in the program's order.
    """
    if native.light is not None:
        program = replace(program, warnings=(*program.warnings, *_slowed(process, steps)))
    if native.alone and native.median < native_seconds(program):
        by_node = calls.operation == Operation.graph_launch
        by_node[by_node] = process.work["kind"].to_numpy()[calls.work[by_node]] != tables.GRAPH
        program = _lasting(program, lambda share: _shorter_calls(program, share), native.median)
        short = program
        program = _lasting(short, lambda share: _shorter_work(short, share, by_node), native.median)
    if np.bincount(kinds[kinds >= 0], minlength=1).argmax() != 0:
        return program
    # For steps of the usual kind, the median is the native step.
    return replace(program, recorded=program.recorded + (native.median - native_seconds(program)))


def _slowed(process: Process, steps: ProcessSteps) -> list[str]:
    """Warn if recording may have slowed calls down even in light phases."""
    own = light_steps(steps)
    begins = steps.begins_ns[:-1][own] if own is not None else steps.begins_ns[:0]
    recorded = process.phases["start_ns"][process.phases["full"] == phases.FULL]
    calls = float(steps.calls[: steps.count].mean())
    if not begins.size or calls < MANY_CALLS or not (recorded < begins[0]).any():
        return []
    return [
        f"steps of {calls:.0f} calls, whose light phases come after full ones: natively they may "
        "take up to 40 % less; a run without a recorder tells"
    ]


_Columns = dict[str, Any]


def _shorter_calls(program: CallProgram, share: NDArray[np.float64]) -> _Columns:
    """Return columns in which each call is shortened by a share of ``MOST``."""
    gap, cost, tail, latency = (
        getattr(program, name)[:, None] for name in ("gap", "cost", "tail", "latency")
    )
    amount = share * MOST * float(np.mean(program.gap + program.cost + program.tail))
    from_gap = np.minimum(gap, amount)
    from_cost = np.minimum(amount - from_gap, (1 - LEAST) * cost)
    from_tail = np.minimum(amount - from_gap - from_cost, (1 - LEAST) * tail)
    return {
        "gap": gap - from_gap,
        "cost": cost - from_cost,
        "tail": tail - from_tail,
        "latency": np.maximum(latency - from_cost, LEAST * latency),
    }


def _shorter_work(
    program: CallProgram, share: NDArray[np.float64], by_node: NDArray[np.bool_]
) -> _Columns:
    graphs = np.where(by_node, 1 - LEAST_OF_GRAPH, 0.0)[:, None]
    return {
        "delay": program.delay[:, None] * (1 - share),
        "seconds": program.seconds[:, None] * (1 - share * graphs),
    }


def _lasting(
    program: CallProgram,
    shorter: Callable[[NDArray[np.float64]], _Columns],
    seconds: float,
) -> CallProgram:
    """Shorten a program by the least share that makes steps take at most ``seconds``, or by all."""
    takes = natively(program)
    columns = shorter(_TRIED)
    cost = columns.pop("cost", None)
    if cost is not None:
        columns |= {"ask": cost, "there": -cost}
    lasted = np.minimum.accumulate(median_seconds(program, replace(takes, **columns)))
    # The step time falls with the share; find where it reaches the native time.
    share = np.interp(-seconds, -lasted, _TRIED)
    enough = shorter(np.array([share]))
    return replace(program, **{name: column[:, 0] for name, column in enough.items()})
