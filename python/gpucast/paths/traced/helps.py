"""What would make a traced program's steps shorter on a path: changes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpucast.paths.traced.path import PathCosts, takes_on
from gpucast.paths.traced.program import SYNCS, CallProgram, Direction, Memory, Operation
from gpucast.paths.traced.timeline import times_of

Mask = NDArray[np.bool_]

WORTH_SAYING = 0.02
"""Share of the extra time, or of the step."""


@dataclass(frozen=True)
class Help:
    """What could be done, and the seconds that a step would then take."""

    words: str
    seconds: float


def helps_of(program: CallProgram, costs: PathCosts, seconds: float) -> tuple[Help, ...]:
    """What would make a step shorter by ``WORTH_SAYING`` of its ``seconds``; what helps most
    first."""
    # A host that waits no more is ahead of its GPUs: until all is done counts, over all steps.
    now = _until_done(program, costs)
    done = {words: _until_done(made, costs) for words, made in changes_of(program).items()}
    if costs.answered and costs.plain is not None:
        words = "let calls go out without waiting for each (remote instead of remote-sync)"
        done[words] = _until_done(program, costs.plain)
    helps = (Help(words, seconds * until / now) for words, until in done.items())
    worth = (one for one in helps if one.seconds < (1 - WORTH_SAYING) * seconds)
    return tuple(sorted(worth, key=lambda one: one.seconds))


def _until_done(program: CallProgram, costs: PathCosts) -> float:
    """s until all calls and their work are done on a path."""
    times = times_of(program, takes_on(program, costs))
    return float(max(times.end.max(), np.nanmax(np.append(times.work_done, 0.0))))


def changes_of(program: CallProgram) -> dict[str, CallProgram]:
    """What may help where calls are answered from afar: the program with it done, by words."""
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
    """Whether most steps have at least two of them."""
    return bool(calls.any() and np.count_nonzero(calls) >= 2 * program.steps)


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
