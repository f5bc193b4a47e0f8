"""The order of a path's cells, a few seconds of measuring at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress

import numpy as np

from gpucast.data.selection import StepSelection
from gpucast.design.cells import Cell, PathKind, Timing, guess_seconds, pairs_of
from gpucast.design.ensembles import Fitted
from gpucast.design.optimal import START, order, start_design
from gpucast.errors import InputError
from gpucast.model.fitted import Model

SECONDS = 4.0
"""Seconds of measuring between two fits."""


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
    """A start design of each series, then what tells most per second (``design``)."""

    def __init__(
        self,
        cells: Sequence[Cell],
        costs: Costs,
        fits: Mapping[StepSelection, Fitted],
        fit_seconds: Callable[[], float],
    ) -> None:
        """``fits``: of each series that could be fitted, kept up to date by the caller;
        ``fit_seconds``: as ``CheapestFirst``."""
        self._series: dict[StepSelection, list[Cell]] = {}
        for cell in cells:
            self._series.setdefault(cell.series, []).append(cell)
        self._costs = costs
        self._fits = fits
        self._fit_seconds = fit_seconds

    def next_round(self, left: Sequence[Cell], seconds_left: float) -> list[Cell]:
        """As ``CheapestFirst``."""
        round_seconds = min(_round_seconds(self._fit_seconds()), seconds_left)
        start = self._start(set(left), seconds_left)
        if start:
            return _up_to(round_seconds, start, self._costs)
        return self._best(set(left), round_seconds, seconds_left)

    def _start(self, left: Set[Cell], seconds_left: float) -> list[Cell]:
        """What the series' start designs lack, the cheapest first; no cell that would cost much
        of what all series have."""
        share = seconds_left / (2 * len(self._series))
        lacking: list[Cell] = []
        for cells in self._series.values():
            done = set(cells) - left
            usable = [c for c in cells if c in done or self._costs(c) <= share]
            measured = [i for i, cell in enumerate(usable) if cell in done]
            if len(measured) < START:
                chosen = start_design(pairs_of(usable), START, measured)
                lacking += [usable[j] for j in chosen]
        return sorted(lacking, key=self._costs)

    def _best(self, left: Set[Cell], seconds: float, seconds_left: float) -> list[Cell]:
        """The cells that tell most per second, of all series together."""
        ranked: list[tuple[float, Cell]] = []
        for series, cells in self._series.items():
            measured = [j for j, cell in enumerate(cells) if cell not in left]
            among = [
                j
                for j, cell in enumerate(cells)
                if cell in left and self._costs(cell) <= seconds_left
            ]
            if among:
                ranked += self._ranked(series, measured, among, seconds)
        ranked.sort(key=lambda item: -item[0])
        return _up_to(seconds, [cell for _, cell in ranked], self._costs)

    def _ranked(
        self, series: StepSelection, measured: Sequence[int], among: Sequence[int], seconds: float
    ) -> list[tuple[float, Cell]]:
        """Cells of one series with what each tells per second, given those before it."""
        cells = self._series[series]
        fitted = self._fits.get(series)
        pairs = pairs_of(cells)
        try:
            found = None if fitted is None else fitted.ensemble(pairs)
        except InputError:
            found = None
        if found is None:
            # What cannot be fitted yet needs cells more than anything else.
            spread = start_design(pairs, len(measured) + 2, measured)
            return [(float("inf"), cells[j]) for j in spread if j in set(among)]
        costs = np.array([self._costs(cell) for cell in cells])
        return [
            (gain, cells[j])
            for j, gain in order(
                found.covariance(pairs, measured), found.noise, costs, budget=seconds, among=among
            )
        ]


Rounds = CheapestFirst | Designed
"""An order of cells."""


def _round_seconds(fit_seconds: float) -> float:
    """Fits may take a fifth of the time."""
    return max(SECONDS, 4 * fit_seconds)


def _up_to(seconds: float, cells: Sequence[Cell], costs: Costs) -> list[Cell]:
    """The first cells that together take so long; at least one."""
    chosen: list[Cell] = []
    spent = 0.0
    for cell in cells:
        spent += costs(cell)
        if chosen and spent > seconds:
            break
        chosen.append(cell)
    return chosen
