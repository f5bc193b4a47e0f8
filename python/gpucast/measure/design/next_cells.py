"""Which cells to visit next: those whose visits narrow what is asked most for the time they take.

    advice = next_cells(model, Ask.forecasts([110592], [4]), [(n, gpus), ...])

Let f be log step times of cells that may be visited and q what is asked: log times, log sums, or,
of a best count, log times over that of the count that seems fastest. K is the covariance of both in
the model's own joint draws: all forms with their weights, their parameters, and the processes about
their parts. A visit sees f_c with noise of variance s_c^2. For normal f and q it takes

    K_qc^2 / (K_cc + s_c^2)

off the variance of q, whatever is seen, and leaves K - K_.c K_c. / (K_cc + s_c^2). Each next visit
is the one that takes most off for the seconds that it takes, one step ahead. Variances of ratios of
times weigh by what it costs on average that the count was not chosen.
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

# From visit to visit times repeat within this at best, whatever the samples of one visit say.
_LEAST_NOISE = 0.003

# Draws of a model that is not determined yet may differ by anything.
_LARGEST_LOG = 3.0

# Weight of a GPU count that no draw has as the fastest.
_LEAST_REGRET = 1e-7


@dataclass(frozen=True)
class Ask:
    """What is asked of a model; made by one of the three class methods.

    Attributes:
        n, gpus: the cells that it is about.
        counts: of a best count, how many GPU counts there are of each n; 0: it is not about one.
        sums: weights of each quantity's cells, a row a quantity; None: each cell is a quantity.
    """

    n: Array
    gpus: Array
    counts: int = 0
    sums: Array | None = field(default=None, repr=False)

    @classmethod
    def forecasts(cls, n: Sequence[float] | Array, gpus: Sequence[float] | Array) -> Ask:
        """Step times of pairs of n and gpus, all of one weight."""
        return cls(np.array(n, dtype=np.float64), np.array(gpus, dtype=np.float64))

    @classmethod
    def best_count(cls, n: Sequence[float] | Array, gpus: Sequence[float] | Array) -> Ask:
        """The fastest of some GPU counts, for each n."""
        counts = sorted(set(gpus))
        return cls(*outer(n, counts), counts=len(counts))

    @classmethod
    def cost(
        cls, n: Sequence[float] | Array, gpus: Sequence[float] | Array, weights: Sequence[float]
    ) -> Ask:
        """A sum of step times of pairs of n and gpus: steps times price a second of a plan's runs,
        for example. Weights are not negative and not all 0."""
        return cls(
            np.array(n, dtype=np.float64),
            np.array(gpus, dtype=np.float64),
            sums=np.array([weights], dtype=np.float64),
        )

    def quantities(self, times: Array) -> tuple[Array, Array]:
        """What is to become surer: logarithms of times, sums or ratios of times, and their weights.

        Args:
            times: draws of step times (s) of the cells, a row a draw.
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
        seconds: forecast of its step.
        uncertainty: relative standard deviation of that.
        visits: how many.
        cost: seconds that they take.
    """

    n: float
    gpus: int
    seconds: float
    uncertainty: float
    visits: int
    cost: float


@dataclass(frozen=True)
class Advice:
    """Cells to visit, the one that narrows most for its time first.

    Attributes:
        order: which candidate each visit is of.
        gains: share of the variance asked about that each takes off, per second.
        open: what is left open before the first and after each, relative: half-width of the 90 %
            interval of the expected time or sum (root mean square over what is asked), or what a
            wrong best count costs on average.
    """

    cells: list[NextCell]
    order: list[int] = field(repr=False)
    gains: list[float] = field(repr=False)
    open: list[float] = field(repr=False)

    @property
    def before(self) -> float:
        """What is open without these visits."""
        return self.open[0]

    @property
    def after(self) -> float:
        """What is open with all of them."""
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
    """The visits that make what is asked surest for the time they take; None where the model's
    uncertainty is not known, or nothing may be visited.

    Args:
        candidates: n and GPU count of the cells that may be visited; measured ones may be there.
        costs: seconds of a visit of each; None: as ``gpucast measure`` takes for steps of the
            forecast length.
        most: visits that each candidate may get; None: one.
        count: visits at most.

    Raises:
        InputError: a GPU count whose communication cost the data cannot know.
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
    # What one would expect in each draw, were it the truth, of visits as noisy as these.
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
        # Nobody need choose by what visits seem to say.
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
    """The share of the standard deviation of a cell's log time that a visit of each candidate would
    leave.

    Raises:
        InputError: a GPU count whose communication cost the data cannot know.
    """
    n, gpus = np.array(candidates, dtype=np.float64).T
    cells, wanted = _draws(model, Ask.forecasts([asked[0]], [asked[1]]), n, gpus)
    K = _covariance(np.log(np.hstack([cells, wanted])))
    seen = np.diag(K)[:-1] + _visit_noise(model, n, gpus) ** 2
    known = K[:-1, -1] ** 2 / (seen * max(K[-1, -1], np.finfo(float).tiny))
    return np.asarray(np.sqrt(np.maximum(1 - known, 0.0)), dtype=np.float64)


def _draws(model: Model, ask: Ask, n: Array, gpus: Array) -> tuple[Array, Array]:
    """Joint draws of step times (s), a row a draw: of cells that may be visited, and of those that
    are asked about."""
    pairs = np.column_stack([np.append(n, ask.n), np.append(gpus, ask.gpus)])
    # What may be visited is often asked for, too; nothing is drawn twice.
    distinct, at = np.unique(pairs, axis=0, return_inverse=True)
    drawn = model.draws(distinct[:, 0], distinct[:, 1], DRAWS)[:, at.ravel()]
    return drawn[:, : n.size], drawn[:, n.size :]


def _covariance(rows: Array) -> Array:
    """K of the module's derivation from draws, a row a draw."""
    off = np.clip(rows - np.median(rows, axis=0), -_LARGEST_LOG, _LARGEST_LOG)
    off -= off.mean(axis=0)
    return np.asarray(off.T @ off / len(rows), dtype=np.float64)


def _left_open(ask: Ask, covariance: Array, means: Array, truth: Array) -> float:
    """What is left open, as ``Advice.open`` has it.

    Args:
        covariance: of what is asked.
        means: what a fit would expect of it in each draw; ``truth``: what it is there.
    """
    if not ask.counts:
        return float(np.expm1(Z90 * np.sqrt(np.maximum(np.diag(covariance), 0).mean())))
    expected, possible = (draws.reshape(len(draws), -1, ask.counts) for draws in (means, truth))
    chosen = np.take_along_axis(possible, expected.argmin(axis=2)[:, :, None], axis=2)
    return float((chosen[:, :, 0] - possible.min(axis=2)).mean())


def _visit_noise(model: Model, n: Array, gpus: Array) -> Array:
    """Relative standard deviation of a visit around the expected time: by what the interval of one
    is wider than that of the other, and what draws of a form alone do not say of single cells."""
    forecasts = model.forecasts(n, gpus)
    single = np.log(forecasts.high / forecasts.low) / (2 * Z90)
    mean = np.log(forecasts.mean_high / forecasts.mean_low) / (2 * Z90)
    alone = not model.weighed
    off = model.noise.between_cells if alone else 0.0
    return np.sqrt(np.maximum(single**2 - mean**2, _LEAST_NOISE**2) + off**2)
