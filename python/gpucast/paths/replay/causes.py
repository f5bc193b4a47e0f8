"""What a path's extra time is spent on, kind of call by kind of call.

A kind costs what a step takes less without what its calls cost more on the path than natively. Two
kinds that hide behind one another cost more together than each alone, and two that wait for one
another less. So kinds are taken away one after another, in one order and in the reverse of it, and
each is given the mean of what it then saves: what all cost adds up to the extra, with what is left
when no call costs more than natively, which is as if the program's calls returned at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpucast.paths.replay.helps import WORTH_SAYING, Mask
from gpucast.paths.replay.path import PathCosts, forwarded
from gpucast.paths.replay.program import SYNCS, CallProgram, Direction, Memory, Operation
from gpucast.paths.replay.step_times import simulated_seconds
from gpucast.util.units import bytes_in_words

MOST_CAUSES = 6
_LINE, _BULK, _TAIL = "line", "bulk", "tail"
REST = "GPUs that begin later, behind messages"
SOONER = "calls that return sooner than natively, or need not wait"
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
class Cause:
    """Calls of one kind, of which a step has ``per_step`` (0: no calls), and the ``seconds`` that a
    step takes longer by them; below 0: shorter. ``share``: of all that is added, which what is
    saved may nearly cancel; 0 where time is saved."""

    words: str
    per_step: float
    seconds: float
    share: float


@dataclass(frozen=True)
class _Item:
    """Something that costs: calls, or fields of the messages that all of them share."""

    words: str
    per_step: float
    calls: Mask
    shared: tuple[str, ...] = ()


def causes_of(
    program: CallProgram, costs: PathCosts, seconds: float, native: float
) -> tuple[Cause, ...]:
    """What a step takes more in simulations, ``seconds`` on the path and ``native``; largest first,
    and last what takes less. They add up."""
    extra = seconds - native
    least = WORTH_SAYING * max(abs(extra), 0.1 * native)
    items = _items(program, costs)
    costs_of, left = _shared_out(program, costs, items, seconds)
    rest = left - native
    causes = [Cause(REST if rest >= 0 else SOONER, 0.0, rest, 0.0)]
    for item, cost in zip(items, costs_of, strict=True):
        causes.append(Cause(item.words, item.per_step, cost, 0.0))
    causes = [cause for cause in causes if abs(cause.seconds) >= least]
    causes.sort(key=lambda cause: -cause.seconds)
    more = [cause for cause in causes if cause.seconds > 0][:MOST_CAUSES]
    less = [cause for cause in causes if cause.seconds < 0]
    other = extra - sum(cause.seconds for cause in (*more, *less))
    if abs(other) >= least:
        (more if other > 0 else less).append(Cause("all others", 0.0, other, 0.0))
    less = [replace(cause, words=f"less: {cause.words}") for cause in less]
    added = sum(cause.seconds for cause in more)
    return (*(replace(cause, share=cause.seconds / added) for cause in more), *less)


def _items(program: CallProgram, costs: PathCosts) -> list[_Item]:
    _, messages = forwarded(program, costs)
    large = (program.operation == Operation.copy) & (program.bytes > costs.inline_bytes)
    none = np.zeros(len(program), bool)
    items = [kind for kind in _kinds(program) if not large[kind.calls].all()]
    if messages.line:
        items.append(_Item(f"bytes on the wire: {_moved(program, 0)}", 0.0, none, (_LINE,)))
    if large.any():
        # They share memory and threads: one kind does not cost what it does without the others.
        words = f"large copies: {_moved(program, costs.inline_bytes)}"
        count = np.count_nonzero(large) / max(1, program.steps)
        items.append(_Item(words, count, large, (_BULK,)))
    items.append(_Item("until servers see that their GPUs are done", 0.0, none, (_TAIL,)))
    return items


def _kinds(program: CallProgram) -> list[_Item]:
    """Operations; copies by direction, memory, bytes (powers of four), and whether they block."""
    copies = program.operation == Operation.copy
    power = np.floor(np.log2(np.maximum(program.bytes, 1)) / 2).astype(np.int64)
    of_copies = [program.direction, program.memory, program.blocking, power]
    keys = np.array([program.operation, *(np.where(copies, column, 0) for column in of_copies)])
    place = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
    items = []
    for kind in range(int(place.max(initial=-1)) + 1):
        calls = place == kind
        count = np.count_nonzero(calls) / max(1, program.steps)
        items.append(_Item(_words(program, calls), count, calls))
    return items


def _words(program: CallProgram, calls: Mask) -> str:
    first = int(np.argmax(calls))
    operation = Operation(int(program.operation[first]))
    if operation != Operation.copy:
        return _WORDS[operation]
    manner = "blocking" if program.blocking[first] else "asynchronous"
    memory = Memory(int(program.memory[first]))
    pinned = "" if memory == Memory.none else f", {memory.name} memory"
    direction = _DIRECTIONS[Direction(int(program.direction[first]))]
    sizes = program.bytes[calls]
    least, most = bytes_in_words(int(sizes.min())), bytes_in_words(int(sizes.max()))
    size = least if least == most else f"{least} to {most}"
    return f"{manner} copies {direction} of {size}{pinned}"


def _moved(program: CallProgram, least: int) -> str:
    """Bytes a step of copies of more bytes."""
    counted = (program.operation == Operation.copy) & (program.bytes > least)
    up, down = (
        float(program.bytes[counted & (program.direction == way)].sum()) / max(1, program.steps)
        for way in (Direction.h2d, Direction.d2h)
    )
    words = ((up, "to GPUs"), (down, "back"))
    return ", ".join(f"{bytes_in_words(size)} {way}" for size, way in words if size)


def _shared_out(
    program: CallProgram, costs: PathCosts, items: Sequence[_Item], seconds: float
) -> tuple[list[float], float]:
    """What each costs, s, and what a step takes when none costs more than natively."""
    there, messages = forwarded(program, costs)
    # What the host takes natively to see that its GPU is done.
    waits = program.tail[np.isin(program.operation, SYNCS) | (program.blocking != 0)]
    tail = float(np.median(waits)) if waits.size else 0.0

    def without(gone: Sequence[_Item]) -> float:
        calls = np.any([item.calls for item in gone], axis=0)
        times = messages.times.copy()
        times[:, calls] = 0
        times[0, calls] = program.cost[calls]
        # Pageable copies, which servers make from pinned memory.
        natively = replace(there, seconds=np.where(calls, program.seconds, there.seconds))
        free = {name for item in gone for name in item.shared}
        made = replace(
            messages,
            times=times,
            line=0.0 if _LINE in free else messages.line,
            bulk_line=0.0 if _BULK in free else messages.bulk_line,
            bulk_wake=0.0 if _BULK in free else messages.bulk_wake,
            tail=tail if _TAIL in free else messages.tail,
        )
        return float(np.median(simulated_seconds(natively, made)))

    alone = [seconds - without([item]) for item in items]
    order = sorted(range(len(items)), key=lambda at: -alone[at])
    savings, left = [0.0] * len(items), seconds
    for way in (order, order[::-1]):
        left = seconds
        for count, at in enumerate(way, 1):
            after = without([items[gone] for gone in way[:count]])
            savings[at] += (left - after) / 2
            left = after
    return savings, left
