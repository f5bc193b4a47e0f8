"""What a visit will cost: seconds, or GPU seconds where GPU hours are counted."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from statistics import median

import numpy as np

from gpucast.design.cells import Cell, pairs_of
from gpucast.errors import InputError
from gpucast.model.forecaster import Forecaster

_FURTHER = 4.0
"""How much more work the second cell has, at most: where steps take all of a visit's time, it costs
as much more, or the square of it."""


class VisitCosts:
    """Of a cell that was visited, the median of its visits. Of others a + b T, with a for start and
    end, as visited cells take it, and T a step: as forecast, before there is a fit as n over the
    GPU count has it, never less than the quickest visit."""

    def __init__(self, *, by_gpu: bool) -> None:
        """``by_gpu``: GPU seconds, not seconds."""
        self._by_gpu = by_gpu
        self._visits: dict[Cell, list[float]] = {}
        self._seconds: dict[Cell, float] = {}  # their medians
        self._least = float("inf")
        self._steps: dict[Cell, float] = {}
        self._forecast: dict[Cell, float] = {}
        self._line: tuple[float, float] | None = None
        self._scale = 0.0

    def learn(self, cell: Cell, seconds: float, step: float) -> None:
        """What a visit took (s), and a step of it (s)."""
        self._visits.setdefault(cell, []).append(seconds)
        self._seconds[cell] = median(self._visits[cell])
        self._least = min(self._least, seconds)
        self._steps[cell] = step
        self._line = None

    def take(self, cells: Sequence[Cell], model: Forecaster) -> None:
        """The model's forecasts of these cells, as far as it has any."""
        n, gpus = zip(*pairs_of(cells), strict=True)
        with suppress(InputError):
            seconds = model.forecasts(n, gpus).seconds
            self._forecast = dict(zip(cells, map(float, seconds), strict=True))

    @property
    def are_known(self) -> bool:
        """Whether anything was visited."""
        return bool(self._seconds)

    def to_know(self, cells: Sequence[Cell]) -> Cell | None:
        """The cell to visit before anything can be said of what others cost: one of the least work,
        then one of more, which tells start and steps apart. None: enough is known, or nothing more
        can be."""
        unvisited = [cell for cell in cells if cell not in self._seconds]
        if len(self._seconds) > 1 or not unvisited:
            return None
        smallest = min(unvisited, key=_work)
        if not self._seconds:
            return smallest
        most = _FURTHER * max(_work(smallest), *map(_work, self._seconds))
        return max((cell for cell in unvisited if _work(cell) <= most), key=_work)

    def seconds(self, cell: Cell) -> float:
        """Seconds that a visit takes, expected."""
        if cell in self._seconds:
            return self._seconds[cell]
        if not self._seconds:
            return 1.0
        if self._line is None:
            self._line = self._fitted()
        start, per_step = self._line
        # Of instances on one GPU at worst each waits for all others.
        step = self._forecast.get(cell, self._scale * cell.n / cell.gpus) * cell.instances
        return max(start + per_step * step, self._least)

    def __call__(self, cell: Cell) -> float:
        """What a visit costs, expected."""
        return self.seconds(cell) * (cell.gpus if self._by_gpu else 1)

    def _fitted(self) -> tuple[float, float]:
        """a and b, relative errors weighing alike; neither below 0."""
        cells = list(self._seconds)
        took = np.array(list(self._seconds.values()))
        steps = np.array([self._steps[cell] for cell in cells])
        self._scale = median(
            step * cell.gpus / (cell.n * cell.instances)
            for cell, step in zip(cells, steps, strict=True)
        )
        if len(cells) > 1:
            rows = np.column_stack([1 / took, steps / took])
            a, b = np.linalg.lstsq(rows, np.ones(len(cells)), rcond=None)[0]
            if a >= 0 and b >= 0:
                return float(a), float(b)
            if b < 0:
                return float(np.median(took)), 0.0
        return 0.0, float(np.median(took / steps))


def _work(cell: Cell) -> float:
    """Something like what a run on one GPU would take, in GPU seconds."""
    return cell.n * cell.gpus
