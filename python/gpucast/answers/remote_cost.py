"""The overhead of steps on another path, for each cell: remote GPUs compared with native ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpucast.data.steps import Cell
from gpucast.model.fitted import Model

TENTH = 0.1
"""Another path is as good as the first if a step takes at most this share longer."""


@dataclass(frozen=True)
class Beside:
    """Cells measured on two paths, with forecasts for the second.

    Attributes:
        cells: sorted.
        first, second: medians of the measured steps (s).
        forecasts: seconds of the second path, forecast without its steps, and the ends of the 90 %
            interval of a measurement; three rows.
        base: forecasts for the first path, by the model from which the forecast started.
    """

    cells: list[Cell]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    forecasts: NDArray[np.float64]
    base: NDArray[np.float64]

    @property
    def expected(self) -> NDArray[np.float64]:
        """Forecast seconds of the second path."""
        middle: NDArray[np.float64] = self.forecasts[0]
        return middle

    @property
    def extra(self) -> NDArray[np.float64]:
        """Measured overhead of the second path, as a share of the first."""
        return self.second / self.first - 1

    @property
    def expected_extra(self) -> NDArray[np.float64]:
        """Forecast overhead, as a share of the forecast for the first path."""
        return self.expected / self.base - 1

    @property
    def error(self) -> NDArray[np.float64]:
        """Relative error of the forecast step times."""
        return self.expected / self.second - 1

    def of_gpus(self, gpus: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The sizes measured on ``gpus`` GPUs, and their positions in the arrays."""
        at = np.array([i for i, cell in enumerate(self.cells) if cell[1] == gpus], dtype=np.intp)
        return np.array([float(self.cells[i][0]) for i in at]), at


def beside(
    first: Mapping[Cell, float],
    second: Mapping[Cell, float],
    model: Model,
    forecast: Model,
) -> Beside:
    """Return the cells of both paths. ``model``: of the first path; ``forecast``: of the second."""
    cells = sorted(first.keys() & second.keys())
    n, gpus = [float(n) for n, _ in cells], [float(gpus) for _, gpus in cells]
    forecasts = forecast.forecasts(n, gpus)
    return Beside(
        cells,
        np.array([first[cell] for cell in cells]),
        np.array([second[cell] for cell in cells]),
        np.array([forecasts.seconds, forecasts.low, forecasts.high]),
        model.forecasts(n, gpus).seconds,
    )


def break_even(
    n: NDArray[np.float64], extra: NDArray[np.float64], most: float = TENTH
) -> float | None:
    """Return the n from which ``extra`` stays below ``most``, linear in log n between sizes.

    The smallest n if it is always below; None if it is not at the largest.
    """
    above = np.flatnonzero(extra >= most)
    if not above.size:
        return float(n[0])
    last = int(above[-1])
    if last == n.size - 1:
        return None
    share = (extra[last] - most) / (extra[last] - extra[last + 1])
    return float(n[last] * (n[last + 1] / n[last]) ** share)
