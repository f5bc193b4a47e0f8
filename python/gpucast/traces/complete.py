"""Steps whose work is all on record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpucast.traces import phases, waiting
from gpucast.traces.steps import ProcessSteps
from gpucast.traces.trace import Process

ENOUGH_WORK = 0.8
"""Share of the calls with work that most steps have, below which a step lacks some."""


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
