"""Step times of a model and of draws of it, for many sizes and GPU counts at once.

A draw (of one of our own programs: a bootstrap replicate) is a whole model that might as well be
the truth. What holds in 80 % of the draws is said to have a probability of 80 %.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpucast.model.adjustments import Sharing
from gpucast.model.asked import outer
from gpucast.model.choosing import deviations
from gpucast.model.fitted import Model
from gpucast.model.intervals import Z90, Array, Interval, at_most
from gpucast.model.sharing import ratio_draws

MOST_EVALUATIONS = 500_000
"""The most step times of draws that are computed, for all machines of a plan together."""

MOST_REPLICATES = 400
"""The most draws that are compared."""

FEWEST_NODES = 16

_SEED = 2

SEARCH_NODES = 41
SEARCH_SIZES = 201
"""Sizes at which draws are made, and the model is asked, where those between are interpolated."""


def evaluator(
    model: Model,
    low: float,
    high: float,
    gpus: Array,
    replicates: int,
    interval: Interval = Interval.now,
) -> Exact | _Interpolated:
    """What evaluates a model and ``replicates`` draws for sizes from ``low`` to ``high`` and these
    GPU counts; draws are of times now, later or on another machine."""
    if model.one_form is not None:
        return Exact(model, interval)
    return _Interpolated(model, low, high, gpus, replicates, interval)


class Exact:
    """A model whose draws are models themselves, for any n > 0 and any count."""

    def __init__(self, model: Model, interval: Interval = Interval.now) -> None:
        assert model.one_form is not None
        self._model, self._form = model, model.one_form
        self._factors = model.drawn_factors(model.draw_count, interval)

    def seconds(self, n: Array, gpus: Array, replicate: int | None = None) -> Array:
        """Step times of pairs of n and gpus (any one shape) by the model or a draw of it; s."""
        cells = (np.ascontiguousarray(n).ravel(), np.ascontiguousarray(gpus).ravel())
        if replicate is None:
            times = self._model.seconds(*cells)
        else:
            at = replicate % len(self._factors)
            times = self._form.draw(at, *cells, self._factors[at])
        return times.reshape(np.shape(n))


class _Interpolated:
    """A model whose draws are of chosen cells together, and which is slow to evaluate: log times,
    and log ratios of draws to them, are interpolated linearly in log n."""

    def __init__(
        self,
        model: Model,
        low: float,
        high: float,
        gpus: Array,
        replicates: int,
        interval: Interval,
    ) -> None:
        self._gpus = np.unique(gpus)
        self._log_n = np.linspace(np.log(low), np.log(high), SEARCH_SIZES)
        size, count = outer(np.exp(self._log_n), self._gpus)
        shape = (-1, self._gpus.size)
        self._log_time = np.log(model.seconds(size, count)).reshape(shape)
        every = (SEARCH_SIZES - 1) // (SEARCH_NODES - 1)
        self._nodes = self._log_n[::every]
        size, count = outer(np.exp(self._nodes), self._gpus)
        drawn = np.log(model.draws(size, count, replicates, interval)).reshape(replicates, *shape)
        self._log_ratio = drawn - self._log_time[::every]

    def seconds(self, n: Array, gpus: Array, replicate: int | None = None) -> Array:
        """As ``Exact.seconds``."""
        size, count = np.log(np.ravel(n)), np.ravel(gpus)
        result = np.empty(size.size)
        for column, gpus in enumerate(self._gpus):
            its = count == gpus
            result[its] = np.interp(size[its], self._log_n, self._log_time[:, column])
            if replicate is not None:
                ratio = self._log_ratio[replicate % self._log_ratio.shape[0], :, column]
                result[its] += np.interp(size[its], self._nodes, ratio)
        return np.exp(result).reshape(np.shape(n))


@dataclass(frozen=True)
class StepTimes:
    """Step times of one machine for U sizes (ascending) and C GPU counts.

    Where sizes are so many that draws cannot be made at each, they are made at some (nodes), and
    their ratio to the model's time is interpolated linearly in log n. The model's own times are
    always exact.

    Attributes:
        seconds: (U, C).
        one: of one GPU, (U).
        ratios: draw / model at the nodes, what each cell alone deviates by included, (B, nodes, C).
        left: the node below each size, (U).
        share: how far each size is on the way to the next node, (U, 1).
    """

    seconds: Array
    one: Array
    ratios: Array
    left: NDArray[np.intp]
    share: Array

    def of_replicate(self, replicate: int) -> Array:
        """Step times by a draw, (U, C); s."""
        return np.asarray(self.seconds * self._at_sizes(self.ratios[replicate]), dtype=np.float64)

    def at_most(self, probability: float) -> Array:
        """Step times that are not exceeded with a probability, (U, C); s."""
        ratio = np.quantile(self.ratios, probability, axis=0)
        return np.asarray(self.seconds * self._at_sizes(ratio), dtype=np.float64)

    def _at_sizes(self, ratio: Array) -> Array:
        """Ratios at all sizes, of those at the nodes."""
        if ratio.shape[0] == self.seconds.shape[0]:
            return ratio
        low = ratio[self.left]
        return np.asarray(low + self.share * (ratio[self.left + 1] - low), dtype=np.float64)


def own_spread(model: Model) -> float:
    """Standard deviation of ln T of true step times about the model, each for itself, beyond what
    its draws hold; widened as intervals are, by as much as Student's t is."""
    return float(model.between_cells * model.t90 / Z90)


def slow_by(model: Model, n: Array, gpus: float, probability: float, interval: Interval) -> Array:
    """How many times as long as its forecast a step takes at most with a probability, as plans
    say, for distinct, ascending sizes."""
    if not model.draw_count:
        spread = model.forecasts(n, np.full(n.size, gpus), interval).spread
        return at_most(model.log_width(spread), probability)
    deviating = deviations(MOST_REPLICATES, np.full(1, own_spread(model)))
    count = np.array([gpus])
    few = MOST_REPLICATES * FEWEST_NODES
    times = step_times(model, n, count, MOST_REPLICATES, few, deviating, interval)
    return np.asarray((times.at_most(probability) / times.seconds)[:, 0])


def step_times(
    model: Model,
    n: Array,
    gpus: Array,
    replicates: int,
    most: int,
    deviating: Array,
    interval: Interval = Interval.now,
) -> StepTimes:
    """Step times of every n with every GPU count.

    Args:
        n: distinct, ascending.
        gpus: GPU counts.
        replicates: how many draws to use; a model with fewer repeats its own.
        most: evaluations of draws that may be spent.
        deviating: factors by which each count's true time is off the model in each draw, (B, C).
        interval: whether draws are of times now, later, or on another machine.
    """
    nodes = nodes_of(n, replicates, gpus.size, most)
    size, count = outer(n, gpus)
    seconds = model.trusted(size, count).reshape(n.size, gpus.size)
    one = model.trusted(n, np.ones(n.size))
    size, count = outer(nodes, gpus)
    ratios = model.draws(size, count, replicates, interval) / model.seconds(size, count)
    ratios = np.ascontiguousarray(ratios).reshape(replicates, nodes.size, gpus.size)
    # What measurements of a size refute is no surer of its other counts than it was of theirs.
    apart = np.where(np.isnan(model.measured(size, count)), model.refuted(size), 0.0)
    if apart.any():
        ratios = ratios * deviations(replicates, apart.reshape(nodes.size, gpus.size))
    if model.one_form is not None:
        # Replicates scatter as estimates do: with few observations, Student's t is wider.
        ratios **= model.t90 / Z90
    left, share = _between(n, nodes)
    return StepTimes(seconds, one, ratios * deviating[:, np.newaxis], left, share)


def nodes_of(n: Array, replicates: int, counts: int, most: int) -> Array:
    """The sizes at which ``step_times`` makes draws: all, or some, evenly spaced in the logarithm
    between first and last."""
    most = max(FEWEST_NODES, most // (replicates * counts))
    if n.size <= most:
        return n
    wanted = np.geomspace(n[0], n[-1], most)
    return np.unique(n[np.clip(np.searchsorted(n, wanted), 0, n.size - 1)])


def _between(n: Array, nodes: Array) -> tuple[NDArray[np.intp], Array]:
    left = np.clip(np.searchsorted(nodes, n, side="right") - 1, 0, max(0, nodes.size - 2))
    right = np.minimum(left + 1, nodes.size - 1)
    width = np.log(nodes[right] / nodes[left])
    share = np.log(n / nodes[left]) / np.where(width > 0, width, 1.0)
    return left.astype(np.intp), share[:, np.newaxis]


# --- instances that share a GPU: times are those of k such instances, all at work, also while fewer
# are, so that a schedule ends sooner than it says ---


def sharing_of(model: Model) -> Sharing | None:
    """What a model knows of instances that take turns, else of such under the service."""
    return next(iter(model.sharing or ()), None)


def with_shares(
    whole: StepTimes,
    of_one: StepTimes,
    model: Model,
    n: Array,
    nodes: Array,
    counts: Array,
    deviating: Array,
) -> StepTimes:
    """Step times of instances before those of whole GPUs.

    Args:
        whole: of GPU counts; ``of_one``: of one GPU alone, with the same draws.
        n: sizes; ``nodes``: those at which draws were made.
        counts: instances, (C).
        deviating: as of ``step_times``.
    """
    sharing = sharing_of(model)
    assert sharing is not None  # no other model has such options
    at_sizes = np.median(_ratios(model, sharing, n, counts), axis=0)
    drawn = _ratios(model, sharing, nodes, counts)
    # Each replicate has a draw of its own; those of the fit are in no order.
    rows = np.random.default_rng(_SEED).integers(0, drawn.shape[0], of_one.ratios.shape[0])
    ratios = of_one.ratios * (drawn / np.median(drawn, axis=0))[rows]
    scatter = deviations(of_one.ratios.shape[0], np.full(counts.size, sharing.scatter))
    ratios = ratios * (scatter * deviating)[:, np.newaxis]
    return replace(
        whole,
        seconds=np.hstack([whole.one[:, np.newaxis] * at_sizes, whole.seconds]),
        ratios=np.concatenate([ratios, whole.ratios], axis=2),
    )


def extrapolates(model: Model, n: Array, counts: Array) -> NDArray[np.bool_]:
    """Whether sizes are outside what was fitted, or instances more than twice those measured."""
    sharing = sharing_of(model)
    assert sharing is not None
    outside = model.extrapolates(n[:, np.newaxis], np.ones(counts.size))
    return np.asarray(outside | (counts > 2 * np.ceil(sharing.most - 0.5)), dtype=np.bool_)


def _ratios(model: Model, sharing: Sharing, n: Array, counts: Array) -> Array:
    """T_k / T_1, (draws, n, counts)."""
    size, count = np.repeat(n, counts.size), np.tile(counts, n.size)
    alone = np.repeat(model.seconds(n, np.ones(n.size)), counts.size)
    return ratio_draws(sharing, size, count, alone).reshape(-1, n.size, counts.size)
