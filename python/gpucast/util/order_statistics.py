"""Medians of samples and their confidence intervals, free of any assumption on how times spread.

``support/include/gpucast/support/median.h`` is the same for the programs that measure: they stop
by it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

MOST_FREEDOM = 10
"""Degrees of freedom beyond which Student's factor is taken as it is there."""

FEWEST_SAMPLES = 6
"""Below, the range of all samples holds the median with less than 95 %."""


@dataclass(frozen=True)
class Median:
    """A median and the interval that contains the true one with at least ``confidence``.

    Attributes:
        value: the median of the samples, in their unit.
        low, high: ends of the interval, two of the samples; None with too few of them.
    """

    value: float
    low: float | None
    high: float | None

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends of the interval; None with too few samples."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def over(self, other: Median) -> tuple[float, float] | None:
        """The ends between which the ratio of two medians lies where both lie in their intervals;
        None where these are not known, or the other's may be 0."""
        mine, beside = self.ends, other.ends
        if mine is None or beside is None or beside[0] <= 0:
            return None
        return mine[0] / beside[1], mine[1] / beside[0]

    def with_run_to_run(self, sd: float, runs: int) -> Median:
        """The interval for the median of all runs of a program.

        Args:
            sd: relative standard deviation of the medians of runs.
            runs: how many it is known from.

        What differs between runs is independent of what one run's samples scatter; Student's
        factor covers that sd is an estimate (support/include/gpucast/support/median.h).
        """
        from scipy.special import stdtrit

        if self.low is None or self.high is None:
            return self
        freedom = min(max(runs, 2) - 1, MOST_FREEDOM)
        within = (self.high - self.low) / 2 / self.value
        half = float(np.hypot(within, stdtrit(freedom, 0.975) * sd)) * self.value
        return Median(self.value, self.value - half, self.value + half)


def median_of(samples: Sequence[float], confidence: float = 0.95) -> Median:
    """The median of independent samples with its order-statistics interval.

    The number of n samples below the true median is binomial with n trials and probability one
    half, whatever their distribution. The interval from the (r+1)-th smallest sample to the
    (r+1)-th largest misses the median with probability 2 P(X <= r); the largest r that keeps this
    within 1 - confidence is taken (David & Nagaraja, Order Statistics, 3rd ed., section 7.1).

    Raises:
        ValueError: no samples.
    """
    if not samples:
        raise ValueError("no samples have no median")
    rank = outer_rank(len(samples), confidence)
    ordered = np.sort(np.asarray(samples, dtype=np.float64))
    value = float(np.median(ordered))
    if rank is None:
        return Median(value, None, None)
    return Median(value, float(ordered[rank]), float(ordered[-1 - rank]))


def outer_rank(count: int, confidence: float = 0.95) -> int | None:
    """How many samples may lie outside the interval on each side; None where not even 0 may."""
    from scipy.special import bdtr

    misses = 2 * bdtr(np.arange((count - 1) // 2 + 1), count, 0.5)
    allowed = int(np.count_nonzero(misses <= 1 - confidence))
    return allowed - 1 if allowed else None


FAR = 10.0
"""In typical standard deviations: repetitions are never this far apart by chance. The largest and
smallest of 16 normal ones are 3.5 apart, mostly."""

LEAST_RATIO = 1.5
"""The least ratio of the longest to the shortest: what differs by less misleads nobody much, and
where scatter is known from a few cells only, it may be chance."""

Key = TypeVar("Key", bound=Hashable)


def disagreeing(samples: Mapping[Key, Sequence[float]]) -> list[Key]:
    """The cells whose repetitions lie much farther apart than those of the others, in order: a
    decimal point in the wrong place, a run beside another job.

    Args:
        samples: positive times (s) by cell.
    """
    wide = [key for key, times in samples.items() if max(times) >= LEAST_RATIO * min(times)]
    if not wide:
        return []
    typical = {key: _variance(times) for key, times in samples.items() if len(times) > 1}
    far = []
    for key in wide:
        others = [times for other, times in typical.items() if other != key]
        scatter = float(np.sqrt(np.median(others))) if others else 0.0
        if np.log(max(samples[key]) / min(samples[key])) > FAR * scatter:
            far.append(key)
    return far


def own_deviation(samples: Sequence[float]) -> float:
    """Standard deviation of a cell's log time by its own repetitions: 1.48 times the median
    distance from their median. One wild sample of three moves it little, one of two much."""
    logs = np.log(samples)
    return float(1.4826 * np.median(np.abs(logs - np.median(logs))))


def _variance(samples: Sequence[float]) -> float:
    """The variance of a log time, such that half of all cells' lie below the true one."""
    from scipy.special import chdtri

    logs = np.log(samples)
    # A sum of squares is the variance times chi^2.
    return float(np.sum((logs - logs.mean()) ** 2) / chdtri(logs.size - 1, 0.5))
