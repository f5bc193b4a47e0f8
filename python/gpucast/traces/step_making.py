"""Steps from the times at which they begin: their kinds, and which of them are typical."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpucast.traces import phases, repetition, waiting
from gpucast.traces.repetition import FEWEST_REPEATS
from gpucast.traces.steps import NO_KIND, Ints, ProcessSteps
from gpucast.traces.trace import Process

ENOUGH_LIGHT = 20
"""Steps of a light phase beside which later ones do not count. What recording leaves behind grows
with every switch: H200, CUPTI 13.0: in their second light phase steps of many launches took 19 to
50 % longer than in their first; those of few, 14 % shorter to 18 % longer."""
KINDS_COMPARED = 5000
"""Kinds of parts or steps that are compared with the usual one, at most."""
_KINDS = 8
_OFTEN = 3
_OUTLIER = 1.2
"""A step beyond the outer fence of its kind is left out if it took so many times the median."""


def steps_between(
    process: Process, at: int, thread: int, bounds: Ints, kinds: Ints, how: str
) -> ProcessSteps:
    """The steps of a process between bounds, with the calls and the work that each has.

    Args:
        at: the process's place in ``Trace.processes``.
        thread: the one that drives them.
        bounds: k + 1 of them, ns on the host's clock.
        kinds: of the k steps, as in ``ProcessSteps``.
        how: in words, what a step is.
    """
    call_step = _within(process.calls["start_ns"].to_numpy(), bounds)
    rows = waiting.calls_of(process, process.work["correlation"].to_numpy())
    work_step = np.where(rows >= 0, call_step[rows], -1) if call_step.size else rows
    taken = (process.work["end_ns"] - process.work["start_ns"]).to_numpy()
    share = float(taken[work_step >= 0].sum() / max(1, taken.sum()))
    made = ProcessSteps(
        process=at, thread=thread, begins_ns=bounds, kept=np.ones(kinds.size, bool),
        phase=_phases_that_count(process, bounds, kinds), kind=kinds,
        how=how, range_name=None, call_step=call_step, work_step=work_step, gpu_share=share,
    )  # fmt: skip
    return replace(made, kept=typical_of(made.seconds, kinds) & (made.phase != phases.BETWEEN))


def kinds_of(tokens: Ints, begins: Ints, ends: Ints) -> Ints:
    """Kinds of steps, as in ``ProcessSteps``, by the tokens from each begin to before its end."""
    found = repetition.classes(tokens, begins, ends)
    _, first, counts = np.unique(found, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    often = min(max(1, int(np.count_nonzero(counts >= _OFTEN))), _KINDS)
    rank = np.full(counts.size, NO_KIND)
    rank[order[:often]] = np.arange(often)
    rare = order[often:][:KINDS_COMPARED]
    alike = repetition.similar(tokens, begins, ends, int(first[order[0]]), first[rare])
    rank[rare[alike]] = often
    return rank[found]


def typical_of(seconds: NDArray[np.float64], kinds: Ints) -> NDArray[np.bool_]:
    """Which steps are typical: of a kind that comes again, without outliers and slow first ones.

    ``seconds``: of each step.
    """
    kept = kinds >= 0
    for kind in np.unique(kinds[kept]):
        own = kinds == kind
        # A kind of a few steps has no quartiles of its own.
        judged = seconds[own if np.count_nonzero(own) >= _OFTEN else kinds == 0]
        low, median, high = np.quantile(judged, [0.25, 0.5, 0.75])
        # Tukey's outer fence.
        kept[own] = seconds[own] <= max(high + 3 * (high - low), _OUTLIER * median)
    usual = (kinds == 0) & kept
    if np.count_nonzero(usual) > FEWEST_REPEATS:
        settled = np.quantile(seconds[usual], 0.9)
        kept[: int(np.argmax(usual & (seconds <= settled)))] = False
    return kept


def _phases_that_count(process: Process, bounds: Ints, kinds: Ints) -> NDArray[np.int8]:
    """Of each step; of light phases the first counts that has enough."""
    found = phases.of_spans(process, bounds[:-1], bounds[1:])
    begins = process.phases["start_ns"].to_numpy()
    number = np.searchsorted(begins, bounds[:-1], side="right") - 1
    light = found == phases.LIGHT
    enough = np.flatnonzero(np.bincount(number[light & (kinds == 0)]) >= ENOUGH_LIGHT)
    if enough.size:
        found[light & (number != enough[0])] = phases.BETWEEN
    return found


def _within(starts: Ints, bounds: Ints) -> Ints:
    step = np.searchsorted(bounds, starts, side="right") - 1
    return np.where(step < bounds.size - 1, step, -1)
