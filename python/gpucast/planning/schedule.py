"""A schedule of the whole mix on the GPUs that exist, and bounds on any schedule.

Choosing GPU counts and an order so that a mix of jobs ends as soon as possible is NP-hard. Here, as
by Turek, Wolf & Yu (SPAA 1992): each job gets the option of least GPU-seconds among those that take
at most tau; list scheduling places the copies; the best of several tau is taken. Beside it stand
bounds that no schedule can beat, so that one sees how much better another could be.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpucast.models import Array
from gpucast.planning.grid import Grid

THRESHOLDS = 8
_MOST_PLACED = 5_000
"""Copies placed in all trials together, unless two trials place more."""
_TINY = 1e-9


@dataclass(frozen=True)
class Task:
    """One copy of a job in a schedule.

    Attributes:
        job, option: positions.
        start, end: seconds from the beginning of the window.
        slots: the GPUs that it holds, as positions in its machine.
    """

    job: int
    option: int
    start: float
    end: float
    slots: NDArray[np.intp]


@dataclass(frozen=True)
class Schedule:
    """Copies in the order in which they were placed.

    Attributes:
        left_out: how many were not placed.
        options: what a job gets on each machine, (J, M); -1 where it may not run there.
    """

    tasks: list[Task]
    left_out: int
    options: NDArray[np.intp]

    @property
    def makespan(self) -> float:
        """When the last copy ends (s)."""
        return max((task.end for task in self.tasks), default=0.0)


def best(
    grid: Grid, seconds: Array, counts: NDArray[np.int64], gpus: list[int], window: float | None
) -> Schedule:
    """The best schedule found: most copies within the window, then the shortest.

    Args:
        seconds: of one copy, (J, O).
        counts: copies wanted of each job, (J).
        gpus: how many GPUs each machine has.
        window: seconds; None lets all copies be placed.
    """
    found: Schedule | None = None
    trials = max(2, _MOST_PLACED // int(counts.sum()))
    for options, order in itertools.islice(_trials(grid, seconds, counts, gpus, window), trials):
        schedule = place(grid, seconds, options, order, gpus, window)
        if found is None or _merit(schedule) < _merit(found):
            found = schedule
        if window is not None and not found.left_out:
            break
    assert found is not None
    return found


def options_within(grid: Grid, seconds: Array, gpus: list[int], tau: float) -> NDArray[np.intp]:
    """For each job and machine the option of least GPU-seconds among those of at most ``tau``.

    The fastest where none is so short; -1 where the machine may not run the job. (J, M).
    """
    allowed = np.where(grid.allowed, seconds, np.inf)
    area = np.where(allowed <= tau, grid.gpus * seconds, np.inf)
    result = np.full((seconds.shape[0], len(gpus)), -1, dtype=np.intp)
    for m, part in enumerate(grid.slices):
        least = np.argmin(area[:, part], axis=1)
        fastest = np.argmin(allowed[:, part], axis=1)
        fits = np.isfinite(area[:, part]).any(axis=1)
        runs = np.isfinite(allowed[:, part]).any(axis=1)
        result[:, m] = np.where(runs, part.start + np.where(fits, least, fastest), -1)
    return result


def place(
    grid: Grid,
    seconds: Array,
    options: NDArray[np.intp],
    order: NDArray[np.intp],
    gpus: list[int],
    window: float | None,
) -> Schedule:
    """List scheduling: each copy, in order, goes where it ends first.

    It starts when the N GPUs of a machine that are free first are all free. With a window, a copy
    that would end after it is left out.
    """
    free = [np.zeros(have) for have in gpus]
    latest = np.inf if window is None else window * (1 + _TINY)
    tasks: list[Task] = []
    left_out = 0
    for job in order:
        best_end, chosen = np.inf, None
        for m, option in enumerate(options[job]):
            if option < 0:
                continue
            need = int(grid.gpus[option])
            slots = np.argsort(free[m], kind="stable")[:need]
            start = float(free[m][slots[-1]])
            end = start + float(seconds[job, option])
            if end < best_end:
                best_end, chosen = end, (m, int(option), start, slots)
        if chosen is None or best_end > latest:
            left_out += 1
            continue
        m, option, start, slots = chosen
        free[m][slots] = best_end
        tasks.append(Task(int(job), option, start, best_end, slots))
    return Schedule(tasks, left_out, options)


def replayed(schedule: Schedule, grid: Grid, gpus: list[int], seconds: Array) -> Array:
    """Makespans of a schedule where copies take other times; the order on each GPU stays.

    Args:
        seconds: of a copy of each job, as scheduled, in each of B replicates, (B, J, machines).
    """
    free = [np.zeros((have, seconds.shape[0])) for have in gpus]
    for task in schedule.tasks:
        m = int(grid.machine[task.option])
        start = free[m][task.slots].max(axis=0)
        free[m][task.slots] = start + seconds[:, task.job, m]
    return np.asarray(np.max([each.max(axis=0) for each in free], axis=0), dtype=np.float64)


def shortest_possible(
    grid: Grid, seconds: Array, counts: NDArray[np.int64], gpus: list[int]
) -> float:
    """Seconds that no schedule of all copies can beat.

    The larger of two bounds. No copy is faster than its fastest option. And copies, split at will
    over machines (a linear program), need at least their least GPU-seconds there.
    """
    from scipy.optimize import linprog

    allowed = np.where(grid.allowed, seconds, np.inf)
    longest = float(allowed.min(axis=1).max())
    area, job, machine = _least_areas(grid, allowed)
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
    grid: Grid, seconds: Array, counts: NDArray[np.int64], gpus: list[int], window: float
) -> int:
    """Copies of the mix that no schedule within the window can exceed (a linear program)."""
    from scipy.optimize import linprog

    within = grid.allowed & (seconds <= window * (1 + _TINY))
    area, job, machine = _least_areas(grid, np.where(within, seconds, np.inf))
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


def _least_areas(grid: Grid, seconds: Array) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
    """Least GPU-seconds of each job on each machine that runs it: area, job, machine."""
    least = np.array([(grid.gpus[part] * seconds[:, part]).min(axis=1) for part in grid.slices]).T
    job, machine = np.nonzero(np.isfinite(least))
    return least[job, machine], job, machine


def _sparse(values: Array, rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    from scipy.sparse import coo_array

    return coo_array((values, (rows, columns)), shape=shape).tocsr()


def _trials(
    grid: Grid, seconds: Array, counts: NDArray[np.int64], gpus: list[int], window: float | None
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Options and orders to try, those of the most promising tau first."""
    allowed = np.where(grid.allowed, seconds, np.inf)
    low = float(allowed.min(axis=1).max())
    high = float(np.where(grid.allowed, seconds, 0.0).max())
    taus = [float(tau) for tau in np.geomspace(low, max(low, high), THRESHOLDS)]
    if window is not None:
        taus = [window, *(tau for tau in taus if tau < window)]
    several = [options_within(grid, seconds, gpus, tau) for tau in taus]
    several.sort(key=lambda options: _estimate(grid, seconds, counts, gpus, options))
    for options in several:
        for order in _orders(grid, seconds, counts, options, window):
            yield options, order


def _estimate(
    grid: Grid,
    seconds: Array,
    counts: NDArray[np.int64],
    gpus: list[int],
    options: NDArray[np.intp],
) -> float:
    """The larger of mean load and longest copy, were every job on its least GPU-seconds."""
    times, areas, _ = _of_options(grid, seconds, options)
    return max(float((areas * counts).sum()) / sum(gpus), float(times.max()))


def _of_options(
    grid: Grid, seconds: Array, options: NDArray[np.intp]
) -> tuple[Array, Array, Array]:
    """Time, GPU-seconds and GPUs of each job on the machine where it needs least GPU-seconds."""
    rows = np.arange(options.shape[0])
    at = np.maximum(options, 0)
    times = seconds[rows[:, np.newaxis], at]
    area = np.where(options >= 0, times * grid.gpus[at], np.inf)
    best = np.argmin(area, axis=1)
    return times[rows, best], area[rows, best], grid.gpus[at[rows, best]]


def _orders(
    grid: Grid,
    seconds: Array,
    counts: NDArray[np.int64],
    options: NDArray[np.intp],
    window: float | None,
) -> list[NDArray[np.intp]]:
    """Longest first, for a short schedule; with a window also least GPU-seconds first, for many."""
    times, area, wide = _of_options(grid, seconds, options)
    orders = [np.argsort(-times, kind="stable"), np.lexsort((-times, -wide))]
    if window is not None:
        orders.append(np.argsort(area, kind="stable"))
    return [np.repeat(order, counts[order]) for order in orders]


def _merit(schedule: Schedule) -> tuple[int, float]:
    return schedule.left_out, schedule.makespan
