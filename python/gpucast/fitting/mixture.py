"""Fits our own programs by parts: weighs forms of T_gpu, T_cpu and T_com, and fits the deviations
of times from them (fit/include/gpucast/fit/components).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpucast import _core
from gpucast.data import workload
from gpucast.data.records import Step, Transfer
from gpucast.data.steps import medians_of
from gpucast.errors import InputError
from gpucast.fitting.candidates import PAPER, Candidate, Curves, straight, terms_of
from gpucast.fitting.problem import KERNELS_ALONE, Problem
from gpucast.fitting.sample_variance import sample_variances
from gpucast.fitting.synchronous import terms_left
from gpucast.model.averaged_parts import STEPS_ALONE
from gpucast.model.content import Tried
from gpucast.model.intervals import Array
from gpucast.model.mixtures import MixtureForm, PartsMixture, TimedVisits, VisitedCells
from gpucast.model.values import Terms
from gpucast.util.remarks import Kind, remark

# Least relative variance: clocks are no finer, and single samples scatter at least by this.
_LEAST_VARIANCE = 1e-6

# Resolution (s) and relative error of the clocks of phases.
_CPU_CLOCK, _CPU_RELATIVE = 1e-7, 0.01
_KERNEL_CLOCK, _KERNEL_RELATIVE = 2e-6, 0.003

# Log odds of terms that a path's launches contradict (fitting/synchronous.py).
_AGAINST_HIDING, _AGAINST_TURNS = -4.0, -8.0

# Log odds of turns if no launches were timed: calls wait for answers on one path in ten. Steps of
# one GPU count do not tell.
_RARE_TURNS = -2.2
_TURNS = "star-async-turns"

# Schedules in which the host only launches.
_NO_HOST_WORK = ("allgather",)

# Transfers and launches do not describe the steps if they reduce the evidence by this log factor
# (1000).
_REFUTED = 6.9

# Number of samples of a record for the search of k.
_SAMPLES_FOR_K = 9

# Forms with at least this share of the largest weight count as equally plausible.
_ABOUT_AS_PLAUSIBLE = 0.5

# Least number of cells for forecasts of held-out ones.
_FEWEST_CELLS = 3


@dataclass(frozen=True)
class Choice:
    """The choice among forms of our own programs.

    Attributes:
        form: the simplest of the most plausible forms, or the named one; its parameters are
            estimated.
        name: name of the form.
        tried: the weighed forms and the paper's, with their errors in held-out cells.
        fitted, mixture: the mixture for forecasts, and its content of a model file; None: the form
            alone.
        gpus_error, n_error: median held-out error of the cells with the most GPUs, and of those
            with the largest n; None if too few cells remain.
        steps_alone: whether transfers and launches are left out because they do not describe the
            steps.
    """

    form: Candidate
    name: str
    tried: list[Tried]
    fitted: _core.Components | None = None
    mixture: PartsMixture | None = None
    gpus_error: float | None = None
    n_error: float | None = None
    steps_alone: bool = False


def by_evidence(problem: Problem, breakpoints: Curves) -> Choice:
    """Fit the possible forms, and weigh them.

    Args:
        breakpoints: breakpoints of each measured route's transfer curve, for the estimated form.

    Raises:
        InputError: no form can be fitted.
    """
    paper = _paper(problem)
    tried = forms(problem, paper)
    fitted, steps_alone = fit_plausible(problem, tried)
    if steps_alone:
        problem.remarks.append(remark(Kind.DATA, STEPS_ALONE))
        problem, breakpoints = problem.steps_alone(), ()
    weighed = [
        Tried(model=Candidate(*core.terms).name, cv_error=_left_out(fitted, i), weight=weight)
        for i, (core, weight, *_) in enumerate(fitted.components)
    ]
    if paper is not None and all(tried_model.model != paper.name for tried_model in weighed):
        alone = fit_mixture(problem, [paper])
        weighed.append(Tried(model=paper.name, cv_error=_left_out(alone, 0), weight=0.0))
    plain = _plainest(fitted)
    form = Candidate(*plain.terms)
    if not form.is_paper:
        form = Candidate(*plain.terms, breakpoints)
    return Choice(
        form=form,
        name=Candidate(*plain.terms).name,
        fitted=fitted,
        mixture=content(fitted, visits_of(problem), steps_alone),
        tried=weighed,
        gpus_error=_held_out(problem, tried, "gpus"),
        n_error=_held_out(problem, tried, "n"),
        steps_alone=steps_alone,
    )


def _paper(problem: Problem) -> Candidate | None:
    """Return the paper's form with the k that fits the steps best; None if it is not usable."""
    paper = Candidate(*PAPER, straight(problem))
    why_not = paper.usable(problem)
    if why_not is not None:
        problem.notes.append(f"not tried: {why_not}")
        return None
    core = paper.model(problem)
    observations = problem.steps_alone().observations(most_samples=_SAMPLES_FOR_K)
    fitted = _core.fit(core, observations, _core.default_integers(core, problem.largest_k))
    return replace(paper, integer=fitted.model.integer)


def _plainest(fitted: _core.Components) -> _core.Model:
    """Return the form with the fewest parameters among the most plausible ones: if the data do not
    distinguish forms, they do not determine the parameters of the richer ones."""
    largest = fitted.components[0][1]
    plausible = [
        component[0]
        for component in fitted.components
        if component[1] >= _ABOUT_AS_PLAUSIBLE * largest
    ]
    return min(plausible, key=lambda core: len(core.parameters))


def _left_out(fitted: _core.Components, at: int) -> float:
    """Return the mean relative error of cells, each forecast by all others."""
    return float(np.mean(np.abs(np.expm1(-fitted.left_out(at)))))


def _held_out(problem: Problem, tried: Sequence[Candidate], field: str) -> float | None:
    """Return the median relative error of the cells with the largest value of a field, forecast by
    a fit to the others; None if the others have a single value or too few cells."""
    values = sorted({getattr(step, field) for step in problem.steps})
    rest = [step for step in problem.steps if getattr(step, field) < values[-1]]
    cells = {(step.n, step.gpus) for step in rest}
    if len(values) < 3 or len(cells) < _FEWEST_CELLS:
        return None
    fitted = fit_mixture(replace(problem, steps=rest), tried)
    left_out = medians_of(step for step in problem.steps if getattr(step, field) == values[-1])
    n, gpus = (np.array(column, dtype=np.float64) for column in zip(*left_out, strict=True))
    zero = np.zeros(n.size)
    forecast = fitted.forecast(n, gpus, np.ones(n.size), zero, zero)[0]
    return float(np.median(np.abs(forecast / np.array(list(left_out.values())) - 1)))


def fit_plausible(problem: Problem, tried: Sequence[Candidate]) -> tuple[_core.Components, bool]:
    """Fit the mixture over ``tried`` with transfers and launches, or without them if that makes the
    steps far more plausible; return it and whether it is without.

    The plausibility of steps is their evidence under the leading form. Held-out errors of single
    cells would not do: the Gaussian processes follow the other cells and compensate for any form.

    Raises:
        InputError: no form can be fitted.
    """
    fitted = fit_mixture(problem, tried)
    if not problem.transfers and not problem.launches:
        return fitted, False
    alone = fit_mixture(problem.steps_alone(), tried)
    steps_alone = alone.log_evidence(0) - fitted.log_evidence(0) > _REFUTED
    return (alone if steps_alone else fitted), steps_alone


def fit_mixture(problem: Problem, tried: Sequence[Candidate]) -> _core.Components:
    """Fit the mixture over ``tried``.

    Raises:
        InputError: no form can be fitted.
    """
    priors = known_alone(problem)
    left = terms_left(problem.schedule or PAPER[2], problem.waits)
    candidates = []
    for candidate in tried:
        core = candidate.model(problem)
        names = {name for name, _, _ in core.parameters}
        known = {name: prior for name, prior in priors.items() if name in names}
        candidates.append((core, _log_odds(candidate.com, left, problem.waits), known))
    try:
        return _core.fit_components(*visits_of(problem).columns(), candidates)
    except ValueError as error:
        raise InputError(str(error), file=problem.dataset.name) from error


def forms(problem: Problem, paper: Candidate | None) -> list[Candidate]:
    """Return the forms of a mixture for our own programs, ordered by GPU term. ``paper`` is the
    paper's form with the best structural integer, None if it is not usable.
    """
    schedule = problem.schedule or PAPER[2]
    coms = terms_of(schedule)
    tried = {"always"} if problem.workload is None else {"always", "decomposed"}
    gpus = [term.name for term in _core.GPU_TERMS.values() if term.tried in tried]
    if paper is not None:
        gpus.append(paper.gpu)
    # The richest comes first: the search for settings starts from the result for the first form.
    hosts = sorted(_core.CPU_TERMS.values(), key=lambda term: -len(term.parameters))
    cpus = [term.name for term in hosts if term.tried == "always"]
    if schedule in _NO_HOST_WORK:
        cpus = ["none"]
    integers = {} if paper is None else {paper.gpu: paper.integer}
    all_candidates = [
        Candidate(gpu, cpu, com, integer=integers.get(gpu))
        for gpu in gpus
        for com in coms
        for cpu in cpus
    ]
    why_not = {candidate: candidate.usable(problem) for candidate in all_candidates}
    problem.notes += [f"not tried: {why}" for why in dict.fromkeys(why_not.values()) if why]
    return [candidate for candidate, why in why_not.items() if why is None]


def visits_of(problem: Problem) -> VisitedCells:
    """Return the steps of a problem; each record is a visit of its cell."""
    at: dict[tuple[float, int], int] = {}
    kernels: dict[int, list[float]] = defaultdict(list)
    visits = TimedVisits(cell=[], seconds=[], variance=[], cpu=[], cpu_variance=[])
    variances = _variances(problem.steps)
    for step, variance in zip(problem.steps, variances.tolist(), strict=True):
        cell = at.setdefault((step.n, step.gpus), len(at))
        cpu, cpu_variance = None, 0.0
        if step.phases is not None:
            # A form without host work does not describe the host's clock.
            host = _positive(step.phases.cpu) if problem.schedule not in _NO_HOST_WORK else []
            if host:
                cpu = float(np.median(host))
                cpu_variance = _CPU_RELATIVE**2 + (_CPU_CLOCK / cpu) ** 2
            if problem.schedule in KERNELS_ALONE:
                kernels[cell] += [float(np.median(k)) for k in [_positive(step.phases.kernel)] if k]
        visits.cell.append(cell)
        visits.seconds.append(float(np.median(step.seconds)))
        visits.variance.append(variance)
        visits.cpu.append(cpu)
        visits.cpu_variance.append(cpu_variance)
    kernel = [float(np.median(kernels[i])) if kernels[i] else None for i in range(len(at))]
    return VisitedCells(
        n=[n for n, _ in at],
        gpus=[gpus for _, gpus in at],
        kernel=kernel,
        kernel_variance=[
            0.0 if seconds is None else _KERNEL_RELATIVE**2 + (_KERNEL_CLOCK / seconds) ** 2
            for seconds in kernel
        ],
        visits=visits,
    )


def content(
    fitted: _core.Components, visits: VisitedCells, steps_alone: bool = False
) -> PartsMixture:
    """Return the content of a model file for a mixture; ``steps_alone`` as in ``Choice``."""
    forms = []
    for core, weight, *columns in fitted.components:
        z, median, sd, amplitudes, step, cpu, kernel = (column.tolist() for column in columns)
        gpu_term, cpu_term, com_term = core.terms
        forms.append(
            MixtureForm(
                terms=Terms(gpu=gpu_term, cpu=cpu_term, com=com_term),
                integer=core.integer if core.integer_name else None,
                weight=weight,
                z=z,
                median=median,
                sd=sd,
                amplitudes=amplitudes,
                step=step,
                cpu=cpu,
                kernel=kernel,
            )
        )
    return PartsMixture(**vars(visits), forms=forms, steps_alone=steps_alone)


def _variances(steps: Sequence[Step]) -> Array:
    """Return variances of ln of records' medians, by the scatter of their samples and by
    rounding."""
    sample_variance = sample_variances([step.seconds for step in steps], _LEAST_VARIANCE)
    median_variance = sample_variance * [_core.median_variance(len(step.seconds)) for step in steps]
    rounding = np.array([(step.uncertainty or 0.0) ** 2 / 3 for step in steps])
    return np.asarray(np.maximum(_LEAST_VARIANCE, median_variance) + rounding, dtype=np.float64)


def _positive(samples: Sequence[float] | None) -> list[float]:
    return [seconds for seconds in samples or () if seconds > 0]


def _log_odds(com: str, left: Sequence[str], waits: bool | None) -> float:
    """Return the log odds of a communication term; ``left``: terms that agree with the path's
    launches."""
    if com not in left:
        return _AGAINST_TURNS if com == _TURNS else _AGAINST_HIDING
    return _RARE_TURNS if com == _TURNS and waits is None else 0.0


# Priors of step parameters from copies and launches that were timed alone.

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


def known_alone(problem: Problem) -> dict[str, tuple[float, float]]:
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
