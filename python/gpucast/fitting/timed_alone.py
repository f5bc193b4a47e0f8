"""Priors of step parameters from copies and launches that were timed alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpucast import _core
from gpucast.data import workload
from gpucast.data.records import Transfer
from gpucast.fitting.problem import Problem
from gpucast.model.intervals import Array

# Sds of ln of the ratio between parameters in steps and those timed alone.
_LAUNCH_SD, _QUEUE_SD, _LATENCY_SD, _THROUGHPUT_SD = 0.4, 0.7, 0.5, 0.7

# Queueing a GPU's copies takes the host about as long as this many launches.
_LAUNCHES_TO_QUEUE = 2.0

# Relative deviation of copy times from a straight line.
_OFF_LINE = 0.05

# The grid of logarithms of latencies and throughputs: its step, its extent in standard deviations
# of the prior, and its extent beyond the values that copies suggest.
_STEP, _REACH, _BEYOND = 0.04, 4.0, 1.0

_PLAUSIBLE_LATENCY, _PLAUSIBLE_THROUGHPUT = _core.TRANSFER_PRIORS


@dataclass(frozen=True)
class Belief:
    """The median of a positive quantity, and the standard deviation of its logarithm."""

    median: float
    sd: float

    def of_steps(self, apart: float) -> tuple[float, float]:
        """Return the prior for steps, whose parameters scatter by ``apart`` (sd) around those timed
        alone."""
        return self.median, float(np.hypot(self.sd, apart))


def known(problem: Problem) -> dict[str, tuple[float, float]]:
    """Return prior medians of step parameters, and standard deviations of their logarithms."""
    priors: dict[str, tuple[float, float]] = {}
    if problem.launches:
        launches = [np.median(record.seconds) / record.count for record in problem.launches]
        launch = float(np.median(launches))
        priors["t_kernel"] = (launch, _LAUNCH_SD)
        priors["t_queue"] = (_LAUNCHES_TO_QUEUE * launch, _QUEUE_SD)
    for route, transfers in problem.transfers.items():
        latency, throughput = line(transfers, *_range_of_bytes(problem, route))
        priors[f"L_{route}"] = latency.of_steps(_LATENCY_SD)
        priors[f"B_{route}"] = throughput.of_steps(_THROUGHPUT_SD)
    return priors


def line(transfers: Sequence[Transfer], least: float, most: float) -> tuple[Belief, Belief]:
    """Return latency (s) and throughput (B/s) of a straight line through the times of ``least`` and
    ``most`` bytes, the smallest and largest copies of a program.

    A prior for all GPUs covers what these times do not determine: copies of a gigabyte tell almost
    nothing about latency, and those of a few bytes nothing about throughput.
    """
    times_by_size: dict[float, list[float]] = defaultdict(list)
    for transfer in transfers:
        times_by_size[transfer.bytes].append(float(np.median(transfer.seconds)))
    sizes = np.array(sorted(times_by_size))
    times = np.array([np.median(times_by_size[size]) for size in sizes])
    # The two sizes differ at least by a factor of 4, so that they determine a slope, and are within
    # the timed range.
    most = min(max(most, 4 * sizes[0]), sizes[-1])
    least = max(min(least, most / 4), sizes[0])
    sizes_seen = np.array([least, most])
    log_times = np.interp(np.log(sizes_seen), np.log(sizes), np.log(times))
    latency = _logarithms(_PLAUSIBLE_LATENCY, log_times)[:, None]
    throughput = _logarithms(_PLAUSIBLE_THROUGHPUT, np.log(sizes_seen) - log_times)
    cost = _cost(latency, _PLAUSIBLE_LATENCY) + _cost(throughput, _PLAUSIBLE_THROUGHPUT)
    for size, log_time in dict(zip(sizes_seen, log_times, strict=True)).items():
        off = np.logaddexp(latency, np.log(size) - throughput) - log_time
        cost += 0.5 * (off / _OFF_LINE) ** 2
    weights = np.exp(cost.min() - cost)
    return _belief(latency[:, 0], weights.sum(axis=1)), _belief(throughput, weights.sum(axis=0))


def _logarithms(plausible: tuple[float, float], seen: Array) -> Array:
    """Return the grid of logarithms, which covers the prior and the values ``seen``."""
    median, sd = plausible
    ends = [np.log(median) - _REACH * sd, np.log(median) + _REACH * sd, *seen]
    return np.arange(min(ends) - _BEYOND, max(ends) + _BEYOND, _STEP)


def _cost(logarithms: Array, plausible: tuple[float, float]) -> Array:
    median, sd = plausible
    return np.asarray(0.5 * ((logarithms - np.log(median)) / sd) ** 2)


def _belief(logarithms: Array, weights: Array) -> Belief:
    mean = np.average(logarithms, weights=weights)
    variance = np.average((logarithms - mean) ** 2, weights=weights)
    return Belief(float(np.exp(mean)), float(np.sqrt(variance)))


def _range_of_bytes(problem: Problem, route: str) -> tuple[float, float]:
    """Return the smallest and largest copy of a step on a route (bytes)."""
    work = workload.of(problem.workload)
    amount = {"h2d": work.to_gpu, "d2h": work.from_gpu}.get(route)
    moved = [
        amount(step.n, step.gpus) if amount else work.to_gpu(step.n, step.gpus) / step.gpus
        for step in problem.steps
    ]
    return min(moved), max(moved)
