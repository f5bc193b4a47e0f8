"""What no schedule of a mix can beat: linear programs that split copies at will."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpucast.model.forecaster import Array
from gpucast.planning.option_table import OptionTable

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_TINY = 1e-9


def shortest_possible(table: OptionTable, counts: NDArray[np.int64], gpus: list[int]) -> float:
    """Seconds that no schedule of all copies can beat.

    The larger of two bounds. No copy is faster than its fastest option. And copies, split at will
    over machines (a linear program), need at least their least GPU-seconds there.
    """
    from scipy.optimize import LinearConstraint, milp
    from scipy.sparse import csr_array, hstack

    allowed = np.where(table.allowed, table.seconds, np.inf)
    longest = float(allowed.min(axis=1).max())
    area, on_machine, of_job = _shares(table, allowed)
    have, scale = np.array([gpus], dtype=np.float64).T, float(area.max())
    # The last variable is the time that all machines need at most.
    found = milp(
        np.append(np.zeros(area.size), 1.0),
        constraints=[
            LinearConstraint(hstack([on_machine * (area / scale), csr_array(-have)]), ub=0),
            LinearConstraint(hstack([of_job, csr_array((counts.size, 1))]), counts, counts),
        ],
    )
    return max(longest, scale * float(found.fun or 0.0) if found.success else 0.0)


def most_possible(
    table: OptionTable, counts: NDArray[np.int64], gpus: list[int], window: float
) -> int:
    """Copies of the mix that no schedule within the window can exceed (a linear program)."""
    from scipy.optimize import LinearConstraint, milp

    within = table.allowed & (table.seconds <= window * (1 + _TINY))
    area, on_machine, of_job = _shares(table, np.where(within, table.seconds, np.inf))
    if not area.size:
        return 0
    found = milp(
        -np.ones(area.size),
        constraints=[
            LinearConstraint(on_machine * (area / window), ub=gpus),
            LinearConstraint(of_job, ub=counts),
        ],
    )
    return int(np.floor(1e-6 - float(found.fun or 0.0))) if found.success else int(counts.sum())


def _shares(table: OptionTable, seconds: Array) -> tuple[Array, csr_array, csr_array]:
    """The pairs of a job and a machine that runs it, P in all: how many copies is asked for.

    Returns:
        Least GPU-seconds of a copy (P), and which pairs are on each machine (M, P), which are of
        each job (J, P), as matrices of 0 and 1.
    """
    from scipy.sparse import csr_array

    least = np.array([(table.gpus[part] * seconds[:, part]).min(axis=1) for part in table.slices])
    machine, job = np.nonzero(np.isfinite(least))
    on_machine, of_job = (
        csr_array((np.ones(job.size), (rows, np.arange(job.size))), shape=(count, job.size))
        for rows, count in ((machine, least.shape[0]), (job, least.shape[1]))
    )
    return least[machine, job], on_machine, of_job
