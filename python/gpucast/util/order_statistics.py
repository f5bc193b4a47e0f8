"""Medians of samples and their distribution-free confidence intervals.

``support/include/gpucast/support/median.h`` is the counterpart for the measuring programs, whose
stopping criterion uses it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

MOST_FREEDOM = 10
"""Most degrees of freedom for Student's factor, which hardly changes beyond."""


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
        """Return the interval of the ratio of two medians from their intervals; None if these are
        not known, or the other's may be 0."""
        mine, beside = self.ends, other.ends
        if mine is None or beside is None or beside[0] <= 0:
            return None
        return mine[0] / beside[1], mine[1] / beside[0]

    def with_run_to_run(self, sd: float, runs: int) -> Median:
        """Return the median with an interval for the median over runs of a program.

        Args:
            sd: relative standard deviation of the medians of runs.
            runs: number of runs from which ``sd`` was estimated.

        The scatter between runs is independent of that within a run; Student's factor accounts for
        the estimate of sd (support/include/gpucast/support/median.h).
        """
        from scipy.special import stdtrit

        if self.low is None or self.high is None:
            return self
        freedom = min(max(runs, 2) - 1, MOST_FREEDOM)
        within = (self.high - self.low) / 2 / self.value
        half = float(np.hypot(within, stdtrit(freedom, 0.975) * sd)) * self.value
        return Median(self.value, self.value - half, self.value + half)


def median_of(samples: Sequence[float], confidence: float = 0.95) -> Median:
    """Return the median of independent samples with its order-statistics interval.

    The number of n samples below the true median is binomial with n trials and probability one
    half, whatever their distribution. The interval from the (r+1)-th smallest sample to the
    (r+1)-th largest misses the median with probability 2 P(X <= r); r is the largest with at most 1
    - confidence (David & Nagaraja, Order Statistics, 3rd ed., section 7.1).

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
    """Return the number of samples outside the interval on each side; None if there is no
    interval."""
    from scipy.special import bdtr

    misses = 2 * bdtr(np.arange((count - 1) // 2 + 1), count, 0.5)
    allowed = int(np.count_nonzero(misses <= 1 - confidence))
    return allowed - 1 if allowed else None


FAR = 10.0
"""Distance in typical standard deviations that repetitions never have by chance: the largest and
smallest of 16 normal samples are usually 3.5 apart."""

LEAST_RATIO = 1.5
"""Least ratio of the longest to the shortest time: smaller ratios do little harm, and may be chance
if the scatter is known from few cells."""

Key = TypeVar("Key", bound=Hashable)


def disagreeing(samples: Mapping[Key, Sequence[float]]) -> list[Key]:
    """Return the cells whose repetitions are much farther apart than others', for example because
    of a misplaced decimal point or another job.

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
    """Return the standard deviation of ln of a cell's time from its own repetitions: 1.48 times the
    median distance from their median. An outlier affects it little among three samples, but much
    among two."""
    logs = np.log(samples)
    return float(1.4826 * np.median(np.abs(logs - np.median(logs))))


def _variance(samples: Sequence[float]) -> float:
    """Return a median-unbiased estimate of the variance of ln of a time."""
    from scipy.special import chdtri

    logs = np.log(samples)
    # A sum of squares is the variance times a chi^2 variable.
    return float(np.sum((logs - logs.mean()) ** 2) / chdtri(logs.size - 1, 0.5))
