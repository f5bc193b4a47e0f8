"""When the calls of a traced program return: sums of what they take, the later where one waits.

Calls are gone through once, in the order of their begin. Each host thread, each device's server
(which natively takes no time) and each stream has a time until which it is taken:

    asked     = host + gap + ask                  the thread goes on, unless it waits
    served    = max(served, asked + there) + serve
    done      = max(served + latency, what its stream has done + delay) + seconds
    answered  = max(served, done + tail) + back   of a call that waits: the thread goes on

The bytes of a copy to the device go there before its message, those of one from it come before its
answer, each over a way of their own. The same server and host carry both and all messages: until a
wait is over, they have spent the sum of it all since the thread asked for the first.

Copies wait for kernels, and kernels for copies, by ticks (``program.TICK``): from when they could
begin themselves, they look for the end of the other engine's work at intervals. When that is, is
not known to better than a tick on a path, and the mean over one tick is taken.

All times are arrays over *variants*: paths that differ in what calls take there.
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
"""Share of the steps that come before the steady ones, which find streams and queues empty."""


class Waits(IntEnum):
    """What a call's thread waits for."""

    here = 0
    """No message is sent."""
    nothing = 1
    served = 2
    """Until the server has come to it."""
    done = 3
    """Until what it waits for is done."""
    staged = 4
    """For the stream first, and then for nothing."""


@dataclass(frozen=True, kw_only=True)
class Takes:
    """What each call takes, s: a row a call, a column a variant (one: the same in all).

    Attributes:
        waits: what its thread waits for.
        ask: of the host; there: from then until the server has it; serve: of the server.
        up, down: of its bytes, on their way to and from the server.
        held: the host is held by the bytes that go up.
        back: from the server's answer until the thread goes on; tail: until the server knows that
            what is waited for is done.
        gap, latency, delay, seconds: as in ``CallProgram``.
        rests, more: a row a call: s since a copy of the same direction, and s that this one takes
            longer then; None: none takes longer.
        ticks: s; 0: ``delay`` says when work goes on behind another engine's.
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
    """When calls begin and end on the host, and their work; s since the first thread began.

    A row a call, a column a variant; work that is not asked for is not a number.
    """

    begin: Seconds
    end: Seconds
    work: Seconds
    work_done: Seconds


def natively(program: CallProgram) -> Takes:
    """What the calls took as recorded."""
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
        # The driver asks the GPU within the call.
        ask=program.cost[:, None], there=-program.cost[:, None],
        serve=nothing, up=nothing, down=nothing, held=np.zeros(len(program), bool), back=nothing,
        tail=program.tail[:, None], gap=program.gap[:, None], latency=program.latency[:, None],
        delay=program.delay[:, None], seconds=program.seconds[:, None],
    )  # fmt: skip


def times_of(program: CallProgram, takes: Takes) -> Times:
    """When calls return and work is done."""
    names = {field.name for field in fields(takes)} - {"rests", "more"}
    shapes = [np.shape(getattr(takes, name)) for name in names]
    variants = max(shape[1] for shape in shapes if len(shape) == 2)
    made = _Made(program, takes, variants)
    for call in range(len(program)):
        made.make(call)
    return Times(made.begin, made.end, made.work, made.work_done)


class _Made:
    """Times until which threads, servers, streams and ways are taken, call by call."""

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
        # What each stream has done, by which engine, and when its bytes were back.
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
        """What a call asks the GPU for; when that is done, or what it waits for."""
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
        """s of a copy's bytes, so long after the last."""
        rests, more = self.takes.rests, self.takes.more
        if rests is None or more is None:
            return alone
        longer = np.interp(rest, rests[call], more[call])
        return np.where(alone > 0, np.maximum(alone + longer, 0), 0)

    def _reached(self, stream: int) -> tuple[Seconds, int]:
        """When a stream has done what it was given, and those that it waits for."""
        own = self.reached[stream]
        for other in self.beside[stream]:
            own = _later(own, self.reached[other])
        return own


def _beside(streams: Ints, stream: int) -> list[int]:
    """The streams that one waits for: the legacy default one for all that are not non-blocking,
    and they for it."""
    device, kind = streams
    if kind[stream] == tables.NON_BLOCKING:
        return []
    legacy = (kind == tables.LEGACY_DEFAULT) | (kind[stream] == tables.LEGACY_DEFAULT)
    own = (device == device[stream]) & (kind != tables.NON_BLOCKING) & legacy
    own[stream] = False
    return np.flatnonzero(own).tolist()


def _later(one: tuple[Seconds, int], other: tuple[Seconds, int]) -> tuple[Seconds, int]:
    """The later of two ends, with the engine of the one that is later in the first variant."""
    engine = other[1] if other[0][0] > one[0][0] else one[1]
    return np.maximum(one[0], other[0]), engine


def _behind_other(ready: Seconds, before: Seconds, tick: float) -> Seconds:
    """When work begins that is ready at a time and behind another engine's, done ``before``.

    With D = before - ready, it waits f(D) = tick * ceil(D / tick) - D longer, if D > 0; the mean of
    f over D +- tick / 2 is taken by its integral F.
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
    """s of each step between its bounds, on the host: a row a step, a column a variant."""
    if not len(program):
        return np.zeros((program.steps, times.begin.shape[1]))
    begin = np.vstack([times.begin, times.end.max(axis=0)])
    return np.diff(begin[program.bound_call] - program.bound_offset[:, None], axis=0)


def steady(seconds: Seconds) -> Seconds:
    """Without the first steps."""
    return seconds[int(np.ceil(SETTLING * len(seconds))) :]


def median_seconds(program: CallProgram, takes: Takes | None = None) -> Seconds:
    """Median s of a steady step in each variant; natively unless told."""
    times = times_of(program, natively(program) if takes is None else takes)
    return np.asarray(np.median(steady(step_seconds(program, times)), axis=0))


def native_seconds(program: CallProgram) -> float:
    """Median s of a step as it was recorded."""
    return float(np.median(steady(program.recorded)))
