"""Simulates when the calls of a traced program return.

Calls are processed once, in the order in which they begin. Each host thread, each device's server
(which natively takes no time) and each stream is busy until a certain time:

    asked     = host + gap + ask                  the thread goes on, unless it waits
    served    = max(served, asked + there) + serve
    done      = max(served + latency, what its stream has done + delay) + seconds
    answered  = max(served, done + tail) + back   the thread goes on after a call that waits

The bytes of a copy to the device are sent before its message, those of a copy from the device
before its answer, over separate channels. The same server and host handle both and all messages: a
wait cannot end before they have spent the sum of these times since the first call.

Copies wait for kernels, and kernels for copies, by polling (``program.TICK``): from the time when
they could begin, they poll for the end of the other engine's work at intervals. On a path the phase
of this polling is not known, and the mean over one interval is taken.

All times are arrays over *variants*: paths with different call times.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from gpucast.data.traces import tables
from gpucast.paths.traced.program import (
    NONE,
    SWITCH,
    SYNCS,
    CallProgram,
    Direction,
    Engine,
    Ints,
    Memory,
    Operation,
    Seconds,
)

SETTLING = 0.2
"""Share of steps at the beginning that find streams and queues empty and are left out."""


class Waits(IntEnum):
    """What the thread of a call waits for."""

    here = 0
    """No message is sent."""
    nothing = 1
    served = 2
    """The server has processed the call."""
    done = 3
    """The work is done, or what the call waits for."""
    staged = 4
    """The stream is idle before the copy is staged; nothing afterwards."""


@dataclass(frozen=True, kw_only=True)
class Takes:
    """Call times (s): a row per call, a column per variant (one column: equal in all).

    Attributes:
        waits: what the thread waits for.
        ask: host time; there: time until the server receives the call; serve: server time.
        up, down: transfer times of its bytes to and from the server.
        held: whether sending its bytes blocks the host.
        back: time from the server's answer until the thread goes on; tail: time until the server
            notices that what is waited for is done.
        gap, latency, delay, seconds: as in ``CallProgram``.
        rests, more: a row per call: pauses since a copy in the same direction, and extra times of
            this copy; None: no copy takes longer.
        ticks: polling interval; 0: ``delay`` applies after work of another engine.
    """

    waits: Ints
    ask: Seconds
    there: Seconds
    serve: Seconds
    up: Seconds
    down: Seconds
    held: NDArray[np.bool_]
    back: Seconds
    tail: Seconds
    gap: Seconds
    latency: Seconds
    delay: Seconds
    seconds: Seconds
    rests: Seconds | None = None
    more: Seconds | None = None
    ticks: float = 0.0


@dataclass(frozen=True)
class Times:
    """Begin and end of calls on the host, and of their work (s since the first thread began).

    There is a row per call and a column per variant; without work, times are NaN.
    """

    begin: Seconds
    end: Seconds
    work: Seconds
    work_done: Seconds


def natively(program: CallProgram) -> Takes:
    """Return the native call times, as recorded."""
    operation, direction = program.operation, program.direction
    blocking = program.blocking != 0
    copies = operation == Operation.copy
    waits = np.full(len(program), int(Waits.nothing))
    waits[(operation == Operation.other) | (direction == Direction.host)] = Waits.here
    within = np.isin(direction, (Direction.local, Direction.host))
    waits[blocking & ~(copies & within) & (operation != Operation.set)] = Waits.done
    waits[np.isin(operation, SYNCS)] = Waits.done
    up = copies & (direction == Direction.h2d) & (program.memory == Memory.pageable)
    waits[up & blocking] = Waits.staged
    nothing = np.zeros((len(program), 1))
    return Takes(
        waits=waits,
        # The driver submits the work within the call.
        ask=program.cost[:, None], there=-program.cost[:, None],
        serve=nothing, up=nothing, down=nothing, held=np.zeros(len(program), bool), back=nothing,
        tail=program.tail[:, None], gap=program.gap[:, None], latency=program.latency[:, None],
        delay=program.delay[:, None], seconds=program.seconds[:, None],
    )  # fmt: skip


def times_of(program: CallProgram, takes: Takes) -> Times:
    """Simulate when calls return and work is done."""
    names = {field.name for field in fields(takes)} - {"rests", "more"}
    shapes = [np.shape(getattr(takes, name)) for name in names]
    variants = max(shape[1] for shape in shapes if len(shape) == 2)
    simulation = _Simulation(program, takes, variants)
    for call in range(len(program)):
        simulation.make(call)
    return Times(simulation.begin, simulation.end, simulation.work, simulation.work_done)


class _Simulation:
    """The state of a simulation: times until which threads, servers, streams and channels are
    busy."""

    def __init__(self, program: CallProgram, takes: Takes, variants: int) -> None:
        self.program, self.takes = program, takes
        self.zero = np.zeros(variants)
        shape = len(program), variants
        self.begin, self.end = np.empty(shape), np.empty(shape)
        self.work, self.work_done = np.full(shape, np.nan), np.full(shape, np.nan)
        self.host = [self.zero] * program.threads
        self.served, self.sent, self.come, self.spent = (
            [self.zero] * program.devices for _ in range(4)
        )
        self.device = program.streams[0].tolist()
        self.beside = [_beside(program.streams, stream) for stream in range(len(self.device))]
        # End of each stream's work and its engine, and when its bytes were received.
        self.reached = [(self.zero, NONE)] * len(self.device)
        self.back = [self.zero] * len(self.device)
        self.engine_free: dict[int, Seconds] = {}
        self.marked: dict[int, tuple[tuple[Seconds, int], Seconds]] = {}
        self.asked = np.array(
            [
                getattr(program, name)
                for name in ("thread", "operation", "direction", "device", "stream", "recording")
            ]
        ).T.tolist()
        self.engine, self.waits = program.engine.tolist(), takes.waits.tolist()
        self.blocking, self.held = (program.blocking != 0).tolist(), takes.held.tolist()
        self.moves: list[bool] = np.any((takes.up > 0) | (takes.down > 0), axis=1).tolist()

    def make(self, call: int) -> None:
        takes = self.takes
        thread, operation, direction, device, stream, recording = self.asked[call]
        waits = self.waits[call]
        begin = self.host[thread] + takes.gap[call]
        self.begin[call] = begin
        if waits == Waits.staged:
            begin = np.maximum(begin, self._reached(stream)[0])
        sent = begin + takes.ask[call]
        if waits == Waits.here:
            self.host[thread] = self.end[call] = sent
            return
        if operation == Operation.sync_event and recording != NONE:
            device = self.program.device[recording]
        self.spent[device] = np.maximum(self.spent[device], sent) + takes.serve[call]
        asked = sent
        if self.moves[call]:
            up = self._bytes(call, takes.up[call], sent - self.sent[device])
            self.spent[device] = self.spent[device] + up + takes.down[call]
            asked = np.maximum(self.sent[device], sent) + up
            self.sent[device] = asked
            if self.held[call]:
                sent = asked
        served = np.maximum(self.served[device], asked + takes.there[call]) + takes.serve[call]
        until = self._do(call, operation, direction, device, stream, recording, served)
        if operation == Operation.free and self.blocking[call]:
            served = np.maximum(served, until)
        self.served[device] = served
        if waits == Waits.served:
            sent = served + takes.back[call]
        elif waits == Waits.done:
            over = np.maximum(np.maximum(served, self.spent[device]), until + takes.tail[call])
            sent = np.maximum(sent, over + takes.back[call])
        self.host[thread] = self.end[call] = sent

    def _do(
        self, call: int, operation: int, direction: int, device: int, stream: int, recording: int,
        served: Seconds,
    ) -> Seconds:  # fmt: skip
        """Give the GPU a call's work; return when that is done, or what the call waits for."""
        if self.engine[call] != NONE:
            return self._work(call, direction, device, stream, served)
        if operation == Operation.record:
            self.marked[call] = self._reached(stream), self.back[stream]
        elif operation in (Operation.wait_stream_event, Operation.sync_event):
            mark, back = self.marked.get(recording, ((self.zero, NONE), self.zero))
            if operation == Operation.wait_stream_event and self.waits[call] != Waits.done:
                self.reached[stream] = _later(self.reached[stream], mark)
            return np.maximum(mark[0], back)
        elif operation == Operation.sync_stream:
            return np.maximum(self._reached(stream)[0], self.back[stream])
        elif operation in (Operation.sync_device, Operation.alloc, Operation.free):
            own = [at for at, other in enumerate(self.device) if other == device]
            ends = [np.maximum(self.reached[at][0], self.back[at]) for at in own]
            return np.max(ends, axis=0) if ends else self.zero
        return self.zero

    def _work(
        self, call: int, direction: int, device: int, stream: int, served: Seconds
    ) -> Seconds:
        takes, engine = self.takes, self.engine[call]
        before, through = self._reached(stream)
        ready = served + takes.latency[call]
        if takes.ticks and through not in (NONE, engine):
            begin = _behind_other(ready, before, takes.ticks)
        else:
            begin = np.maximum(ready, before + takes.delay[call])
        if engine % len(Engine) != Engine.compute:
            begin = np.maximum(begin, self.engine_free.get(engine, self.zero))
        done: Seconds = begin + takes.seconds[call]
        self.engine_free[engine] = done
        self.reached[stream] = (done, engine)
        self.work[call], self.work_done[call] = begin, done
        if direction == Direction.d2h and self.moves[call]:
            down = self._bytes(call, takes.down[call], done - self.come[device])
            come = np.maximum(self.come[device], done) + down
            self.come[device] = done = np.maximum(come, self.spent[device])
            self.back[stream] = np.maximum(self.back[stream], done)
        return done

    def _bytes(self, call: int, alone: Seconds, rest: Seconds) -> Seconds:
        """Return the transfer time (s) of a copy after a pause of ``rest``."""
        rests, more = self.takes.rests, self.takes.more
        if rests is None or more is None:
            return alone
        longer = np.interp(rest, rests[call], more[call])
        return np.where(alone > 0, np.maximum(alone + longer, 0), 0)

    def _reached(self, stream: int) -> tuple[Seconds, int]:
        """Return the end of a stream's work and of the streams that it waits for."""
        own = self.reached[stream]
        for other in self.beside[stream]:
            own = _later(own, self.reached[other])
        return own


def _beside(streams: Ints, stream: int) -> list[int]:
    """Return the streams that one waits for: the legacy default stream and all blocking streams
    wait for one another."""
    device, kind = streams
    if kind[stream] == tables.NON_BLOCKING:
        return []
    legacy = (kind == tables.LEGACY_DEFAULT) | (kind[stream] == tables.LEGACY_DEFAULT)
    own = (device == device[stream]) & (kind != tables.NON_BLOCKING) & legacy
    own[stream] = False
    return np.flatnonzero(own).tolist()


def _later(one: tuple[Seconds, int], other: tuple[Seconds, int]) -> tuple[Seconds, int]:
    """Return the later of two ends, with the engine that is later in the first variant."""
    engine = other[1] if other[0][0] > one[0][0] else one[1]
    return np.maximum(one[0], other[0]), engine


def _behind_other(ready: Seconds, before: Seconds, tick: float) -> Seconds:
    """Return when work begins that is ready at ``ready`` and waits for another engine's, done
    ``before``.

    With D = before - ready, it waits f(D) = tick * ceil(D / tick) - D longer if D > 0. The mean of
    f over D +- tick / 2 is computed from its integral.
    """
    behind, half = before - ready, tick / 2

    def integral(upper: Seconds) -> Seconds:
        positive = np.maximum(upper, 0)
        whole = np.floor(positive / tick)
        rest: Seconds = positive - whole * tick
        return np.asarray(whole * tick * half + rest * (tick - rest / 2))

    waited = (integral(behind + half) - integral(behind - half)) / tick
    switched = SWITCH * np.clip((behind + half) / tick, 0, 1)
    begin: Seconds = np.maximum(ready, before) + waited + switched
    return begin


def step_seconds(program: CallProgram, times: Times) -> Seconds:
    """Return the time (s) of each step on the host: a row per step, a column per variant."""
    if not len(program):
        return np.zeros((program.steps, times.begin.shape[1]))
    begin = np.vstack([times.begin, times.end.max(axis=0)])
    return np.diff(begin[program.bound_call] - program.bound_offset[:, None], axis=0)


def steady(seconds: Seconds) -> Seconds:
    """Return the values without those of the first steps."""
    return seconds[int(np.ceil(SETTLING * len(seconds))) :]


def median_seconds(program: CallProgram, takes: Takes | None = None) -> Seconds:
    """Return the median time (s) of a steady step in each variant; by default natively."""
    times = times_of(program, natively(program) if takes is None else takes)
    return np.asarray(np.median(steady(step_seconds(program, times)), axis=0))


def native_seconds(program: CallProgram) -> float:
    """Return the median recorded step time (s)."""
    return float(np.median(steady(program.recorded)))
