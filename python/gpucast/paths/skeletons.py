"""The communication of a schedule, from skeletons of its steps.

A skeleton moves what a step moves, in the order and under the conditions of a step, around kernels
that only keep each GPU busy. Which communication term describes a path, and with which parameters,
can be told from them without a program's steps.
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

# Relative; held-out errors below it count as equal, as measured times are known no better.
_NOISE_FLOOR = 0.003

# Held-out errors that differ by less than this factor (in the logarithm) count as equal, however
# sure the difference is: a term that nests another one forecasts a little differently in every
# cell.
_SAME_ERROR = 0.01

# With fewer cells a standard error is uncertain itself, and is taken half as large again.
_FEW_CELLS = 12


def communication(problem: Problem, terms: Candidate, seed: int) -> tuple[Candidate, _core.Fit]:
    """The communication term that forecasts skeletons left out best, fitted to all of them.

    Args:
        problem: with skeletons, and with transfers, which say where curves bend.
        terms: whose GPU and CPU term the model has; skeletons say nothing about them.

    Returns:
        the choice and the fit; parameters of the GPU and CPU term are arbitrary.
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
    """The simplest candidate whose held-out error is within one standard error of the least, or
    next to it.

    Errors are compared as logarithms, cell by cell: by what factor a candidate is better counts the
    same in cells that all forecast well and in those that none does, and a few of the latter do not
    blur the choice.
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
    """Breakpoints below the largest copies of skeletons: a piece beyond them has no observation, so
    its throughput would be arbitrary."""
    largest = {
        "h2d": max(skeleton.h2d_bytes for skeleton in skeletons),
        "d2h": max(skeleton.d2h_bytes for skeleton in skeletons),
    }
    return tuple(
        (route, tuple(point for point in points if point < largest.get(route, np.inf)))
        for route, points in bends
    )


def _held_out(problem: Problem, candidate: Candidate, seed: int) -> Array:
    """Relative errors of each skeleton's median, forecast by fits without it."""
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
    """How far fitted times of skeletons are from their medians, relative."""
    n, gpus, busy = (
        np.array(column, dtype=np.float64)
        for column in zip(*map(problem.skeleton_cell, skeletons), strict=True)
    )
    fitted = fit.model.skeleton_seconds(np.asarray(fit.values), n, gpus, busy)
    measured = np.array([np.median(skeleton.seconds) for skeleton in skeletons])
    return np.asarray(np.abs(fitted / measured - 1), dtype=np.float64)
