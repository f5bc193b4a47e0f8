"""Chooses and fits a schedule's communication term from skeletons of its steps.

A skeleton makes the transfers of a step, in the same order and under the same conditions, around
kernels that only keep each GPU busy. It thus tells which communication term describes a path, and
its parameters, without steps of a program.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.data.records import Skeleton
from gpucast.fitting.candidates import Candidate, Curves
from gpucast.fitting.fit import SAMPLES_TO_CHOOSE, find_breakpoints
from gpucast.fitting.problem import MOST_SAMPLES, Problem
from gpucast.fitting.synchronous import terms_left
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
