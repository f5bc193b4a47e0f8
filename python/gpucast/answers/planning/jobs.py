"""The answers for each job, as JSON values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpucast.answers.planning.option_table import HOUR, OptionTable, all_instances, of_jobs
from gpucast.answers.planning.request import DAY, FEMTO, NANO, Request
from gpucast.model.asked import whole_numbers
from gpucast.model.energy import KWH
from gpucast.model.intervals import Array
from gpucast.util import JsonObject

# A number of runs within rounding of a whole number counts as whole.
_TINY = 1e-9


def jobs_of(
    request: Request,
    table: OptionTable,
    choices: Choices,
    comparison: Comparison,
    fronts: list[NDArray[np.intp]],
) -> list[JsonObject]:
    """Return the options of each job, native compared with remote, and the price of a deadline."""
    jobs = np.arange(len(request.jobs))
    best = options_of(request, table, jobs, choices.fastest)
    least = options_of(request, table, jobs, choices.cheapest)
    advised = options_of(request, table, jobs, choices.advised)
    ends = np.cumsum([0, *(front.size for front in fronts)])
    along = options_of(
        request, table, np.repeat(jobs, np.diff(ends)), np.concatenate([*fronts, jobs[:0]])
    )
    fastest = np.mean(comparison.fastest == choices.fastest, axis=0)
    cheapest = np.mean(comparison.cheapest == choices.cheapest, axis=0)
    others = _others(request, table, comparison)
    dear = np.where(table.dear, table.seconds, np.inf)
    forbidden = options_of(request, table, jobs, np.argmin(dear, axis=1))
    result = []
    for i, job in enumerate(request.jobs):
        timed = advised[i]["probability_in_time"] is not None
        thrifty = {**least[i], "probability": _share(cheapest[i])}
        more = advised[i]["cost"] - least[i]["cost"] if timed and not request.unpriced else None
        front = along[ends[i] : ends[i + 1]]
        powered = [option for option in front if option.get("kwh") is not None]
        least_energy = min(powered, key=lambda option: option["kwh"], default=None)
        result.append(
            {
                "name": job.name,
                "n": job.n,
                "size_of": job.size_of,
                "steps": advised[i]["steps"],
                "unit": job.unit,
                "budget": job.budget,
                "over_budget": forbidden[i] if dear[i].min() < best[i]["seconds"] else None,
                "count": job.count,
                "deadline": job.deadline,
                "ns_per_day": job.ns_per_day,
                "fastest": {**best[i], "probability": _share(fastest[i])},
                "cheapest": None if request.unpriced else thrifty,
                "fewest_gpu_hours": thrifty if request.unpriced else None,
                **({"least_energy": least_energy} if least_energy else {}),
                "advised": advised[i],
                "meets_deadline": bool(choices.met[i]) if timed else None,
                "deadline_cost": more,
                "others": others[i],
                "front": front,
            }
        )
    return result


def options_of(
    request: Request, table: OptionTable, jobs: NDArray[np.intp], options: NDArray[np.intp]
) -> list[JsonObject]:
    """Return the fields of options of jobs (two arrays of equal length)."""
    at = (jobs, options)
    machine, gpus, setup = table.machine[options], table.gpus[options], table.setup[options]
    held = table.held[options]
    step, seconds = table.step[at], table.seconds[at]
    low, high = table.low[at], table.high[at]
    steps = table.steps[at]
    paid = table.price[options] * np.maximum(seconds, table.minimum[options])
    units = np.array([job.units_of_step(table.gpus) for job in request.jobs])[at]
    work = table.length[at] * step
    checkpoints = np.array(
        [
            request.machines[m].stretch(count, seconds_of_work)[1]
            for m, count, seconds_of_work in zip(machine, gpus, work, strict=True)
        ]
    )
    checkpoint_hours = held * work * checkpoints / HOUR
    nanoseconds = np.array([(job.timestep_fs or np.nan) * FEMTO / NANO for job in request.jobs])
    known = np.array([on.name not in request.unpriced for on in request.machines])
    in_time = np.where(np.isfinite(table.limit[at]), table.meets[at], np.nan)
    values = {
        "machine": np.array([on.name for on in request.machines])[machine].tolist(),
        "gpus": np.ceil(gpus).astype(np.int64).tolist(),
        "instances": all_instances(gpus).tolist(),
        "n": whole_numbers(table.sizes[at]).tolist(),
        "steps": table.length[at].astype(np.int64).tolist(),
        "step_seconds": step.tolist(),
        "step_low": low.tolist(),
        "step_high": high.tolist(),
        "seconds": seconds.tolist(),
        "low": (setup + steps * low).tolist(),
        "high": (setup + steps * high).tolist(),
        "gpu_hours": (held * seconds / HOUR).tolist(),
        "checkpoint_hours": checkpoint_hours.tolist(),
        "restart_hours": (
            held * (steps - table.length[at]) * step / HOUR - checkpoint_hours
        ).tolist(),
        "cost": _or_none(np.where(known[machine], paid, np.nan)),
        "cost_per_million": _or_none(
            np.where(known[machine], paid / (table.length[at] * units / 1e6), np.nan)
        ),
        "units_per_second": _or_none(units / step),
        "ns_per_day": _or_none(nanoseconds[jobs] * DAY / step),
        "efficiency": table.efficiency[at].tolist(),
        "peak_efficiency": _or_none(_of_peak(request, table, jobs, options)),
        "probability_in_time": _or_none(in_time),
        "extrapolated": table.extrapolated[at].tolist(),
        **_energy(request, table, jobs, options),
    }
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]


def _energy(
    request: Request, table: OptionTable, jobs: NDArray[np.intp], options: NDArray[np.intp]
) -> dict[str, list[float | None]]:
    """kWh of the GPUs of a simulation with the 90 % interval, their price and CO2; empty if no
    machine's model forecasts energy."""
    if all(machine.forecaster.energy is None for machine in request.machines):
        return {}
    gpus = table.gpus[options]
    n = table.sizes[jobs, options]
    kwh = np.full((3, options.size), np.nan)
    for m, machine in enumerate(request.machines):
        its = (table.machine[options] == m) & (gpus >= 1)
        if machine.forecaster.energy is not None and its.any():
            forecasts = machine.forecaster.forecasts(n[its], gpus[its], request.interval)
            kwh[:, its] = list(machine.forecaster.joules(forecasts).values())
    kwh *= table.steps[jobs, options] / KWH
    known = {"kwh_low": kwh[1], "kwh_high": kwh[2], **request.grid.of(kwh[0] * KWH)}
    return {key: _or_none(values) for key, values in known.items()}


def _of_peak(
    request: Request, table: OptionTable, jobs: NDArray[np.intp], options: NDArray[np.intp]
) -> Array:
    """Useful operations as a share of the GPUs' peak; nan if either is not known."""
    shares = []
    for i, option in zip(jobs, options, strict=True):
        job, on = request.jobs[i], request.machines[table.machine[option]]
        gpus, n = table.gpus[option : option + 1], table.sizes[i, option]
        if on.peak_flops is None or not (job.flops or on.forecaster.own_program):
            shares.append(np.nan)
        elif job.flops:
            units = job.units_of_step(gpus)[0] if job.unit else 1.0
            shares.append(job.flops * units / on.peak_flops)
        else:
            shares.append(on.workload.operations_of_step(n) / on.peak_flops)
    return np.array(shares) / (table.step[jobs, options] * table.gpus[options])


def _or_none(values: Array) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]


def _others(request: Request, table: OptionTable, comparison: Comparison) -> list[list[JsonObject]]:
    """For each job, the additional time and cost of the best options of each machine over the
    baseline's."""
    seconds, cost = (
        np.array([values[:, part].min(axis=1) for part in table.slices])
        for values in table.possible
    )
    base = request.base
    free = [not table.price[part].min() for part in table.slices]
    result: list[list[JsonObject]] = [[] for _ in request.jobs]
    for m, machine in enumerate(request.machines):
        if m == base:
            continue
        time = _beside(seconds, comparison.least_seconds, base, m)
        money = _beside(cost, comparison.least_cost, base, m)
        for i in np.flatnonzero(np.isfinite(seconds[base]) & np.isfinite(seconds[m])):
            # A share of nothing is not defined.
            unknown = request.unpriced or free[base] or free[m]
            costs = [None] * 4 if unknown else money[i].tolist()
            result[i].append(
                {"machine": machine.name}
                | dict(zip(_keys("seconds", "faster"), time[i].tolist(), strict=True))
                | dict(zip(_keys("cost", "cheaper"), costs, strict=True))
            )
    return result


def _keys(what: str, less: str) -> tuple[str, ...]:
    return f"extra_{what}", f"extra_{what}_low", f"extra_{what}_high", f"probability_{less}"


def _beside(expected: Array, drawn: Array, base: int, other: int) -> Array:
    """For each job ``other`` / ``base`` - 1, the ends of its 90 % interval, and the share of
    replicates below 0, (J, 4); meaningless if a machine may not run the job."""
    with np.errstate(invalid="ignore", divide="ignore"):
        extra = expected[other] / expected[base] - 1
        ratio = drawn[:, :, other] / drawn[:, :, base]
        low, high = np.quantile(ratio, [0.05, 0.95], axis=0) - 1
    return np.transpose([extra, low, high, np.round(np.mean(ratio < 1, axis=0), 9)])


def _share(value: float) -> float:
    # Sums of shares differ from 1 by rounding.
    return round(float(value), 9)


# --- the number of copies of each job that fit ---  A copy of a job holds its N GPUs from start to
# end; copies start one after another on the same GPUs; any N GPUs of a machine are as good as any
# other N.


def copies(
    table: OptionTable, seconds: Array, gpus: Sequence[int], window: float
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return how many copies of each of J jobs fit on each of M machines, if it had the machine
    alone.

    Args:
        seconds: time of one copy, (J, O): expected, or a quantile.
        gpus: number of GPUs of each machine.
        window: seconds.

    Returns:
        The option with the most copies that fit (the cheapest of several), (J, M), and their
            number; 0 if the machine may not run the job or none fits, (J, M).
    """
    options, counts = [], []
    for part, have in zip(table.slices, gpus, strict=True):
        # A third of a GPU is not a binary fraction.
        at_once = np.floor(have / table.held[part] * (1 + _TINY))
        runs = np.floor(window / seconds[:, part] * (1 + _TINY))
        fit = np.where(table.allowed[:, part], at_once * runs, 0.0)
        most = fit.max(axis=1)
        cost = np.where(fit == most[:, np.newaxis], table.cost[:, part], np.inf)
        options.append(part.start + np.argmin(cost, axis=1))
        counts.append(np.minimum(most, 2.0**62).astype(np.int64))
    return np.transpose(options), np.transpose(counts)


def copies_of(request: Request, table: OptionTable, window: float) -> JsonObject:
    """Return the copies of each job that would fit alone: expected, and with the plan's
    probability."""
    gpus = [machine.gpus for machine in request.machines]
    option, expected = copies(table, table.seconds, gpus, window)
    instances = all_instances(table.gpus).tolist()
    sure_option, sure = copies(table, table.quantile(request.probability), gpus, window)
    return {
        "window": window,
        "jobs": [
            {
                "job": job.name,
                "copies": int(expected[i].sum()),
                "copies_sure": int(sure[i].sum()),
                "machines": [
                    {
                        "machine": machine.name,
                        "gpus": math.ceil(table.gpus[option[i, m]]),
                        "instances": instances[option[i, m]],
                        "copies": int(expected[i, m]),
                        "gpus_sure": math.ceil(table.gpus[sure_option[i, m]]),
                        "instances_sure": instances[sure_option[i, m]],
                        "copies_sure": int(sure[i, m]),
                    }
                    for m, machine in enumerate(request.machines)
                ],
            }
            for i, job in enumerate(request.jobs)
        ],
    }


# The choice of an option for each job, the price of a deadline, and the probability of a choice.
#
# For probabilities, all options of a job are compared in each replicate. The replicates r of all
# machines' models form one state of the world. (Machines whose models come from one fit share its
# replicates, so that common errors cancel.) In each state, every option also deviates from the
# model by a draw of its own, as measured cells do (``between_cells``). The options of a job get
# independent draws; all jobs get the same ones, which does not affect statements about a single
# job.


@dataclass(frozen=True)
class Choices:
    """Options (positions in the table) chosen for J jobs; meaningless for jobs without any allowed
    option.

    Attributes:
        fastest: the option with the least expected time.
        cheapest: the option with the least expected cost.
        advised: the cheapest option that meets the deadline with the requested probability; the
            most probable one if none does; ``cheapest`` without a deadline.
        met: whether ``advised`` meets the deadline with that probability.
    """

    fastest: NDArray[np.intp]
    cheapest: NDArray[np.intp]
    advised: NDArray[np.intp]
    met: NDArray[np.bool_]


def choose(table: OptionTable, probability: float) -> Choices:
    """Choose options for every job."""
    seconds, cost = table.possible
    sure = np.where(table.meets >= probability, cost, np.inf)
    # The fastest among the options with the same probability of being in time.
    meets = np.where(table.allowed, table.meets, -1.0)
    likeliest = np.lexsort((seconds, -meets), axis=1)[:, 0]
    met = np.asarray(np.any(np.isfinite(sure), axis=1))
    return Choices(
        np.argmin(seconds, axis=1),
        np.argmin(cost, axis=1),
        np.where(met, np.argmin(sure, axis=1), likeliest),
        met,
    )


def fronts(table: OptionTable) -> list[NDArray[np.intp]]:
    """Return the Pareto front of each job in time and cost, fastest first.

    Among options of equal time and cost the first is kept.
    """
    seconds, cost = table.possible
    order = np.lexsort((cost, seconds), axis=1)
    sorted_cost = np.take_along_axis(cost, order, axis=1)
    least: Array = np.minimum.accumulate(sorted_cost, axis=1)
    cheaper = np.ones(order.shape, dtype=np.bool_)
    cheaper[:, 1:] = sorted_cost[:, 1:] < least[:, :-1]
    cheaper &= np.isfinite(sorted_cost)
    return [row[keep] for row, keep in zip(order, cheaper, strict=True)]


@dataclass(frozen=True)
class Comparison:
    """Results of B replicates for J jobs; inf if a machine may not run a job.

    Attributes:
        fastest, cheapest: the fastest and the cheapest option in each replicate, (B, J).
        least_seconds, least_cost: the least values on each machine, (B, J, M).
        wanted_seconds: times of the requested pairs of job and option, (B, pairs).
    """

    fastest: NDArray[np.intp]
    cheapest: NDArray[np.intp]
    least_seconds: Array
    least_cost: Array
    wanted_seconds: Array


def compare(table: OptionTable, wanted: NDArray[np.intp]) -> Comparison:
    """Compare all options in every replicate.

    ``wanted``: pairs of job and option whose times are also returned, (pairs, 2).
    """
    jobs, options = table.seconds.shape
    shape = (table.replicates, jobs)
    result = Comparison(
        np.empty(shape, dtype=np.intp),
        np.empty(shape, dtype=np.intp),
        np.empty((*shape, len(table.slices))),
        np.empty((*shape, len(table.slices))),
        np.empty((table.replicates, wanted.shape[0])),
    )
    barred = None if table.allowed.all() else ~table.allowed
    seconds = np.empty((jobs, options))
    narrow = table.size.shape[1] == 1
    distinct = narrow and np.array_equal(
        table.size[:, 0], np.arange(table.times[0].seconds.shape[0])
    )
    # A replicate at a time: its arrays stay in the processor's cache.
    for replicate in range(table.replicates):
        for part, times in zip(table.slices, table.times, strict=True):
            of_sizes = times.of_replicate(replicate)
            if not distinct:
                of_sizes = of_jobs(of_sizes, table.size if narrow else table.size[:, part])
            np.multiply(of_sizes, table.steps[:, part], out=seconds[:, part])
        seconds += table.setup
        result.wanted_seconds[replicate] = seconds[wanted[:, 0], wanted[:, 1]]
        if barred is not None:
            seconds[barred] = np.inf
        cost = table.cost_of(seconds)
        result.fastest[replicate] = np.argmin(seconds, axis=1)
        result.cheapest[replicate] = np.argmin(cost, axis=1)
        for m, part in enumerate(table.slices):
            result.least_seconds[replicate, :, m] = np.min(seconds[:, part], axis=1)
            result.least_cost[replicate, :, m] = np.min(cost[:, part], axis=1)
    return result
