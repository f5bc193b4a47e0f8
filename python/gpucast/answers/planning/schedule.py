"""A schedule of the whole mix on the GPUs that exist.

Choosing GPU counts and an order so that a mix of jobs costs least, or ends as soon as possible, is
NP-hard. Here copies are placed one by one: each takes the option of least cost, or of least
GPU-seconds, with which it still ends by its deadline and by a target: the window, or one
of several times between what no schedule can undercut and what the first one takes. Several orders
are tried; kept is the cheapest schedule where there are prices and something to be in time for,
else the shortest. Each copy is counted with the time that it takes at most with the probability
asked for: a model that is wrong of one is wrong of all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpucast.answers.planning.option_table import OptionTable, all_instances
from gpucast.answers.planning.request import Request
from gpucast.model.intervals import Array
from gpucast.util import JsonObject

_MOST_PLACED = 3_000
"""Copies placed in all trials together, unless ``_FEWEST_TRIALS`` place more."""

_FEWEST_TRIALS = 2
_LONGEST_REPLAY = 5_000
_FEWEST_TARGETS, _MOST_TARGETS = 3, 12
_TINY = 1e-9

_TIE = 1e-9
"""A GPU-second counts as this share of the highest price of a second: it decides between options
that cost the same, such as those of GPUs that are free."""


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


Merit = tuple[float, ...]


def shortness(schedule: Schedule) -> tuple[int, int, float, float]:
    """Smaller is better: copies left out, then late ones, then the longest makespan, the cost."""
    longest = float(f"{schedule.longest:.9g}")  # equal but for rounding is equal
    return schedule.left_out, schedule.late, longest, schedule.cost


def thrift(schedule: Schedule) -> Merit:
    """The same, but for the cost before the makespan."""
    return schedule.left_out, schedule.late, schedule.cost, schedule.longest


def within(budget: float) -> Callable[[Schedule], Merit]:
    """The merit of a schedule that may cost so much: beyond it what is cheaper is better."""

    def merit(schedule: Schedule) -> Merit:
        left_out, late, longest, cost = shortness(schedule)
        return left_out, late, max(cost - budget * (1 + _TINY), 0.0), longest, cost

    return merit


def best(
    table: OptionTable,
    counts: NDArray[np.int64],
    gpus: list[int],
    window: float | None,
    probability: float,
    budget: float | None = None,
) -> Schedule:
    """The best of some schedules: the cheapest of those that do most, and most of it in time, where
    there are prices and a window or deadlines; else the shortest, and the cheapest of the shortest.
    With a budget the shortest of those that keep it, else the cheapest.

    Args:
        counts: copies wanted of each job, (J).
        gpus: how many GPUs each machine has.
        window: seconds; without one all copies are placed.
        probability: with which copies are to end by their deadlines and within the window.
    """
    slow = table.quantile(probability)
    area = np.where(table.allowed, table.held * table.seconds, np.inf)
    weights = _weights(table, area)
    trials = max(_FEWEST_TRIALS, _MOST_PLACED // int(counts.sum()))
    pairs = itertools.product(_orders(table, counts, area, window), weights)
    ways = list(itertools.islice(pairs, max(_FEWEST_TRIALS * len(weights), trials)))
    timely = window is not None or bool(np.isfinite(table.limit[table.allowed]).any())
    merit: Callable[[Schedule], Merit] = thrift if timely and table.rate.any() else shortness
    if budget is not None:
        merit = within(budget)

    def tried(*targets: float) -> Schedule:
        placed = [
            place(table, slow, weight, order, gpus, target, window is not None)
            for target in targets
            for order, weight in ways
        ]
        return min(placed, key=merit)

    if window is not None:
        return tried(window)
    first = tried(np.inf)
    if merit is thrift and not first.late:
        return first
    # No copy is faster than its fastest option, and all GPUs together give what is needed at least.
    fastest = np.where(table.allowed, table.seconds, np.inf).min(axis=1).max()
    low = min(first.longest, max(fastest, counts @ area.min(axis=1) / sum(gpus)))
    count = min(_MOST_TARGETS, max(_FEWEST_TARGETS, trials // len(ways)))
    return min(first, tried(*np.geomspace(low, first.longest, count)), key=merit)


def _weights(table: OptionTable, area: Array) -> list[Array]:
    """What options are chosen by, inf where the job may not run so, (J, O) each: cost, where one
    GPU costs more than another, and GPU-seconds (``area``), which else cost least."""
    price = table.rate / table.held
    if np.ptp(price) <= _TINY * price.max():
        return [area]
    dear = table.rate + _TIE * table.rate.max() * table.held
    return [np.where(table.allowed, dear * np.maximum(table.seconds, table.minimum), np.inf), area]


def place(
    table: OptionTable,
    slow: Array,
    weight: Array,
    order: NDArray[np.intp],
    gpus: list[int],
    target: float,
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
    slots = slots_of(table.held)
    free = [
        _Free(have, slots, table.held[part]) for part, have in zip(table.slices, gpus, strict=True)
    ]
    expected = [np.zeros(have * slots) for have in gpus]
    seconds = np.where(table.allowed, slow, np.inf)
    paid = np.maximum(table.seconds, table.minimum)
    latest, bounded = target * (1 + _TINY), np.isfinite(target)
    tasks: list[Task] = []
    left_out = late = 0
    longest = cost = 0.0
    for job in order:
        start = np.concatenate([parts.starts() for parts in free])
        end = start + seconds[job]
        waited = start if table.is_rate[job] else 0.0
        limit = table.limit[job] * (1 + _TINY) + waited
        in_time, likely = end <= limit, start + table.seconds[job] <= limit
        fits = end <= latest
        option = _least(weight[job], fits & in_time, fits & likely, fits & bounded)
        if option is None and not strict:
            option = int(np.argmin(end))
        if option is None:
            left_out += 1
            continue
        m = int(table.machine[option])
        held = free[m].taken(option - table.slices[m].start, float(end[option]))
        late += not in_time[option]
        longest = max(longest, float(end[option]))
        cost += float(table.rate[option] * paid[job, option])
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
        # The parts of one GPU that each option needs; 0: all of several.
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


def slots_of(gpus: Array) -> int:
    """Into how many parts a GPU is cut by options of so many GPUs."""
    return math.lcm(*all_instances(gpus).tolist())


def replayed(schedule: Schedule, table: OptionTable, gpus: list[int], seconds: Array) -> Array:
    """Makespans of a schedule where copies take other times; the order on each GPU stays.

    Args:
        seconds: that each task takes in each of B replicates, (B, tasks).
    """
    slots = slots_of(table.held)
    free = [np.zeros((have * slots, seconds.shape[0])) for have in gpus]
    for i, task in enumerate(schedule.tasks):
        ends = free[int(table.machine[task.option])]
        ends[task.slots] = ends[task.slots].max(axis=0) + seconds[:, i]
    return np.asarray(np.max([ends.max(axis=0) for ends in free], axis=0), dtype=np.float64)


def _least(weight: Array, *among: NDArray[np.bool_]) -> int | None:
    """The option of least weight in the first of several sets with one that the job may take."""
    for options in among:
        weights = np.where(options, weight, np.inf)
        at = int(np.argmin(weights))
        if weights[at] < np.inf:
            return at
    return None


def _orders(
    table: OptionTable, counts: NDArray[np.int64], area: Array, window: float | None
) -> list[NDArray[np.intp]]:
    """Most urgent first; for a window least GPU-seconds first; most of them first; widest first."""
    least, wide = area.min(axis=1), table.held[np.argmin(area, axis=1)]
    due = np.where(table.is_rate[:, np.newaxis], np.inf, table.limit)
    urgent = np.where(table.allowed, due, np.inf).min(axis=1)
    orders = [np.lexsort((-least, urgent))]
    if window is not None:
        orders.append(np.argsort(least, kind="stable"))
    orders += [np.argsort(-least, kind="stable"), np.lexsort((-least, -wide))]
    return [np.repeat(order, counts[order]) for order in orders]


# --- of a plan, JSON-ready ---


def mix_of(request: Request, table: OptionTable) -> Schedule:
    """All simulations of a plan together on the GPUs that exist."""
    counts = np.array([job.count for job in request.jobs], dtype=np.int64)
    gpus = [machine.gpus for machine in request.machines]
    return best(table, counts, gpus, request.window, request.probability, request.budget)


def mix_answer(
    request: Request, table: OptionTable, schedule: Schedule, seconds: Array
) -> JsonObject:
    """What a schedule does; ``seconds``: its tasks' in each of B replicates, (B, tasks)."""
    tasks, window = schedule.tasks, request.window
    total, done, probability = len(tasks) + schedule.left_out, len(tasks), None
    if window is not None and 0 < done <= _LONGEST_REPLAY:
        gpus = [machine.gpus for machine in request.machines]
        ends = replayed(schedule, table, gpus, seconds)
        probability = float(np.mean(ends <= window * (1 + _TINY)))
    instances = all_instances(table.gpus).tolist()
    return {
        "copies": total,
        "done": done,
        "share": done / total,
        "makespan": schedule.makespan,
        "late": schedule.late,
        "cost": sum(
            float(table.price[task.option] * max(task.end - task.start, table.minimum[task.option]))
            for task in tasks
        ),
        "probability": probability,
        "schedule": [
            {
                "job": request.jobs[task.job].name,
                "machine": request.machines[int(table.machine[task.option])].name,
                "gpus": math.ceil(table.gpus[task.option]),
                "instances": instances[task.option],
                "start": task.start,
                "end": task.end,
            }
            for task in tasks
        ],
    }
