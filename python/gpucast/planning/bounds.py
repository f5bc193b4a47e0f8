"""What no schedule of a mix can beat: linear programs that split copies at will."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpucast.model.fitted import Array
from gpucast.planning.option_table import OptionTable

_TINY = 1e-9


def shortest_possible(table: OptionTable, counts: NDArray[np.int64], gpus: list[int]) -> float:
    """Seconds that no schedule of all copies can beat.

    The larger of two bounds. No copy is faster than its fastest option. And copies, split at will
    over machines (a linear program), need at least their least GPU-seconds there.
    """
    from scipy.optimize import linprog

    allowed = np.where(table.allowed, table.seconds, np.inf)
    longest = float(allowed.min(axis=1).max())
    area, job, machine = _least_areas(table, allowed)
    columns = area.size
    have = np.array(gpus, dtype=np.float64)
    scale = float(area.max())
    capacity = _sparse(
        np.append(area / scale, -have),
        np.append(machine, np.arange(have.size)),
        np.append(np.arange(columns), np.full(have.size, columns)),
        (have.size, columns + 1),
    )
    each = _sparse(np.ones(columns), job, np.arange(columns), (counts.size, columns + 1))
    found = linprog(
        np.append(np.zeros(columns), 1.0),
        A_ub=capacity,
        b_ub=np.zeros(have.size),
        A_eq=each,
        b_eq=counts.astype(np.float64),
        method="highs",
    )
    return max(longest, scale * float(found.fun or 0.0) if found.success else 0.0)


def most_possible(
    table: OptionTable, counts: NDArray[np.int64], gpus: list[int], window: float
) -> int:
    """Copies of the mix that no schedule within the window can exceed (a linear program)."""
    from scipy.optimize import linprog

    within = table.allowed & (table.seconds <= window * (1 + _TINY))
    area, job, machine = _least_areas(table, np.where(within, table.seconds, np.inf))
    if not area.size:
        return 0
    have = np.array(gpus, dtype=np.float64) * window
    columns = np.arange(area.size)
    limits = _sparse(
        np.append(area / window, np.ones(area.size)),
        np.append(machine, have.size + job),
        np.append(columns, columns),
        (have.size + counts.size, area.size),
    )
    found = linprog(
        -np.ones(area.size),
        A_ub=limits,
        b_ub=np.append(have / window, counts.astype(np.float64)),
        method="highs",
    )
    return int(np.floor(1e-6 - float(found.fun or 0.0))) if found.success else int(counts.sum())


def _least_areas(
    table: OptionTable, seconds: Array
) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
    """Least GPU-seconds of each job on each machine that runs it: area, job, machine."""
    least = np.array([(table.gpus[part] * seconds[:, part]).min(axis=1) for part in table.slices]).T
    job, machine = np.nonzero(np.isfinite(least))
    return least[job, machine], job, machine


def _sparse(values: Array, rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    from scipy.sparse import coo_array

    return coo_array((values, (rows, columns)), shape=shape).tocsr()
