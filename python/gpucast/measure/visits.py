"""The visits of a path's cells: those made, the budget, and those that come next."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from statistics import median
from typing import Any

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.selection import StepSelection
from gpucast.data.thinning import coarsened
from gpucast.errors import InputError
from gpucast.measure.design.cells import (
    START,
    Cell,
    PathKind,
    Timing,
    guess_seconds,
    in_turn,
    pairs_of,
)
from gpucast.measure.until import Until, ended_by
from gpucast.measure.work import HOUR, Bounds, FitReport
from gpucast.model.fitted import Model
from gpucast.util.gpu_shares import Device

Fit = Callable[[Dataset, StepSelection], Model]
"""Fits the steps of a series; raises InputError if the data do not determine a model."""


class Budget:
    """The budget of a campaign: in seconds, or in GPU seconds if GPU hours are limited.

    Attributes:
        whole: the whole budget; infinite without a limit.
        spent: GPU seconds of this start, including failed visits.
    """

    def __init__(self, seconds: float | None = None, gpu_hours: float | None = None) -> None:
        self.by_gpu = gpu_hours is not None
        bound = seconds if gpu_hours is None else gpu_hours * HOUR
        self.whole = math.inf if bound is None else bound
        self.spent = 0.0
        self._begin = time.monotonic()

    def spend(self, seconds: float, gpus: int) -> None:
        """Count a visit that took ``seconds`` on ``gpus`` GPUs."""
        self.spent += seconds * gpus

    def unspent(self) -> float:
        """Return the part that has not been spent yet."""
        return self.whole - (self.spent if self.by_gpu else time.monotonic() - self._begin)

    def left(self) -> float:
        """Return the part that is available for visits that have not begun."""
        return self.unspent()


class Visits:
    """All visits of a path's cells.

    Attributes:
        cells: all cells, also those that the file has.
        counts: number of visits of each cell in the file.
        most: most visits of a cell.
        chooses: whether cells are chosen by budget or questions; otherwise each gets all visits.
        left_out: cells that failed, until the next start.
        until: the questions about each series.
        stale: series with visits since their last fit.
        fit_seconds: processor time of the last fits.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        costs: Costs,
        budget: Budget,
        bounds: Bounds,
        device: Device,
        fit: Fit,
        order: Callable[[Sequence[Cell], int, float], list[Cell]],
        known: Iterable[tuple[Cell, Step]],
    ) -> None:
        """
        Args:
            device: what GPU counts count.
            order: returns the next cells of a pass if cells are not chosen; its arguments are the
                remaining cells of the pass, the number of the pass from 1, and the time of the last
                fits (s).
            known: visits in the file.
        """
        self.cells = list(cells)
        self.counts: Counter[Cell] = Counter()
        self.most = bounds.most
        self.chooses = bounds.chooses
        self.left_out: set[Cell] = set()
        self.costs = costs
        self.budget = budget
        self.stale: set[StepSelection] = set()
        self.fit_seconds = 0.0
        self._fit = fit
        self._models: dict[StepSelection, Model] = {}
        self._why_not: dict[StepSelection, str] = {}
        self._order = order
        for cell, step in known:
            self.add(cell, step)
        # Questions distinguish these visits from new ones.
        asked = (costs, self.counts, self.most, device)
        every = dict.fromkeys(cell.series for cell in self.cells if bounds.until)
        self.until = {series: Until(bounds.until, self.of(series), *asked) for series in every}

    def add(self, cell: Cell, step: Step) -> None:
        """Count a visit, and update expected costs."""
        self.counts[cell] += 1
        seconds = 0.0 if step.visit is None else step.visit.seconds
        self.costs.learn(cell, seconds, float(np.median(step.seconds)))
        self.stale.add(cell.series)

    def of(self, series: StepSelection) -> list[Cell]:
        """Return the cells of a series."""
        return [cell for cell in self.cells if cell.series == series]

    def to_do(self) -> list[Cell]:
        """Return a cell for each visit that remains."""
        return [
            cell
            for cell in self.cells
            if cell not in self.left_out
            for _ in range(self.most - self.counts[cell])
        ]

    def open(self) -> list[Cell]:
        """Return the cells that may be visited once more."""
        return list(dict.fromkeys(self.to_do()))

    def next(self) -> tuple[list[Cell], bool]:
        """Return the cells to visit before the next fit, in order, and whether to ignore the
        budget, because all cells are wanted or this one is needed to predict costs.

        No cells are returned if none remains or is affordable, or all questions are answered.
        """
        cells = self.open()
        if not cells or ended_by(self.until):
            return [], False
        if not self.chooses:
            made = min(self.counts[cell] for cell in cells)
            left_of_pass = [cell for cell in cells if self.counts[cell] == made]
            return self._order(left_of_pass, made + 1, self.fit_seconds), True
        left = self.budget.left()
        first = self.costs.to_know(cells)
        if first is not None and left > 0:
            return [first], True
        if not self.budget.by_gpu:
            left -= self.fit_seconds  # the next fit will take as long
        return spread_round(
            cells, left, self.costs, self.counts, self.until, self.fit_seconds
        ), False

    def fit(self, data: Dataset) -> Iterator[tuple[StepSelection, Model | None]]:
        """Fit the stale series again, and update costs and answers. Yield each series with its
        model; None if the data do not determine one."""
        begin = time.process_time()
        thinned = coarsened(data)
        for series in sorted(self.stale):
            model, why_not = None, ""
            try:
                model = self._models[series] = self._fit(thinned, series)
            except InputError as error:
                why_not = self._why_not[series] = error.message
            else:
                self.costs.take(self.of(series), model)
            if series in self.until:
                left = [cell for cell in self.open() if cell.series == series]
                self.until[series].update(model, left, why_not)
            yield series, model
        self.stale.clear()
        self.fit_seconds = time.process_time() - begin

    def fit_report(self, path: str, series: StepSelection) -> FitReport:
        """Return how good the last fit of a series is, or why there is none."""
        about: dict[str, Any] = {**series.chosen, "path": path}
        model = self._models.get(series)
        if model is None or model.observations is None or model.quality is None:
            return FitReport(**about, why_not=self._why_not.get(series, "nothing measured"))
        return FitReport(
            **about,
            model=model.chosen,
            cells=model.observations.step_cells,
            median_relative_error=model.quality.median_relative_error,
            p95_relative_error=model.quality.p95_relative_error,
        )

    def progress(self) -> tuple[int, int, float]:
        """Return the visits made, the visits in all, and the estimated remaining time (s)."""
        to_do = self.to_do()
        total = self.most * len(self.cells)
        left = sum(map(self.costs.seconds, to_do))
        if not self.budget.by_gpu:
            left = min(left, self.budget.unspent())
        elif to_do:  # GPU hours are assumed to be spread evenly over the remaining visits
            left *= min(1.0, self.budget.unspent() / sum(map(self.costs, to_do)))
        enough = [until.seconds_left(self.costs.seconds) for until in self.until.values()]
        if enough and None not in enough:
            left = min(left, sum(seconds or 0.0 for seconds in enough))
        return total - len(to_do), total, max(0.0, left)


# --- choice of the cells for the next few seconds of measurement ---


SECONDS = 4.0
"""Seconds of measurement between two fits."""

FIT_SECONDS = 0.2
"""Time of fitting (s) that is tolerated for each visit."""


def cheapest_round(
    cells: Sequence[Cell], costs: Callable[[Cell], float], fit_seconds: float
) -> list[Cell]:
    """Return the cheapest cells for one round; rounds are short so that an interruption loses
    little. ``fit_seconds`` is the time of the fits after the last round.
    """
    return up_to(_round_seconds(fit_seconds), sorted(cells, key=costs), costs)


def spread_round(
    cells: Sequence[Cell],
    left: float,
    costs: Callable[[Cell], float],
    visits: Mapping[Cell, int],
    until: Mapping[StepSelection, Until],
    fit_seconds: float,
) -> list[Cell]:
    """Return the next cells of a pass in an order that is spread over all cells (``design.cells``).

    With questions, once six cells of a series are visited, return the visits that reduce the
    uncertainty of its answers most per time according to its last fit.

    Args:
        left: remaining budget, in the unit of ``costs``.
        visits: number of visits of each cell.
        until: the questions about each series; may be empty.
        fit_seconds: as ``cheapest_round``.
    """
    least = max(1, round(fit_seconds / FIT_SECONDS))
    affordable = [cell for cell in cells if costs(cell) <= left]
    ordered = _by_questions(affordable, visits, until) if until else in_turn(affordable, visits)
    return up_to(min(_round_seconds(fit_seconds), left), ordered, costs, least)


def _by_questions(
    cells: Sequence[Cell], visits: Mapping[Cell, int], until: Mapping[StepSelection, Until]
) -> list[Cell]:
    """Return first cells of series that have no plan yet, then the cells of the plans."""
    first: list[Cell] = []
    ranked: list[tuple[float, Cell]] = []
    for series, asked in until.items():
        own = {cell for cell in cells if cell.series == series}
        if asked.plan is not None:
            planned = zip(asked.plan.gains, asked.plan.order, strict=True)
            ranked += [(gain, cell) for gain, cell in planned if cell in own]
        elif not asked.reached:
            first += in_turn(own, visits)[:START]
    ranked.sort(key=lambda item: -item[0])
    # A cell that a plan visits several times is visited once before the next fit.
    return list(dict.fromkeys([*first, *(cell for _, cell in ranked)]))


def _round_seconds(fit_seconds: float) -> float:
    """Return the length of a round (s), of which fits take at most a fifth."""
    return max(SECONDS, 4 * fit_seconds)


def up_to(
    seconds: float, cells: Sequence[Cell], costs: Callable[[Cell], float], least: int = 1
) -> list[Cell]:
    """Return the first cells that take at most ``seconds`` in total, but at least ``least``
    cells."""
    chosen: list[Cell] = []
    spent = 0.0
    for cell in cells:
        spent += costs(cell)
        if len(chosen) >= least and spent > seconds:
            break
        chosen.append(cell)
    return chosen


# --- what a visit is expected to take ---


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
