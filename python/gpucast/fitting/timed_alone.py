"""What copies and launches that were timed alone say of parameters of steps."""

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

# How far what steps pay is from what was timed alone: standard deviations of logarithms.
_LAUNCH_SD, _QUEUE_SD, _LATENCY_SD, _THROUGHPUT_SD = 0.4, 0.7, 0.5, 0.7

# Queueing a GPU's copies takes the host as long as this many launches.
_LAUNCHES_TO_QUEUE = 2.0

# How far the time of a copy is from a straight line, relative.
_OFF_LINE = 0.05

# The grid of logarithms of latencies and throughputs: its step, how many standard deviations of the
# prior it spans, and how far it reaches beyond the values that copies show.
_STEP, _REACH, _BEYOND = 0.04, 4.0, 1.0

_PLAUSIBLE_LATENCY, _PLAUSIBLE_THROUGHPUT = _core.TRANSFER_PRIORS


@dataclass(frozen=True)
class Belief:
    """The median of a positive quantity, and the standard deviation of its logarithm."""

    median: float
    sd: float

    def of_steps(self, apart: float) -> tuple[float, float]:
        """The belief about steps, whose times are ``apart`` (sd) from those timed alone."""
        return self.median, float(np.hypot(self.sd, apart))


def known(problem: Problem) -> dict[str, tuple[float, float]]:
    """Medians of parameters of steps, and standard deviations of their logarithms."""
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
    """Latency (s) and throughput (B/s) of a straight line through the times of ``least`` and of
    ``most`` bytes: what small copies and what large ones of a program pay.

    What these times leave open stays as plausible as it is of any GPU: copies of a gigabyte say
    next to nothing of a latency, and those of a few bytes nothing of a throughput.
    """
    of_size: dict[float, list[float]] = defaultdict(list)
    for transfer in transfers:
        of_size[transfer.bytes].append(float(np.median(transfer.seconds)))
    sizes = np.array(sorted(of_size))
    times = np.array([np.median(of_size[size]) for size in sizes])
    # At least a factor of 4 apart, so that a slope is there to be seen; within what was timed.
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
    """Those to look at: what is plausible, and what is ``seen``."""
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
    """The least and the most that a copy of a step moves on a route."""
    work = workload.of(problem.workload)
    amount = {"h2d": work.to_gpu, "d2h": work.from_gpu}.get(route)
    moved = [
        amount(step.n, step.gpus) if amount else work.to_gpu(step.n, step.gpus) / step.gpus
        for step in problem.steps
    ]
    return min(moved), max(moved)
