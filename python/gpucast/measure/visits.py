"""The visits of a path's cells: those made, the budget, and those that come next."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.selection import StepSelection
from gpucast.data.thinning import coarsened
from gpucast.errors import InputError
from gpucast.measure.costs import Costs
from gpucast.measure.design.cells import START, Cell, in_turn
from gpucast.measure.report import FitReport
from gpucast.measure.until import Until, ended_by
from gpucast.measure.work import HOUR, Bounds
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
        about = FitReport(
            path, series.schedule, series.kernel, series.memory, series.program, series.case
        )
        model = self._models.get(series)
        if model is None or model.observations is None or model.quality is None:
            return replace(about, why_not=self._why_not.get(series, "nothing measured"))
        return replace(
            about,
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
