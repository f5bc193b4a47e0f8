"""What a model forecasts with, whatever was fitted: one form of the parts of a step, a mixture of
such forms, or a mixture of forms of the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gpucast import _core
from gpucast.model.intervals import Array, Factors

# Half-width of an interval of log time; a factor of 1e43 either way says that nothing is known.
WIDEST = 100.0

SEED = 1
"""Draws repeat, so that a model's answers do."""


@dataclass(frozen=True)
class Times:
    """What an engine says of some cells, in seconds: medians, 90 % intervals of a measurement and
    of the expected time; spread of the logarithm of that; parts, (cells, 3); and what of the
    spread's square all cells share."""

    seconds: Array
    low: Array
    high: Array
    mean_low: Array
    mean_high: Array
    spread: Array
    parts: Array
    common: Array


@dataclass(frozen=True)
class Measured:
    """How often cells are measured, of whose times the median counts.

    Attributes:
        repetitions: of each cell; visits: in which they were made.
        rounding: relative variance of each time.
    """

    repetitions: Sequence[int]
    visits: Array
    rounding: Array

    @property
    def of_median(self) -> Array:
        """Variance of each cell's median, where that of one repetition is 1."""
        return np.array([_core.median_variance(count) for count in self.repetitions])


class Engine(Protocol):
    """What all engines answer, for pairs of n and GPU count.

    Attributes:
        draw_count: how many draws of the whole model there are; 0: its uncertainty is not known.
    """

    @property
    def draw_count(self) -> int: ...

    def times(
        self, n: Array, gpus: Array, factors: Factors, measured: Measured | None = None
    ) -> Times:
        """Times that are measured, and expected ones.

        Args:
            factors: on the parts of all cells.
            measured: how often; None: once, as what was fitted was.
        """

    def seconds(self, n: Array, gpus: Array, factors: Array) -> Array:
        """Expected times (s), of any n > 0 and N > 0; ``factors``: on the parts."""

    def draws(self, n: Array, gpus: Array, factors: Array) -> Array:
        """Draws of the expected times (s), a row for each row of ``factors`` on the parts."""

    def alone(self) -> Iterator[tuple[str, float, Engine]]:
        """Name and weight of each form that forecasts average over, and what forecasts by it; none
        where they average over none, or how time changes with N is not a form's to say."""
        return iter(())


def interval_width(log_width: Array) -> Array:
    """Half-width of an interval of log time, kept within what ``exp`` can hold."""
    return np.minimum(log_width, WIDEST)


def about(seconds: Array, log_width: Array) -> tuple[Array, Array]:
    """The ends of intervals about times."""
    return seconds * np.exp(-log_width), seconds * np.exp(log_width)
