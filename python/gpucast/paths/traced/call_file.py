"""Writes a program of calls as JSON Lines (``gpucast.calls/1``), which gpucast-microbench can run.

    {"schema":"gpucast.calls/1","steps":12,"threads":1,"devices":1,
     "streams":[{"device":0,"flags":1}],"events":2}
    {"thread":0,"gap":1.2e-06,"operation":"copy","direction":"d2h","bytes":4,"memory":"pageable",
     "blocking":true,"device":0,"stream":0,"event":null,"busy":3.1e-06,"cost":2e-06,"step":0,...}

The first line describes the program; each further line is a call, in the order in which they begin.
``gap`` is the host's time (s) since the thread's previous call returned; ``cost`` is the host's
time (s) in the call without waits; ``flags`` of a stream are as in trace files; ``event`` is the
event that is recorded or waited for (a wait is for its latest record; null if that was done long
before); ``busy`` is the time (s) for which the work occupies its engine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from gpucast.paths.traced.program import NONE, CallProgram, Direction, Ints, Memory, Operation
from gpucast.util.files import PathLike, write_text

SCHEMA = "gpucast.calls/1"


def write_calls(program: CallProgram, path: PathLike, *, force: bool = False) -> None:
    """Write a program to a file, completely or not at all.

    Raises:
        InputError: as ``gpucast.util.files.write_text``.
    """
    write_text(path, "".join(f"{line}\n" for line in lines_of(program)), force=force)


def lines_of(program: CallProgram) -> Iterator[str]:
    """Return the lines of a program."""
    events, count = _events(program)
    streams = [{"device": device, "flags": flags} for device, flags in program.streams.T.tolist()]
    yield _line(
        {
            "schema": SCHEMA, "steps": program.steps, "threads": program.threads,
            "devices": program.devices, "streams": streams, "events": count,
        }
    )  # fmt: skip
    for call in range(len(program)):
        memory = Memory(int(program.memory[call]))
        is_copy = program.operation[call] == Operation.copy
        yield _line(
            {
                "thread": int(program.thread[call]),
                "gap": _short(program.gap[call]),
                "operation": Operation(int(program.operation[call])).name,
                "direction": Direction(int(program.direction[call])).name if is_copy else None,
                "bytes": int(program.bytes[call]),
                "memory": None if memory == Memory.none else memory.name,
                "blocking": bool(program.blocking[call]),
                "device": int(program.device[call]),
                "stream": _number(program.stream[call]),
                "event": _number(events[call]),
                "busy": _short(program.seconds[call]) if program.works[call] else None,
                "cost": _short(program.cost[call]),
                "step": int(program.step[call]),
                "name": program.names[int(program.name[call])],
            }
        )


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _short(value: float) -> float:
    """Round to a tenth of a nanosecond, which no clock resolves."""
    return round(float(value), 10)


def _number(value: int) -> int | None:
    return None if value == NONE else int(value)


def _events(program: CallProgram) -> tuple[Ints, int]:
    """Assign an event to each call that records or waits for one, and reuse events when
    possible."""
    last_wait: dict[int, int] = {}
    for call in np.flatnonzero(program.recording >= 0).tolist():
        last_wait[int(program.recording[call])] = call
    event_of: dict[int, int] = {}
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
                event_of[call] = events[call]
            else:
                free.append(int(events[call]))
        elif recording >= 0:
            events[call] = event_of[recording]
            if last_wait[recording] == call:
                free.append(event_of.pop(recording))
    return events, count
