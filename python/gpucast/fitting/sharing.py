"""How much instances of a program on one GPU slow one another down, from cells of one and several.

The form is that of ``model/sharing.h``: b, the share of a step alone in which the GPU works, s,
the time of turns in proportion to it, 1/q, how far instances wait for one another, and c and h,
seconds a step whatever its work. The log odds of b are a line in ln n: a larger system fills the
GPU better. Cells that were measured, how busy the GPU was, and what is known of such numbers
beforehand together give draws of all six by importance sampling; what two instances leave open
stays open in them.
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
from gpucast.model.adjustments import Sharing
from gpucast.model.fitted import Model
from gpucast.model.intervals import Array
from gpucast.model.sharing import ratios
from gpucast.util.remarks import Kind, remark

DRAWS = 400

MISFIT = 0.05
"""Relative standard deviation of the form's own error, whatever the numbers."""


OTHER_THING = (0.15, 4.0, 1.0)
"""Probability that what was read is not what instances wait for (they may wait for memory, copies,
locks, files), and both standard deviations then: measured times decide."""

SLOPE = (0.3, 0.5)
"""Mean and sd of the slope of the log odds of b in ln n."""

SWITCHING = (0.05, 1.2)
"""Median of s, and sd of its logarithm."""


@dataclass(frozen=True)
class _Prior:
    """What is known of a way of sharing before it is measured.

    Attributes:
        turning, crowding: medians of c and h, relative to the geometric mean of steps alone, and
            sds of their logarithms.
        busy: sds of the log odds of b about those that were read while programs ran, start and end
            included: of what all sizes have in common, and of each.
    """

    turning: tuple[float, float]
    crowding: tuple[float, float]
    busy: tuple[float, float]


_TURNS = _Prior((0.03, 2.0), (0.01, 1.5), (0.4, 0.25))
"""Processes on a GPU: it is one's or another's."""

_SERVICE = _Prior((0.003, 1.5), (0.05, 1.5), (0.5, 0.3))
"""Under the Multi-Process Service: requests go through one more process."""

_LEAST_FILLED = 0.3
_FILLED = 0.6
"""The share of the kernels' time that counts where several instances' kernels run together as if
each were alone, and where nobody knows."""

_TOLD_APART = 0.03
"""Readings that differ by less tell nothing."""

_CORES = _Prior((0.003, 1.5), (0.01, 1.5), (0.4, 0.25))
"""Processor cores: they change programs in microseconds."""

ODDS_SD = 1.8
"""Sd of the log odds of b before anything is known: b is nearly even from 0 to 1."""

# A program that was timed in parts is known for what it does in the middle of its run.
_PARTS = 5
_WHOLE = 0.75
_PRIOR_FREEDOM = 2.0
_VISIT_SD = 0.03
"""Sd of the logarithm of a visit's ratio, where there is one visit only."""

_NUMBERS = 6
_POINTS = 2**13
_ROUNDS = 6
_FREEDOM = 10.0
_WIDER = 1.5
_FROM_PRIOR = 0.2


@dataclass(frozen=True)
class _Cells:
    """Cells with several instances: n, instances at once, a step alone (s), ln of the ratio to it,
    its variance; and of sizes whose use is known the log odds."""

    n: Array
    instances: Array
    alone: Array
    log_ratio: Array
    variance: Array
    busy_n: Array
    busy_odds: Array
    reference: float
    prior: _Prior

    @property
    def typical(self) -> float:
        """A step alone (s), geometric mean."""
        return float(np.exp(np.mean(np.log(self.alone))))


def fit_sharing(model: Model, problem: Problem) -> list[Sharing] | None:
    """What a dataset says of instances on one GPU: of such that take turns, and of such under the
    Multi-Process Service; None where it has none.

    Args:
        model: of steps of one instance, for sizes that were not measured with one alone.
        problem: what was fitted.
    """
    chosen = problem.selection
    steps = [step for step in problem.dataset.shared_steps if chosen.admits(step)]
    kept = [step for step in steps if step.gpus == 1 and _effective(step) is not None]
    if len(kept) < len(steps):
        model.remarks.append(
            remark(
                Kind.LEFT_OUT,
                f"{len(steps) - len(kept)} of {len(steps)} records of instances on one GPU left "
                "out: too few of them ran at the same time",
            )
        )
    alone = [step for step in problem.steps if step.gpus == 1]
    modes = []
    for mps in (False, True):
        shared = [step for step in kept if bool(step.mps) == mps]
        if shared:
            cells, scatter = _cells(model, alone, shared, mps=mps)
            modes.append(_fitted(cells, scatter, mps=mps))
    return modes or None


def seconds_of(step: Step) -> float:
    """The step time of its instances: together they are as fast as if each took it (s).

    By means: steps of those who wait for a slice of time are few and long.
    """
    instances = step.instances or 1
    count, rest = divmod(len(step.seconds), instances)
    if rest:
        return float(np.mean(step.seconds))
    seconds_of_instances = np.mean(np.reshape(step.seconds, (instances, count)), axis=1)
    return float(instances / np.sum(1 / seconds_of_instances))


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
    model: Model, alone: list[Step], shared: list[Step], *, mps: bool
) -> tuple[_Cells, float]:
    """Medians over visits, and the sd of a visit's ln of the ratio.

    A visit's ratio is to the same visit of one instance alone, which was measured next to it.
    """
    one: dict[float, dict[int, float]] = defaultdict(dict)
    busy: dict[float, list[float]] = defaultdict(list)
    for i, step in enumerate(alone):
        one[step.n][-i if step.visit is None else step.visit.number] = np.log(seconds_of(step))
        if step.busy is not None:
            busy[step.n].append(step.busy)
    several: dict[tuple[float, int], list[tuple[float, float, float]]] = defaultdict(list)
    for step in shared:
        effective = _effective(step)
        assert effective is not None  # others were left out
        base = _alone(model, one[step.n], step)
        several[step.n, step.instances or 1].append(
            (effective, np.log(seconds_of(step)) - base, base)
        )
    visits = [
        np.array([log for _, log, _ in visits_of_cell]) for visits_of_cell in several.values()
    ]
    square = sum(float(np.sum((logs - np.mean(logs)) ** 2)) for logs in visits)
    freedom = sum(logs.size - 1 for logs in visits)
    prior = _PRIOR_FREEDOM * _VISIT_SD**2
    variance = (square + prior) / (freedom + _PRIOR_FREEDOM)
    rows = []
    ratio_of = {}
    for (n, k), visits_of_cell in several.items():
        at_once, logs, base = np.array(visits_of_cell).T
        ratio_of[n, k] = float(np.exp(np.median(logs)))
        # Where the time of one instance alone is forecast, its error is the model's.
        of_base = 0.0 if one[n] else model.noise.between_cells**2 + _VISIT_SD**2
        spread = of_base + variance / logs.size + MISFIT**2
        alone_seconds = float(np.exp(np.median(base)))
        rows.append((n, float(np.mean(at_once)), alone_seconds, float(np.median(logs)), spread))
    n, instances, seconds, ratio, spread = np.array(rows).T
    on_cores = all(step.path == "host" for step in shared)
    known = {size: float(np.median(shares)) for size, shares in busy.items()}
    if mps:
        read: dict[float, list[tuple[int, float, float]]] = defaultdict(list)
        for (size, k), value in _read_together(shared).items():
            read[size].append((k, ratio_of[size, k], value))
        known = {size: share * _filled(share, read[size]) for size, share in known.items()}
    known = {size: float(np.clip(share, 0.005, 0.995)) for size, share in known.items()}
    return (
        _Cells(
            n=n,
            instances=instances,
            alone=seconds,
            log_ratio=ratio,
            variance=spread,
            busy_n=np.array(list(known), dtype=np.float64),
            busy_odds=np.asarray(logit(np.array(list(known.values()), dtype=np.float64))),
            reference=float(np.exp(np.mean(np.log(np.unique(n))))),
            prior=_SERVICE if mps else _CORES if on_cores else _TURNS,
        ),
        float(np.hypot(np.sqrt(variance), MISFIT)),
    )


def _read_together(shared: list[Step]) -> dict[tuple[float, int], float]:
    """How busy the GPU was with several instances, by n and their number."""
    read: dict[tuple[float, int], list[float]] = defaultdict(list)
    for step in shared:
        if step.busy is not None:
            read[step.n, step.instances or 1].append(step.busy)
    return {cell: float(np.median(shares)) for cell, shares in read.items()}


def _filled(alone: float, together: list[tuple[int, float, float]]) -> float:
    """How much of the time in which kernels of one instance run keeps the others' from running.

    The driver tells in which share of time any kernel ran. Kernels that run together as if each
    were alone overlap by chance, and 1 - (1 - u)^k of the time one is there; those that wait for
    one another follow each other, and it is k u. What was read lies between.

    Args:
        alone: share of time in which kernels of one instance run.
        together: instances, T_k / T_1, and the share that was read.
    """
    told = []
    for instances, ratio, read in together:
        own = alone / ratio
        apart, after = 1 - (1 - own) ** instances, min(1.0, instances * own)
        if after - apart > _TOLD_APART:
            told.append(float(np.clip((read - apart) / (after - apart), 0, 1)))
    return _LEAST_FILLED + (1 - _LEAST_FILLED) * float(np.mean(told)) if told else _FILLED


def _alone(model: Model, visits: dict[int, float], step: Step) -> float:
    """ln T of one instance alone: in the same visit, else in all, else as the model has it."""
    number = None if step.visit is None else step.visit.number
    if number in visits:
        return visits[number]
    if visits:
        return float(np.median(list(visits.values())))
    return float(np.log(model.seconds(np.array([step.n]), np.ones(1))[0]))


def _fitted(cells: _Cells, scatter: float, *, mps: bool) -> Sharing:
    draws = _posterior(cells)
    odds, slope, switching, waiting, turning, crowding = _natural(cells, draws)
    return Sharing(
        mps=mps,
        reference=cells.reference,
        n=cells.n.tolist(),
        instances=cells.instances.tolist(),
        ratio=np.exp(cells.log_ratio).tolist(),
        scatter=scatter,
        read=cells.busy_n.size > 0,
        busy=odds.tolist(),
        slope=slope.tolist(),
        switching=switching.tolist(),
        waiting=waiting.tolist(),
        turning=turning.tolist(),
        crowding=crowding.tolist(),
    )


def _natural(cells: _Cells, deviates: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Log odds of b, their slope, s, 1/q, c and h (s) of standard normal deviates, (draws, 6)."""
    from scipy.special import ndtr

    def positive(median: float, sd: float, deviate: Array) -> Array:
        return np.asarray(median * np.exp(np.clip(sd * deviate, -10, 10)), dtype=np.float64)

    odds = np.clip(ODDS_SD * deviates[:, 0], -30, 30)
    slope = SLOPE[0] + SLOPE[1] * deviates[:, 1]
    switching = positive(*SWITCHING, deviates[:, 2])
    turning = cells.typical * positive(*cells.prior.turning, deviates[:, 4])
    crowding = cells.typical * positive(*cells.prior.crowding, deviates[:, 5])
    return odds, slope, switching, np.asarray(ndtr(deviates[:, 3])), turning, crowding


def _log_likelihood(cells: _Cells, deviates: Array) -> Array:
    """Log likelihood of each draw, up to a constant. Student's t: some cells are disturbed."""
    odds, slope, *others = _natural(cells, deviates)
    expected = ratios(cells.n, cells.instances, cells.alone, cells.reference, odds, slope, *others)
    off = (np.log(expected) - cells.log_ratio) ** 2 / cells.variance
    log = -(_FREEDOM + 1) / 2 * np.log1p(off / _FREEDOM).sum(axis=1)
    if cells.busy_n.size:
        along = np.log(cells.busy_n / cells.reference)
        off = cells.busy_odds - odds[:, np.newaxis] - slope[:, np.newaxis] * along
        doubt, *wide = OTHER_THING
        log = log + np.logaddexp(
            np.log1p(-doubt) + _log_density(off, *cells.prior.busy),
            np.log(doubt) + _log_density(off, *wide),
        )
    return np.asarray(log, dtype=np.float64)


def _log_density(off: Array, common: float, own: float) -> Array:
    """Log density, up to a constant, of deviations of sizes, (draws, sizes): normal, with a part
    that all sizes have in common."""
    count = off.shape[1]
    mean = off.mean(axis=1)
    of_mean = common**2 + own**2 / count
    within = np.sum((off - mean[:, np.newaxis]) ** 2, axis=1) / own**2
    log_scale = 0.5 * np.log(of_mean) + (count - 1) * np.log(own)
    return np.asarray(-0.5 * (mean**2 / of_mean + within) - log_scale, dtype=np.float64)


def _posterior(cells: _Cells) -> Array:
    """Draws of the deviates, all alike probable, (DRAWS, 6).

    Importance sampling from a normal distribution that is fitted to the draws of the round before,
    mixed with the prior so that no part of it is missed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        points = qmc.Sobol(_NUMBERS + 1, seed=1).random(_POINTS)
    normal = ndtri(np.clip(points[:, :_NUMBERS], 1e-9, 1 - 1e-9))
    prior = multivariate_normal(np.zeros(_NUMBERS), np.eye(_NUMBERS))
    draws, log_density = normal, prior.logpdf(normal)
    weights = np.empty(0)
    for _ in range(_ROUNDS):
        log = _log_likelihood(cells, draws) + prior.logpdf(draws) - log_density
        weights = np.exp(log - log.max())
        weights /= weights.sum()
        mean = weights @ draws
        covariance = _WIDER * np.cov(draws.T, aweights=weights) + 1e-4 * np.eye(_NUMBERS)
        before = draws, weights
        fitted = multivariate_normal(mean, covariance)
        own = points[:, _NUMBERS] < _FROM_PRIOR
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
