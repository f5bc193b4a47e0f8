"""Forecast curves as points that are dense enough for interpolation.

A page cannot evaluate the model, whose formulas are not implemented a second time. Where a curve is
smooth, few points suffice; where it jumps (a ceil in the GPU term), both sides of the jump are
points, one particle apart.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpucast.model.asked import SAME_SIZE, grain_of, rounded
from gpucast.model.fitted import Model
from gpucast.model.forecasts import Forecasts
from gpucast.model.intervals import Interval

Array = NDArray[np.float64]

TOLERANCE = 0.001
"""Largest error of log time between points: ``refined`` and ``thinned`` may use half each."""

MOST_POINTS = 20_000
"""Most points of a curve; one that jumps very often is interpolated less accurately."""

_PROBES = (0.25, 0.5, 0.75)
_DRAWS = 4000
# Scaling forms do not jump, and take longer to evaluate.
_DRAWS_OF_SMOOTH = 250
# All curves together are checked at as many places as this number of curves.
_CURVES = 8
_TRIALS = 8


@dataclass(frozen=True)
class Curve:
    """Forecasts of one GPU count at the n between which a page interpolates.

    Attributes:
        gpus: the GPU count.
        forecasts: forecasts in the order of n.
    """

    gpus: int
    forecasts: Forecasts


def curve(model: Model, gpus: int, sizes: Array, interval: Interval = Interval.now) -> Curve:
    """Return the curve of a GPU count, whose points include all ``sizes`` (ascending).

    Raises:
        InputError: the model cannot forecast this many GPUs.
    """
    log_time = _log_time(model, gpus)
    n = refined(log_time, sizes, _draws_of(model), jumps=model.own_program)
    n = thinned(n, log_time(n), sizes)
    return Curve(gpus, model.forecasts(n, np.full(n.size, float(gpus)), interval))


def largest_error(model: Model, drawn: Sequence[Curve]) -> float:
    """Return the largest relative error of interpolated times, at random n not used by ``refined``.

    If there are more curves than ``_CURVES``, each is checked at fewer n.
    """
    draws = math.ceil(_draws_of(model) * min(1.0, _CURVES / len(drawn)))
    errors = [
        _missed(
            _log_time(model, curve.gpus),
            curve.forecasts.n,
            np.log(curve.forecasts.seconds),
            _TRIALS,
            draws,
        )[1]
        for curve in drawn
    ]
    return float(np.expm1(np.max(np.concatenate(errors), initial=0.0)))


def refined(
    log_time: Callable[[Array], Array], sizes: Array, draws: int = _DRAWS, *, jumps: bool = True
) -> Array:
    """Return sizes, including the given ones, between which log-log interpolation is accurate.

    Segments are probed at three places and split there until all probes agree or no size lies
    between their ends, so that ends converge to a jump. Three probes can miss several jumps within
    a segment, so random places are tried as well until none fails. If nothing ``jumps``, these
    suffice.
    """
    points = np.unique(sizes)
    grain = grain_of(*points)
    if jumps:
        points = _split(log_time, points, points[:-1], grain)
    for seed in range(_TRIALS):
        at, error = _missed(log_time, points, log_time(points), seed, draws)
        wrong = at[error > TOLERANCE]
        if not wrong.size or points.size >= MOST_POINTS:
            break
        before = points[np.searchsorted(points, wrong) - 1]
        points = _split(log_time, np.union1d(points, wrong), np.union1d(before, wrong), grain)
    return points


def _split(log_time: Callable[[Array], Array], points: Array, low: Array, grain: float) -> Array:
    """Return ``points`` with those that the segments beginning at ``low`` need in between."""
    high = points[np.searchsorted(points, low) + 1]
    while low.size and points.size < MOST_POINTS:
        left, right = log_time(low), log_time(high)
        worst = np.zeros(low.size)
        probes = []
        for share in _PROBES:
            at = np.clip(rounded(low ** (1 - share) * high**share, grain), low, high)
            weight = np.log(at / low) / np.log(high / low)
            error = np.abs(log_time(at) - (1 - weight) * left - weight * right)
            worst = np.maximum(worst, error)
            probes.append(at)
        nothing_between = high - low <= np.maximum(1.01 * grain, SAME_SIZE * high)
        split = (worst > TOLERANCE / 2) & ~nothing_between
        ends = np.vstack([low, *probes, high])[:, split]
        low, high = ends[:-1].ravel(), ends[1:].ravel()
        low, high = low[high > low], high[high > low]
        points = np.union1d(points, ends)
    return points


def _missed(
    log_time: Callable[[Array], Array], n: Array, known: Array, seed: int, draws: int
) -> tuple[Array, Array]:
    """Return random sizes, and the error of interpolated log time at each."""
    drawn = np.random.default_rng(seed).uniform(np.log(n[0]), np.log(n[-1]), draws)
    at = np.unique(rounded(np.exp(drawn), grain_of(n[0], n[-1])))
    at = at[(at >= n[0]) & (at <= n[-1])]
    return at, np.abs(np.interp(np.log(at), np.log(n), known) - log_time(at))


def thinned(n: Array, log_time: Array, kept: Array) -> Array:
    """Return a subset of the points ``n`` from which the others can be interpolated, with ``kept``.

    The method is Ramer-Douglas-Peucker on log time over log n, with vertical distances.
    """
    x = np.log(n)
    keep = np.isin(n, kept)
    keep[[0, -1]] = True
    ends = np.flatnonzero(keep)
    open_ = list(itertools.pairwise(ends))
    while open_:
        first, last = open_.pop()
        if last - first < 2:
            continue
        inside = slice(first + 1, last)
        slope = (log_time[last] - log_time[first]) / (x[last] - x[first])
        off = np.abs(log_time[inside] - log_time[first] - slope * (x[inside] - x[first]))
        at = first + 1 + int(np.argmax(off))
        if off.max() > TOLERANCE / 2:
            keep[at] = True
            open_ += [(first, at), (at, last)]
    return n[keep]


def _draws_of(model: Model) -> int:
    return _DRAWS if model.own_program else _DRAWS_OF_SMOOTH


def _log_time(model: Model, gpus: int) -> Callable[[Array], Array]:
    """Return log time as a function of n with a cache, since several forms take long."""
    known: dict[float, float] = {}

    def log_time(n: Array) -> Array:
        new = np.array([size for size in np.unique(n).tolist() if size not in known])
        if new.size:
            seconds = model.seconds(new, np.full(new.size, float(gpus)))
            known.update(zip(new.tolist(), np.log(seconds).tolist(), strict=True))
        return np.array([known[size] for size in n.tolist()])

    return log_time
