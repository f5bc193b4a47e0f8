"""Chooses and fits a schedule's communication term from skeletons of its steps.

A skeleton makes the transfers of a step, in the same order and under the same conditions, around
kernels that only keep each GPU busy. It thus tells which communication term describes a path, and
its parameters, without steps of a program.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.data.records import Skeleton
from gpucast.fitting.candidates import Candidate, Curves
from gpucast.fitting.fit import SAMPLES_TO_CHOOSE, find_breakpoints
from gpucast.fitting.problem import MOST_SAMPLES, Problem
from gpucast.fitting.synchronous import terms_left
from gpucast.model.adjustments import OtherPath
from gpucast.model.content import Noise
from gpucast.model.other_path import moved_alone
from gpucast.model.residual_process import USUAL, learnt_amplitudes
from gpucast.paths.path_facts import PathFacts
from gpucast.util.remarks import Kind, remark

Array = NDArray[np.float64]

_FOLDS = 5

# Relative held-out errors below this count as equal: measured times are no more accurate.
_NOISE_FLOOR = 0.003

# Logarithms of held-out errors that differ by less count as equal even if the difference is
# significant: a term that nests another one forecasts every cell a little differently.
_SAME_ERROR = 0.01

# With fewer cells the standard error is itself uncertain and is increased by half.
_FEW_CELLS = 12


def communication(problem: Problem, terms: Candidate, seed: int) -> tuple[Candidate, _core.Fit]:
    """Choose the communication term that forecasts held-out skeletons best, and fit it to all.

    Args:
        problem: has skeletons, and transfers, which show breakpoints of the curves.
        terms: the model's GPU and CPU terms, about which skeletons tell nothing.

    Returns:
        The choice and the fit, in which parameters of the GPU and CPU term are arbitrary.
    """
    tried = _candidates(problem, terms)
    errors = [_held_out(problem, candidate, seed) for candidate in tried]
    chosen = _choose(problem, tried, errors)
    model = chosen.model(problem)
    observations = problem.skeleton_observations(problem.skeletons, MOST_SAMPLES)
    fitted = _core.fit(model, observations, [model.integer])
    return chosen, fitted


def _candidates(problem: Problem, terms: Candidate) -> list[Candidate]:
    bends = _within_skeletons(find_breakpoints(problem), problem.skeletons)
    candidates = []
    for com in terms_left(problem.schedule or terms.com, problem.waits):
        needed = _core.COM_TERMS[com].routes
        for curves in (tuple((route, ()) for route in needed), bends):
            kept = tuple((route, points) for route, points in curves if route in needed)
            candidates.append(terms.with_communication(com, kept))
    return list(dict.fromkeys(candidates))


def _choose(problem: Problem, tried: Sequence[Candidate], errors: Sequence[Array]) -> Candidate:
    """Return the simplest candidate whose held-out error is within one standard error of the least,
    or almost equal to it.

    Logarithms of errors are compared cell by cell, so that cells which all candidates forecast
    badly do not dominate.
    """
    factors = [np.log(error + _NOISE_FLOOR) for error in errors]
    means = [float(np.mean(factor)) for factor in factors]
    finite = [i for i, mean in enumerate(means) if np.isfinite(mean)]
    if not finite:
        problem.remarks.append(
            remark(Kind.CHOICE, "too few skeletons to choose by; took the first usable term")
        )
        return tried[0]
    best = min(finite, key=lambda i: means[i])

    def close(i: int) -> bool:
        difference = factors[i] - factors[best]
        spread = float(np.std(difference, ddof=1)) if difference.size > 1 else 0.0
        error = spread / np.sqrt(difference.size) * (1.5 if difference.size < _FEW_CELLS else 1)
        return bool(np.mean(difference) <= max(_SAME_ERROR, error))

    simplest = min(
        (i for i in finite if i == best or close(i)),
        key=lambda i: (tried[i].complexity(problem), means[i]),
    )
    return tried[simplest]


def _within_skeletons(bends: Curves, skeletons: Sequence[Skeleton]) -> Curves:
    """Return the breakpoints below the largest copies of the skeletons: a piece beyond has no
    observation and an arbitrary throughput."""
    largest = {
        "h2d": max(skeleton.h2d_bytes for skeleton in skeletons),
        "d2h": max(skeleton.d2h_bytes for skeleton in skeletons),
    }
    return tuple(
        (route, tuple(point for point in points if point < largest.get(route, np.inf)))
        for route, points in bends
    )


def _held_out(problem: Problem, candidate: Candidate, seed: int) -> Array:
    """Return the relative error of each skeleton's median, forecast by fits without it."""
    skeletons = problem.skeletons
    fold = np.random.default_rng(seed).permutation(len(skeletons)) % _FOLDS
    errors = np.empty(len(skeletons))
    model = candidate.model(problem)
    for held in range(min(_FOLDS, len(skeletons))):
        training = [s for s, f in zip(skeletons, fold, strict=True) if f != held]
        observations = problem.skeleton_observations(training, SAMPLES_TO_CHOOSE)
        fitted = _core.fit(model, observations, [model.integer])
        out = np.flatnonzero(fold == held)
        errors[out] = relative_errors(fitted, problem, [skeletons[i] for i in out])
    return errors


def relative_errors(fit: _core.Fit, problem: Problem, skeletons: Sequence[Skeleton]) -> Array:
    """Return the relative errors of the fitted times of skeletons against their medians."""
    n, gpus, busy = (
        np.array(column, dtype=np.float64)
        for column in zip(*map(problem.skeleton_cell, skeletons), strict=True)
    )
    fitted = fit.model.skeleton_seconds(np.asarray(fit.values), n, gpus, busy)
    measured = np.array([np.median(skeleton.seconds) for skeleton in skeletons])
    return np.asarray(np.abs(fitted / measured - 1), dtype=np.float64)


# Uncertainty of another path's communication, known from skeletons or from transfers and
# launches.

# Errors on a host and path that were not in the study, as sds of ln: of S around the value from
# skeletons or from transfers and launches, beyond its Gaussian process; and of the host's own work
# around that on the first path. Whole hosts scatter by 0.08, 0.10 and 0.10, groups of steps within
# a host by another 0.07, 0.19 and 0.13; the constants include Student's t for the small number of
# hosts (lab/studies/what_if.py estimates them, leaving out each host in turn).
BEYOND = {"skeletons": 0.11, "transfers": 0.20}
HOST = 0.17
# Additional sd of ln S if launches were not timed, but kept from the first path, or scaled as
# latencies.
_LAUNCH_UNKNOWN = {"measured": 0.0, "keep": 0.5, "scale": 0.25}

# Prior of the sd of ln S from visit to visit, and its weight in repeated skeletons.
_VISIT, _WORTH = 0.08, 4.0

# Standard deviation over median absolute deviation of a normal distribution.
_MAD = 1.4826

# Sd of ln of the time that a skeleton's kernels took, around the time that was requested.
_BUSY_SD = 0.003

# A ratio of measured to fitted communication below this is unusable.
_LEAST = 0.1


def known_by_skeletons(
    fit: _core.Fit, problem: Problem, noise: Noise, facts: PathFacts
) -> OtherPath:
    """Return what skeletons tell about a path: how much their communication deviates from the form
    fitted to them, by cell, and how much it varies from visit to visit.

    Args:
        fit: the fit to the problem's skeletons.
        noise: the noise of the model whose GPU and CPU terms are kept.
        facts: facts about the path.
    """
    cells = list(map(problem.skeleton_cell, problem.skeletons))
    n, gpus, busy = (np.array(column, dtype=np.float64) for column in zip(*cells, strict=True))
    measured = np.array([np.median(skeleton.seconds) for skeleton in problem.skeletons])
    values = np.asarray(fit.values)
    fitted = fit.model.skeleton_seconds(values, n, gpus, busy)
    moved = moved_alone(fit.model, values, n, gpus)
    ratio = 1 + (measured - fitted) / moved
    usable = ratio > _LEAST
    log_ratio = np.log(np.where(usable, ratio, 1.0))
    busy_variance = (_BUSY_SD * busy / moved) ** 2
    visit = _visit(list(zip(n, gpus, busy, strict=True)), log_ratio, busy_variance, usable)
    variance = visit**2 + busy_variance
    rows = []
    for cell in sorted(set(zip(n, gpus, busy, strict=True))):
        same = (n == cell[0]) & (gpus == cell[1]) & (busy == cell[2]) & usable
        if same.any():
            weight = 1 / variance[same]
            rows.append((*cell, weight @ log_ratio[same] / weight.sum(), 1 / weight.sum()))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 5).T
    along_n, along_gpus = learnt_amplitudes(*columns) if rows else (USUAL, USUAL)
    cell_n, cell_gpus, wait, deviation, noise_variance = columns.tolist()
    return _known(
        noise,
        facts,
        n=cell_n,
        gpus=[int(count) for count in cell_gpus],
        wait=wait,
        deviation=deviation,
        variance=noise_variance,
        along_n=along_n,
        along_gpus=along_gpus,
        # All steps of one occasion share the variation of skeletons from visit to visit.
        beyond=float(np.hypot(BEYOND["skeletons"], max(0.0, visit**2 - _VISIT**2) ** 0.5)),
        known_gpus=int(gpus.max()),
    )


def known_by_transfers(launch: str, noise: Noise, facts: PathFacts) -> OtherPath:
    """Return what transfers tell about a path, with launches according to ``Launch``."""
    beyond = float(np.hypot(BEYOND["transfers"], _LAUNCH_UNKNOWN[launch]))
    return _known(noise, facts, along_n=USUAL, along_gpus=USUAL, beyond=beyond, known_gpus=1)


def _known(noise: Noise, facts: PathFacts, **known: Any) -> OtherPath:
    messages = facts.forwarded and facts.transport != "shm"
    return OtherPath(
        **known,
        host=HOST,
        computing=noise.between_cells,
        visit=_VISIT,
        sleeps=facts.sleeps,
        most_inline=float(facts.inline_bytes) if messages else None,
    )


def _visit(
    cells: list[tuple[float, float, float]],
    log_ratio: Array,
    busy_variance: Array,
    usable: NDArray[np.bool_],
) -> float:
    """Return the sd of ln S from visit to visit, from skeletons that were measured several
    times."""
    repeated = defaultdict(list)
    for i, cell in enumerate(cells):
        # If GPU time dominates, a skeleton tells little about communication.
        if usable[i] and busy_variance[i] < _VISIT**2:
            repeated[cell].append(log_ratio[i])
    apart = [
        np.array(log_ratios) - np.median(log_ratios)
        for log_ratios in repeated.values()
        if len(log_ratios) > 1
    ]
    freedom = sum(log_ratios.size - 1 for log_ratios in apart)
    if not freedom:
        return _VISIT
    # The median ignores disturbances of single skeletons, which are not noise of visits.
    sd = _MAD * float(np.median(np.abs(np.concatenate(apart))))
    return float(np.sqrt((_WORTH * _VISIT**2 + freedom * sd**2) / (_WORTH + freedom)))
