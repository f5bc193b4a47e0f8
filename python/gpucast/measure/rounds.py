"""The order of a path's cells, a few seconds of measuring at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress

import numpy as np

from gpucast.data.selection import StepSelection
from gpucast.design.cells import Cell, PathKind, Timing, full, guess_seconds, pairs_of
from gpucast.design.next_cells import Advice, Ask, next_cells
from gpucast.design.optimal import START, start_design
from gpucast.design.thinning import spread_over
from gpucast.errors import InputError
from gpucast.measure.until import Until
from gpucast.model.fitted import Model
from gpucast.model.forecaster import Forecaster

SECONDS = 4.0
"""Seconds of measuring between two fits."""

FIT_SECONDS = 0.2
"""Seconds of fitting that each visit may cost."""

_TURNS = 12  # cells that are spread between two fits at most

MOST_CELLS = 200
"""Of a series' cells so many at most are asked for, and as many chosen between: three matrices of
their covariance take some megabytes, of a thousand cells a hundred."""


class Costs:
    """What cells will cost: as forecast; before there is a fit as guessed, scaled by what the
    series' last steps took."""

    def __init__(self, kind: PathKind, timing: Timing) -> None:
        self._kind = kind
        self._timing = timing
        self._ratios: dict[StepSelection, list[float]] = {}
        self._forecast: dict[Cell, float] = {}

    def learn(self, cell: Cell, step: float) -> None:
        """``step``: seconds of a step of the cell, as measured."""
        self._ratios.setdefault(cell.series, []).append(step / guess_seconds(self._kind, cell))

    def take(self, cells: Sequence[Cell], model: Model) -> None:
        """The model's forecasts of these cells, as far as it has any."""
        n, gpus = zip(*pairs_of(cells), strict=True)
        with suppress(InputError):
            seconds = model.forecasts(n, gpus).seconds
            self._forecast |= dict(zip(cells, map(float, seconds), strict=True))

    def step(self, cell: Cell) -> float:
        """Seconds of a step, expected."""
        if cell in self._forecast:
            return self._forecast[cell]
        ratios = self._ratios.get(cell.series, [1.0])[-3:]
        scale = float(np.exp(np.mean(np.log(ratios))))
        return scale * guess_seconds(self._kind, cell)

    def __call__(self, cell: Cell) -> float:
        """Seconds that measuring the cell costs, expected."""
        return self._timing.cell_seconds(self.step(cell))


class CheapestFirst:
    """All of them, the cheapest first: an interruption then loses little."""

    def __init__(self, costs: Costs, fit_seconds: Callable[[], float]) -> None:
        """``fit_seconds``: how long the fits after the last round took."""
        self._costs = costs
        self._fit_seconds = fit_seconds

    def next_round(self, left: Sequence[Cell], seconds_left: float) -> list[Cell]:
        """The cells to measure now, of those left; none ends the path.

        ``seconds_left``: of the path's time; infinite where there is no budget.
        """
        return _up_to(
            _round_seconds(self._fit_seconds()), sorted(left, key=self._costs), self._costs
        )


class Designed:
    """Visits spread over the time, in parts, as many as it has room for passes over all cells: in
    each a visit of the start design's cells of each series, then what tells most per second about
    forecasts of all cells (``design.next_cells``). Within a part no cell is visited twice: what
    differs from minute to minute would hardly differ.

    The first part is for cells that are spread over the grid by cost alone: what tells most by a
    fit to few cells tells of the forms of that fit, and did no better when recorded tables were
    played back (studies/design_against_grid.py).

    Where questions are asked, after the start design what tells most about these, in no parts:
    nobody knows how long it will take.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        costs: Callable[[Cell], float],
        fits: Mapping[StepSelection, Forecaster],
        fit_seconds: Callable[[], float],
        *,
        visits: Mapping[Cell, int],
        most: int = 1,
        sms: int = 0,
        until: Mapping[StepSelection, Until] | None = None,
    ) -> None:
        """
        Args:
            costs: seconds, or whatever else the budget counts, of a visit of a cell.
            fits: of each series that could be fitted, kept up to date by the caller.
            fit_seconds: as ``CheapestFirst``.
            visits: how often cells have been visited, kept up to date by the caller.
            most: parts of the time, and visits of a cell at most.
            sms: multiprocessors of a GPU; 0 where not known.
            until: questions to each series, kept up to date by the caller; None: to none.
        """
        self._series: dict[StepSelection, list[Cell]] = {}
        for cell in cells:
            self._series.setdefault(cell.series, []).append(cell)
        self._costs = costs
        self._fits = fits
        self._fit_seconds = fit_seconds
        self._visits = visits
        self._most = most
        self._sms = sms
        self._until = until or {}
        self._all: float | None = None  # seconds of the whole path
        self._part = 0
        self._seen: set[Cell] = set()  # in this part
        self._again: list[Cell] = []  # of the start design, in this part

    def next_round(self, left: Sequence[Cell], seconds_left: float) -> list[Cell]:
        """As ``CheapestFirst``."""
        self._enter_part(seconds_left)
        open_ = set(left) - self._seen
        if not open_:  # all was visited in this part: there is time for more than was thought
            self._seen.clear()
            open_ = set(left)
        batch = self._chosen(open_, seconds_left)
        self._seen.update(batch)
        return batch

    def _chosen(self, open_: Set[Cell], seconds_left: float) -> list[Cell]:
        fit_seconds = self._fit_seconds()
        least = max(1, round(fit_seconds / FIT_SECONDS))
        round_seconds = min(_round_seconds(fit_seconds), seconds_left)
        again = [cell for cell in self._again if cell in open_]
        start = self._start(open_, seconds_left) or sorted(again, key=self._costs)
        if not start and self._is_spreading(seconds_left):
            start = self._spread(open_, seconds_left)
        if start:
            return _up_to(round_seconds, start, self._costs, least)
        return self._best(open_, round_seconds, seconds_left, least)

    def _enter_part(self, seconds_left: float) -> None:
        """Where another part of the time begins, the start design's cells are due again, unless
        they would take more than half of it."""
        if self._until:
            self._seen.clear()
            return
        if self._all is None:
            self._all = seconds_left
        parts = self._parts(self._all)
        part = min(parts - 1, int(parts * (1 - seconds_left / self._all)))
        if part <= self._part:
            return
        self._part = part
        self._seen.clear()
        due = [cell for cells in self._series.values() for cell in self._started(cells)]
        share = seconds_left / (2 * (parts - part))
        self._again = due if sum(map(self._costs, due)) <= share else []

    def _parts(self, seconds: float) -> int:
        """As many as there is time for passes over all cells: with less than two, another visit of
        a cell tells less than one of a cell beside it, which costs as much."""
        whole = sum(self._costs(cell) for cells in self._series.values() for cell in cells)
        return max(1, min(self._most, int(seconds / whole)))

    def _started(self, cells: Sequence[Cell]) -> list[Cell]:
        """A start design among the cells of a series that have been visited."""
        visited = [cell for cell in cells if self._visits.get(cell, 0) > 0]
        chosen = [visited[j] for j in start_design(pairs_of(visited), START)]
        filled = full(cells, self._sms)
        return chosen + [cell for cell in visited if cell == filled and cell not in chosen]

    def _start(self, left: Set[Cell], seconds_left: float) -> list[Cell]:
        """What the series' start designs lack, the cheapest first; no cell that would cost much
        of what all series have."""
        share = seconds_left / (2 * len(self._series))
        lacking: list[Cell] = []
        for cells in self._series.values():
            done = {cell for cell in cells if self._visits.get(cell, 0) > 0 or cell not in left}
            usable = self._some(c for c in cells if c in done or self._costs(c) <= share)
            filled = full(cells, self._sms)
            if filled in usable and filled not in done:
                lacking.append(filled)
                done.add(filled)
            measured = [i for i, cell in enumerate(usable) if cell in done]
            wanted = START + (filled in usable)
            if len(measured) < wanted:
                costs = np.array([self._costs(cell) for cell in usable])
                chosen = start_design(pairs_of(usable), wanted, measured, costs)
                lacking += [usable[j] for j in chosen]
        return sorted(lacking, key=self._costs)

    def _some(self, cells: Iterable[Cell]) -> list[Cell]:
        """Of many cells some that are spread over them, and all that were visited."""
        all_ = list(cells)
        kept = set(spread_over(pairs_of(all_), MOST_CELLS))
        return [c for i, c in enumerate(all_) if i in kept or self._visits.get(c, 0) > 0]

    def _is_spreading(self, seconds_left: float) -> bool:
        """Whether it is the first part; where questions are asked there are none."""
        return self._all is not None and bool(np.isfinite(self._all)) and self._part == 0

    def _spread(self, left: Set[Cell], seconds_left: float) -> list[Cell]:
        """What is best visited to know all of the grid for its cost, of each series in turn."""
        turns: list[tuple[int, Cell]] = []
        for cells in self._series.values():
            usable = self._some(c for c in cells if c not in left or self._costs(c) <= seconds_left)
            done = [i for i, c in enumerate(usable) if c not in left or self._visits.get(c, 0) > 0]
            costs = np.array([self._costs(cell) for cell in usable])
            chosen = start_design(pairs_of(usable), len(done) + _TURNS, done, costs)
            turns += [(turn, usable[i]) for turn, i in enumerate(chosen)]
        return [cell for _, cell in sorted(turns, key=lambda each: each[0])]

    def _best(self, left: Set[Cell], seconds: float, seconds_left: float, least: int) -> list[Cell]:
        """The cells that tell most per second, of all series together."""
        ranked: list[tuple[float, Cell]] = []
        for series, cells in self._series.items():
            among = [c for c in cells if c in left and self._costs(c) <= seconds_left]
            if among:
                ranked += self._ranked(series, among, seconds, least)
        ranked.sort(key=lambda item: -item[0])
        # What a plan would visit several times is visited once, and then fitted.
        chosen = list(dict.fromkeys(cell for _, cell in ranked))
        return _up_to(seconds, chosen, self._costs, least)

    def _ranked(
        self, series: StepSelection, among: Sequence[Cell], seconds: float, least: int
    ) -> list[tuple[float, Cell]]:
        """Cells of one series with what each tells per second, given those before it."""
        cells = self._series[series]
        asked = self._until.get(series)
        if asked is not None and asked.reached:
            return []
        if asked is not None and asked.plan is not None:
            planned = zip(asked.plan.gains, asked.plan.order, strict=True)
            return [(gain, cell) for gain, cell in planned if cell in set(among)]
        fitted = self._fits.get(series)
        found = None if fitted is None else self._advice(fitted, cells, among, seconds, least)
        if found is None:
            # What cannot be fitted yet needs cells more than anything else.
            visited = [j for j, cell in enumerate(cells) if cell not in set(among)]
            costs = np.array([self._costs(cell) for cell in cells])
            spread = start_design(pairs_of(cells), len(visited) + 2, visited, costs)
            return [(float("inf"), cells[j]) for j in spread]
        at = {(cell.n, cell.gpus): cell for cell in among}
        return [(each.gain, at[each.n, each.gpus]) for each in found.cells]

    def _advice(
        self,
        model: Forecaster,
        cells: Sequence[Cell],
        among: Sequence[Cell],
        seconds: float,
        least: int,
    ) -> Advice | None:
        asked = [cells[i] for i in spread_over(pairs_of(cells), MOST_CELLS)]
        among = [among[i] for i in spread_over(pairs_of(among), MOST_CELLS)]
        ask = Ask.forecasts(*zip(*pairs_of(asked), strict=True))
        costs = np.array([self._costs(cell) for cell in among])
        try:
            return next_cells(
                model, ask, pairs_of(among), costs=costs, count=None, budget=seconds, least=least,
            )  # fmt: skip
        except InputError:  # a GPU count whose communication the data cannot know
            return None


Rounds = CheapestFirst | Designed
"""An order of cells."""


def _round_seconds(fit_seconds: float) -> float:
    """Fits may take a fifth of the time."""
    return max(SECONDS, 4 * fit_seconds)


def _up_to(
    seconds: float, cells: Sequence[Cell], costs: Callable[[Cell], float], least: int = 1
) -> list[Cell]:
    """The first cells that together take so long; at least so many."""
    chosen: list[Cell] = []
    spent = 0.0
    for cell in cells:
        spent += costs(cell)
        if len(chosen) >= least and spent > seconds:
            break
        chosen.append(cell)
    return chosen
