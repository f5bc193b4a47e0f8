"""Every job with every machine and GPU count: time, cost, and whether the option is allowed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpucast.answers.planning.replicates import (
    MOST_EVALUATIONS,
    MOST_REPLICATES,
    StepTimes,
    extrapolates,
    nodes_of,
    own_spread,
    sharing_of,
    step_times,
    with_shares,
)
from gpucast.answers.planning.request import Machine, Request
from gpucast.model.fitted import Model
from gpucast.model.forecasting import deviations
from gpucast.model.intervals import Array

HOUR = 3600.0

FEWEST_REPLICATES = 100
_MOST_COMPARISONS = 20_000_000
# On free GPUs all choices cost nothing: with this price the shortest wins.
_NEARLY_FREE = 1e-30


@dataclass(frozen=True)
class OptionTable:
    """J jobs by O options; an option is a machine with a GPU count.

    Attributes:
        machine: position of each option's machine, (O).
        gpus: GPU count of each option, 1/k if k instances share one, (O).
        held: GPUs that are occupied meanwhile: those, or all GPUs of their hosts, (O).
        slices: the options of each machine.
        price: price of a second of each option, (O).
        priced: whether prices can be compared: each machine states one, or none does.
        setup: seconds before the first step, (O).
        minimum: the least number of seconds that is charged, (O).
        length: number of steps, (J, O).
        steps: their time as a multiple of a step, including interruptions, (J, O).
        sizes: n, (J, O).
        size: position of each job's n among the distinct sizes, (J, O); (J, 1) if no n depends on
            the GPU count.
        step: seconds of a step, (J, O).
        low, high: 90 % interval of the step time, (J, O); s.
        seconds: time of one simulation, (J, O).
        efficiency: parallel efficiency T(n, 1) / (N T(n, N)), or T(n / N, 1) / T(n, N) if n grows
            with N, (J, O).
        limit: seconds within which it must end, (J, O); inf without a deadline.
        is_rate: whether the limit counts from the start of the job, as a speed does, (J).
        meets: probability that it ends in time, (J, O).
        allowed: whether the job may run with the option, (J, O).
        dear: whether only its budget forbids the option, (J, O).
        extrapolated: whether n or N is outside the fitted range, (J, O).
        times: step times of each machine, for the distinct sizes.
        replicates: number of replicates.
    """

    machine: NDArray[np.intp]
    gpus: Array
    held: Array
    slices: tuple[slice, ...]
    price: Array
    priced: bool
    setup: Array
    minimum: Array
    length: Array
    steps: Array
    sizes: Array
    size: NDArray[np.intp]
    step: Array
    low: Array
    high: Array
    seconds: Array
    efficiency: Array
    limit: Array
    is_rate: NDArray[np.bool_]
    meets: Array
    allowed: NDArray[np.bool_]
    dear: NDArray[np.bool_]
    extrapolated: NDArray[np.bool_]
    times: tuple[StepTimes, ...]
    replicates: int

    @property
    def rate(self) -> Array:
        """The rate by which a second of each option is compared: its price, or else its GPU
        hours."""
        return _rate(self.price, self.held, priced=self.priced)

    @property
    def positive_rate(self) -> Array:
        """``rate``, above 0 even if all options are free."""
        return _positive(self.rate)

    def cost_of(self, seconds: Array) -> Array:
        """The cost, by ``positive_rate``, of jobs that take ``seconds``, (..., O)."""
        return self.positive_rate * np.maximum(seconds, self.minimum)

    @property
    def cost(self) -> Array:
        """The cost of one simulation, (J, O)."""
        return self.cost_of(self.seconds)

    @property
    def possible(self) -> tuple[Array, Array]:
        """Seconds and cost of one simulation, inf if the option is not allowed, (J, O) each."""
        seconds, cost = (
            np.where(self.allowed, values, np.inf) for values in (self.seconds, self.cost)
        )
        return seconds, cost

    def within(self, request: Request, at: int) -> OptionTable:
        """The same table for the request's machine at a position, which has fewer GPUs: their price
        may depend on their number."""
        machine, part = request.machines[at], self.slices[at]
        price = self.price.copy()
        price[part] = [machine.price_per_hour(gpus) / HOUR for gpus in self.gpus[part]]
        there = (self.machine != at) | (self.held <= machine.gpus)
        fewer = replace(self, price=price, allowed=self.allowed & there, dear=self.dear & there)
        return _of_budget(request, fewer)

    def quantile(self, probability: float) -> Array:
        """Seconds that a simulation does not exceed with a probability, (J, O)."""
        step = _not_exceeded(self.times, self.size, probability)
        return np.asarray(self.setup + self.steps * step, dtype=np.float64)


def _rate(price: Array, gpus: Array, *, priced: bool) -> Array:
    return price if priced else gpus / HOUR


def _positive(rate: Array) -> Array:
    """Rates above 0, so that the shortest of several free choices costs least."""
    return np.maximum(rate, _NEARLY_FREE)


_COLUMNS = ("gpus", "held", "price", "setup", "minimum")
_OPTION = np.dtype([("machine", np.intp), *((name, np.float64) for name in _COLUMNS)])


def make(request: Request) -> OptionTable:
    """Return the table of a request's jobs and machines."""
    machines, jobs = request.machines, request.jobs
    options = np.array(
        [
            (
                *(at, gpus, machine.held(gpus), machine.price_per_hour(gpus) / HOUR),
                *(machine.setup, machine.minimum),
            )
            for at, machine in enumerate(machines)
            for gpus in (*(1 / k for k in instances_of(request, machine)), *machine.counts)
        ],
        dtype=_OPTION,
    )
    on, gpus, held, price, setup, minimum = (options[name] for name in _OPTION.fields or ())
    ends = np.searchsorted(on, range(len(machines) + 1)).tolist()
    slices = tuple(slice(a, b) for a, b in itertools.pairwise(ends))
    n = np.array([job.sizes(gpus) for job in jobs])
    grows = any(job.per_gpu for job in jobs)
    # The size on one GPU of a job whose size grows is needed for its efficiency.
    alone = np.array([[float(job.n)] for job in jobs])
    sizes, size = np.unique(np.hstack([alone, n]) if grows else alone, return_inverse=True)
    size = size.reshape(len(jobs), -1).astype(np.intp)
    lone, size = size[:, 0], size[:, 1:] if grows else size
    replicates = _replicates(request, len(jobs) * options.size)
    deviating = _deviations(request, replicates, on)
    parts = [
        _times(request, machine.forecaster, sizes, gpus[part], deviating[:, part], options.size)
        for machine, part in zip(machines, slices, strict=True)
    ]
    all_times = tuple(times for times, _ in parts)
    step = of_jobs(np.hstack([times.seconds for times in all_times]), size)
    extrapolated = of_jobs(np.hstack([outside for _, outside in parts]), size)
    of_one = np.array([times.one[lone] for times in all_times])[on].T
    efficiency = n / alone * of_one / (gpus * step)
    length = np.array([job.length(gpus) for job in jobs])
    stretch = [
        machines[at].stretch(count, work)[0]
        for at, count, work in zip(on, gpus, (length * step).T, strict=True)
    ]
    steps = length * np.array(stretch).T
    limit = np.array([job.limit(setup, steps) for job, steps in zip(jobs, length, strict=True)])
    table = OptionTable(
        machine=on,
        gpus=gpus,
        held=held,
        slices=slices,
        price=price,
        priced=not request.unpriced,
        setup=setup,
        minimum=np.zeros(on.size) if request.unpriced else minimum,
        length=length,
        steps=steps,
        sizes=n,
        size=size,
        step=step,
        low=_not_exceeded(all_times, size, 0.05),
        high=_not_exceeded(all_times, size, 0.95),
        seconds=setup + steps * step,
        efficiency=efficiency,
        limit=limit,
        is_rate=np.array([job.ns_per_day is not None for job in jobs]),
        meets=_meets((limit - setup) / steps, all_times, size),
        allowed=_allowed(request, on, gpus, efficiency),
        dear=np.zeros(step.shape, dtype=np.bool_),
        extrapolated=extrapolated,
        times=all_times,
        replicates=replicates,
    )
    return _of_budget(request, table)


def of_jobs(values: NDArray[Any], size: NDArray[np.intp]) -> NDArray[Any]:
    """Values of each job, (J, O), from those of each size, (U, O)."""
    return values[size[:, 0]] if size.shape[1] == 1 else np.take_along_axis(values, size, axis=0)


def _of_budget(request: Request, table: OptionTable) -> OptionTable:
    """The table that allows only options within each job's budget, with the plan's probability."""
    budget = np.array([[math.inf if job.budget is None else job.budget] for job in request.jobs])
    if np.isinf(budget).all():
        return table
    kept = table.cost_of(table.quantile(request.probability)) <= budget * (1 + 1e-12)
    allowed = table.allowed | table.dear
    return replace(table, allowed=allowed & kept, dear=allowed & ~kept)


def _times(
    request: Request, model: Model, n: Array, gpus: Array, deviating: Array, options: int
) -> tuple[StepTimes, NDArray[np.bool_]]:
    """Step times of the options of one machine, and whether they are outside the fitted range, (U,
    C).

    Args:
        deviating: factors of each draw on each option, (B, C).
        options: number of options of all machines, which share the allowed evaluations.
    """
    whole, shared = gpus[gpus >= 1], all_instances(gpus[gpus < 1]).astype(np.float64)
    most = MOST_EVALUATIONS * whole.size // options
    of_shared, of_whole = np.split(deviating, [shared.size], axis=1)
    replicates = len(deviating)
    times = step_times(model, n, whole, replicates, most, of_whole, request.interval)
    outside = model.extrapolates(n[:, np.newaxis], whole)
    if shared.size:
        nodes = nodes_of(n, replicates, whole.size, most)
        most = replicates * nodes.size
        alone = np.ones((replicates, 1))
        one = step_times(model, nodes, np.ones(1), replicates, most, alone, request.interval)
        times = with_shares(times, one, model, n, nodes, shared, of_shared)
        outside = np.hstack([extrapolates(model, n, shared), outside])
    return times, outside


def instances_of(request: Request, machine: Machine) -> list[int]:
    """Return the numbers of instances on one GPU that jobs may use there, largest first; none if
    the model has no such information."""
    if sharing_of(machine.forecaster) is None:
        return []
    on = (job for job in request.jobs if not job.machines or machine.name in job.machines)
    return sorted({k for job in on for k in job.shares}, reverse=True)


def all_instances(gpus: Array) -> NDArray[np.int64]:
    """Return how many instances share the GPU of each option; 1 on whole GPUs."""
    return np.asarray(np.round(1 / np.minimum(gpus, 1.0)), dtype=np.int64)


def _replicates(request: Request, cells: int) -> int:
    most = min(MOST_REPLICATES, max(m.forecaster.draw_count for m in request.machines))
    return min(most, max(FEWEST_REPLICATES, _MOST_COMPARISONS // max(1, cells)))


def _deviations(request: Request, replicates: int, machine_of: NDArray[np.intp]) -> Array:
    spread = np.array([own_spread(machine.forecaster) for machine in request.machines])
    return deviations(replicates, spread[machine_of])


def _not_exceeded(times: Sequence[StepTimes], size: NDArray[np.intp], probability: float) -> Array:
    """Step times (s) that are not exceeded with a probability, (J, O)."""
    return of_jobs(np.hstack([machine.at_most(probability) for machine in times]), size)


def _meets(limit: Array, times: Sequence[StepTimes], size: NDArray[np.intp]) -> Array:
    """The share of draws in which a step takes no longer than its limit (s), (J, O)."""
    if np.isinf(limit).all():
        return np.ones(limit.shape)
    replicates = len(times[0].ratios)
    met = np.zeros(limit.shape, dtype=np.int64)
    for replicate in range(replicates):
        drawn = np.hstack([machine.of_replicate(replicate) for machine in times])
        met += of_jobs(drawn, size) <= limit
    return met / replicates


def _allowed(
    request: Request, machine_of: NDArray[np.intp], gpus: Array, efficiency: Array
) -> NDArray[np.bool_]:
    names = [machine.name for machine in request.machines]
    on = np.array(
        [[not job.machines or name in job.machines for name in names] for job in request.jobs]
    )
    floor = np.array([[job.efficiency or 0.0] for job in request.jobs])
    instances = all_instances(gpus)
    shares = np.array([(instances == 1) | np.isin(instances, job.shares) for job in request.jobs])
    # One GPU has efficiency 1: rounding must not change that.
    return np.asarray(
        on[:, machine_of] & shares & (efficiency >= floor * (1 - 1e-12)), dtype=np.bool_
    )
