"""Fits how much instances of a program slow one another down on one GPU.

The form is that of ``model/sharing.h``: b is the share of a step in which the GPU works if one
instance runs alone, s the relative time of turns, 1/q how much instances wait for one another, and
c and h are seconds per step that do not depend on its work. The log odds of b are linear in ln n,
since a larger system fills the GPU better. Importance sampling gives draws of all six parameters
from the measured cells, the GPU's utilization, and priors; they keep the uncertainty that two
instances leave.
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
"""Relative standard deviation of the form's own error."""


OTHER_THING = (0.15, 4.0, 1.0)
"""Probability that the utilization does not concern the resource for which instances wait (it may
be memory, copies, locks or files), and the two standard deviations in that case, which let measured
times decide."""

SLOPE = (0.3, 0.5)
"""Mean and sd of the slope of the log odds of b in ln n."""

SWITCHING = (0.05, 1.2)
"""Median of s, and sd of its logarithm."""


@dataclass(frozen=True)
class _Prior:
    """Priors of a way of sharing.

    Attributes:
        turning, crowding: medians of c and h, relative to the geometric mean of steps alone, and
            sds of their logarithms.
        busy: sds of the log odds of b around the utilization of whole runs: of the deviation that
            all sizes share, and of each size's own.
    """

    turning: tuple[float, float]
    crowding: tuple[float, float]
    busy: tuple[float, float]


_TURNS = _Prior((0.03, 2.0), (0.01, 1.5), (0.4, 0.25))
"""Processes that take turns on a GPU."""

_SERVICE = _Prior((0.003, 1.5), (0.05, 1.5), (0.5, 0.3))
"""Processes under the Multi-Process Service, which adds a process between them and the GPU."""

_LEAST_FILLED = 0.3
_FILLED = 0.6
"""The share of kernel time that counts if kernels of several instances run together undisturbed,
and if that is not known."""

_TOLD_APART = 0.03
"""Least difference of expected readings that is informative."""

_CORES = _Prior((0.003, 1.5), (0.01, 1.5), (0.4, 0.25))
"""Processes on processor cores, which switch in microseconds."""

ODDS_SD = 1.8
"""Prior sd of the log odds of b, with which b is nearly uniform from 0 to 1."""

# With at least this many samples, medians are of the middle of a run.
_PARTS = 5
_WHOLE = 0.75
_PRIOR_FREEDOM = 2.0
_VISIT_SD = 0.03
"""Prior sd of the logarithm of a visit's ratio."""

_NUMBERS = 6
_POINTS = 2**13
_ROUNDS = 6
_FREEDOM = 10.0
_WIDER = 1.5
_FROM_PRIOR = 0.2


@dataclass(frozen=True)
class _Cells:
    """Cells with several instances: n, instances at once, step time alone (s), ln of the ratio to
    it, its variance; and log odds of the utilization for sizes where it is known."""

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
        """Geometric mean of step times alone (s)."""
        return float(np.exp(np.mean(np.log(self.alone))))


def fit_sharing(model: Model, problem: Problem) -> list[Sharing] | None:
    """Fit a dataset's instances on one GPU: those that take turns, and those under the
    Multi-Process Service; None if there are none.

    Args:
        model: the model of one instance, for sizes that were not measured with one alone.
        problem: the problem that was fitted.
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
    """Return the common step time (s) with which its instances would be as fast together.

    Means are used, because steps that wait for a time slice are few and long.
    """
    instances = step.instances or 1
    count, rest = divmod(len(step.seconds), instances)
    if rest:
        return float(np.mean(step.seconds))
    seconds_of_instances = np.mean(np.reshape(step.seconds, (instances, count)), axis=1)
    return float(instances / np.sum(1 / seconds_of_instances))


def _effective(step: Step) -> float | None:
    """Return the number of instances that ran at the same time; None: not known."""
    instances = float(step.instances or 1)
    if step.at_once is None:
        return instances
    at_once = min(step.at_once, instances)
    if at_once < _WHOLE * instances:
        return None
    # Medians of samples are not affected by instances that ended early, but a mean over the run is.
    return instances if len(step.seconds) >= _PARTS * instances else max(1.0, at_once)


def _cells(
    model: Model, alone: list[Step], shared: list[Step], *, mps: bool
) -> tuple[_Cells, float]:
    """Return medians over visits, and the sd of ln of a visit's ratio.

    A visit's ratio is relative to the visit of one instance alone that was measured next to it.
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
        # If the time of one instance alone is a forecast, the model's error is added.
        base_variance = 0.0 if one[n] else model.noise.between_cells**2 + _VISIT_SD**2
        spread = base_variance + variance / logs.size + MISFIT**2
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
    """Return the GPU's utilization with several instances, by n and their number."""
    read: dict[tuple[float, int], list[float]] = defaultdict(list)
    for step in shared:
        if step.busy is not None:
            read[step.n, step.instances or 1].append(step.busy)
    return {cell: float(np.median(shares)) for cell, shares in read.items()}


def _filled(alone: float, together: list[tuple[int, float, float]]) -> float:
    """Return the share of an instance's kernel time that keeps other kernels from running.

    The driver reports the share of time in which any kernel ran. Kernels that do not disturb each
    other overlap by chance, so that this share is 1 - (1 - u)^k; for kernels that run one after
    another, it is k u. Readings lie in between.

    Args:
        alone: share of time in which kernels of one instance run.
        together: tuples of instances, T_k / T_1, and the measured share.
    """
    shares = []
    for instances, ratio, read in together:
        own = alone / ratio
        independent, serial = 1 - (1 - own) ** instances, min(1.0, instances * own)
        if serial - independent > _TOLD_APART:
            shares.append(float(np.clip((read - independent) / (serial - independent), 0, 1)))
    return _LEAST_FILLED + (1 - _LEAST_FILLED) * float(np.mean(shares)) if shares else _FILLED


def _alone(model: Model, visits: dict[int, float], step: Step) -> float:
    """Return ln T of one instance alone: in the same visit, else over all visits, else by the
    model."""
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
    """Return log odds of b, their slope, s, 1/q, c and h (s) for standard normal deviates, (draws,
    6)."""
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
    """Return each draw's log likelihood, up to a constant. Student's t allows for disturbed
    cells."""
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
    """Return the normal log density, up to a constant, of deviations of sizes, (draws, sizes), with
    a part that all sizes share."""
    count = off.shape[1]
    mean = off.mean(axis=1)
    mean_variance = common**2 + own**2 / count
    within = np.sum((off - mean[:, np.newaxis]) ** 2, axis=1) / own**2
    log_scale = 0.5 * np.log(mean_variance) + (count - 1) * np.log(own)
    return np.asarray(-0.5 * (mean**2 / mean_variance + within) - log_scale, dtype=np.float64)


def _posterior(cells: _Cells) -> Array:
    """Return equally probable draws of the deviates, (DRAWS, 6).

    They come from importance sampling with a normal distribution that is fitted to the previous
    round's draws, mixed with the prior so that no part of it is missed.
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
    """Return the median share of a step of one instance alone in which the GPU works."""
    along = np.log(n / sharing.reference)
    return float(np.median(expit(np.array(sharing.busy) + np.array(sharing.slope) * along)))
