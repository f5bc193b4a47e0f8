"""Chooses the cells to visit next: those that reduce the uncertainty of the questions most per
time.

    advice = next_cells(model, Ask.forecasts([110592], [4]), [(n, gpus), ...])

Let f be the log step times of the candidate cells and q the log of the quantities in question:
times, sums of times, or, for a best count, times relative to the count that seems fastest. K is the
covariance of both in the model's joint posterior draws: all forms with their weights, their
parameters, and the Gaussian processes about their parts. A visit observes f_c with noise of
variance s_c^2. If f and q are normal, it reduces the variance of q by

    K_qc^2 / (K_cc + s_c^2)

whatever is observed, and leaves the covariance K - K_.c K_c. / (K_cc + s_c^2). The next visit is
always the one with the largest reduction per second, one step ahead. Variances of ratios of times
are weighted by the expected loss of not choosing that count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gpucast.measure.design.cells import Pairs, Timing
from gpucast.model.asked import outer
from gpucast.model.fitted import Model
from gpucast.model.intervals import Z90
from gpucast.model.joint import DRAWS

Array = NDArray[np.float64]

# Times of two visits repeat no better than this, whatever the samples of one visit say.
_LEAST_NOISE = 0.003

# Draws of a poorly determined model may differ by any factor.
_LARGEST_LOG = 3.0

# Weight of a GPU count that is the fastest in no draw.
_LEAST_REGRET = 1e-7


@dataclass(frozen=True)
class Ask:
    """A question to a model; made by one of the three class methods.

    Attributes:
        n, gpus: the cells in question.
        counts: for a best count, the number of GPU counts of each n; else 0.
        sums: weights of the cells in each quantity, one row per quantity; None: each cell's time is
            a quantity.
    """

    n: Array
    gpus: Array
    counts: int = 0
    sums: Array | None = field(default=None, repr=False)

    @classmethod
    def forecasts(cls, n: Sequence[float] | Array, gpus: Sequence[float] | Array) -> Ask:
        """Ask for the step times of pairs of n and gpus, all with the same weight."""
        return cls(np.array(n, dtype=np.float64), np.array(gpus, dtype=np.float64))

    @classmethod
    def best_count(cls, n: Sequence[float] | Array, gpus: Sequence[float] | Array) -> Ask:
        """Ask for the fastest of some GPU counts, for each n."""
        counts = sorted(set(gpus))
        return cls(*outer(n, counts), counts=len(counts))

    @classmethod
    def cost(
        cls, n: Sequence[float] | Array, gpus: Sequence[float] | Array, weights: Sequence[float]
    ) -> Ask:
        """Ask for a weighted sum of the step times of pairs of n and gpus, such as the cost of a
        plan's runs. Weights are not negative and not all 0."""
        return cls(
            np.array(n, dtype=np.float64),
            np.array(gpus, dtype=np.float64),
            sums=np.array([weights], dtype=np.float64),
        )

    def quantities(self, times: Array) -> tuple[Array, Array]:
        """Return the quantities in question (logarithms of times, sums or ratios) and their
        weights.

        Args:
            times: draws of the cells' step times (s), one row per draw.
        """
        if not self.counts:
            logs = np.log(times if self.sums is None else times @ self.sums.T)
            return logs, np.ones(logs.shape[1])
        logs = np.log(times).reshape(len(times), -1, self.counts)
        best = logs.mean(axis=0).argmin(axis=1)
        ratios = (logs - np.take_along_axis(logs, best[None, :, None], axis=2)).reshape(times.shape)
        return ratios, np.maximum(-ratios, 0).mean(axis=0) + _LEAST_REGRET


@dataclass(frozen=True)
class NextCell:
    """A cell to visit.

    Attributes:
        seconds: forecast step time (s).
        uncertainty: relative standard deviation of the forecast.
        visits: number of visits to make.
        cost: total time of these visits (s).
    """

    n: float
    gpus: int
    seconds: float
    uncertainty: float
    visits: int
    cost: float


@dataclass(frozen=True)
class Advice:
    """Cells to visit, the most informative per time first.

    Attributes:
        order: index of the candidate of each visit.
        gains: share of the variance in question that each visit removes, per second.
        open: relative uncertainty before the first visit and after each: half-width of the 90 %
            interval of the expected time or sum (root mean square over the quantities), or the
            expected loss by a wrong best count.
    """

    cells: list[NextCell]
    order: list[int] = field(repr=False)
    gains: list[float] = field(repr=False)
    open: list[float] = field(repr=False)

    @property
    def before(self) -> float:
        """The uncertainty without these visits (see ``open``)."""
        return self.open[0]

    @property
    def after(self) -> float:
        """The uncertainty after all of these visits (see ``open``)."""
        return self.open[-1]


def next_cells(
    model: Model,
    ask: Ask,
    candidates: Pairs,
    *,
    costs: Array | None = None,
    most: Sequence[int] | None = None,
    count: int = 5,
) -> Advice | None:
    """Return the visits that reduce the uncertainty of the question most per time; None if the
    model's uncertainty is not known or there are no candidates.

    Args:
        candidates: n and GPU count of the cells that may be visited, also measured ones.
        costs: time of a visit of each (s); None: the time that ``gpucast measure`` would take.
        most: most visits of each candidate; None: one.
        count: most visits in all.

    Raises:
        InputError: the data do not determine the communication time of a GPU count.
    """
    if not candidates or not model.draw_count:
        return None
    n, gpus = np.array(candidates, dtype=np.float64).T
    seconds = model.forecasts(n, gpus).seconds
    if costs is None:
        costs = np.array([Timing().cell_seconds(float(step)) for step in seconds])
    cells, asked = _draws(model, ask, n, gpus)
    wanted, weights = ask.quantities(asked)
    log_times = np.hstack([np.log(cells), wanted])
    K = _covariance(log_times)
    spread = np.sqrt(np.diag(K)[: n.size])
    variance = max(float(np.diag(K)[n.size :] @ weights), np.finfo(float).tiny)
    noise = _visit_noise(model, n, gpus) ** 2
    room = np.ones(n.size, dtype=int) if most is None else np.array(most)
    # The posterior mean after the visits, were each draw in turn the truth.
    means = np.tile(log_times.mean(axis=0), (len(log_times), 1))
    deviates = np.random.default_rng(0).standard_normal((count, len(log_times)))

    def left_open() -> float:
        return _left_open(ask, K[n.size :, n.size :], means[:, n.size :], wanted)

    advice = Advice([], [], [], [left_open()])
    while room.any() and len(advice.order) < count:
        seen = np.diag(K)[: n.size] + noise
        moves = K[: n.size, n.size :] / np.sqrt(seen)[:, None]
        gains = np.where(room > 0, moves**2 @ weights / variance / costs, -np.inf)
        c = int(np.argmax(gains))
        off = log_times[:, c] + np.sqrt(noise[c]) * deviates[len(advice.order)] - means[:, c]
        means += off[:, None] * K[c] / seen[c]
        K = K - np.outer(K[:, c], K[c]) / seen[c]
        room[c] -= 1
        advice.order.append(c)
        advice.gains.append(float(gains[c]))
        # More information cannot hurt: one may ignore it.
        advice.open.append(min(left_open(), advice.open[-1]))
    for c in dict.fromkeys(advice.order):
        visits = advice.order.count(c)
        advice.cells.append(
            NextCell(
                *candidates[c],
                float(seconds[c]),
                float(spread[c]),
                visits,
                visits * float(costs[c]),
            )
        )
    return advice


def left_after(model: Model, asked: tuple[float, int], candidates: Pairs) -> Array:
    """Return the share of the standard deviation of a cell's log time that would remain after a
    visit of each candidate.

    Raises:
        InputError: the data do not determine the communication time of a GPU count.
    """
    n, gpus = np.array(candidates, dtype=np.float64).T
    cells, wanted = _draws(model, Ask.forecasts([asked[0]], [asked[1]]), n, gpus)
    K = _covariance(np.log(np.hstack([cells, wanted])))
    seen = np.diag(K)[:-1] + _visit_noise(model, n, gpus) ** 2
    known = K[:-1, -1] ** 2 / (seen * max(K[-1, -1], np.finfo(float).tiny))
    return np.asarray(np.sqrt(np.maximum(1 - known, 0.0)), dtype=np.float64)


def _draws(model: Model, ask: Ask, n: Array, gpus: Array) -> tuple[Array, Array]:
    """Return joint draws of step times (s), one row per draw, of the candidates and of the cells in
    question."""
    pairs = np.column_stack([np.append(n, ask.n), np.append(gpus, ask.gpus)])
    # Candidates are often in question as well; no cell is drawn twice.
    distinct, at = np.unique(pairs, axis=0, return_inverse=True)
    drawn = model.draws(distinct[:, 0], distinct[:, 1], DRAWS)[:, at.ravel()]
    return drawn[:, : n.size], drawn[:, n.size :]


def _covariance(rows: Array) -> Array:
    """Return K of the module's derivation from draws, one row per draw."""
    off = np.clip(rows - np.median(rows, axis=0), -_LARGEST_LOG, _LARGEST_LOG)
    off -= off.mean(axis=0)
    return np.asarray(off.T @ off / len(rows), dtype=np.float64)


def _left_open(ask: Ask, covariance: Array, means: Array, truth: Array) -> float:
    """Return the remaining uncertainty, as defined for ``Advice.open``.

    Args:
        covariance: covariance of the quantities in question.
        means: their posterior means if each draw were the truth; ``truth``: their values in it.
    """
    if not ask.counts:
        return float(np.expm1(Z90 * np.sqrt(np.maximum(np.diag(covariance), 0).mean())))
    expected, possible = (draws.reshape(len(draws), -1, ask.counts) for draws in (means, truth))
    chosen = np.take_along_axis(possible, expected.argmin(axis=2)[:, :, None], axis=2)
    return float((chosen[:, :, 0] - possible.min(axis=2)).mean())


def _visit_noise(model: Model, n: Array, gpus: Array) -> Array:
    """Return the relative standard deviation of a visit around the expected time: from the
    difference between the intervals of a single visit and of the mean, and, for a single form, the
    scatter between cells that its draws lack."""
    forecasts = model.forecasts(n, gpus)
    single = np.log(forecasts.high / forecasts.low) / (2 * Z90)
    mean = np.log(forecasts.mean_high / forecasts.mean_low) / (2 * Z90)
    alone = not model.weighed
    off = model.noise.between_cells if alone else 0.0
    return np.sqrt(np.maximum(single**2 - mean**2, _LEAST_NOISE**2) + off**2)
