"""Step times of a model and of its bootstrap replicates, for many sizes and GPU counts at once.

A replicate is a whole set of parameters that might as well be the truth. What holds in 80 % of the
replicates is said to have a probability of 80 %.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpucast import _core
from gpucast.model.fitted import Model
from gpucast.model.forecaster import Array, outer

MOST_EVALUATIONS = 500_000
"""The most step times of replicates that are computed, for all machines of a plan together."""

FEWEST_NODES = 16
_WORTH_THREADS = 20_000


class Evaluator:
    """Step times by a model's own parameters or by those of one replicate; any n > 0."""

    def __init__(self, model: Model) -> None:
        self._values = model.values
        self._replicates = model.replicates
        self._integers = model.integers
        core = model.core
        self._core = core
        self._cores = {i: core.with_integer(i) for i in set(model.integers)}
        self._none = np.empty((0, self._values.size))

    @property
    def count(self) -> int:
        """Number of replicates."""
        return len(self._integers)

    def seconds(self, n: Array, gpus: Array, replicate: int | None = None) -> Array:
        """Step times of pairs of n and gpus (any one shape); s."""
        if replicate is None:
            core, values = self._core, self._values
        else:
            at = replicate % self.count
            core, values = self._cores[self._integers[at]], self._replicates[at]
        flat = (np.ascontiguousarray(n).ravel(), np.ascontiguousarray(gpus).ravel())
        # Starting threads for less takes longer than they save.
        threads = 1 if flat[0].size < _WORTH_THREADS else 0
        gpu, cpu, com, _ = _core.forecast(core, values, self._none, [], *flat, threads)
        return np.asarray(gpu + cpu + com, dtype=np.float64).reshape(np.shape(n))


@dataclass(frozen=True)
class StepTimes:
    """Step times of one machine for U sizes (ascending) and C GPU counts.

    Where sizes are so many that replicates cannot be evaluated at each, they are evaluated at some
    (nodes), and their ratio to the model's time is interpolated linearly in log n. The model's own
    times are always exact.

    Attributes:
        seconds: (U, C).
        spread: of log time over the replicates, (U, C).
        ratios: replicate / model at the nodes, (B, nodes, C).
        left: the node below each size, (U).
        share: how far each size is on the way to the next node, (U, 1).
    """

    seconds: Array
    spread: Array
    ratios: Array
    left: NDArray[np.intp]
    share: Array

    def of_replicate(self, replicate: int) -> Array:
        """Step times by a replicate, (U, C); s."""
        ratio = self.ratios[replicate]
        if ratio.shape[0] == self.seconds.shape[0]:
            return np.asarray(self.seconds * ratio, dtype=np.float64)
        low = ratio[self.left]
        ratio = low + self.share * (ratio[self.left + 1] - low)
        return np.asarray(self.seconds * ratio, dtype=np.float64)


def step_times(model: Model, n: Array, gpus: Array, replicates: int, most: int) -> StepTimes:
    """Step times of every n with every GPU count.

    Args:
        n: distinct, ascending.
        gpus: GPU counts.
        replicates: how many to use; a model with fewer repeats its own.
        most: evaluations of replicates that may be spent.
    """
    evaluator = Evaluator(model)
    nodes = _nodes(n, max(FEWEST_NODES, most // (replicates * gpus.size)))
    size, count = outer(n, gpus)
    seconds = evaluator.seconds(size, count).reshape(n.size, gpus.size)
    size, count = outer(nodes, gpus)
    exact = evaluator.seconds(size, count)
    ratios = np.empty((replicates, nodes.size, gpus.size))
    for replicate in range(replicates):
        ratio = evaluator.seconds(size, count, replicate) / exact
        ratios[replicate] = ratio.reshape(nodes.size, gpus.size)
    spread = np.sqrt(np.mean(np.log(ratios) ** 2, axis=0))
    left, share = _between(n, nodes)
    if nodes.size < n.size:
        spread = spread[left] + share * (spread[left + 1] - spread[left])
    return StepTimes(seconds, spread, ratios, left, share)


def _nodes(n: Array, most: int) -> Array:
    """The sizes, or so many of them, evenly spaced in the logarithm between first and last."""
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
