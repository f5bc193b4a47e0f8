"""Which cell to visit next: the one that tells most per second about what is asked.

Pure functions of numbers; nothing here measures, fits or reads: ``gpucast.design.next_cells`` asks
a model.

Derivation. Let f be log step times of cells that may be visited and q what is asked, logarithms
too and jointly normal with f; K is their covariance after what has been measured. A visit of cell
c sees f_c with noise of variance s_c^2. By the rule of conditional normal distributions it moves
the means of q by z g_c with

    g_c = K_qc / sqrt(K_cc + s_c^2),        z normal with variance 1 before the visit,

and leaves K - K_.c K_c. / (K_cc + s_c^2), whatever is seen. What it tells is

    of forecasts and costs   sum_q w_q g_cq^2: by so much the variances fall, weighted;
    of a best count          min_j m_j less E_z[min_j (m_j + z g_cj)]: by so much the time of the
                             count that is then chosen falls, relative to itself (m: means of the
                             counts' log times). As a minimum of lines is concave, never negative.

Both are divided by the seconds that the visit takes. After each choice K and the means are updated,
the means as draws, since nobody has seen the visit yet: neighbours of c lose their gain, and two
visits that only together would turn a choice are still found worth it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Pairs = Sequence[tuple[float, int]]

START = 6
"""Cells of the start design beside the one with full multiprocessors: as many as a model has
quantities that steps alone determine."""

# How far apart cells of the start design are counted: in units of log n and of log N.
_REACH = (1.5, 0.7)

# Standard deviations of log times before any was measured: of the change over one reach, of what
# departs from a line, and from visit to visit. Only their ratios matter.
_PRIOR = (2.0, 1.0, 0.1)

# Draws of a model that is not determined yet may differ by anything.
_LARGEST_LOG = 3.0

# Standard normal values of equal probability, and how many draws of means go with them.
_NODES = 33
_DRAWS = 64

# Relative to a step: a count that is surer by less is not worth a visit.
_LEAST_REGRET = 1e-7


def _normals(count: int) -> Array:
    values = np.array([NormalDist().inv_cdf((i + 0.5) / count) for i in range(count)])
    return np.asarray(values / np.sqrt(np.mean(values**2)), dtype=np.float64)


_Z = _normals(_NODES)


class Goal(Protocol):
    """What is to become surer."""

    def gains(self, moves: Array, means: Array) -> Array:
        """What a visit of each cell tells.

        Args:
            moves: g of the module's derivation, a row a cell.
            means: draws of the means of what is asked, a row a draw.
        """

    def open(self, covariance: Array, means: Array) -> float:
        """What is left open: of spreads the root mean square, of counts the regret, relative."""


@dataclass(frozen=True)
class Sure:
    """Forecasts, or sums of them, are to have small variances, weighted."""

    weights: Array

    def gains(self, moves: Array, means: Array) -> Array:
        return np.asarray(moves**2 @ self.weights, dtype=np.float64)

    def open(self, covariance: Array, means: Array) -> float:
        variances = np.maximum(np.diag(covariance), 0)
        return float(np.sqrt(variances @ self.weights / self.weights.sum()))


@dataclass(frozen=True)
class Fastest:
    """Of counts that are asked in groups, the fastest of each is to be chosen.

    Attributes:
        groups: which of what is asked belong together.
        truth: draws of the log times, a row a draw, of which ``means`` are what is known.
    """

    groups: list[NDArray[np.intp]]
    truth: Array

    def gains(self, moves: Array, means: Array) -> Array:
        found = np.zeros(len(moves))
        for group in self.groups:
            m = means[:, group]
            before = m.min(axis=1).mean()
            for c, move in enumerate(moves[:, group]):
                after = (m[:, None] + _Z[:, None] * move).min(axis=2)
                found[c] += before - after.mean()
        if found.size and found.max() < _LEAST_REGRET:
            # No visit alone is likely to turn a choice: make surer what would.
            return _LEAST_REGRET * self._contrasts(moves, means)
        return np.maximum(found, 0)

    def open(self, covariance: Array, means: Array) -> float:
        regret = [
            means[:, group].min(axis=1).mean() - self.truth[:, group].min(axis=1).mean()
            for group in self.groups
        ]
        return max(0.0, float(np.mean(regret)))

    def _contrasts(self, moves: Array, means: Array) -> Array:
        """How much surer the differences to the best count get, those of close counts first."""
        found = np.zeros(len(moves))
        for group in self.groups:
            m = means[:, group].mean(axis=0)
            best = int(np.argmin(m))
            weight = 1 / (1e-4 + (m - m[best]) ** 2)
            found += (moves[:, group] - moves[:, group][:, [best]]) ** 2 @ weight
        return found


@dataclass(frozen=True)
class Known:
    """What a fit knows of the log times of cells that may be visited and of what is asked.

    Attributes:
        cells: draws of log times, a row a draw.
        asked: of what is asked, the same rows.
    """

    cells: Array
    asked: Array

    @property
    def covariance(self) -> Array:
        """K of the module's derivation, cells first."""
        rows = np.hstack([self.cells, self.asked])
        off = np.clip(rows - np.median(rows, axis=0), -_LARGEST_LOG, _LARGEST_LOG)
        off -= off.mean(axis=0)
        return np.asarray(off.T @ off / len(rows), dtype=np.float64)


@dataclass(frozen=True)
class Visits:
    """Visits in the order in which they tell most per second.

    Attributes:
        cells: index of each visit's cell; a cell may be there several times.
        gains: what each tells, per second.
        open: what is left open before the first, and after each.
    """

    cells: list[int] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    open: list[float] = field(default_factory=list)


def order(
    known: Known,
    goal: Goal,
    noise: Array,
    seconds: Array,
    *,
    most: Sequence[int] | None = None,
    count: int | None = None,
    budget: float = np.inf,
    least: int = 1,
) -> Visits:
    """The visits to make next, the one that tells most per second first.

    Args:
        noise: relative standard deviation of each cell's time from visit to visit.
        seconds: what a visit of each cell costs.
        most: how often each cell may be visited; once if not said.
        count: how many visits at most.
        budget: seconds of all visits together. The first ``least`` are made even if they cost more.
    """
    cells = known.cells.shape[1]
    room = np.ones(cells, dtype=int) if most is None else np.array(most)
    K = known.covariance
    means = np.tile(known.asked.mean(axis=0), (_DRAWS, 1))
    draws = np.random.default_rng(0)
    found = Visits(open=[goal.open(K[cells:, cells:], means)])
    spent = 0.0
    while room.any() and (count is None or len(found.cells) < count):
        seen = np.maximum(np.diag(K)[:cells], 0) + noise**2
        moves = K[:cells, cells:] / np.sqrt(seen)[:, None]
        gains = np.where(room > 0, goal.gains(moves, means) / seconds, -np.inf)
        c = int(np.argmax(gains))
        if len(found.cells) >= least and spent + seconds[c] > budget:
            break
        means = means + draws.permutation(_normals(_DRAWS))[:, None] * moves[c]
        K = K - np.outer(K[:, c], K[c]) / seen[c]
        found.cells.append(c)
        found.gains.append(float(gains[c]))
        found.open.append(goal.open(K[cells:, cells:], means))
        spent += float(seconds[c])
        room[c] -= 1
    return found


def start_design(
    cells: Pairs, count: int = START, done: Sequence[int] = (), costs: Array | None = None
) -> list[int]:
    """Cells spread over the grid, before there is a model.

    Without costs each next one is the farthest from those before. Distances are in log n and log N
    over the reach of what one cell says of another: what lies far beyond it from all cells measured
    is anybody's guess, be it between them. Few cells so leave no large gap in n.

    With costs each next one tells most about all cells for what it costs, of times of which only
    this is known: their logarithm is a line in log n and log N and what departs from it, alike
    within the reach (``_PRIOR``). By distance alone most of a small budget would go to the corners
    of the grid, which cost most.

    Args:
        done: cells that have been measured or chosen; they count and are not chosen again.
        costs: of a visit of each cell, in any unit.
    """
    if not cells:
        return []
    if costs is not None:
        return _start_by_cost(cells, count, done, costs)
    at = _scaled(cells)
    chosen = list(done) or [int(np.argmin(at.sum(axis=1)))]
    while len(chosen) < min(count, len(cells)):
        distance = np.min(((at[:, None] - at[None, chosen]) ** 2).sum(axis=2), axis=1)
        distance[chosen] = -1
        chosen.append(int(np.argmax(distance)))
    return [j for j in chosen if j not in set(done)]


def _start_by_cost(cells: Pairs, count: int, done: Sequence[int], costs: Array) -> list[int]:
    at = _scaled(cells)
    at -= at.mean(axis=0)
    slope, departure, noise = (each**2 for each in _PRIOR)
    apart = ((at[:, None] - at[None]) ** 2).sum(axis=2)
    K = slope * (1 + at @ at.T) + departure * np.exp(-apart / 2)
    chosen: list[int] = []
    while len(chosen) < min(count, len(cells)):
        seen = np.diag(K) + noise
        if len(chosen) < len(done):
            c = done[len(chosen)]
        else:
            gains = (K**2).sum(axis=1) / seen / costs
            gains[chosen] = -1
            c = int(np.argmax(gains))
        K = K - np.outer(K[:, c], K[c]) / seen[c]
        chosen.append(c)
    return chosen[len(done) :]


def _scaled(cells: Pairs) -> Array:
    """log n and log N of each cell in units of the reach."""
    return np.asarray(np.log(np.array(cells, dtype=np.float64)) / np.array(_REACH))
