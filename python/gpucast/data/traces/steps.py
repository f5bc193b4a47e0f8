"""Steps of a traced program: their times, kinds, calls and work."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gpucast.data.traces import phases, repetition, waiting
from gpucast.data.traces.repetition import FEWEST_REPEATS
from gpucast.data.traces.sequence import Sequence
from gpucast.data.traces.trace import Process

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NO_KIND = -1
"""Kind of a stretch between two steps that is not a step."""
ENOUGH_LIGHT = 20
"""If a light phase has this number of steps, later light phases do not count, because the overhead
of recording grows with every switch (H200, CUPTI 13.0: in the second light phase steps with many
launches took 19 to 50 % longer than in the first; those with few, 14 % shorter to 18 % longer)."""
_KINDS = 8
_OFTEN = 3
_OUTLIER = 1.2
"""A step beyond the outer fence of its kind is left out if it took this multiple of the median."""


@dataclass(frozen=True)
class ProcessSteps:
    """The steps of one process.

    Attributes:
        thread: the thread that drives them.
        begins_ns: k + 1 bounds, on the host's clock: a step ends when the next begins.
        kept: whether each step is typical: neither warm-up nor outlier, and within a phase of the
            recording.
        phase: ``phases.FULL`` for steps whose work was recorded, ``phases.LIGHT`` for those whose
            calls only were, with times as without a recorder; ``phases.BETWEEN`` for those not
            within one phase, or in a light one after another that has enough steps.
        kind: 0 for steps of the usual sequence of calls, 1 for the next most frequent one, ...; all
            rare ones that are similar to the usual one are the last kind; -1 for stretches between
            two steps.
        how: in words, what a step is.
        call_step, work_step: the step of each row of calls and of work; -1 for none.
        gpu_share: share of the trace's GPU time that is in steps.
        process: its position in ``Trace.processes``.
    """

    thread: int
    begins_ns: Ints
    kept: Bools
    phase: NDArray[np.int8]
    kind: Ints
    how: str
    call_step: Ints = field(repr=False)
    work_step: Ints = field(repr=False)
    gpu_share: float
    process: int = 0

    @property
    def seconds(self) -> NDArray[np.float64]:
        """The time of each step, s."""
        return np.diff(self.begins_ns) / 1e9

    @property
    def count(self) -> int:
        """The number of steps, typical or not."""
        return self.kept.size

    @property
    def calls(self) -> Ints:
        """The number of calls of each step, in all threads."""
        return np.bincount(self.call_step[self.call_step >= 0], minlength=self.count)

    def longest_run(self, fits: Bools, most: int) -> tuple[int, int]:
        """Return the bounds [first, end) of the longest stretch of typical steps that fit: its last
        ``most`` steps, in the first stretch that has as many; 0, 0 if none fits."""
        own = np.concatenate([[False], fits & self.kept, [False]])
        edges = np.flatnonzero(own[1:] != own[:-1])
        begins, ends = edges[::2], edges[1::2]
        if not begins.size:
            return 0, 0
        longest = int(np.argmax(np.minimum(ends - begins, most)))
        return max(int(begins[longest]), int(ends[longest]) - most), int(ends[longest])


@dataclass(frozen=True)
class Steps:
    """The steps of a trace: an entry for each process with steps."""

    processes: tuple[ProcessSteps, ...]

    @property
    def main(self) -> ProcessSteps:
        """The steps of the first process with steps."""
        return self.processes[0]


def among(step: Ints, chosen: Bools) -> Bools:
    """Return which rows belong to the chosen steps; ``step``: the step of each row, -1 for none, or
    one more than the last for rows after it."""
    return np.asarray(np.append(chosen, False)[np.minimum(step, chosen.size)])


def steps_between(
    process: Process,
    thread: int,
    sequence: Sequence | None,
    bounds: Ints,
    how: str,
    *,
    are_steps: Bools | None = None,
    named: bool = False,
) -> ProcessSteps:
    """Return the steps of a process between bounds, with their kinds, calls and work.

    Args:
        thread, sequence: the thread that drives the steps, and its calls; None: it has none.
        bounds: k + 1 times, ns on the host's clock.
        how: in words, what a step is.
        are_steps: whether each of the k stretches is a step; None: all of them.
        named: whether the user defines the step: then all are typical, whatever their calls.
    """
    chosen = np.ones(bounds.size - 1, bool) if are_steps is None else are_steps
    kinds = np.where(chosen, 0, NO_KIND)
    if sequence is not None and chosen.any():
        edges = np.searchsorted(sequence.start_ns, bounds)
        kinds[chosen] = _kinds(sequence.tokens, edges[:-1][chosen], edges[1:][chosen])
    call_step = np.searchsorted(bounds, process.calls["start_ns"].to_numpy(), side="right") - 1
    call_step = np.where(call_step < bounds.size - 1, call_step, -1)
    rows = waiting.calls_of(process, process.work["correlation"].to_numpy())
    work_step = np.where(rows >= 0, call_step[rows], -1) if call_step.size else rows
    taken = (process.work["end_ns"] - process.work["start_ns"]).to_numpy()
    phase = _phases_that_count(process, bounds, kinds)
    judged = np.where(chosen, np.maximum(kinds, 0), NO_KIND) if named else kinds
    return ProcessSteps(
        thread=thread,
        begins_ns=bounds,
        kept=_typical(np.diff(bounds) / 1e9, judged) & (phase != phases.BETWEEN),
        phase=phase,
        kind=kinds,
        how=how,
        call_step=call_step,
        work_step=work_step,
        gpu_share=float(taken[work_step >= 0].sum() / max(1, taken.sum())),
    )


def _kinds(tokens: Ints, begins: Ints, ends: Ints) -> Ints:
    """Return the kinds of steps, as in ``ProcessSteps``, by the tokens of each [begin, end)."""
    numbers, examples, counts = repetition.ranked(tokens, begins, ends)
    often = min(max(1, int(np.count_nonzero(counts >= _OFTEN))), _KINDS)
    kinds = np.full(counts.size, NO_KIND)
    kinds[:often] = np.arange(often)
    rare = np.arange(often, counts.size)
    nearly = repetition.similar(tokens, begins, ends, examples[0], examples[rare])
    kinds[rare[nearly]] = often
    return kinds[numbers]


def _typical(seconds: NDArray[np.float64], kinds: Ints) -> Bools:
    """Return which steps are typical: of a recurring kind, without outliers and slow first ones.

    ``seconds``: the time of each step.
    """
    kept = kinds >= 0
    for kind in np.unique(kinds[kept]):
        own = kinds == kind
        # A kind with few steps has no quartiles of its own.
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
    """Return the phase of each step; the first light phase with enough steps counts."""
    phase = phases.of_spans(process, bounds[:-1], bounds[1:])
    begins = process.phases["start_ns"].to_numpy()
    number = np.searchsorted(begins, bounds[:-1], side="right") - 1
    light = phase == phases.LIGHT
    enough = np.flatnonzero(np.bincount(number[light & (kinds == 0)]) >= ENOUGH_LIGHT)
    if enough.size:
        phase[light & (number != enough[0])] = phases.BETWEEN
    return phase
