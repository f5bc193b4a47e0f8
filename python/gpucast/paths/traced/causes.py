"""Attributes a path's extra time to kinds of calls, and suggests changes that would help.

The contribution of a kind is the time that a step saves if its calls take as long as natively.
Contributions do not add up: two kinds that overlap save more together than each alone, and two that
wait for one another save less. Kinds are therefore made native one after another, in one order and
in its reverse, and each gets the mean of its two savings. These add up to the extra time, with a
rest that remains when all calls take as long as natively.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpucast.paths.traced.path import PathCosts, takes_on
from gpucast.paths.traced.program import SYNCS, CallProgram, Direction, Memory, Operation
from gpucast.paths.traced.timeline import median_seconds, natively, times_of
from gpucast.util.units import bytes_in_words

Mask = NDArray[np.bool_]

WORTH_SAYING = 0.02
"""Least share of the extra time, or of the step, that is reported."""
MOST_CAUSES = 6
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
    """Calls of one kind: how many a step has (``per_step``; 0: not a kind of calls) and the
    ``seconds`` by which they lengthen a step (negative if they shorten it). ``share`` is the share
    of all lengthening, which shortening may nearly cancel; 0 if they shorten it."""

    words: str
    per_step: float
    seconds: float
    share: float


def causes_of(
    program: CallProgram, costs: PathCosts, seconds: float, native: float
) -> tuple[Cause, ...]:
    """Attribute the difference between a step of ``seconds`` on the path and ``native`` seconds.
    Causes add up to it; the largest come first, those that shorten the step last."""
    extra = seconds - native
    least = WORTH_SAYING * max(abs(extra), 0.1 * native)
    kinds = _kinds(program)
    savings, left = _shared_out(program, costs, kinds, seconds)
    rest = left - native
    causes = [Cause(REST if rest >= 0 else SOONER, 0.0, rest, 0.0)]
    for calls, saved in zip(kinds, savings, strict=True):
        count = np.count_nonzero(calls) / max(1, program.steps)
        causes.append(Cause(_words(program, calls), count, saved, 0.0))
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


def _kinds(program: CallProgram) -> list[Mask]:
    """Return the calls of each kind: by operation, and for copies by direction, memory, size
    (powers of four), and whether they block."""
    copies = program.operation == Operation.copy
    power = np.floor(np.log2(np.maximum(program.bytes, 1)) / 2).astype(np.int64)
    copy_columns = [program.direction, program.memory, program.blocking, power]
    keys = np.array([program.operation, *(np.where(copies, column, 0) for column in copy_columns)])
    place = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
    return [place == kind for kind in range(int(place.max(initial=-1)) + 1)]


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


def _shared_out(
    program: CallProgram, costs: PathCosts, kinds: list[Mask], seconds: float
) -> tuple[NDArray[np.float64], float]:
    """Return each kind's saving (s), and a step's time (s) when all kinds take as long as
    natively."""
    on_path, native = takes_on(program, costs), natively(program)
    zero = np.zeros((len(program), 1))
    instead = {
        "ask": native.ask, "there": native.there, "tail": native.tail, "seconds": native.seconds,
        "serve": zero, "up": zero, "down": zero, "back": zero,
    }  # fmt: skip

    def without(gone: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the step time (s) for each column, whose kinds take as long as natively."""
        calls = np.array(kinds).T.astype(float) @ gone > 0
        columns: dict[str, Any] = {
            name: np.where(calls, column, getattr(on_path, name))
            for name, column in instead.items()
        }
        return median_seconds(program, replace(on_path, **columns))

    count = len(kinds)
    order = np.argsort(without(np.eye(count)))
    first = np.triu(np.ones((count, count)))  # column k: the first k + 1 kinds of an order
    both = np.zeros((count, 2 * count))
    both[order, :count] = first
    both[order[::-1], count:] = first
    left = without(both)
    savings = np.zeros(count)
    for way, lasted in ((order, left[:count]), (order[::-1], left[count:])):
        savings[way] += -np.diff(lasted, prepend=seconds) / 2
    return savings, float(left[-1])


# --- changes of the program that would make steps shorter ---


@dataclass(frozen=True)
class Help:
    """A possible change of the program, and the step time (s) with it."""

    words: str
    seconds: float


def helps_of(program: CallProgram, costs: PathCosts, seconds: float) -> tuple[Help, ...]:
    """Return the changes that would shorten a step of ``seconds`` by at least ``WORTH_SAYING``, the
    most effective first."""
    # A host that no longer waits runs ahead of its GPUs, so the time until all work is done counts.
    now = _until_done(program, costs)
    done = {words: _until_done(made, costs) for words, made in changes_of(program).items()}
    if costs.answered and costs.plain is not None:
        words = "let calls go out without waiting for each (remote instead of remote-sync)"
        done[words] = _until_done(program, costs.plain)
    helps = (Help(words, seconds * until / now) for words, until in done.items())
    effective = (help_ for help_ in helps if help_.seconds < (1 - WORTH_SAYING) * seconds)
    return tuple(sorted(effective, key=lambda help_: help_.seconds))


def _until_done(program: CallProgram, costs: PathCosts) -> float:
    """Return the time (s) until all calls and their work are done on a path."""
    times = times_of(program, takes_on(program, costs))
    return float(max(times.end.max(), np.nanmax(np.append(times.work_done, 0.0))))


def changes_of(program: CallProgram) -> dict[str, CallProgram]:
    """Return variants of the program that may be faster on a remote path, by description."""
    changes = {}
    operation = program.operation
    copies = operation == Operation.copy
    pageable = copies & (program.memory == Memory.pageable)
    reads = copies & (program.direction == Direction.d2h) & ((program.blocking != 0) | pageable)
    if reads.any():
        last = _several_a_step(program, reads)
        unwaited = reads & ~_last_of_each_step(program, reads) if last else reads
        then = "wait once a step" if last else "look at it a step later"
        changes[f"read back into pinned memory without waiting, and {then}"] = replace(
            program,
            memory=np.where(reads, Memory.pinned, program.memory),
            blocking=np.where(unwaited, 0, program.blocking),
        )
    if pageable.any():
        memory = np.where(pageable, Memory.pinned, program.memory)
        changes["copy from and to pinned memory"] = replace(program, memory=memory)
    syncs = np.isin(operation, SYNCS)
    if _several_a_step(program, syncs):
        keep = ~syncs | _last_of_each_step(program, syncs)
        changes["wait for the GPU once a step"] = program.only(keep)
    elif syncs.any():
        number = np.unique(program.step, return_inverse=True)[1]
        changes["wait for the GPU every second step"] = program.only(~syncs | (number % 2 == 1))
    allocations = np.isin(operation, (Operation.alloc, Operation.free))
    if allocations.any():
        changes["allocate once, before the steps"] = program.only(~allocations)
    launches = operation == Operation.launch
    if _several_a_step(program, launches):
        changes["join kernels two by two"] = _joined(program, launches)
    return changes


def _several_a_step(program: CallProgram, calls: Mask) -> bool:
    """Whether most steps have at least two of these calls."""
    return bool(calls.any() and np.count_nonzero(calls) >= 2 * program.steps)


def _last_of_each_step(program: CallProgram, calls: Mask) -> Mask:
    last = np.zeros(len(program), bool)
    chosen = np.flatnonzero(calls)
    ends = np.append(np.flatnonzero(np.diff(program.step[chosen])), chosen.size - 1)
    last[chosen[ends]] = True
    return last


def _joined(program: CallProgram, launches: Mask) -> CallProgram:
    """Join pairs of kernels: leave out every second launch and lengthen the one before it. Only
    kernels that follow one another in a step and a stream are joined, with nothing between them
    that the stream or the host waits for."""
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
