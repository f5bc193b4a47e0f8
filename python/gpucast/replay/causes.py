"""What a path's extra time is spent on, kind of call by kind of call, and what would help.

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

from gpucast.replay.kinds import Mask, changes_of, kinds_of
from gpucast.replay.path import PathCosts, forwarded
from gpucast.replay.program import SYNCS, CallProgram, Direction, Operation
from gpucast.replay.step_times import simulated_seconds
from gpucast.util.units import bytes_in_words

WORTH_SAYING = 0.02
"""Of the extra time, or of the step."""
MOST_CAUSES = 6
_LINE, _BULK, _TAIL = "line", "bulk", "tail"
REST = "GPUs that begin later, behind messages"
SOONER = "calls that return sooner than natively, or need not wait"


@dataclass(frozen=True)
class Cause:
    """Calls that are alike, ``per_step`` of them (0: no calls), by which a step takes so many
    ``seconds`` more; below 0: less. ``share``: of all that is added, which what is saved may
    nearly cancel; 0 of what is saved."""

    words: str
    per_step: float
    seconds: float
    share: float


@dataclass(frozen=True)
class Help:
    """What could be done, and the seconds that a step would then take."""

    words: str
    seconds: float


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
    found = [
        Cause(item.words, item.per_step, each, 0.0)
        for item, each in zip(items, costs_of, strict=True)
    ]
    rest = left - native
    found.append(Cause(REST if rest >= 0 else SOONER, 0.0, rest, 0.0))
    found = [each for each in found if abs(each.seconds) >= least]
    found.sort(key=lambda each: -each.seconds)
    more = [each for each in found if each.seconds > 0][:MOST_CAUSES]
    less = [each for each in found if each.seconds < 0]
    other = extra - sum(each.seconds for each in (*more, *less))
    if abs(other) >= least:
        (more if other > 0 else less).append(Cause("all others", 0.0, other, 0.0))
    less = [replace(each, words=f"less: {each.words}") for each in less]
    added = sum(each.seconds for each in more)
    return (*(replace(each, share=each.seconds / added) for each in more), *less)


def _items(program: CallProgram, costs: PathCosts) -> list[_Item]:
    _, messages = forwarded(program, costs)
    large = (program.operation == Operation.copy) & (program.bytes > costs.inline_bytes)
    none = np.zeros(len(program), bool)
    found = [
        _Item(each.words, each.per_step(program), each.calls)
        for each in kinds_of(program)
        if not large[each.calls].all()
    ]
    if messages.line:
        found.append(_Item(f"bytes on the wire: {_moved(program, 0)}", 0.0, none, (_LINE,)))
    if large.any():
        # They share memory and threads: one kind does not cost what it does without the others.
        words = f"large copies: {_moved(program, costs.inline_bytes)}"
        count = np.count_nonzero(large) / max(1, program.steps)
        found.append(_Item(words, count, large, (_BULK,)))
    found.append(_Item("until servers see that their GPUs are done", 0.0, none, (_TAIL,)))
    return found


def _moved(program: CallProgram, least: int) -> str:
    """Bytes a step of copies of more bytes."""
    counted = (program.operation == Operation.copy) & (program.bytes > least)
    up, down = (
        float(program.bytes[counted & (program.direction == each)].sum()) / max(1, program.steps)
        for each in (Direction.h2d, Direction.d2h)
    )
    words = ((up, "to GPUs"), (down, "back"))
    return ", ".join(f"{bytes_in_words(each)} {way}" for each, way in words if each)


def _shared_out(
    program: CallProgram, costs: PathCosts, items: Sequence[_Item], seconds: float
) -> tuple[list[float], float]:
    """What each costs, s, and what a step takes when none costs more than natively."""
    there, messages = forwarded(program, costs)
    # What the host takes natively to see that its GPU is done.
    waits = program.tail[np.isin(program.operation, SYNCS) | (program.blocking != 0)]
    tail = float(np.median(waits)) if waits.size else 0.0

    def without(gone: Sequence[_Item]) -> float:
        calls = np.any([each.calls for each in gone], axis=0)
        times = messages.times.copy()
        times[:, calls] = 0
        times[0, calls] = program.cost[calls]
        # Pageable copies, which servers make from pinned memory.
        natively = replace(there, seconds=np.where(calls, program.seconds, there.seconds))
        free = {name for each in gone for name in each.shared}
        made = replace(
            messages,
            times=times,
            line=0.0 if _LINE in free else messages.line,
            bulk_line=0.0 if _BULK in free else messages.bulk_line,
            bulk_wake=0.0 if _BULK in free else messages.bulk_wake,
            tail=tail if _TAIL in free else messages.tail,
        )
        return float(np.median(simulated_seconds(natively, made)))

    alone = [seconds - without([each]) for each in items]
    order = sorted(range(len(items)), key=lambda at: -alone[at])
    found, left = [0.0] * len(items), seconds
    for way in (order, order[::-1]):
        left = seconds
        for count, at in enumerate(way, 1):
            after = without([items[each] for each in way[:count]])
            found[at] += (left - after) / 2
            left = after
    return found, left


def helps_of(program: CallProgram, costs: PathCosts, seconds: float) -> tuple[Help, ...]:
    """What would make a step shorter by ``WORTH_SAYING`` of its ``seconds``; what helps most
    first."""
    # A host that waits no more is ahead of its GPUs: until all is done counts, over all steps.
    now = _until_done(program, costs)
    found = [
        Help(each.words, seconds * _until_done(each.program, costs) / now)
        for each in changes_of(program)
    ]
    if costs.synchronous:
        plain = _until_done(program, replace(costs, synchronous=False))
        words = "let calls go out without waiting for each (remote instead of remote-sync)"
        found.append(Help(words, seconds * plain / now))
    worth = [each for each in found if each.seconds < (1 - WORTH_SAYING) * seconds]
    return tuple(sorted(worth, key=lambda each: each.seconds))


def _until_done(program: CallProgram, costs: PathCosts) -> float:
    """s until all calls and their work are done on a path."""
    there, messages = forwarded(program, costs)
    times = there.simulate(messages)
    return float(max(times.end.max(), np.nanmax(np.append(times.work_done, 0.0))))
