"""Engines, with which models forecast: one form of the parts of a step, a mixture of such forms, or
a mixture of forms of the total."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from gpucast import _core
from gpucast.model.intervals import Array, Factors

# Largest half-width of an interval of log time: a factor of 1e43 either way, so that nothing is
# known.
WIDEST = 100.0

SEED = 1
"""Draws use a fixed seed, so that a model's answers are reproducible."""


@dataclass(frozen=True)
class Times:
    """An engine's forecasts (s): medians, 90 % intervals of a measurement and of the expected time;
    the standard deviation (spread) of the logarithm of the expected time; parts, (cells, 3); and
    the part of the variance that all cells share (common)."""

    seconds: Array
    low: Array
    high: Array
    mean_low: Array
    mean_high: Array
    spread: Array
    parts: Array
    common: Array

    def longer(self, factor: Array) -> Times:
        """Return times that are longer by a factor for each cell."""
        names = ("seconds", "low", "high", "mean_low", "mean_high")
        ends = {name: factor * getattr(self, name) for name in names}
        return replace(self, **ends, parts=factor[:, np.newaxis] * self.parts)


@dataclass(frozen=True)
class Measured:
    """How often cells are measured; the median of a cell's times counts.

    Attributes:
        repetitions: number of repetitions of each cell; visits: number of visits in which they are
            made.
        rounding: relative variance of each time by rounding.
    """

    repetitions: Sequence[int]
    visits: Array
    rounding: Array

    @property
    def of_median(self) -> Array:
        """Variance of each cell's median, relative to that of one repetition."""
        return np.array([_core.median_variance(count) for count in self.repetitions])


class Engine(Protocol):
    """The interface of all engines; cells are pairs of n and GPU count.

    Attributes:
        draw_count: number of draws of the model; 0 if its uncertainty is not known.
    """

    @property
    def draw_count(self) -> int: ...

    def times(
        self, n: Array, gpus: Array, factors: Factors, measured: Measured | None = None
    ) -> Times:
        """Forecast measured and expected times.

        Args:
            factors: factors on the parts of all cells.
            measured: how often cells are measured; None: once, like the fitted ones.
        """

    def seconds(self, n: Array, gpus: Array, factors: Array) -> Array:
        """Return expected times (s) for any n > 0 and N > 0, with these factors on the parts."""

    def draws(self, n: Array, gpus: Array, factors: Array) -> Array:
        """Return draws of the expected times (s), one row for each row of ``factors`` on the
        parts."""

    def alone(self) -> Iterator[tuple[str, float, Engine]]:
        """Yield name, weight and engine of each form over which forecasts average; none if they do
        not average, or if no form describes the dependence on N."""
        return iter(())


def interval_width(log_width: Array) -> Array:
    """Limit the half-width of an interval of log time, so that ``exp`` does not overflow."""
    return np.minimum(log_width, WIDEST)


def about(seconds: Array, log_width: Array) -> tuple[Array, Array]:
    """Return the ends of intervals about times."""
    return seconds * np.exp(-log_width), seconds * np.exp(log_width)
