"""Which cells to visit next so that what is asked of a model becomes surest per second.

    advice = next_cells(model, Ask.forecasts([110592], [4]), [(n, gpus), ...])

The model's own joint draws say what a visit of one cell tells of another: all forms with their
weights, their parameters, and the processes about their parts (``gpucast.design.optimal`` has the
derivation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gpucast.design.cells import Timing
from gpucast.design.optimal import Array, Fastest, Goal, Known, Pairs, Sure, order
from gpucast.model.fitted import Model
from gpucast.model.forecaster import Forecaster, outer
from gpucast.model.intervals import Z90
from gpucast.model.joint import DRAWS

# From visit to visit times repeat within this at best, whatever the samples of one visit say.
_LEAST_NOISE = 0.003


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


@dataclass(frozen=True)
class NextCell:
    """A cell to visit.

    Attributes:
        seconds: forecast of its step.
        uncertainty: relative standard deviation of that.
        visits: how many.
        cost: seconds that these take.
        gain: what the first of them tells per second; see ``gpucast.design.optimal``.
    """

    n: float
    gpus: int
    seconds: float
    uncertainty: float
    visits: int
    cost: float
    gain: float


@dataclass(frozen=True)
class Advice:
    """Cells to visit, the one that tells most per second first.

    Attributes:
        order: which candidate each visit is of, in the order in which they tell most.
        gains: what each tells per second.
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
    model: Forecaster,
    ask: Ask,
    candidates: Pairs,
    *,
    costs: Array | None = None,
    most: Sequence[int] | None = None,
    count: int | None = 5,
    budget: float = np.inf,
    least: int = 1,
) -> Advice | None:
    """The visits that make what is asked surest per second; None where the model's uncertainty is
    not known, or nothing may be visited.

    Args:
        candidates: n and GPU count of the cells that may be visited; measured ones may be there.
        costs: of a visit of each, s; as ``gpucast measure`` takes for steps of the forecast length
            if not said.
        most: visits that each candidate may get; one if not said.
        count: how many visits at most; ``budget``: seconds of them together; ``least``: so many
            even if these cost more.

    Raises:
        InputError: a GPU count whose communication cost the data cannot know.
    """
    if not candidates or not model.draw_count:
        return None
    n, gpus = np.array(candidates, dtype=np.float64).T
    found = model.forecasts(n, gpus)
    known = _known(model, ask, n, gpus)
    noise = _visit_noise(model, n, gpus)
    if costs is None:
        costs = np.array([Timing().cell_seconds(float(each)) for each in found.seconds])
    goal = _goal(ask, known)
    visits = order(known, goal, noise, costs, most=most, count=count, budget=budget, least=least)
    spread = np.sqrt(np.diag(known.covariance)[: n.size])
    times = {c: visits.cells.count(c) for c in dict.fromkeys(visits.cells)}
    return Advice(
        cells=[
            NextCell(
                n=candidates[c][0],
                gpus=candidates[c][1],
                seconds=float(found.seconds[c]),
                uncertainty=float(spread[c]),
                visits=count,
                cost=count * float(costs[c]),
                gain=visits.gains[visits.cells.index(c)],
            )
            for c, count in times.items()
        ],
        order=visits.cells,
        gains=visits.gains,
        open=[_shown(ask, left) for left in visits.open],
    )


def _known(model: Forecaster, ask: Ask, n: Array, gpus: Array) -> Known:
    pairs = np.column_stack([np.append(n, ask.n), np.append(gpus, ask.gpus)])
    # What may be visited is often asked for, too; nothing is drawn twice.
    distinct, at = np.unique(pairs, axis=0, return_inverse=True)
    drawn = model.draws(distinct[:, 0], distinct[:, 1], DRAWS)[:, at.ravel()]
    cells, asked = drawn[:, : n.size], drawn[:, n.size :]
    quantities = asked if ask.sums is None else asked @ ask.sums.T
    return Known(np.log(cells), np.log(quantities))


def _goal(ask: Ask, known: Known) -> Goal:
    if not ask.counts:
        return Sure(np.ones(known.asked.shape[1]))
    groups = np.arange(ask.n.size).reshape(-1, ask.counts)
    return Fastest(list(groups), known.asked)


def _visit_noise(model: Forecaster, n: Array, gpus: Array) -> Array:
    """Relative standard deviation of a visit around the expected time: by what the interval of one
    is wider than that of the other, and what draws of a form alone do not say of single cells."""
    found = model.forecasts(n, gpus)
    single = np.log(found.high / found.low) / (2 * Z90)
    mean = np.log(found.mean_high / found.mean_low) / (2 * Z90)
    alone = isinstance(model, Model) and model.mixture is None
    off = model.noise.between_cells if alone else 0.0
    return np.sqrt(np.maximum(single**2 - mean**2, _LEAST_NOISE**2) + off**2)


def _shown(ask: Ask, left: float) -> float:
    """What people are told of what is left open."""
    return left if ask.counts else float(np.expm1(Z90 * left))
