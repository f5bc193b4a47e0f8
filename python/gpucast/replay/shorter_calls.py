"""Calls made shorter, until simulated steps take as long as without a recorder.

In a full phase each call takes longer: it is noted, and so is the work it asks for. That shows in
the call and behind it, and the work begins later by what the call takes longer, because it is asked
for within. All calls are made shorter by as much, found by halving: what passes while the host
waits anyway costs nothing, which only a simulation tells. It is taken off a call's gap, and what
the gap has not off the call and its work's latency, half of each at most: a call does something by
itself.

Besides, the GPU writes records: a kernel behind another of its stream begins 0.7 us after its end
without, and later with. So does work that waited for another engine. Where shorter calls are not
enough, delays are therefore taken shorter, all by one factor, which is found likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from gpucast.replay.program import CallProgram, Operation, Seconds
from gpucast.replay.step_times import median_seconds

BEHIND: Final = 0.7e-6
"""s from a kernel's end until the next of its stream begins, when neither is recorded: H200."""
LEAST: Final = 0.5
"""Of a call, or of a latency, that is left."""
MOST: Final = 2.0
"""Times what a call and the gap before it take: no recorder costs more."""
HALVINGS: Final = 12


def delays_behind(program: CallProgram) -> Seconds:
    """Delays (s) of works, where kernels begin behind their streams' others as natively."""
    kernels = (program.operation == Operation.launch) & ~program.switches
    return np.where(kernels, np.minimum(program.delay, BEHIND), program.delay)


def delays_shorter(program: CallProgram, seconds: float) -> CallProgram:
    """With work that begins sooner behind other work, where steps are still too long."""
    return longest(lambda share: replace(program, delay=(1 - share) * program.delay), 1.0, seconds)


def longest(of: Callable[[float], CallProgram], most: float, seconds: float) -> CallProgram:
    """With the least of what is taken off that makes steps so short; else with the most."""
    if median_seconds(of(0.0)) <= seconds:
        return of(0.0)
    low, high = 0.0, most
    for _ in range(HALVINGS):
        tried = (low + high) / 2
        low, high = (tried, high) if median_seconds(of(tried)) > seconds else (low, tried)
    return of(high)


def calls_shorter(program: CallProgram, seconds: float, *, tails: bool = False) -> CallProgram:
    """Every call so many seconds shorter: its gap, then its cost, and with ``tails`` its tail."""
    of_gap = np.minimum(program.gap, seconds)
    of_cost = np.minimum(seconds - of_gap, (1 - LEAST) * program.cost)
    of_tail = np.minimum(seconds - of_gap - of_cost, (1 - LEAST) * program.tail) if tails else 0.0
    return replace(
        program,
        gap=program.gap - of_gap,
        cost=program.cost - of_cost,
        tail=program.tail - of_tail,
        latency=np.maximum(program.latency - of_cost, LEAST * program.latency),
    )
