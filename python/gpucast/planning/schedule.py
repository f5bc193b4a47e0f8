"""A schedule of the whole mix on the GPUs that exist.

Choosing GPU counts and an order so that a mix of jobs ends as soon as possible is NP-hard. Here a
target time is set, and each copy, in order, takes the option of least GPU-seconds with which it
still ends by its deadline and the target; the target is the window, or is bisected. For that, each
copy takes as long as it takes at most with the probability asked for: what makes a model wrong of
one makes it wrong of all. Several orders are tried. ``bounds`` has what no schedule can beat, so
that one sees how much better another could be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpucast.model.forecaster import Array
from gpucast.planning.option_table import OptionTable
from gpucast.planning.sharing import slots_of

_MOST_PLACED = 3_000
"""Copies placed in all trials together, unless ``_FEWEST_TRIALS`` place more."""

_FEWEST_TRIALS = 2
_MOST_TARGETS = 12
_TINY = 1e-9


@dataclass(frozen=True)
class Task:
    """One copy of a job in a schedule.

    Attributes:
        job, option: positions.
        start, end: seconds from the beginning of the window, expected.
        slots: the parts of GPUs that it holds, as positions in its machine, whose GPUs follow one
            another with ``slots_of`` parts each: one, where none is shared.
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
        left_out: how many were not, because no option ended within the window.
        late: how many do not end by their deadline with the probability asked for.
        longest: when the last copy ends at most with that probability (s).
    """

    tasks: list[Task]
    left_out: int
    late: int
    longest: float

    @property
    def makespan(self) -> float:
        """When the last copy is expected to end (s)."""
        return max((task.end for task in self.tasks), default=0.0)

    @property
    def merit(self) -> tuple[int, int, float]:
        """Smaller is better: copies left out, then late ones, then the longest makespan."""
        return self.left_out, self.late, self.longest


def best(
    table: OptionTable,
    counts: NDArray[np.int64],
    gpus: list[int],
    window: float | None,
    least: float,
    probability: float,
) -> Schedule:
    """The best schedule found.

    Args:
        counts: copies wanted of each job, (J).
        gpus: how many GPUs each machine has.
        window: seconds; without one all copies are placed, in as little time as possible.
        least: a lower bound on the makespan.
        probability: with which copies are to end by their deadlines and within the window.
    """
    slow = table.quantile(probability)
    orders = _orders(table, counts, window)
    trials = max(_FEWEST_TRIALS, _MOST_PLACED // int(counts.sum()))
    if window is not None:
        found = [place(table, slow, order, gpus, window, strict=True) for order in orders[:trials]]
        return min(found, key=lambda schedule: schedule.merit)
    chosen = place(table, slow, orders[0], gpus, np.inf, strict=False)
    low, high = min(least, chosen.longest), chosen.longest
    for _ in range(min(_MOST_TARGETS, max(1, trials // len(orders)))):
        target = float(np.sqrt(low * high))
        found = [place(table, slow, order, gpus, target, strict=False) for order in orders]
        now = min(found, key=lambda schedule: schedule.merit)
        chosen = min(chosen, now, key=lambda schedule: schedule.merit)
        if now.longest <= target * (1 + _TINY):
            high = now.longest
        else:
            low = target
    return chosen


def place(
    table: OptionTable,
    slow: Array,
    order: NDArray[np.intp],
    gpus: list[int],
    target: float,
    *,
    strict: bool,
) -> Schedule:
    """Place copies (job numbers, in order), none before the GPUs free first are free.

    Each takes the option of least GPU-seconds that ends by its deadline and the target; else one
    that is expected to end by its deadline; else one that ends by the target; else it is left out
    if ``strict``, or takes what ends first.

    ``slow``: seconds that a copy takes where it is judged whether it ends in time, (J, O).
    """
    slots = slots_of(table.gpus)
    free = [
        _Free(have, slots, table.gpus[part]) for part, have in zip(table.slices, gpus, strict=True)
    ]
    expected = [np.zeros(have * slots) for have in gpus]
    seconds = np.where(table.allowed, slow, np.inf)
    area = np.where(table.allowed, table.gpus * table.seconds, np.inf)
    latest = target * (1 + _TINY)
    tasks: list[Task] = []
    left_out = late = 0
    longest = 0.0
    for job in order:
        start = np.concatenate([each.starts() for each in free])
        end = start + seconds[job]
        waited = start if table.is_rate[job] else 0.0
        limit = table.limit[job] * (1 + _TINY) + waited
        in_time, likely = end <= limit, start + table.seconds[job] <= limit
        fits = end <= latest
        option = _least(area[job], fits & in_time)
        if option is None:
            option = _least(area[job], fits & likely)
        if option is None:
            option = _least(area[job], fits)
        if option is None and not strict:
            option = int(np.argmin(end))
        if option is None:
            left_out += 1
            continue
        m = int(table.machine[option])
        held = free[m].taken(option - table.slices[m].start, float(end[option]))
        late += not in_time[option]
        longest = max(longest, float(end[option]))
        begin = float(expected[m][held].max())
        expected[m][held] = begin + table.seconds[job, option]
        tasks.append(Task(int(job), option, begin, float(expected[m][held[0]]), held))
    return Schedule(tasks, left_out, late, longest)


class _Free:
    """When the parts of a machine's GPUs are free.

    A job on whole GPUs holds all of their parts, one of k instances on a GPU a k-th of them.
    """

    def __init__(self, gpus: int, slots: int, options: Array) -> None:
        self._times = np.zeros((gpus, slots))
        # Of each option, the parts of one GPU that it needs; 0: all of several.
        shares = np.round(slots * options).astype(np.intp)
        self._parts = np.where(options < 1, shares, 0)
        self._gpus = np.maximum(options, 1).astype(np.intp) - 1

    def starts(self) -> Array:
        """When each option could start."""
        whole = np.sort(self._times.max(axis=1))[self._gpus]
        if not self._parts.any():
            return np.asarray(whole, dtype=np.float64)
        parts = np.sort(self._times, axis=1).min(axis=0)
        return np.where(self._parts > 0, parts[self._parts - 1], whole)

    def taken(self, option: int, end: float) -> NDArray[np.intp]:
        """The parts that the option gets, which are free again at the end."""
        slots = self._times.shape[1]
        if self._parts[option]:
            need = self._parts[option]
            gpu = int(np.argmin(np.sort(self._times, axis=1)[:, need - 1]))
            held = gpu * slots + np.argsort(self._times[gpu], kind="stable")[:need]
        else:
            order = np.argsort(self._times.max(axis=1), kind="stable")[: self._gpus[option] + 1]
            held = (order[:, np.newaxis] * slots + np.arange(slots)).ravel()
        self._times.ravel()[held] = end
        return held


def replayed(schedule: Schedule, table: OptionTable, gpus: list[int], seconds: Array) -> Array:
    """Makespans of a schedule where copies take other times; the order on each GPU stays.

    Args:
        seconds: of each task in each of B replicates, (B, tasks).
    """
    slots = slots_of(table.gpus)
    free = [np.zeros((have * slots, seconds.shape[0])) for have in gpus]
    for i, task in enumerate(schedule.tasks):
        of_machine = free[int(table.machine[task.option])]
        of_machine[task.slots] = of_machine[task.slots].max(axis=0) + seconds[:, i]
    return np.asarray(np.max([each.max(axis=0) for each in free], axis=0), dtype=np.float64)


def _least(area: Array, among: NDArray[np.bool_]) -> int | None:
    at = int(np.argmin(np.where(among, area, np.inf)))
    return at if among[at] else None


def _orders(
    table: OptionTable, counts: NDArray[np.int64], window: float | None
) -> list[NDArray[np.intp]]:
    """Most urgent first; for a window least GPU-seconds first; most of them first; widest first."""
    area = np.where(table.allowed, table.gpus * table.seconds, np.inf)
    cheapest = np.argmin(area, axis=1)
    least = area.min(axis=1)
    wide = table.gpus[cheapest]
    due = np.where(table.is_rate[:, np.newaxis], np.inf, table.limit)
    urgent = np.where(table.allowed, due, np.inf).min(axis=1)
    orders = [np.lexsort((-least, urgent))]
    if window is not None:
        orders.append(np.argsort(least, kind="stable"))
    orders += [np.argsort(-least, kind="stable"), np.lexsort((-least, -wide))]
    return [np.repeat(order, counts[order]) for order in orders]
