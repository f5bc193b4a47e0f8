"""A schedule of the whole mix on the GPUs that exist.

Choosing GPU counts and an order so that a mix of jobs costs least, or ends as soon as possible, is
NP-hard. Here a target time is set, and each copy, in order, takes the option of least cost, or of
least GPU-seconds, with which it still ends by its deadline and the target. Where there are prices
and something to be in time for, the target is the window, and of what is tried the cheapest is
kept; else the target is bisected, and the shortest is. For all that, each copy takes as long as it
takes at most with the probability asked for: what makes a model wrong of one makes it wrong of all.
Several orders are tried. ``bounds`` has what no schedule can beat, so that one sees how much better
another could be.
"""

from __future__ import annotations

import itertools
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

_TIE = 1e-9
"""Of options that cost the same, as where GPUs are free, that of least GPU-seconds is taken: each
counts as so much of the highest price of a second."""


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
        cost: expected, of all in it.
    """

    tasks: list[Task]
    left_out: int
    late: int
    longest: float
    cost: float

    @property
    def makespan(self) -> float:
        """When the last copy is expected to end (s)."""
        return max((task.end for task in self.tasks), default=0.0)

    @property
    def merit(self) -> tuple[int, int, float, float]:
        """Smaller is better: copies left out, then late ones, then the longest makespan."""
        return self.left_out, self.late, self.longest, self.cost

    @property
    def thrift(self) -> tuple[int, int, float, float]:
        """The same, but for the cost before the makespan."""
        return self.left_out, self.late, self.cost, self.longest


def best(
    table: OptionTable,
    counts: NDArray[np.int64],
    gpus: list[int],
    window: float | None,
    least: float,
    probability: float,
) -> Schedule:
    """The best schedule found: the cheapest of those that do most, and most of it in time, where
    there are prices and a window or deadlines; else the shortest, and the cheapest of the shortest.

    Args:
        counts: copies wanted of each job, (J).
        gpus: how many GPUs each machine has.
        window: seconds; without one all copies are placed.
        least: a lower bound on the makespan.
        probability: with which copies are to end by their deadlines and within the window.
    """
    search = _Search(table, counts, gpus, window, probability)
    if window is not None:
        return search.cheapest(window, strict=True)
    if search.priced and np.isfinite(table.limit[table.allowed]).any():
        thrifty = search.cheapest(np.inf, strict=False)
        if not thrifty.late:
            return thrifty
        return min(thrifty, search.shortest(least), key=lambda schedule: schedule.thrift)
    shortest = search.shortest(least)
    if not search.priced:
        return shortest
    thrifty = search.cheapest(shortest.longest, strict=False)
    as_short = thrifty.longest <= shortest.longest * (1 + _TINY)
    return thrifty if as_short and thrifty.thrift < shortest.thrift else shortest


class _Search:
    """What of one mix is tried.

    Attributes:
        priced: whether anything costs something.
    """

    def __init__(
        self,
        table: OptionTable,
        counts: NDArray[np.int64],
        gpus: list[int],
        window: float | None,
        probability: float,
    ) -> None:
        self._table, self._gpus = table, gpus
        self._slow = table.quantile(probability)
        self._orders = _orders(table, counts, window)
        self._trials = max(_FEWEST_TRIALS, _MOST_PLACED // int(counts.sum()))
        self._area = np.where(table.allowed, table.gpus * table.seconds, np.inf)
        self._weights = [self._area]
        self.priced = bool(table.rate.any())
        # Where one GPU costs as much as any other, the least GPU-seconds cost least.
        each = table.rate / table.gpus
        if np.ptp(each) > _TINY * each.max():
            dear = table.rate + _TIE * table.rate.max() * table.gpus
            self._weights.insert(0, np.where(table.allowed, dear * table.seconds, np.inf))

    def cheapest(self, target: float, *, strict: bool) -> Schedule:
        """By a target: the cheapest of those that do most, or the shortest without prices."""
        tries = list(itertools.product(self._orders, self._weights))
        tries = tries[: max(_FEWEST_TRIALS * len(self._weights), self._trials)]
        found = [self._place(weight, order, target, strict=strict) for order, weight in tries]
        if self.priced:
            return min(found, key=lambda schedule: schedule.thrift)
        return min(found, key=lambda schedule: schedule.merit)

    def shortest(self, least: float) -> Schedule:
        """Of all copies, by bisecting the target."""
        orders = self._orders
        chosen = self._place(self._area, orders[0], np.inf, strict=False)
        low, high = min(least, chosen.longest), chosen.longest
        for _ in range(min(_MOST_TARGETS, max(1, self._trials // len(orders)))):
            target = float(np.sqrt(low * high))
            found = [self._place(self._area, order, target, strict=False) for order in orders]
            now = min(found, key=lambda schedule: schedule.merit)
            chosen = min(chosen, now, key=lambda schedule: schedule.merit)
            if now.longest <= target * (1 + _TINY):
                high = now.longest
            else:
                low = target
        return chosen

    def _place(
        self, weight: Array, order: NDArray[np.intp], target: float, *, strict: bool
    ) -> Schedule:
        return place(self._table, self._slow, weight, order, self._gpus, target, strict=strict)


def place(
    table: OptionTable,
    slow: Array,
    weight: Array,
    order: NDArray[np.intp],
    gpus: list[int],
    target: float,
    *,
    strict: bool,
) -> Schedule:
    """Place copies (job numbers, in order), none before the GPUs free first are free.

    Each takes the option of least weight that ends by its deadline and the target; else one that is
    expected to end by its deadline; else one that ends by the target, if that is finite; else it is
    left out if ``strict``, or takes what ends first.

    Args:
        slow: seconds that a copy takes where it is judged whether it ends in time, (J, O).
        weight: what an option is chosen by, inf where the job may not run so, (J, O).
    """
    slots = slots_of(table.gpus)
    free = [
        _Free(have, slots, table.gpus[part]) for part, have in zip(table.slices, gpus, strict=True)
    ]
    expected = [np.zeros(have * slots) for have in gpus]
    seconds = np.where(table.allowed, slow, np.inf)
    latest = target * (1 + _TINY)
    tasks: list[Task] = []
    left_out = late = 0
    longest = cost = 0.0
    for job in order:
        start = np.concatenate([each.starts() for each in free])
        end = start + seconds[job]
        waited = start if table.is_rate[job] else 0.0
        limit = table.limit[job] * (1 + _TINY) + waited
        in_time, likely = end <= limit, start + table.seconds[job] <= limit
        fits = end <= latest
        option = _least(weight[job], fits & in_time)
        if option is None:
            option = _least(weight[job], fits & likely)
        if option is None and np.isfinite(target):
            option = _least(weight[job], fits)
        if option is None and not strict:
            option = int(np.argmin(end))
        if option is None:
            left_out += 1
            continue
        m = int(table.machine[option])
        held = free[m].taken(option - table.slices[m].start, float(end[option]))
        late += not in_time[option]
        longest = max(longest, float(end[option]))
        cost += float(table.rate[option] * table.seconds[job, option])
        begin = float(expected[m][held].max())
        expected[m][held] = begin + table.seconds[job, option]
        tasks.append(Task(int(job), option, begin, float(expected[m][held[0]]), held))
    return Schedule(tasks, left_out, late, longest, cost)


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
        at = np.sort(self._times.max(axis=1))
        # More than there are never are free.
        whole = np.append(at, np.inf)[np.minimum(self._gpus, at.size)]
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


def _least(weight: Array, among: NDArray[np.bool_]) -> int | None:
    """Of the options among which to choose, and that the job may take, that of least weight."""
    left = np.where(among, weight, np.inf)
    at = int(np.argmin(left))
    return at if left[at] < np.inf else None


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
