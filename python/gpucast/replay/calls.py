"""A program of calls as JSON Lines, ``gpucast.calls/1``: for gpucast-microbench, which makes them.

    {"schema":"gpucast.calls/1","steps":12,"threads":1,"devices":1,
     "streams":[{"device":0,"flags":1}],"events":2}
    {"thread":0,"gap":1.2e-06,"operation":"copy","direction":"d2h","bytes":4,"memory":"pageable",
     "blocking":true,"device":0,"stream":0,"event":null,"busy":3.1e-06,"step":0,...}

The first line is one object, and then each call, in the order of their begin. ``gap``: s of the
host since the thread's previous call returned. ``flags`` of a stream: as in trace files. ``event``:
which of the events is recorded or waited for; a wait is for its latest record; null where that is
done long since. ``busy``: s that the work keeps its engine. What is not needed to make the calls
follows in each line, so that they can be simulated: ``cost``, ``tail``, ``latency``, ``delay`` (s),
``share`` of the device's multiprocessors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, TypeVar

import numpy as np

from gpucast.errors import InputError, from_os_error
from gpucast.replay.program import (
    NONE,
    CallProgram,
    Direction,
    Engine,
    Ints,
    Memory,
    Operation,
)
from gpucast.util.files import PathLike, write_text
from gpucast.util.typed_json import Bounds, WrongValueError, from_json

SCHEMA = "gpucast.calls/1"

_Count = Annotated[int, Bounds(least=0)]
_Time = Annotated[float, Bounds(least=0)]

_ENGINES = {Direction.h2d: Engine.h2d, Direction.d2h: Engine.d2h, Direction.peer: Engine.peer}
_IN_STREAM = (Operation.record, Operation.sync_stream, Operation.wait_stream_event)
_WORKS = (Operation.launch, Operation.copy, Operation.set, Operation.graph_launch)


@dataclass(frozen=True)
class StreamLine:
    """A stream: its device, and how it was made."""

    device: _Count
    flags: Annotated[int, Bounds(least=1, most=4)]


@dataclass(frozen=True)
class Head:
    """The first line."""

    steps: _Count
    threads: _Count
    devices: _Count
    streams: list[StreamLine]
    events: _Count
    schema: str = SCHEMA


@dataclass(frozen=True)
class CallLine:
    """A call."""

    thread: _Count
    gap: _Time
    operation: str
    device: _Count
    step: int
    direction: str | None = None
    bytes: _Count = 0
    memory: str | None = None
    blocking: bool = False
    stream: int | None = None
    event: int | None = None
    busy: float | None = None
    cost: _Time = 0.0
    tail: _Time = 0.0
    latency: _Time = 0.0
    delay: _Time = 0.0
    share: _Time = 1.0
    name: str = field(default="")


def write_calls(program: CallProgram, path: PathLike, *, force: bool = False) -> None:
    """Write a program, whole or not at all.

    Raises:
        InputError: as ``gpucast.util.files.write_text``.
    """
    write_text(path, "".join(f"{line}\n" for line in lines_of(program)), force=force)


def lines_of(program: CallProgram) -> Iterator[str]:
    """The lines of a program."""
    events, count = _events(program)
    streams = [StreamLine(*map(int, each)) for each in program.streams.T]
    head = Head(program.steps, program.threads, program.devices, streams, count)
    yield _line({"schema": SCHEMA, **asdict(head)})
    for call in range(len(program)):
        copy = program.operation[call] == Operation.copy
        works = program.engine[call] != NONE
        yield _line(
            {
                "thread": int(program.thread[call]),
                "gap": _short(program.gap[call]),
                "operation": Operation(int(program.operation[call])).name,
                "direction": Direction(int(program.direction[call])).name if copy else None,
                "bytes": int(program.bytes[call]),
                "memory": _memory(program, call),
                "blocking": bool(program.blocking[call]),
                "device": int(program.device[call]),
                "stream": _number(program.stream[call]),
                "event": _number(events[call]),
                "busy": _short(program.seconds[call]) if works else None,
                "step": int(program.step[call]),
                **{each: _short(getattr(program, each)[call])
                   for each in ("cost", "tail", "latency", "delay", "share")},
                "name": program.names[int(program.name[call])],
            }
        )  # fmt: skip


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _short(value: float) -> float:
    """To a tenth of a nanosecond, which no clock sees."""
    return round(float(value), 10)


def _number(value: int) -> int | None:
    return None if value == NONE else int(value)


def _memory(program: CallProgram, call: int) -> str | None:
    memory = Memory(int(program.memory[call]))
    return None if memory == Memory.none else memory.name


def _events(program: CallProgram) -> tuple[Ints, int]:
    """Which event each call records or waits for: as few as are recorded and still waited for."""
    last_wait: dict[int, int] = {}
    for call in np.flatnonzero(program.recording >= 0).tolist():
        last_wait[int(program.recording[call])] = call
    given: dict[int, int] = {}
    free: list[int] = []
    count = 0
    events = np.full(len(program), NONE)
    for call in range(len(program)):
        recording = int(program.recording[call])
        if program.operation[call] == Operation.record:
            if not free:
                free.append(count)
                count += 1
            events[call] = free.pop()
            if call in last_wait:
                given[call] = events[call]
            else:
                free.append(int(events[call]))
        elif recording >= 0:
            events[call] = given[recording]
            if last_wait[recording] == call:
                free.append(given.pop(recording))
    return events, count


def read_calls(path: PathLike) -> CallProgram:
    """The program in a file.

    Raises:
        InputError: the file cannot be read, or a line is wrong: which, and its field.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise from_os_error(error, path) from error
    except UnicodeDecodeError as error:
        raise InputError(f"is no UTF-8 text ({error.reason})", file=path) from None
    if not lines:
        raise InputError("is empty", file=path)
    head = _read(Head, lines[0], _Place(path, 1))
    if head.schema != SCHEMA:
        raise InputError(f"is {head.schema!r}, not {SCHEMA!r}", file=path, line=1, field="schema")
    calls = [_read(CallLine, line, _Place(path, at)) for at, line in enumerate(lines[1:], 2)]
    if not calls:
        raise InputError("holds no calls", file=path)
    if not all(0 <= call.step < head.steps for call in calls):
        raise InputError(f"calls are of steps 0 to {head.steps - 1}", file=path, field="step")
    return _program(head, calls, path)


_Line = TypeVar("_Line", Head, CallLine)
_Word = TypeVar("_Word", Operation, Direction, Memory)


@dataclass(frozen=True)
class _Place:
    """A line of a file, for messages."""

    path: PathLike
    line: int

    def error(self, message: str, field: str | None = None) -> InputError:
        return InputError(message, file=self.path, line=self.line, field=field)

    def word(self, kind: type[_Word], value: str | None, name: str) -> _Word:
        text = value or "none"
        if text not in kind.__members__:
            known = ", ".join(kind.__members__)
            raise self.error(f"{text!r}; known are {known}", name)
        return kind[text]

    def within(self, value: int | None, count: int, name: str) -> int:
        if value is None:
            return NONE
        if not 0 <= value < count:
            raise self.error(f"{value}: there are {count}", name)
        return value


def _read(kind: type[_Line], line: str, place: _Place) -> _Line:
    try:
        return from_json(kind, json.loads(line))
    except WrongValueError as error:
        raise place.error(error.message, error.field) from None
    except (ValueError, RecursionError) as error:
        raise place.error(f"is no JSON ({error})") from None


def _asked(head: Head, call: CallLine, recorded: dict[int, int], place: _Place) -> list[int]:
    """Operation, direction, memory, stream, recording, engine."""
    operation = place.word(Operation, call.operation, "operation")
    direction = place.word(Direction, call.direction, "direction")
    place.within(call.thread, head.threads, "thread")
    place.within(call.device, head.devices, "device")
    stream = place.within(call.stream, len(head.streams), "stream")
    event = place.within(call.event, head.events, "event")
    works = operation in _WORKS and call.busy is not None
    if stream == NONE and (works or operation in _IN_STREAM):
        raise place.error("a stream is needed", "stream")
    recording = recorded.get(event, NONE)
    if operation == Operation.record:
        recorded[event] = place.line - 2
        recording = NONE
    engine = call.device * len(Engine) + _ENGINES.get(direction, Engine.compute)
    memory = place.word(Memory, call.memory, "memory")
    return [operation, direction, memory, stream, recording, engine if works else NONE]


def _program(head: Head, calls: list[CallLine], path: PathLike) -> CallProgram:
    recorded: dict[int, int] = {}
    rows = [_asked(head, call, recorded, _Place(path, at)) for at, call in enumerate(calls, 2)]
    asked = np.array(rows, np.int64).reshape(len(calls), 6).T
    step = np.array([call.step for call in calls], np.int64)
    gap = np.array([call.gap for call in calls], float)
    first = np.append(np.searchsorted(step, np.arange(head.steps)), len(calls))
    names = sorted({call.name for call in calls})
    place = {name: at for at, name in enumerate(names)}
    return CallProgram(
        threads=head.threads,
        devices=head.devices,
        streams=np.array([[s.device for s in head.streams], [s.flags for s in head.streams]]),
        thread=np.array([call.thread for call in calls], np.int64),
        operation=asked[0],
        direction=asked[1],
        memory=asked[2],
        blocking=np.array([call.blocking for call in calls], np.int64),
        device=np.array([call.device for call in calls], np.int64),
        stream=asked[3],
        bytes=np.array([call.bytes for call in calls], np.int64),
        recording=asked[4],
        engine=asked[5],
        gap=gap,
        cost=np.array([call.cost for call in calls], float),
        tail=np.array([call.tail for call in calls], float),
        latency=np.array([call.latency for call in calls], float),
        delay=np.array([call.delay for call in calls], float),
        seconds=np.array([call.busy or 0.0 for call in calls], float),
        share=np.array([call.share for call in calls], float),
        switches=np.zeros(len(calls), bool),
        step=step,
        name=np.array([place[call.name] for call in calls], np.int64),
        names=tuple(names),
        bound_call=first.astype(np.int64),
        bound_offset=np.append(gap[first[:-1]], 0.0),
        recorded=np.full(head.steps, np.nan),
    )
