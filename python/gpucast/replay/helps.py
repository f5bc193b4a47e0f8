"""Calls that are alike, in words: what a path's extra time is spent on, and what would help."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpucast.replay.program import (
    SYNCS,
    CallProgram,
    Direction,
    Ints,
    Memory,
    Operation,
)
from gpucast.util.units import bytes_in_words

Mask = NDArray[np.bool_]

_WORDS = {
    Operation.launch: "kernel launches",
    Operation.set: "memsets and other calls without an answer",
    Operation.record: "event records",
    Operation.wait_stream_event: "waits of streams for events",
    Operation.sync_stream: "waits for a stream",
    Operation.sync_event: "waits for an event",
    Operation.sync_device: "waits for a device",
    Operation.alloc: "allocations",
    Operation.free: "frees",
    Operation.query: "queries",
    Operation.graph_launch: "graph launches",
    Operation.other: "calls that stay on the host",
}
_DIRECTIONS = {
    Direction.h2d: "to the GPU",
    Direction.d2h: "from the GPU",
    Direction.local: "within a GPU",
    Direction.peer: "between GPUs",
    Direction.host: "within the host",
}


@dataclass(frozen=True)
class Kind:
    """Calls that are alike: ``words`` name them in the plural."""

    words: str
    calls: Mask

    def per_step(self, program: CallProgram) -> float:
        """How many of them a step has."""
        return float(np.count_nonzero(self.calls)) / max(1, program.steps)


def kinds_of(program: CallProgram) -> list[Kind]:
    """Operations; copies by direction, memory, bytes (powers of four), and whether they block."""
    size = np.maximum(program.bytes, 1).astype(float)
    copies = program.operation == Operation.copy
    power = np.where(copies, np.floor(np.log2(size) / 2), 0).astype(np.int64)
    keys = np.array(
        [
            program.operation,
            np.where(copies, program.direction, 0),
            np.where(copies, program.memory, 0),
            np.where(copies, program.blocking, 0),
            power,
        ]
    )
    found, place = np.unique(keys, axis=1, return_inverse=True)
    place = place.reshape(-1)
    return [Kind(_words(program, place == at), place == at) for at in range(found.shape[1])]


def _words(program: CallProgram, calls: Mask) -> str:
    first = int(np.argmax(calls))
    operation = Operation(int(program.operation[first]))
    if operation != Operation.copy:
        return _WORDS[operation]
    manner = "blocking" if program.blocking[first] else "asynchronous"
    memory = Memory(int(program.memory[first]))
    of = "" if memory == Memory.none else f", {memory.name} memory"
    direction = _DIRECTIONS[Direction(int(program.direction[first]))]
    return f"{manner} copies {direction} of {_sizes(program.bytes[calls])}{of}"


def _sizes(of: Ints) -> str:
    least, most = bytes_in_words(int(of.min())), bytes_in_words(int(of.max()))
    return least if least == most else f"{least} to {most}"


@dataclass(frozen=True)
class Change:
    """Something that could be done about a program, and the program with it done."""

    words: str
    program: CallProgram


def changes_of(program: CallProgram) -> list[Change]:
    """What may help where calls are answered from afar."""
    changes = []
    copies = program.operation == Operation.copy
    reads = copies & (program.direction == Direction.d2h)
    waits = reads & ((program.blocking != 0) | (program.memory == Memory.pageable))
    if several_a_step(program, waits):
        early = waits & ~_last_of_each_step(program, waits)
        changes.append(
            Change(
                "read back into pinned memory without waiting, and wait once a step",
                _without_waiting(program, waits, early),
            )
        )
    elif waits.any():
        changes.append(
            Change(
                "read back into pinned memory without waiting, and look at it a step later",
                _without_waiting(program, waits, waits),
            )
        )
    pageable = copies & (program.memory == Memory.pageable)
    if pageable.any():
        memory = np.where(pageable, Memory.pinned, program.memory)
        changes.append(Change("copy from and to pinned memory", replace(program, memory=memory)))
    syncs = np.isin(program.operation, SYNCS)
    if several_a_step(program, syncs):
        keep = ~syncs | _last_of_each_step(program, syncs)
        changes.append(Change("wait for the GPU once a step", program.only(keep)))
    elif syncs.any():
        keep = ~syncs | (_numbers(program.step) % 2 == 1)
        changes.append(Change("wait for the GPU every second step", program.only(keep)))
    memory = np.isin(program.operation, (Operation.alloc, Operation.free))
    if memory.any():
        changes.append(Change("allocate once, before the steps", program.only(~memory)))
    launches = program.operation == Operation.launch
    if several_a_step(program, launches):
        changes.append(Change("join kernels two by two", _joined(program, launches)))
    return changes


def _without_waiting(program: CallProgram, reads: Mask, unwaited: Mask) -> CallProgram:
    return replace(
        program,
        memory=np.where(reads, Memory.pinned, program.memory),
        blocking=np.where(unwaited, 0, program.blocking),
    )


def _numbers(steps: Ints) -> Ints:
    """Of each call's step among those there are."""
    return np.asarray(np.unique(steps, return_inverse=True)[1], np.int64)


def several_a_step(program: CallProgram, calls: Mask) -> bool:
    """Whether most steps have at least two of them."""
    return bool(np.count_nonzero(calls) >= 2 * program.steps)


def _last_of_each_step(program: CallProgram, calls: Mask) -> Mask:
    last = np.zeros(len(program), bool)
    chosen = np.flatnonzero(calls)
    ends = np.append(np.flatnonzero(np.diff(program.step[chosen])), chosen.size - 1)
    last[chosen[ends]] = True
    return last


def _joined(program: CallProgram, launches: Mask) -> CallProgram:
    """Every second launch left out, and the one before it as long as both: of kernels that follow
    one another in a step and a stream, with nothing between that stream or host wait for."""
    keep = np.ones(len(program), bool)
    seconds = program.seconds.copy()
    waits = np.isin(program.operation, SYNCS) | (program.blocking != 0)
    for stream in np.unique(program.stream[launches]):
        own = np.flatnonzero(launches & (program.stream == stream))
        at = 0
        while at + 1 < own.size:
            first, second = own[at], own[at + 1]
            between = slice(first + 1, second)
            apart = program.step[first] != program.step[second]
            if apart or np.any(program.stream[between] == stream) or np.any(waits[between]):
                at += 1
                continue
            seconds[first] += seconds[second]
            keep[second] = False
            at += 2
    return replace(program, seconds=seconds).only(keep)
