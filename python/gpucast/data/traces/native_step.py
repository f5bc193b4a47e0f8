"""The native step: how long a traced program's steps take without a recorder, as far as it tells.

One number for all that state it (``gpucast trace show``, ``import``, ``what-if``, ``compare``): the
median of the typical steps of the usual kind that recording disturbed least,

    measured without a recorder, where the trace says so (``seconds_untraced``); else
    of light phases, less what noting their calls takes; else of full phases.

Recording makes no step shorter: where those of full phases are, they count.

A call is noted behind its return, before the program goes on: the shortest gaps between calls tell
how long that takes, as the program does nothing in them. A step is longer by as much for each call
that waits. The note of another call is hidden where the host waits later anyway; it counts by the
share of a step in which the host does not wait. (Against simulations of 50 traces without the
notes: within 1 % of a step in three quarters, 4 % in all but one.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpucast.data.traces import phases, waiting
from gpucast.data.traces.steps import ProcessSteps, among
from gpucast.data.traces.trace import Process

FEWEST_LIGHT: Final = 5
"""Light steps that tell how long a step takes alone."""
ENOUGH_WORK: Final = 0.8
"""Share of the calls with work that most steps have, below which a step lacks some."""
MOST_NOTE: Final = 0.5e-6
"""s that noting a call takes between it and the next: more is the program's own."""


@dataclass(frozen=True)
class NativeSteps:
    """The steps that tell.

    Attributes:
        seconds: s of each, in time.
        alone: whether they are as without a recorder, or nearly.
        light: s of a step of light phases as recorded there, median; None where it does not count.
    """

    seconds: NDArray[np.float64]
    alone: bool
    light: float | None = None

    @property
    def median(self) -> float:
        """The native step, s."""
        return float(np.median(self.seconds))


def native_steps(
    process: Process, steps: ProcessSteps, untraced: float | None = None
) -> NativeSteps:
    """The native steps of a process; ``untraced``: s of one measured without a recorder."""
    if untraced is not None:
        return NativeSteps(np.array([untraced]), True)
    full = steps.seconds[usual(process, steps)]
    own = light_steps(steps)
    if own is None:
        return NativeSteps(full, False)
    seconds = steps.seconds[own]
    recorded = (steps.phase == phases.FULL).any()
    noted = _noted(process, steps, own)
    if recorded and np.median(full) < np.median(seconds) - noted:
        return NativeSteps(full, False)
    return NativeSteps(seconds - noted, True, float(np.median(seconds)))


def usual(process: Process, steps: ProcessSteps) -> NDArray[np.bool_]:
    """Typical steps of the usual kind whose work is recorded; of any kind, or any at all, where
    there are none."""
    full = (steps.phase == phases.FULL) & with_work(process, steps)
    choices = (steps.kept & full & (steps.kind == 0), steps.kept & full, full)
    return next((choice for choice in choices if choice.any()), np.ones(steps.count, bool))


def with_work(process: Process, steps: ProcessSteps) -> NDArray[np.bool_]:
    """Which steps have as many calls with work on record as most of their kind: a recorder may miss
    some."""
    rows = waiting.calls_of(process, process.work["correlation"].to_numpy())
    step = steps.call_step[np.unique(rows[rows >= 0])]
    count = np.bincount(step[step >= 0], minlength=steps.count)[: steps.count]
    least = np.zeros(steps.count)
    recorded = steps.kept & (steps.phase == phases.FULL)
    for kind in np.unique(steps.kind):
        own = steps.kind == kind
        if (own & recorded).any():
            least[own] = ENOUGH_WORK * np.quantile(count[own & recorded], 0.9)
    return np.asarray(count >= least)


def light_steps(steps: ProcessSteps) -> NDArray[np.bool_] | None:
    """Typical steps of the usual kind of which calls alone were recorded; None where they are too
    few."""
    own = steps.kept & (steps.phase == phases.LIGHT) & (steps.kind == 0)
    return own if np.count_nonzero(own) >= FEWEST_LIGHT else None


def _noted(process: Process, steps: ProcessSteps, own: NDArray[np.bool_]) -> float:
    """s by which notes make the light steps longer, each."""
    calls = process.calls
    start, end = calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()
    drives = (calls["thread"] == steps.thread).to_numpy()
    in_full = drives & (phases.of_spans(process, start, end) == phases.FULL)
    in_full &= among(steps.call_step, steps.kept)
    noting = note(np.maximum(start[in_full][1:] - end[in_full][:-1], 0) / 1e9)
    names = calls["name"].to_numpy()
    waits = np.isin(names, waiting.functions(process))
    there = drives & among(steps.call_step, own)
    count = np.count_nonzero(own)
    waited = float((end - start)[there & waits].sum()) / 1e9
    working = 1 - min(1.0, waited / float(steps.seconds[own].sum()))
    held, others = (np.count_nonzero(there & kind) / count for kind in (waits, ~waits))
    return min(noting * (held + working * others), 0.5 * float(np.median(steps.seconds[own])))


def note(gaps: NDArray[np.float64]) -> float:
    """s that noting a call takes behind it: the shortest gaps between calls, s."""
    return min(float(np.quantile(gaps, 0.1)), MOST_NOTE) if gaps.size else 0.0
