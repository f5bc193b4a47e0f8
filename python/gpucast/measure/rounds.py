"""The order of a path's cells, a few seconds of measuring at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import numpy as np

from gpucast.data.selection import StepSelection
from gpucast.design.cells import Cell, PathKind, Timing, guess_seconds, pairs_of
from gpucast.design.spreading import START, in_turn
from gpucast.errors import InputError
from gpucast.measure.until import Until
from gpucast.model.fitted import Model

SECONDS = 4.0
"""Seconds of measuring between two fits."""

FIT_SECONDS = 0.2
"""Seconds of fitting that each visit may cost."""


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


class InTurn:
    """Passes over all cells while time is left, each in another order that is spread over them
    (``design.spreading``).

    Where questions are asked, after six cells of a series the visits that narrow its answers most
    for their time, as its last fit has it.
    """

    def __init__(
        self,
        costs: Callable[[Cell], float],
        fit_seconds: Callable[[], float],
        *,
        visits: Mapping[Cell, int],
        until: Mapping[StepSelection, Until] | None = None,
    ) -> None:
        """
        Args:
            costs: seconds, or whatever else the budget counts, of a visit of a cell.
            fit_seconds: as ``CheapestFirst``.
            visits: how often cells have been visited, kept up to date by the caller.
            until: questions to each series, kept up to date by the caller; None: to none.
        """
        self._costs = costs
        self._fit_seconds = fit_seconds
        self._visits = visits
        self._until = until or {}

    def next_round(self, left: Sequence[Cell], seconds_left: float) -> list[Cell]:
        """As ``CheapestFirst``."""
        fit_seconds = self._fit_seconds()
        least = max(1, round(fit_seconds / FIT_SECONDS))
        affordable = [cell for cell in left if self._costs(cell) <= seconds_left]
        ordered = self._asked(affordable) if self._until else in_turn(affordable, self._visits)
        return _up_to(min(_round_seconds(fit_seconds), seconds_left), ordered, self._costs, least)

    def _asked(self, affordable: Sequence[Cell]) -> list[Cell]:
        """First cells of series whose fits do not say yet what to visit, then what others say."""
        first: list[Cell] = []
        ranked: list[tuple[float, Cell]] = []
        for series, until in self._until.items():
            own = {cell for cell in affordable if cell.series == series}
            if until.plan is not None:
                planned = zip(until.plan.gains, until.plan.order, strict=True)
                ranked += [(gain, cell) for gain, cell in planned if cell in own]
            elif not until.reached:
                first += in_turn(own, self._visits)[:START]
        ranked.sort(key=lambda item: -item[0])
        # What a plan would visit several times is visited once, and then fitted.
        return list(dict.fromkeys([*first, *(cell for _, cell in ranked)]))


Rounds = CheapestFirst | InTurn
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
