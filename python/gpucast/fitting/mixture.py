"""Fit our own programs by parts: which forms of T_gpu, T_cpu and T_com are plausible, and how far
times are from them (fit/include/gpucast/fit/components)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpucast import _core
from gpucast.data import workload
from gpucast.data.records import Step, Transfer
from gpucast.errors import InputError
from gpucast.fitting.candidates import Candidate
from gpucast.fitting.problem import KERNELS_ALONE, Problem
from gpucast.fitting.synchronous import waits_for_calls
from gpucast.model.content import MixtureForm, PartsMixture, Terms, TimedVisits
from gpucast.model.forecaster import Array

# Relative; a clock reads no finer, and single samples scatter by no less.
_LEAST_VARIANCE = 1e-6

# Phases are timed by a clock that reads so finely (s), or to so much (relative).
_CPU_CLOCK, _CPU_RELATIVE = 1e-7, 0.01
_KERNEL_CLOCK, _KERNEL_RELATIVE = 2e-6, 0.003

# A robust standard deviation, of normally distributed samples, from their median absolute deviation.
_OF_MAD = 1.4826

# How far what steps pay is from what was timed alone: standard deviations of logarithms.
_LAUNCH_SD, _QUEUE_SD, _LATENCY_SD, _THROUGHPUT_SD = 0.4, 0.7, 0.5, 0.7

# Queueing a GPU's copies costs the host as much as so many launches.
_LAUNCHES_TO_QUEUE = 2.0

# Log odds of terms that a path's launches speak against (fitting/synchronous.py).
_AGAINST_WAITING, _AGAINST_TURNS = -4.0, -8.0
_WAITING = ("star-serial", "star-async-turns")
_TURNS = "star-async-turns"

# Terms that another one says, too, with a further parameter.
_NESTED = ("star-async",)

# Schedules in which the host only launches.
_NO_HOST_WORK = ("allgather",)

GPU_TERMS = ("occupancy", "work")
"""Formulas of T_gpu that are tried where steps visit all pairs; the paper's is, too."""

CPU_TERMS = ("bent", "linear")


def fit_mixture(problem: Problem, tried: Sequence[Candidate]) -> _core.Components:
    """The mixture over ``tried``; those whose facts are not known are left out.

    Raises:
        InputError: none can be fitted.
    """
    rows = visits_of(problem)
    priors = _priors(problem)
    waits = waits_for_calls(problem.launches_both_ways)
    candidates = []
    for each in tried:
        core = each.model(problem)
        names = {name for name, _, _ in core.parameters}
        known = {name: prior for name, prior in priors.items() if name in names}
        candidates.append((core, _log_odds(each.com, waits), known))
    try:
        return _core.fit_components(*rows.columns(), candidates)
    except ValueError as error:
        raise InputError(str(error), file=problem.dataset.name) from error


def forms(problem: Problem, paper: Candidate | None) -> list[Candidate]:
    """Forms of our own programs that a mixture is over: GPU terms first, each with the fullest
    communication term that the schedule has.

    ``paper``: with the structural integer that fits best; None where it cannot be had.
    """
    schedule = problem.schedule or "star-serial"
    coms = [com.name for com in _core.COM_TERMS.values() if com.schedule == schedule]
    coms = [com for com in coms if com not in _NESTED]
    gpus = list(GPU_TERMS)
    if problem.workload is not None:
        gpus += [term.name for term in _core.GPU_TERMS.values() if term.tried == "decomposed"]
    if paper is not None:
        gpus.append(paper.gpu)
    cpus = ("none",) if schedule in _NO_HOST_WORK else CPU_TERMS
    integer = None if paper is None else paper.integer
    found = [
        Candidate(gpu, cpu, com, integer=integer if paper is not None and gpu == paper.gpu else None)
        for gpu in gpus
        for com in coms
        for cpu in cpus
    ]
    return [each for each in found if each.usable(problem) is None]


@dataclass(frozen=True)
class Visits:
    """What was measured, for the core: a row a cell, and a row a visit.

    Attributes:
        n, gpus: of each cell.
        kernel, kernel_variance: seconds of its kernel alone (NaN: not timed), and variance of the
            logarithm.
        visits: columns cell, seconds of the step, variance of its logarithm, the same of the host's
            part (NaN: not timed).
    """

    n: Array
    gpus: Array
    kernel: Array
    kernel_variance: Array
    visits: Array

    def columns(self) -> tuple[Array, Array, Array, Array, Array]:
        """In the core's order."""
        return self.n, self.gpus, self.kernel, self.kernel_variance, self.visits


def visits_of(problem: Problem) -> Visits:
    """Steps of a problem: a record is a visit of its cell."""
    at: dict[tuple[float, int], int] = {}
    kernels: dict[int, list[float]] = defaultdict(list)
    rows = []
    for step in problem.steps:
        cell = at.setdefault((step.n, step.gpus), len(at))
        cpu, cpu_variance = np.nan, 0.0
        if step.phases is not None:
            host = _positive(step.phases.cpu)
            if host:
                cpu = float(np.median(host))
                cpu_variance = _CPU_RELATIVE**2 + (_CPU_CLOCK / cpu) ** 2
            if problem.schedule in KERNELS_ALONE:
                kernels[cell] += [float(np.median(k)) for k in [_positive(step.phases.kernel)] if k]
        rows.append((cell, np.median(step.seconds), _variance(step), cpu, cpu_variance))
    kernel = np.array(
        [np.median(kernels[i]) if kernels[i] else np.nan for i in range(len(at))], dtype=np.float64
    )
    variance = _KERNEL_RELATIVE**2 + (_KERNEL_CLOCK / kernel) ** 2
    return Visits(
        n=np.array([n for n, _ in at], dtype=np.float64),
        gpus=np.array([gpus for _, gpus in at], dtype=np.float64),
        kernel=kernel,
        kernel_variance=np.where(np.isnan(kernel), 0.0, variance),
        visits=np.array(rows, dtype=np.float64),
    )


def content(found: _core.Components, of: Visits) -> PartsMixture:
    """What a model file holds of a mixture."""
    forms = [
        MixtureForm(
            terms=Terms(gpu=core.terms[0], cpu=core.terms[1], com=core.terms[2]),
            integer=core.integer if core.integer_name else None,
            weight=weight,
            z=z.tolist(),
            median=median.tolist(),
            sd=sd.tolist(),
            amplitudes=amplitudes.tolist(),
            step=step.tolist(),
            cpu=cpu.tolist(),
            kernel=kernel.tolist(),
        )
        for core, weight, z, median, sd, amplitudes, step, cpu, kernel in found.components
    ]
    return PartsMixture(
        n=of.n.tolist(),
        gpus=of.gpus.astype(int).tolist(),
        kernel=[None if np.isnan(each) else each for each in of.kernel.tolist()],
        kernel_variance=of.kernel_variance.tolist(),
        visits=TimedVisits(
            cell=of.visits[:, 0].astype(int).tolist(),
            seconds=of.visits[:, 1].tolist(),
            variance=of.visits[:, 2].tolist(),
            cpu=[None if np.isnan(each) else each for each in of.visits[:, 3].tolist()],
            cpu_variance=of.visits[:, 4].tolist(),
        ),
        forms=forms,
    )


def _variance(step: Step) -> float:
    """Of the logarithm of a record's median, by its samples' scatter and their rounding."""
    rounding = (step.uncertainty or 0.0) ** 2 / 3
    if len(step.seconds) < 2:
        return _LEAST_VARIANCE + rounding
    logs = np.log(step.seconds)
    sd = _OF_MAD * float(np.median(np.abs(logs - np.median(logs))))
    return max(_LEAST_VARIANCE, sd**2 * _core.median_variance(len(step.seconds))) + rounding


def _positive(samples: Sequence[float] | None) -> list[float]:
    return [seconds for seconds in samples or () if seconds > 0]


def _log_odds(com: str, waits: bool | None) -> float:
    if waits and com not in _WAITING and _core.COM_TERMS[com].schedule.startswith("star"):
        return _AGAINST_WAITING
    return _AGAINST_TURNS if com == _TURNS and not waits else 0.0


def _priors(problem: Problem) -> dict[str, tuple[float, float]]:
    """What launches and transfers say of parameters of steps: median, and the logarithm's standard
    deviation."""
    known: dict[str, tuple[float, float]] = {}
    if problem.launches:
        launch = float(np.median([np.median(each.seconds) / each.count for each in problem.launches]))
        known["t_kernel"] = (launch, _LAUNCH_SD)
        known["t_queue"] = (_LAUNCHES_TO_QUEUE * launch, _QUEUE_SD)
    for route, transfers in problem.transfers.items():
        latency, throughput = _line(transfers, *_range_of_bytes(problem, route))
        known[f"L_{route}"] = (latency, _LATENCY_SD)
        known[f"B_{route}"] = (throughput, _THROUGHPUT_SD)
    return known


def _range_of_bytes(problem: Problem, route: str) -> tuple[float, float]:
    """The least and the most that a copy of a step moves on a route."""
    work = workload.of(problem.workload)
    amount = {"h2d": work.to_gpu, "d2h": work.from_gpu}.get(route)
    moved = [
        amount(step.n, step.gpus) if amount else work.to_gpu(step.n, step.gpus) / step.gpus
        for step in problem.steps
    ]
    return min(moved), max(moved)


def _line(transfers: Sequence[Transfer], least: float, most: float) -> tuple[float, float]:
    """Latency (s) and throughput (B/s) of a straight line through the times of ``least`` and of
    ``most`` bytes: what small copies and what large ones of a program pay."""
    of_size: dict[float, list[float]] = defaultdict(list)
    for each in transfers:
        of_size[each.bytes].append(float(np.median(each.seconds)))
    sizes = np.array(sorted(of_size))
    times = np.array([np.median(of_size[size]) for size in sizes])

    def time(size: float) -> float:
        return float(np.exp(np.interp(np.log(size), np.log(sizes), np.log(times))))

    # At least a factor of 4 apart, so that a slope is there to be seen; within what was timed.
    most = min(max(most, 4 * sizes[0]), sizes[-1])
    least = max(min(least, most / 4), sizes[0])
    if most <= least:
        return float(times[0]), float(sizes[-1] / times[-1])
    # Where times scatter by more than they grow, a fifth of the larger is laid to its bytes.
    slope = max((time(most) - time(least)) / (most - least), 0.2 * time(most) / most)
    return max(time(least) - slope * least, 0.2 * time(least)), 1 / slope
