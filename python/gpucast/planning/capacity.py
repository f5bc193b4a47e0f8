"""How many copies of one job fit into a window of time on the GPUs that exist.

A copy holds its N GPUs from start to end; copies start one after another on the same GPUs; any N
GPUs of a machine are as good as any other N. On G GPUs, floor(G / N) run at once, each of them
floor(W / T) times within the window W.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpucast.model.fitted import Array
from gpucast.planning.option_table import OptionTable

# What lies within rounding of a whole number of runs is one.
_TINY = 1e-9


@dataclass(frozen=True)
class Copies:
    """How many copies of each of J jobs fit on each of M machines.

    Attributes:
        option: the option of which most copies fit (the cheapest of several), (J, M).
        copies: how many do; 0 where the machine may not run the job or none fits, (J, M).
    """

    option: NDArray[np.intp]
    copies: NDArray[np.int64]


def copies(table: OptionTable, seconds: Array, gpus: list[int], window: float) -> Copies:
    """How many copies of each job fit, were it alone.

    Args:
        seconds: of one copy, (J, O): expected, or a quantile.
        gpus: how many GPUs each machine has.
        window: seconds.
    """
    jobs = seconds.shape[0]
    result = Copies(
        np.zeros((jobs, len(gpus)), dtype=np.intp), np.zeros((jobs, len(gpus)), dtype=np.int64)
    )
    rows = np.arange(jobs)
    for m, (part, have) in enumerate(zip(table.slices, gpus, strict=True)):
        at_once = np.floor(have / table.gpus[part])
        runs = np.floor(window / seconds[:, part] * (1 + _TINY))
        fit = np.where(table.allowed[:, part], at_once * runs, 0.0)
        most = fit.max(axis=1)
        cost = np.where(fit == most[:, np.newaxis], table.cost[:, part], np.inf)
        best = np.argmin(cost, axis=1)
        result.option[:, m] = part.start + best
        result.copies[:, m] = np.minimum(fit[rows, best], 2.0**62).astype(np.int64)
    return result
