"""A program of calls: the calls of a program in some consecutive steps, with their native times.

``timeline`` simulates when its calls return, natively and on a path.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Seconds = NDArray[np.float64]

NONE = -1
"""Stands for no stream, no engine or no recording."""


class Operation(IntEnum):
    """Operation of a call."""

    launch = 0
    copy = 1
    set = 2
    record = 3
    wait_stream_event = 4
    sync_stream = 5
    sync_event = 6
    sync_device = 7
    alloc = 8
    free = 9
    query = 10
    graph_launch = 11
    other = 12


class Direction(IntEnum):
    """Direction of a copy."""

    none = 0
    h2d = 1
    d2h = 2
    local = 3
    peer = 4
    host = 5


class Memory(IntEnum):
    """Kind of host memory of a copy."""

    none = 0
    pageable = 1
    pinned = 2


class Engine(IntEnum):
    """A device's engines; engine k of device d is number ``d * len(Engine) + k``."""

    compute = 0
    h2d = 1
    d2h = 2
    peer = 3


SYNCS = (Operation.sync_stream, Operation.sync_event, Operation.sync_device)

SWITCH = 1.8e-6
"""Time (s) from the end of one engine's work to the begin of another's that has just polled for it,
on H200."""
TICK = 8.192e-6
"""Interval (s) at which work polls for the end of another engine's (docs/copy-waits.md, measured on
H200)."""


def tick_of(gpus: Iterable[str]) -> float:
    """Return the polling interval of GPUs of these names; 0 if they are not known to poll."""
    return TICK if any("H100" in name or "H200" in name for name in gpus) else 0.0


@dataclass(frozen=True, kw_only=True)
class Calls:
    """Calls in the order in which they begin; an entry per call.

    Attributes:
        blocking: whether the call returns only when its work is done, or its data are staged.
        recording: for a wait for an event, the call that recorded it; -1 if it was done long
            before.
        engine: the engine that does the work; -1 if there is none.
    """

    thread: Ints
    operation: Ints
    direction: Ints
    memory: Ints
    blocking: Ints
    device: Ints
    stream: Ints
    bytes: Ints
    recording: Ints
    engine: Ints

    def __len__(self) -> int:
        """Return the number of calls."""
        return int(self.thread.size)

    @property
    def works(self) -> NDArray[np.bool_]:
        """Calls with work for a GPU."""
        return np.asarray(self.engine != NONE)

    @property
    def computes(self) -> NDArray[np.bool_]:
        """Calls whose work is not a copy."""
        return np.asarray(self.works & (self.engine % len(Engine) == Engine.compute))


CALL_FIELDS = tuple(field.name for field in fields(Calls))
_TAKES = ("gap", "cost", "tail", "latency", "delay", "seconds")


@dataclass(frozen=True, kw_only=True)
class CallProgram(Calls):
    """Calls of all threads as recorded, with their native times (s).

    Attributes:
        streams: two rows: device and kind (1 blocking, 2 non-blocking, 3 legacy, 4 per thread).
        gap: host time since the thread's previous call returned.
        cost: time of the call itself without waits; tail: time from the end of what it waits for
            until it returns.
        latency: time from the call until its work may begin; delay: time from the end of what the
            work waits for until it begins; seconds: duration of the work.
        step: step of each call; -1 for none.
        name: index of each call's name in ``names``.
        work: the first row of each call's work in the trace; -1 if it has none.
        bound_call, bound_offset: each of the steps + 1 bounds lies ``bound_offset`` before the
            begin of call ``bound_call`` (the number of calls stands for the end of the last).
        recorded: recorded time of each step, minus the estimated overhead of recording.
        tick: interval at which work polls for the end of another engine's on these GPUs; 0: at
            once.
        warnings: lines about what is missing, or may be wrong on other paths.
    """

    threads: int
    devices: int
    streams: Ints
    gap: Seconds
    cost: Seconds
    tail: Seconds
    latency: Seconds
    delay: Seconds
    seconds: Seconds
    step: Ints
    name: Ints
    work: Ints
    names: tuple[str, ...]
    bound_call: Ints
    bound_offset: Seconds
    recorded: Seconds
    tick: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        """Number of steps."""
        return int(self.bound_call.size) - 1

    def only(self, keep: NDArray[np.bool_]) -> CallProgram:
        """Return the program without some calls. The threads still spend their gaps, and waits for
        a removed recording do not wait.
        """
        place = np.cumsum(keep) - 1
        kept = np.flatnonzero(keep)
        gap = self.gap.copy()
        for thread in range(self.threads):
            own = np.flatnonzero(self.thread == thread)
            # The gap of a removed call is added to the next one that is kept.
            spent = np.cumsum(self.gap[own])[keep[own]]
            gap[own[keep[own]]] = np.diff(spent, prepend=0.0)
        recording = self.recording.copy()
        recorded = recording >= 0
        recording[recorded] = np.where(keep[recording[recorded]], place[recording[recorded]], NONE)
        # A bound before a removed call moves to the next one that is kept.
        following = np.append(place + ~keep, kept.size)
        columns: dict[str, NDArray[np.generic]] = {
            name: getattr(self, name)[kept]
            for name in (*CALL_FIELDS, *_TAKES, "step", "name", "work")
        }
        columns["gap"], columns["recording"] = gap[kept], recording[kept]
        return replace(self, bound_call=following[self.bound_call], **columns)  # type: ignore[arg-type]
