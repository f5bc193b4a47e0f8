"""What a method's forecast of a split was worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Forecast:
    """Seconds of all cells of a series, with the ends of the 90 % interval where there is one."""

    seconds: Array
    low: Array | None = None
    high: Array | None = None


@dataclass(frozen=True)
class Verdict:
    """Errors of the cells that were left out, and what choosing GPUs by the forecast costs.

    Attributes:
        errors: relative, not negative, of the left-out cells.
        covered: whether their 90 % interval holds them; None without intervals.
        regrets: by size measured on several GPU counts and with a cell left out, the time lost by
            running on the count that the forecast prefers, relative to the best measured one.
    """

    errors: list[float]
    covered: list[bool] | None
    regrets: list[float]

    @property
    def median(self) -> float:
        return float(np.median(self.errors))

    @property
    def p95(self) -> float:
        return float(np.quantile(self.errors, 0.95))

    @property
    def largest(self) -> float:
        return max(self.errors)

    @property
    def hits(self) -> int:
        """Sizes whose best count was found."""
        return sum(regret == 0 for regret in self.regrets)


def judge(
    forecast: Forecast, n: Array, seconds: Array, left_out: NDArray[np.bool_]
) -> Verdict | None:
    """Hold a forecast of all cells against the measured seconds; None where times are missing."""
    if not np.isfinite(forecast.seconds[left_out]).all():
        return None
    errors = np.abs(forecast.seconds / seconds - 1)[left_out]
    covered = None
    if forecast.low is not None and forecast.high is not None:
        within = (forecast.low <= seconds) & (seconds <= forecast.high)
        covered = [bool(each) for each in within[left_out]]
    return Verdict(errors.tolist(), covered, _regrets(forecast.seconds, n, seconds, left_out))


def _regrets(forecast: Array, n: Array, seconds: Array, left_out: NDArray[np.bool_]) -> list[float]:
    found = []
    # A count of which a method says nothing is not chosen.
    known = np.where(np.isfinite(forecast), forecast, np.inf)
    for size in np.unique(n[left_out]):
        cells = np.flatnonzero(n == size)
        if cells.size > 1:
            chosen = cells[np.argmin(known[cells])]
            found.append(float(seconds[chosen] / seconds[cells].min() - 1))
    return found
