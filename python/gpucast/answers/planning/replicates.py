"""Step times of a model and of draws of it, for many sizes and GPU counts at once.

A draw (for our own programs a bootstrap replicate) is a complete model that is as plausible as the
fit. A statement that holds in 80 % of the draws has a probability of 80 %.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpucast.model.adjustments import Sharing
from gpucast.model.asked import outer
from gpucast.model.fitted import Model
from gpucast.model.forecasting import deviations
from gpucast.model.intervals import Z90, Array, Interval, at_most
from gpucast.model.sharing import ratio_draws

MOST_EVALUATIONS = 500_000
"""Limit of the step times that are computed from draws, for all machines of a plan."""

MOST_REPLICATES = 400
"""Limit of the draws that are compared."""

FEWEST_NODES = 16

_SEED = 2

SEARCH_NODES = 41
SEARCH_SIZES = 201
"""Number of sizes at which the model and its draws are evaluated; others are interpolated."""


def evaluator(
    model: Model,
    low: float,
    high: float,
    gpus: Array,
    replicates: int,
    interval: Interval = Interval.now,
) -> Exact | _Interpolated:
    """Return an evaluator of a model and ``replicates`` draws for sizes from ``low`` to ``high``
    and these GPU counts; draws are those of times now, later or on another machine."""
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
            at = replicate % len(self._factors.parts)
            factors = self._factors.one(at)
            times = self._form.draw(at, *cells, factors.parts[0])
            times = (times * factors.of_sizes(self._model.size_features(cells[0]))).ravel()
        return times.reshape(np.shape(n))


class _Interpolated:
    """A model that is slow to evaluate and draws chosen cells jointly: log times, and log ratios of
    draws to them, are interpolated linearly in log n."""

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

    With too many sizes, draws are made at some of them (nodes), and their ratios to the model's
    time are interpolated linearly in log n. The model's own times are always exact.

    Attributes:
        seconds: (U, C).
        one: times on one GPU, (U).
        ratios: draw / model at the nodes, including the deviations of single cells, (B, nodes, C).
        left: the node below each size, (U).
        share: relative position of each size between its nodes, (U, 1).
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
        """Ratios at all sizes, from those at the nodes."""
        if ratio.shape[0] == self.seconds.shape[0]:
            return ratio
        low = ratio[self.left]
        return np.asarray(low + self.share * (ratio[self.left + 1] - low), dtype=np.float64)


def own_spread(model: Model) -> float:
    """Return the standard deviation of ln T of individual true step times about the model that its
    draws do not include, widened like intervals by Student's t."""
    return float(model.between_cells * model.t90 / Z90)


def slow_by(model: Model, n: Array, gpus: float, probability: float, interval: Interval) -> Array:
    """Return the ratio to the forecast that a step does not exceed with a probability, as in plans,
    for distinct, ascending sizes."""
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
        replicates: number of draws; a model with fewer repeats its own.
        most: limit of the evaluations of draws.
        deviating: ratios of each count's true time to the model in each draw, (B, C).
        interval: whether draws are of times now, later, or on another machine.
    """
    nodes = nodes_of(n, replicates, gpus.size, most)
    size, count = outer(n, gpus)
    seconds = model.trusted(size, count).reshape(n.size, gpus.size)
    one = model.trusted(n, np.ones(n.size))
    size, count = outer(nodes, gpus)
    ratios = model.draws(size, count, replicates, interval) / model.seconds(size, count)
    ratios = np.ascontiguousarray(ratios).reshape(replicates, nodes.size, gpus.size)
    # A forecast that measurements of a size refute is no more certain at other counts.
    apart = np.where(np.isnan(model.measured(size, count)), model.refuted(size), 0.0)
    if apart.any():
        ratios = ratios * deviations(replicates, apart.reshape(nodes.size, gpus.size))
    if model.one_form is not None:
        # Replicates scatter like estimates: with few observations, Student's t is wider.
        ratios **= model.t90 / Z90
    left, share = _between(n, nodes)
    return StepTimes(seconds, one, ratios * deviating[:, np.newaxis], left, share)


def nodes_of(n: Array, replicates: int, counts: int, most: int) -> Array:
    """Return the sizes at which ``step_times`` makes draws: all, or some that are evenly spaced in
    the logarithm."""
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


# --- instances that share a GPU: times always assume that all k instances run, so that a schedule
# may end earlier than stated ---


def sharing_of(model: Model) -> Sharing | None:
    """Return the model of instances that share a GPU by time slices, or else under MPS."""
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
    """Return step times with those of instances placed before those of whole GPUs.

    Args:
        whole: step times of GPU counts; ``of_one``: those of one GPU, with the same draws.
        n: sizes; ``nodes``: those at which draws were made.
        counts: numbers of instances, (C).
        deviating: as for ``step_times``.
    """
    sharing = sharing_of(model)
    assert sharing is not None  # no other model has such options
    at_sizes = np.median(_ratios(model, sharing, n, counts), axis=0)
    drawn = _ratios(model, sharing, nodes, counts)
    # Each replicate has its own draw; the order of the fit's draws means nothing.
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
    """Return whether sizes are outside the fitted range, or instances more than twice the measured
    ones."""
    sharing = sharing_of(model)
    assert sharing is not None
    outside = model.extrapolates(n[:, np.newaxis], np.ones(counts.size))
    return np.asarray(outside | (counts > 2 * np.ceil(sharing.most - 0.5)), dtype=np.bool_)


def _ratios(model: Model, sharing: Sharing, n: Array, counts: Array) -> Array:
    """T_k / T_1, (draws, n, counts)."""
    size, count = np.repeat(n, counts.size), np.tile(counts, n.size)
    alone = np.repeat(model.seconds(n, np.ones(n.size)), counts.size)
    return ratio_draws(sharing, size, count, alone).reshape(-1, n.size, counts.size)
