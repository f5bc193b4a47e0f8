"""Visits a few at a time, while a budget lasts or until an answer is sure."""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.design.cells import Cell
from gpucast.measure.described.budget import Budget
from gpucast.measure.described.costs import VisitCosts
from gpucast.measure.described.fits import Fits
from gpucast.measure.described.runs import Run
from gpucast.measure.rounds import InTurn
from gpucast.measure.until import ended_by


class Chooser:
    """Says which runs are visited next."""

    def __init__(
        self,
        runs: Mapping[Cell, Run],
        costs: VisitCosts,
        fits: Fits,
        budget: Budget,
        visits: Mapping[Cell, int],
    ) -> None:
        """``visits``: how many of each cell were made. All but ``runs`` are kept up to date by the
        caller."""
        self._runs = runs
        self._costs = costs
        self._fits = fits
        self._budget = budget
        self._rounds = InTurn(costs, lambda: fits.seconds, visits=visits, until=fits.until)

    def next_runs(self) -> tuple[list[Run], bool]:
        """Those to visit before the next fit, in order; none: nothing is left, or affordable, or
        all that was asked is sure.

        With them, whether they are visited whatever they cost: by them one learns what others do.
        """
        left = self._budget.open()
        if not left or ended_by(self._fits.until):
            return [], False
        first = self._costs.to_know(left)
        if first is not None and self._budget.left() > 0:
            return [self._runs[first]], True
        left = self._budget.affordable(left)
        batch = self._rounds.next_round(left, self._budget.left()) if left else []
        return [self._runs[cell] for cell in batch], False
