"""A program of calls: what a program asked of its GPUs in some consecutive steps, and what it took.

The core simulates it (replay/include/gpucast/replay holds the rules and their derivations).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from gpucast import _core

Ints = NDArray[np.int64]
Seconds = NDArray[np.float64]

NONE = -1
"""In place of a stream, an engine or a recording: there is none."""


class Operation(IntEnum):
    """What a call asks for, in the core's numbers (program.h)."""

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

ASKED: tuple[str, ...] = _core.REPLAY_ASKED
"""Columns of a program that say what its calls ask for; the next, what they take."""
_TAKES: tuple[str, ...] = _core.REPLAY_TAKES
_CORES = 64
_TODAY = _core.remote_layer(_CORES)
"""What today's layer does on a host of many cores."""

SWITCH = 1.8e-6
"""s from the end of an engine's work until another's begins that has just looked for it: H200."""
TICK = 8.192e-6
"""s at which work looks for another engine's end (docs/copy-waits.md: measured on H200)."""


def tick_of(gpus: Iterable[str]) -> float:
    """The tick of GPUs of these names; 0 where it is not known that they have one."""
    return TICK if any("H100" in name or "H200" in name for name in gpus) else 0.0


@dataclass(frozen=True, kw_only=True)
class Layer:
    """What forwards calls, whatever is called; seconds.

    Attributes:
        bulk_line: s a byte of what large copies of all GPUs share, up and down (memory, where all
            is one host); bulk_wake: s until the threads that take these are awake after a pause.
        inline_bytes: the largest copy that travels within its message; bulk_nap: s for which
            threads that take larger ones look for the next before they sleep
            (remote/include/gpucast/remote).
        spin: s that either side looks for a message before it sleeps.
        wake_server, wake_client: s that waking it then takes.
        tail: s until a server knows that its GPU has done what is waited for.
    """

    bulk_line: float = 0.0
    bulk_wake: float = 0.0
    inline_bytes: int = _TODAY[0]
    bulk_nap: float = _TODAY[1]
    spin: float = _core.REMOTE_SPIN
    wake_server: float = 0.0
    wake_client: float = 0.0
    tail: float = 0.0


@dataclass(frozen=True)
class Messages(Layer):
    """What calls cost where they are forwarded (path.h): seconds, an entry a call.

    Attributes:
        transport: 0: none, the host asks the driver; 1: messages that are answered only where the
            program waits; 2: every one is.
        times: rows cost, up, flight, serve, answer, down, after, lead, polls.
        line: s a byte of the wire that all connections share; 0: none.
    """

    transport: int
    times: Seconds
    line: float = 0.0


@dataclass(frozen=True)
class Times:
    """What a simulation gave: s since the first thread began; an entry a call.

    Attributes:
        begin, end: of the call, on the host.
        work, work_done: of its work; not a number where it asks for none.
    """

    begin: Seconds
    end: Seconds
    work: Seconds
    work_done: Seconds


@dataclass(frozen=True)
class CallProgram:
    """Calls of all threads in the order of their begin, as recorded; columns as in program.h.

    Attributes:
        streams: rows device and kind (1 blocking, 2 non-blocking, 3 legacy, 4 per thread).
        thread, operation, direction, memory, blocking, device, stream, bytes, recording, engine:
            what each call asks for.
        gap, cost, tail, latency, delay, seconds, share: what it takes, s.
        switches: works that waited for another engine than their own; ``delay`` is how long they
            did natively. On a path, where calls come at other times, they wait for ``SWITCH`` and
            by ticks.
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
    gap: Seconds
    cost: Seconds
    tail: Seconds
    latency: Seconds
    delay: Seconds
    seconds: Seconds
    share: Seconds
    switches: NDArray[np.bool_]
    step: Ints
    name: Ints
    names: tuple[str, ...]
    bound_call: Ints
    bound_offset: Seconds
    recorded: Seconds
    tick: float = 0.0
    warnings: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        """How many calls."""
        return int(self.thread.size)

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
            name: getattr(self, name)[kept]
            for name in (*ASKED, *_TAKES, "switches", "step", "name")
        }
        columns["gap"], columns["recording"] = gap[kept], recording[kept]
        return replace(self, bound_call=following[self.bound_call], **columns)  # type: ignore[arg-type]

    def simulate(self, messages: Messages | None = None) -> Times:
        """The calls made again: natively, or by messages."""
        if messages is not None and self.tick > 0:
            delay = np.where(self.switches, SWITCH, self.delay)
            return replace(self, delay=delay)._simulate(messages, self.tick)
        return self._simulate(messages or Messages(0, np.empty((0, 0))), 0.0)

    def _simulate(self, path: Messages, tick: float) -> Times:
        asked = np.ascontiguousarray([getattr(self, name) for name in ASKED], np.int64)
        takes = np.ascontiguousarray([getattr(self, name) for name in _TAKES], np.float64)
        # EngineKind: kernels share, copies take turns.
        engines = [int(kind == Engine.compute) for _ in range(self.devices) for kind in Engine]
        times = _core.replay(
            self.threads,
            self.devices,
            np.ascontiguousarray(self.streams, np.int64),
            engines,
            asked,
            takes,
            path.transport,
            np.ascontiguousarray(path.times),
            line=path.line,
            bulk_line=path.bulk_line,
            bulk_wake=path.bulk_wake,
            most_inline=path.inline_bytes,
            bulk_nap=path.bulk_nap,
            spin=path.spin,
            wake_server=path.wake_server,
            wake_client=path.wake_client,
            tick=tick,
            tail=path.tail,
        )
        return Times(*times)

    def step_seconds(self, times: Times) -> Seconds:
        """Seconds of each step in a simulation: between its bounds, on the host."""
        if not len(self):
            return np.zeros(self.steps)
        begin = np.append(times.begin, times.end.max())
        return np.diff(begin[self.bound_call] - self.bound_offset)
