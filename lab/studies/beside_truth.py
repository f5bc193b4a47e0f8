"""A forecast beside the time that came true: what studies of made programs count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gpucast.model.forecaster import Forecasts


@dataclass(frozen=True, kw_only=True)
class BesideTruth:
    """A time as forecast, with its 90 % interval, and as measured; seconds."""

    n: float
    gpus: int
    low: float
    seconds: float
    high: float
    measured: float

    @classmethod
    def rows(cls, found: Forecasts, measured: NDArray[np.float64], **about: Any) -> list[Self]:
        """A row for each cell; ``about``: what they have in common."""
        columns = found.n, found.gpus, found.low, found.seconds, found.high, measured
        return [
            cls(n=n, gpus=int(gpus), low=low, seconds=seconds, high=high, measured=time, **about)
            for n, gpus, low, seconds, high, time in np.column_stack(columns).tolist()
        ]

    @property
    def covered(self) -> bool:
        return self.low <= self.measured <= self.high

    @property
    def error(self) -> float:
        """Relative."""
        return abs(self.seconds / self.measured - 1)
