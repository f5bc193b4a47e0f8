"""How much longer steps take on another path, cell by cell: remote GPUs beside native ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpucast.data.steps import Cell
from gpucast.model.fitted import Model

TENTH = 0.1
"""Another path is as good as the first where a step takes at most this much longer."""


@dataclass(frozen=True)
class Beside:
    """The cells that were measured on two paths, and what was forecast for the second.

    Attributes:
        cells: sorted.
        first, second: medians of the measured steps (s).
        forecasts: seconds of the second path, forecast without its steps, and the ends of the 90 %
            interval of a measurement; three rows.
        base: the first path's, from the model that the forecast started from.
    """

    cells: list[Cell]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    forecasts: NDArray[np.float64]
    base: NDArray[np.float64]

    @property
    def expected(self) -> NDArray[np.float64]:
        """Seconds of the second path, forecast."""
        middle: NDArray[np.float64] = self.forecasts[0]
        return middle

    @property
    def extra(self) -> NDArray[np.float64]:
        """How much longer the second path takes, as a share of the first: measured."""
        return self.second / self.first - 1

    @property
    def expected_extra(self) -> NDArray[np.float64]:
        """The same, forecast by forecast."""
        return self.expected / self.base - 1

    @property
    def error(self) -> NDArray[np.float64]:
        """Relative error of the forecast step times."""
        return self.expected / self.second - 1

    def of_gpus(self, gpus: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The sizes measured on ``gpus`` GPUs, and where they stand in the arrays."""
        at = np.array([i for i, cell in enumerate(self.cells) if cell[1] == gpus], dtype=np.intp)
        return np.array([float(self.cells[i][0]) for i in at]), at


def beside(
    first: Mapping[Cell, float],
    second: Mapping[Cell, float],
    model: Model,
    forecast: Model,
) -> Beside:
    """The cells that both have. ``model``: of the first path; ``forecast``: of the second."""
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
    """The n from which on ``extra`` stays below ``most``: linear in log n between sizes.

    The smallest n where it never reaches it; None where it still does at the largest.
    """
    above = np.flatnonzero(extra >= most)
    if not above.size:
        return float(n[0])
    last = int(above[-1])
    if last == n.size - 1:
        return None
    share = (extra[last] - most) / (extra[last] - extra[last + 1])
    return float(n[last] * (n[last + 1] / n[last]) ** share)
