"""What instances of a program on one GPU cost one another, from cells with one and with several.

The form is that of ``model/sharing.h``: b, the share of a step alone in which the GPU works, s,
what turns cost, and 1/q, how far instances wait for one another. The log odds of b are a line in
ln n: a larger system fills the GPU better. Cells that were measured, how busy the GPU was, and what
is known of such numbers beforehand together give draws of all four by importance sampling; what two
instances leave open stays open in them.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri
from scipy.stats import multivariate_normal, qmc

from gpucast.data.records import Step
from gpucast.fitting.problem import Problem
from gpucast.model.content import Sharing
from gpucast.model.forecaster import Array, Forecaster
from gpucast.model.sharing import ratios

DRAWS = 400

MISFIT = 0.03
"""The form is off by so much (relative, sd), whatever the numbers."""

BUSY_SD = (0.4, 0.25)
"""Of the log odds of a share that was read while programs ran, start and end included: of what all
sizes have in common, and of each."""

OTHER_THING = (0.15, 4.0, 1.0)
"""Probability that what was read is not what instances wait for (they may wait for memory, copies,
locks, files), and both standard deviations then: measured times decide."""

SLOPE = (0.3, 0.5)
"""Mean and sd of what ln n adds to the log odds of b."""

SWITCHING = (0.05, 1.2)
"""Median of s, and sd of its logarithm."""

ODDS_SD = 1.8
"""Of the log odds of b before anything is known: nearly even from 0 to 1."""

# A program that was timed in parts is known for what it does in the middle of its run.
_PARTS = 5
_WHOLE = 0.75
_PRIOR_FREEDOM = 2.0
_VISIT_SD = 0.03
"""Of ln of a visit's ratio, where there is one visit only."""

_POINTS = 2**13
_ROUNDS = 4
_FREEDOM = 10.0
_WIDER = 1.5
_FROM_PRIOR = 0.2


@dataclass(frozen=True)
class _Cells:
    """Cells with several instances: n, instances at once, ln of the ratio to one alone, its
    variance; and of sizes whose use is known the log odds."""

    n: Array
    instances: Array
    log_ratio: Array
    variance: Array
    busy_n: Array
    busy_odds: Array
    reference: float


def fit_sharing(model: Forecaster, problem: Problem) -> list[Sharing] | None:
    """What a dataset says of instances on one GPU: of such that take turns, and of such under the
    Multi-Process Service; None where it has none.

    Args:
        model: of steps of one instance, for sizes that were not measured with one alone.
        problem: what was fitted; its warnings get what was left out.
    """
    chosen = problem.selection
    steps = [step for step in problem.dataset.shared_steps if chosen.admits(step)]
    kept = [step for step in steps if step.gpus == 1 and _effective(step) is not None]
    if len(kept) < len(steps):
        model.warnings.append(
            f"{len(steps) - len(kept)} of {len(steps)} records of instances on one GPU left out: "
            "too few of them ran at the same time"
        )
    alone = [step for step in problem.steps if step.gpus == 1]
    found = []
    for mps in (False, True):
        shared = [step for step in kept if bool(step.mps) == mps]
        if shared:
            cells, scatter = _cells(model, alone, shared, mps=mps)
            found.append(_fitted(cells, scatter, mps=mps))
    return found or None


def seconds_of(step: Step) -> float:
    """The step time of its instances: together they are as fast as if each took it (s)."""
    instances = step.instances or 1
    count, rest = divmod(len(step.seconds), instances)
    if rest:
        return float(np.median(step.seconds))
    each = np.median(np.reshape(step.seconds, (instances, count)), axis=1)
    return float(instances / np.sum(1 / each))


def _effective(step: Step) -> float | None:
    """How many instances its times are of; None: nobody can say."""
    instances = float(step.instances or 1)
    if step.at_once is None:
        return instances
    at_once = min(step.at_once, instances)
    if at_once < _WHOLE * instances:
        return None
    # Medians of parts do not see that some instances ended sooner; a mean over the run does.
    return instances if len(step.seconds) >= _PARTS * instances else max(1.0, at_once)


def _cells(
    model: Forecaster, alone: list[Step], shared: list[Step], *, mps: bool
) -> tuple[_Cells, float]:
    """Medians over visits, and the sd of a visit's ln of the ratio.

    Of a visit the ratio is to the same visit of one alone, which was measured next to it.
    """
    one: dict[float, dict[int, float]] = defaultdict(dict)
    busy: dict[float, list[float]] = defaultdict(list)
    for i, step in enumerate(alone):
        one[step.n][-i if step.visit is None else step.visit.number] = np.log(seconds_of(step))
        # Under the service kernels of several run together: being busy does not mean being full.
        if step.busy is not None and not mps:
            busy[step.n].append(step.busy)
    several: dict[tuple[float, int], list[tuple[float, float]]] = defaultdict(list)
    for step in shared:
        effective = _effective(step)
        assert effective is not None  # others were left out
        base = _alone(model, one[step.n], step)
        several[step.n, step.instances or 1].append((effective, np.log(seconds_of(step)) - base))
    visits = [np.array([log for _, log in each]) for each in several.values()]
    square = sum(float(np.sum((each - np.mean(each)) ** 2)) for each in visits)
    freedom = sum(each.size - 1 for each in visits)
    prior = _PRIOR_FREEDOM * _VISIT_SD**2
    variance = (square + prior) / (freedom + _PRIOR_FREEDOM)
    rows = []
    for (n, _), each in several.items():
        at_once, logs = np.array(each).T
        # Of a time of one alone that is forecast nobody knows more than the model.
        of_base = 0.0 if one[n] else model.noise.between_cells**2 + _VISIT_SD**2
        spread = of_base + variance / logs.size + MISFIT**2
        rows.append((n, float(np.mean(at_once)), float(np.median(logs)), spread))
    n, instances, ratio, spread = np.array(rows).T
    known = {size: float(np.clip(np.median(each), 0.005, 0.995)) for size, each in busy.items()}
    return (
        _Cells(
            n=n,
            instances=instances,
            log_ratio=ratio,
            variance=spread,
            busy_n=np.array(list(known), dtype=np.float64),
            busy_odds=np.asarray(logit(np.array(list(known.values()), dtype=np.float64))),
            reference=float(np.exp(np.mean(np.log(np.unique(n))))),
        ),
        float(np.hypot(np.sqrt(variance), MISFIT)),
    )


def _alone(model: Forecaster, visits: dict[int, float], step: Step) -> float:
    """ln T of one instance alone: in the same visit, else in all, else as the model has it."""
    number = None if step.visit is None else step.visit.number
    if number in visits:
        return visits[number]
    if visits:
        return float(np.median(list(visits.values())))
    return float(np.log(model.seconds(np.array([step.n]), np.ones(1))[0]))


def _fitted(cells: _Cells, scatter: float, *, mps: bool) -> Sharing:
    draws = _posterior(cells)
    odds, slope, switching, waiting = _natural(draws)
    return Sharing(
        mps=mps,
        reference=cells.reference,
        n=cells.n.tolist(),
        instances=cells.instances.tolist(),
        ratio=np.exp(cells.log_ratio).tolist(),
        scatter=scatter,
        busy=odds.tolist(),
        slope=slope.tolist(),
        switching=switching.tolist(),
        waiting=waiting.tolist(),
    )


def _natural(deviates: Array) -> tuple[Array, Array, Array, Array]:
    """Log odds of b, their slope, s and 1/q of standard normal deviates, (draws, 4)."""
    from scipy.special import ndtr

    odds = np.clip(ODDS_SD * deviates[:, 0], -30, 30)
    slope = SLOPE[0] + SLOPE[1] * deviates[:, 1]
    switching = SWITCHING[0] * np.exp(np.clip(SWITCHING[1] * deviates[:, 2], -10, 10))
    return odds, slope, switching, np.asarray(ndtr(deviates[:, 3]))


def _log_likelihood(cells: _Cells, deviates: Array) -> Array:
    """Of each draw; up to a constant. Student's t: now and then a cell is disturbed."""
    odds, slope, switching, waiting = _natural(deviates)
    found = ratios(cells.n, cells.instances, cells.reference, odds, slope, switching, waiting)
    off = (np.log(found) - cells.log_ratio) ** 2 / cells.variance
    log = -(_FREEDOM + 1) / 2 * np.log1p(off / _FREEDOM).sum(axis=1)
    if cells.busy_n.size:
        along = np.log(cells.busy_n / cells.reference)
        off = cells.busy_odds - odds[:, np.newaxis] - slope[:, np.newaxis] * along
        doubt, *wide = OTHER_THING
        log = log + np.logaddexp(
            np.log1p(-doubt) + _log_density(off, *BUSY_SD), np.log(doubt) + _log_density(off, *wide)
        )
    return np.asarray(log, dtype=np.float64)


def _log_density(off: Array, common: float, each: float) -> Array:
    """Of deviations of sizes, (draws, sizes), normal with a part that all have in common; up to a
    constant."""
    count = off.shape[1]
    mean = off.mean(axis=1)
    of_mean = common**2 + each**2 / count
    within = np.sum((off - mean[:, np.newaxis]) ** 2, axis=1) / each**2
    log_scale = 0.5 * np.log(of_mean) + (count - 1) * np.log(each)
    return np.asarray(-0.5 * (mean**2 / of_mean + within) - log_scale, dtype=np.float64)


def _posterior(cells: _Cells) -> Array:
    """Draws of the deviates, all alike probable, (DRAWS, 4).

    Importance sampling from a normal distribution that is fitted to the draws of the round before,
    mixed with the prior so that no part of it is missed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        points = qmc.Sobol(5, seed=1).random(_POINTS)
    normal = ndtri(np.clip(points[:, :4], 1e-9, 1 - 1e-9))
    prior = multivariate_normal(np.zeros(4), np.eye(4))
    draws, log_density = normal, prior.logpdf(normal)
    weights = np.empty(0)
    for _ in range(_ROUNDS):
        log = _log_likelihood(cells, draws) + prior.logpdf(draws) - log_density
        weights = np.exp(log - log.max())
        weights /= weights.sum()
        mean = weights @ draws
        covariance = _WIDER * np.cov(draws.T, aweights=weights) + 1e-4 * np.eye(4)
        before = draws, weights
        fitted = multivariate_normal(mean, covariance)
        own = points[:, 4] < _FROM_PRIOR
        moved = mean + normal @ np.linalg.cholesky(covariance).T
        draws = np.where(own[:, np.newaxis], normal, moved)
        log_density = np.logaddexp(
            np.log(_FROM_PRIOR) + prior.logpdf(draws),
            np.log1p(-_FROM_PRIOR) + fitted.logpdf(draws),
        )
    draws, weights = before
    at = np.searchsorted(np.cumsum(weights), (np.arange(DRAWS) + 0.5) / DRAWS)
    return np.asarray(draws[np.minimum(at, draws.shape[0] - 1)], dtype=np.float64)


def busy_share(sharing: Sharing, n: float) -> float:
    """Median share of a step alone in which the GPU works."""
    along = np.log(n / sharing.reference)
    return float(np.median(expit(np.array(sharing.busy) + np.array(sharing.slope) * along)))
