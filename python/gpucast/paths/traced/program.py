"""A program of calls: what a program asked of its GPUs in some consecutive steps, and what it took.

``timeline`` says when its calls return, natively and on a path.
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
"""In place of a stream, an engine or a recording: there is none."""


class Operation(IntEnum):
    """What a call asks for."""

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
    """Where a copy goes."""

    none = 0
    h2d = 1
    d2h = 2
    local = 3
    peer = 4
    host = 5


class Memory(IntEnum):
    """What the host's end of a copy is."""

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
"""s from the end of an engine's work until another's begins that has just looked for it: H200."""
TICK = 8.192e-6
"""s at which work looks for another engine's end (docs/copy-waits.md: measured on H200)."""


def tick_of(gpus: Iterable[str]) -> float:
    """The tick of GPUs of these names; 0 where it is not known that they have one."""
    return TICK if any("H100" in name or "H200" in name for name in gpus) else 0.0


@dataclass(frozen=True, kw_only=True)
class Calls:
    """What calls ask for, in the order of their begin; an entry a call.

    Attributes:
        blocking: the host returns only when the work is done, or its data staged.
        recording: of a wait for an event: the call that recorded it; -1: it is done long since.
        engine: that does the work; -1: the call asks for none.
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
        """How many calls."""
        return int(self.thread.size)

    @property
    def works(self) -> NDArray[np.bool_]:
        """Calls that ask for work."""
        return np.asarray(self.engine != NONE)

    @property
    def computes(self) -> NDArray[np.bool_]:
        """Calls whose work is no copy."""
        return np.asarray(self.works & (self.engine % len(Engine) == Engine.compute))


ASKED = tuple(field.name for field in fields(Calls))
_TAKES = ("gap", "cost", "tail", "latency", "delay", "seconds")


@dataclass(frozen=True, kw_only=True)
class CallProgram(Calls):
    """Calls of all threads, as recorded; times in s.

    Attributes:
        streams: rows device and kind (1 blocking, 2 non-blocking, 3 legacy, 4 per thread).
        gap: of the host, since the thread's previous call returned.
        cost: of the call itself, without what it waits for; tail: from the end of what it waits for
            until it returns.
        latency: from when work is asked for until it may begin; delay: from the end of what it
            waits for until it begins; seconds: of the work.
        step: of each call; -1 for what belongs to none.
        name: of each call, in ``names``.
        bound_call, bound_offset: where each of the steps + 1 bounds lies: this many s before
            the begin of that call (number of calls: behind the end of the last).
        recorded: s of each step as it was recorded, less what recording is taken to have cost.
        tick: s at which work looks for the end of another engine's, on these GPUs; 0: at once.
        warnings: what could not be told, or may be wrong elsewhere; one line each.
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
    names: tuple[str, ...]
    bound_call: Ints
    bound_offset: Seconds
    recorded: Seconds
    tick: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        """How many steps."""
        return int(self.bound_call.size) - 1

    def only(self, keep: NDArray[np.bool_]) -> CallProgram:
        """Without some calls, whose gaps the threads spend all the same.

        A recording that is left out is waited for by nobody.
        """
        place = np.cumsum(keep) - 1
        kept = np.flatnonzero(keep)
        gap = self.gap.copy()
        for thread in range(self.threads):
            own = np.flatnonzero(self.thread == thread)
            # What was spent before calls that are left out comes before the next that is kept.
            spent = np.cumsum(self.gap[own])[keep[own]]
            gap[own[keep[own]]] = np.diff(spent, prepend=0.0)
        recording = self.recording.copy()
        there = recording >= 0
        recording[there] = np.where(keep[recording[there]], place[recording[there]], NONE)
        # A bound before a call that is gone lies before the next that is kept.
        following = np.append(place + ~keep, kept.size)
        columns: dict[str, NDArray[np.generic]] = {
            name: getattr(self, name)[kept] for name in (*ASKED, *_TAKES, "step", "name")
        }
        columns["gap"], columns["recording"] = gap[kept], recording[kept]
        return replace(self, bound_call=following[self.bound_call], **columns)  # type: ignore[arg-type]
