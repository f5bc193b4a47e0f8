"""Expected time of a visit: a guess, then the model's forecast, then the times of earlier
visits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from statistics import median

import numpy as np

from gpucast.data.selection import StepSelection
from gpucast.errors import InputError
from gpucast.measure.design.cells import Cell, PathKind, Timing, guess_seconds, pairs_of
from gpucast.model.fitted import Model

_FURTHER = 4.0
"""At most how many times more work the second cell may have than the first. Where steps take all of
a visit's time, the second visit takes this factor longer, or its square."""


class Costs(ABC):
    """Predicts the cost of visits from the visits that were made.

    Attributes:
        by_gpu: costs are in GPU seconds, not in seconds.
    """

    def __init__(self, *, by_gpu: bool = False) -> None:
        self.by_gpu = by_gpu
        self._forecast: dict[Cell, float] = {}

    @abstractmethod
    def learn(self, cell: Cell, seconds: float, step: float) -> None:
        """Record a visit that took ``seconds``, whose steps took ``step`` seconds."""

    @abstractmethod
    def seconds(self, cell: Cell) -> float:
        """Expected seconds of a visit."""

    def take(self, cells: Sequence[Cell], model: Model) -> None:
        """Use the model's forecasts of these cells, if it can forecast them."""
        n, gpus = zip(*pairs_of(cells), strict=True)
        with suppress(InputError):
            seconds = model.forecasts(n, gpus).seconds
            self._forecast |= dict(zip(cells, map(float, seconds), strict=True))

    def to_know(self, cells: Sequence[Cell]) -> Cell | None:
        """Return the cell that must be visited before costs can be predicted; None if they already
        can."""
        return None

    def __call__(self, cell: Cell) -> float:
        """Expected cost of a visit, in seconds or GPU seconds (``by_gpu``)."""
        return self.seconds(cell) * (cell.gpus if self.by_gpu else 1)


class OwnCosts(Costs):
    """Costs of our own programs, which time a cell for a limited number of seconds.

    A step takes as long as the model forecasts. Before there is a fit, it takes as long as guessed,
    scaled by the ratio of measured to guessed times in the latest visits of the series.
    """

    def __init__(self, kind: PathKind, timing: Timing) -> None:
        super().__init__()
        self._kind = kind
        self._timing = timing
        self._ratios: dict[StepSelection, list[float]] = {}

    def learn(self, cell: Cell, seconds: float, step: float) -> None:
        self._ratios.setdefault(cell.series, []).append(step / guess_seconds(self._kind, cell))

    def step(self, cell: Cell) -> float:
        """Expected seconds of a step."""
        if cell in self._forecast:
            return self._forecast[cell]
        ratios = self._ratios.get(cell.series, [1.0])[-3:]
        scale = float(np.exp(np.mean(np.log(ratios))))
        return scale * guess_seconds(self._kind, cell)

    def seconds(self, cell: Cell) -> float:
        return self._timing.cell_seconds(self.step(cell))


class VisitCosts(Costs):
    """Costs of a described program, whose run length gpucast does not control.

    A visited cell takes the median of its visits. Other cells take a + b T, where a is the time for
    start-up and shutdown and T the step time: the model's forecast or, before there is a fit, a
    value proportional to n over the GPU count. No cell takes less than the quickest visit.
    """

    def __init__(self, *, by_gpu: bool) -> None:
        super().__init__(by_gpu=by_gpu)
        self._visits: dict[Cell, list[float]] = {}
        self._medians: dict[Cell, float] = {}  # s
        self._quickest = float("inf")  # s
        self._steps: dict[Cell, float] = {}
        self._line: tuple[float, float] | None = None
        self._scale = 0.0

    def learn(self, cell: Cell, seconds: float, step: float) -> None:
        self._visits.setdefault(cell, []).append(seconds)
        self._medians[cell] = median(self._visits[cell])
        self._quickest = min(self._quickest, seconds)
        self._steps[cell] = step
        self._line = None

    @property
    def are_known(self) -> bool:
        """Whether any visit was made."""
        return bool(self._medians)

    def to_know(self, cells: Sequence[Cell]) -> Cell | None:
        """Return first the cell of least work, then one of more work: two visits separate start-up
        from steps."""
        unvisited = [cell for cell in cells if cell not in self._medians]
        if len(self._medians) > 1 or not unvisited:
            return None
        smallest = min(unvisited, key=_work)
        if not self._medians:
            return smallest
        most = _FURTHER * max(_work(smallest), *map(_work, self._medians))
        return max((cell for cell in unvisited if _work(cell) <= most), key=_work)

    def seconds(self, cell: Cell) -> float:
        if cell in self._medians:
            return self._medians[cell]
        if not self._medians:
            return 1.0
        if self._line is None:
            self._line = self._fitted()
        start, per_step = self._line
        # At worst each instance on a GPU waits for all others.
        step = self._forecast.get(cell, self._scale * cell.n / cell.gpus) * cell.instances
        return max(start + per_step * step, self._quickest)

    def _fitted(self) -> tuple[float, float]:
        """a and b by least squares of relative errors; neither below 0."""
        cells = list(self._medians)
        took = np.array(list(self._medians.values()))
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
    """A rough measure of the GPU seconds of a run."""
    return cell.n * cell.gpus
