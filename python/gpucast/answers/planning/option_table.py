"""Every job with every machine and GPU count it might get: time, cost, and whether it may."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from gpucast.answers.planning.replicates import MOST_EVALUATIONS, StepTimes, nodes_of, step_times
from gpucast.answers.planning.request import Request
from gpucast.answers.planning.sharing import all_instances, extrapolates, instances_of, with_shares
from gpucast.model.forecaster import Array
from gpucast.model.intervals import Z90, at_most

HOUR = 3600.0

MOST_REPLICATES = 400
FEWEST_REPLICATES = 100
_MOST_COMPARISONS = 20_000_000
# Where GPUs are free of charge all choices cost nothing: this price lets the shortest win.
_NEARLY_FREE = 1e-30


@dataclass(frozen=True)
class OptionTable:
    """J jobs beside O options; an option is a machine with a GPU count.

    Attributes:
        machine: position of each option's machine, (O).
        gpus: GPU count of each option, 1/k where k instances share one, (O).
        slices: the options of each machine.
        price: of a second of each option, (O).
        priced: whether prices compare: each machine states one, or none does.
        setup: seconds before the first step, (O).
        steps: of each job, (J, 1).
        size: position of each job's n among the distinct sizes, (J).
        step: seconds of a step, (J, O).
        width: half-width of the 90 % interval of log step time, (J, O).
        seconds, cost: of one simulation, the cost by ``rate``, (J, O).
        efficiency: parallel efficiency T(n, 1) / (N T(n, N)), (J, O).
        limit: seconds by which it must be done, (J, O); inf without a deadline.
        is_rate: whether the limit counts from the job's own start, as a speed does, (J).
        meets: probability that it is, (J, O).
        allowed: whether the job may run so, (J, O).
        extrapolated: whether n or N is outside what was fitted, (J, O).
        deviations: of true step times from the model, a draw for each replicate and option, as
            factors, (B, O).
        times: step times of each machine, for the distinct sizes.
        replicates: how many are used.
    """

    machine: NDArray[np.intp]
    gpus: Array
    slices: tuple[slice, ...]
    price: Array
    priced: bool
    setup: Array
    steps: Array
    size: NDArray[np.intp]
    step: Array
    width: Array
    seconds: Array
    cost: Array
    efficiency: Array
    limit: Array
    is_rate: NDArray[np.bool_]
    meets: Array
    allowed: NDArray[np.bool_]
    extrapolated: NDArray[np.bool_]
    deviations: Array
    times: tuple[StepTimes, ...]
    replicates: int

    @property
    def rate(self) -> Array:
        """By which a second of each option is compared: its price, else its GPU hours."""
        return _rate(self.price, self.gpus, priced=self.priced)

    @property
    def positive_rate(self) -> Array:
        """``rate``, above 0 even where all options are free."""
        return _positive(self.rate)

    @property
    def possible(self) -> tuple[Array, Array]:
        """Seconds and cost of one simulation, inf where the job may not run so, (J, O) each."""
        seconds, cost = (
            np.where(self.allowed, values, np.inf) for values in (self.seconds, self.cost)
        )
        return seconds, cost

    def within(self, machine: int, gpus: int) -> OptionTable:
        """The same where the machine at a position has only so many GPUs."""
        more = (self.machine == machine) & (self.gpus > gpus)
        return replace(self, allowed=self.allowed & ~more)

    def quantile(self, probability: float) -> Array:
        """Seconds that a simulation takes at most with a probability, (J, O)."""
        longer = at_most(self.width, probability)
        return np.asarray(self.setup + self.steps * self.step * longer, dtype=np.float64)


def _rate(price: Array, gpus: Array, *, priced: bool) -> Array:
    return price if priced else gpus / HOUR


def _positive(rate: Array) -> Array:
    """Rates above 0, so that of choices that are free the shortest costs least."""
    return np.maximum(rate, _NEARLY_FREE)


def make(request: Request) -> OptionTable:
    """The table of a request's jobs and machines."""
    shared = [instances_of(request, machine) for machine in request.machines]
    whole = [np.array(machine.counts, dtype=np.float64) for machine in request.machines]
    counts = [
        np.concatenate([[1 / k for k in several], gpus])
        for several, gpus in zip(shared, whole, strict=True)
    ]
    ends = np.cumsum([0, *(options.size for options in counts)])
    slices = tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(ends))
    sizes, size = np.unique([float(job.n) for job in request.jobs], return_inverse=True)
    cells = len(request.jobs) * int(ends[-1])
    replicates = _replicates(request, cells)
    times, width, efficiency, extrapolated = [], [], [], []
    for machine, several, gpus, options in zip(
        request.machines, shared, whole, counts, strict=True
    ):
        model = machine.forecaster
        share = MOST_EVALUATIONS * gpus.size // int(ends[-1])
        step_seconds = step_times(model, sizes, gpus, replicates, share, request.interval)
        outside = model.extrapolates(sizes[:, np.newaxis], gpus)
        if several:
            instances = np.array(several, dtype=np.float64)
            nodes = nodes_of(sizes, replicates, gpus.size, share)
            most = replicates * nodes.size
            one = step_times(model, nodes, np.ones(1), replicates, most, request.interval)
            step_seconds = with_shares(step_seconds, one, model, sizes, nodes, instances)
            outside = np.hstack([extrapolates(model, sizes, instances), outside])
        times.append(step_seconds)
        width.append(model.log_width(step_seconds.spread))
        efficiency.append(step_seconds.one[:, np.newaxis] / (options * step_seconds.seconds))
        extrapolated.append(outside)
    step = np.hstack([each.seconds for each in times])[size]
    widths = np.hstack(width)[size]
    each_option = [
        (machine, count)
        for machine, options in zip(request.machines, counts, strict=True)
        for count in options.tolist()
    ]
    price = np.array([machine.price_per_hour(count) for machine, count in each_option]) / HOUR
    gpus_of, priced = np.concatenate(counts), not request.unpriced
    setup = np.array([machine.setup for machine, _ in each_option])
    steps = np.array([[job.length] for job in request.jobs])
    seconds = setup + steps * step
    machine_of = np.repeat(np.arange(len(slices)), [options.size for options in counts]).astype(
        np.intp
    )
    limit = np.array(
        [[job.limit(machine.setup) for machine in request.machines] for job in request.jobs]
    )[:, machine_of]
    efficiencies = np.hstack(efficiency)[size]
    return OptionTable(
        machine=machine_of,
        gpus=gpus_of,
        slices=slices,
        price=price,
        priced=priced,
        setup=setup,
        steps=steps,
        size=size.astype(np.intp),
        step=step,
        width=widths,
        seconds=seconds,
        cost=_positive(_rate(price, gpus_of, priced=priced)) * seconds,
        efficiency=efficiencies,
        limit=limit,
        is_rate=np.array([job.ns_per_day is not None for job in request.jobs]),
        meets=_meets(limit, setup, steps, step, widths),
        allowed=_allowed(request, machine_of, gpus_of, efficiencies),
        extrapolated=np.hstack(extrapolated)[size],
        deviations=_deviations(request, replicates, machine_of),
        times=tuple(times),
        replicates=replicates,
    )


def _replicates(request: Request, cells: int) -> int:
    most = min(MOST_REPLICATES, max(m.forecaster.draw_count for m in request.machines))
    return min(most, max(FEWEST_REPLICATES, _MOST_COMPARISONS // max(1, cells)))


def _deviations(request: Request, replicates: int, machine_of: NDArray[np.intp]) -> Array:
    models = [machine.forecaster for machine in request.machines]
    # Widened as intervals are: so much more does Student's t allow than the normal distribution.
    spread = np.array([model.between_cells * model.t90 / Z90 for model in models])
    draws = np.random.default_rng(0).standard_normal((replicates, machine_of.size))
    return np.asarray(np.exp(np.clip(draws * spread[machine_of], -100, 100)), dtype=np.float64)


def _meets(limit: Array, setup: Array, steps: Array, step: Array, width: Array) -> Array:
    """P(setup + steps T <= limit), log T normal with the forecast's 90 % interval."""
    with np.errstate(divide="ignore", invalid="ignore"):
        margin = np.log(np.maximum(limit - setup, 0.0) / (steps * step))
        # No spread at all: the forecast is the truth.
        normal = np.where(width > 0, margin * Z90 / width, np.where(margin >= 0, np.inf, -np.inf))
    return np.asarray(ndtr(normal), dtype=np.float64)


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
    # One GPU is as efficient as one GPU, whatever rounding says.
    return np.asarray(
        on[:, machine_of] & shares & (efficiency >= floor * (1 - 1e-12)), dtype=np.bool_
    )
