"""Which cell to measure next: the one that reduces the forecasts' uncertainty most per second.

Pure functions of numbers; nothing here measures, fits or reads. Two are meant for others:

    order(covariance, noise, seconds, budget=..., count=..., among=...) -> [(index, gain), ...]
        the next cells to measure, the best first, with what each tells per second
    choose(cells, count, ensemble_of, seconds=..., start=..., batch=...) -> [index, ...]
        the whole design over a grid that has been measured already: the cells that would have
        been measured. ``cells`` are (n, gpus); ``ensemble_of(chosen)`` fits the cells of these
        indices and returns the ``Ensemble`` of all cells, or None while no fit succeeds.
        ``gpucast.design.ensembles.choose_steps`` does this for a dataset.

Derivation. Let f be the vector of log step times of all cells, uncertain with covariance K after
what has been measured; a measurement of cell j adds noise of variance s_j^2, so that the evidence
about f grows by

    I_j = 1/2 log(1 + K_jj / s_j^2)                                               (nats)

Where f is linear in parameters with covariance P and gradients g_j, K_jj = g_j' P g_j, and by the
determinant lemma det(P^-1 + g_j g_j' / s_j^2) = det(P^-1) (1 + K_jj / s_j^2): the cell with the
largest I_j is the D-optimal one. Cells cost time: I_j / seconds_j is maximized. Measuring j leaves

    K - K_.j K_j. / (K_jj + s_j^2),

the rank-one update after which the next is chosen; neighbours of j have then lost their gain, and a
batch spreads. K has three parts, by the law of total covariance:

    C   covariance over the bootstrap replicates of the fitted model, each with its own structural
        integer: parameters, and k, that the data leave open
    D   covariance between the candidate models' forecasts, weighted by how plausible each is: cells
        where plausible models disagree tell them apart
    M   what no model says: the fitted form misses true times by some per cent, alike in cells that
        are near to each other in log n and log N; conditioned on the cells that have been measured
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Pairs = Sequence[tuple[float, int]]

START = 6
"""Cells of the start design: as many as a model has quantities that steps alone determine."""

# How far a misfit reaches: in units of log n and of log N.
_REACH = (1.5, 0.7)

# Replicates of a model that is not determined yet may differ by anything.
_LARGEST_LOG = 3.0


@dataclass(frozen=True)
class Ensemble:
    """What a fit leaves open about the log step times (log s) of some cells.

    Attributes:
        replicates: of the fitted model, shape (replicates, cells).
        candidates: of each plausible model, shape (models, cells).
        weights: of these models; their scale does not matter.
        misfit: relative difference between true times and the fitted form.
        noise: relative standard deviation of a cell's measured time.
    """

    replicates: Array
    candidates: Array
    weights: Array
    misfit: float = 0.0
    noise: float = 0.01

    @property
    def center(self) -> Array:
        """Log time of each cell: median over the replicates."""
        return np.asarray(np.median(self.replicates, axis=0), dtype=np.float64)

    def covariance(self, cells: Pairs, measured: Sequence[int]) -> Array:
        """K of the module's derivation; ``measured``: indices among ``cells``."""
        total = _covariance(self.replicates, np.ones(len(self.replicates)))
        total += _covariance(self.candidates, self.weights)
        if self.misfit > 0:
            total += _misfit(cells, measured, self.misfit, self.noise)
        return total


def order(
    covariance: Array,
    noise: Array | float,
    seconds: Array,
    *,
    budget: float = np.inf,
    count: int | None = None,
    among: Sequence[int] | None = None,
) -> list[tuple[int, float]]:
    """The cells to measure next, the one that tells most per second first; nats/s of each.

    Args:
        covariance: K of log times, shape (cells, cells).
        noise: relative standard deviation of each cell's measured time.
        seconds: what measuring each cell costs.
        budget: of the cells chosen, together; s. The first is chosen even if it costs more.
        count: how many at most.
        among: cells that may be chosen; all by default.
    """
    left = list(range(len(covariance)) if among is None else among)
    variance = np.broadcast_to(np.square(noise), (len(covariance),))
    K = covariance.copy()
    chosen: list[tuple[int, float]] = []
    spent = 0.0
    while left and (count is None or len(chosen) < count):
        gains = np.log1p(np.maximum(np.diag(K)[left], 0) / variance[left]) / (2 * seconds[left])
        best = int(np.argmax(gains))
        j = left[best]
        if chosen and spent + seconds[j] > budget:
            break
        chosen.append((j, float(gains[best])))
        spent += float(seconds[j])
        left.remove(j)
        K -= np.outer(K[:, j], K[j]) / (K[j, j] + variance[j])
    return chosen


def left(covariance: Array, noise: Array | float, chosen: Sequence[int]) -> Array:
    """Covariance of log times after the ``chosen`` cells have been measured; arguments as above."""
    at = list(chosen)
    variance = np.broadcast_to(np.square(noise), (len(covariance),))[at]
    K = covariance
    return K - K[:, at] @ np.linalg.solve(K[np.ix_(at, at)] + np.diag(variance), K[at])


def start_design(cells: Pairs, count: int = START, done: Sequence[int] = ()) -> list[int]:
    """Cells spread over the grid: each next one is the farthest from those before.

    Distances are in log n and log N over the reach of a misfit: what lies far beyond it from all
    cells measured is anybody's guess, be it between them. Few cells so leave no large gap in n.

    ``done``: cells that have been measured; they count and are not chosen again.
    """
    if not cells:
        return []
    at = _scaled(cells)
    chosen = list(done) or [int(np.argmin(at.sum(axis=1)))]
    while len(chosen) < min(count, len(cells)):
        distance = np.min(((at[:, None] - at[None, chosen]) ** 2).sum(axis=2), axis=1)
        distance[chosen] = -1
        chosen.append(int(np.argmax(distance)))
    return [j for j in chosen if j not in set(done)]


def choose(
    cells: Pairs,
    count: int,
    ensemble_of: Callable[[list[int]], Ensemble | None],
    *,
    seconds: Array | None = None,
    start: int = START,
    batch: int | None = None,
) -> list[int]:
    """The design on a grid that has been measured: what it would have chosen, in its order.

    Args:
        cells: n and GPU count of each.
        count: how many to choose.
        ensemble_of: fits the cells of these indices; None while that is not possible.
        seconds: what measuring each cell costs; by default all cost the same.
        start: how many cells are chosen before the first fit.
        batch: how many between fits; by default a sixth of ``count``.
    """
    costs = np.ones(len(cells)) if seconds is None else seconds
    count = min(count, len(cells))
    step = batch or max(1, round(count / 6))
    chosen = start_design(cells, min(start, count))
    while len(chosen) < count:
        room = min(step, count - len(chosen))
        open_ = [j for j in range(len(cells)) if j not in set(chosen)]
        found = ensemble_of(chosen)
        if found is None:
            chosen += start_design(cells, len(chosen) + room, chosen)
        else:
            K = found.covariance(cells, chosen)
            chosen += [j for j, _ in order(K, found.noise, costs, count=room, among=open_)]
    return chosen


def _covariance(rows: Array, weights: Array) -> Array:
    share = weights / weights.sum()
    center = np.median(rows, axis=0)
    off = np.clip(rows - center, -_LARGEST_LOG, _LARGEST_LOG)
    off = off - share @ off
    return np.asarray((off * share[:, None]).T @ off, dtype=np.float64)


def _misfit(cells: Pairs, measured: Sequence[int], size: float, noise: float) -> Array:
    at = _scaled(cells)
    M: Array = size**2 * np.exp(-0.5 * ((at[:, None] - at[None]) ** 2).sum(axis=2))
    for j in measured:
        M -= np.outer(M[:, j], M[j]) / (M[j, j] + noise**2)
    return M


def _scaled(cells: Pairs) -> Array:
    """log n and log N of each cell in units of a misfit's reach."""
    return np.asarray(np.log(np.array(cells, dtype=np.float64)) / np.array(_REACH))
