"""Which visits are left, and what may still be spent on them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gpucast.design.cells import Cell
from gpucast.measure.described.costs import VisitCosts
from gpucast.measure.described.request import HOUR, Request
from gpucast.measure.described.visited import Visited
from gpucast.measure.until import Until


class Budget:
    """What a campaign may spend, and what it has spent.

    Attributes:
        spent: GPU seconds of this start, failed visits included.
        failed: cells that failed, which are left out until the next start.
    """

    def __init__(
        self, request: Request, cells: Sequence[Cell], costs: VisitCosts, visited: Visited
    ) -> None:
        """``cells``: all of the campaign's; ``costs``, ``visited``: kept up to date by the
        caller."""
        self.spent = 0.0
        self.failed: set[Cell] = set()
        self._request = request
        self._cells = cells
        self._costs = costs
        self._visited = visited
        self._begin = time.monotonic()

    def open(self) -> list[Cell]:
        """Cells that may be visited once more."""
        return [cell for cell in self._cells if self._visits_left(cell) > 0]

    def to_do(self) -> list[Cell]:
        """A cell for each visit that is left."""
        return [cell for cell in self._cells for _ in range(self._visits_left(cell))]

    def left(self) -> float:
        """What may be spent on visits that nobody has begun."""
        return self.unspent()

    def unspent(self) -> float:
        """Of the budget: seconds, or GPU seconds; without one, what all visits left cost."""
        if self._request.gpu_hours is not None:
            return self._request.gpu_hours * HOUR - self.spent
        if self._request.budget is not None:
            return self._request.budget - (time.monotonic() - self._begin)
        return sum(map(self._costs, self.to_do()))  # all may be needed

    def affordable(self, cells: Sequence[Cell]) -> list[Cell]:
        """Those of them of which a visit costs no more than is left."""
        left = self.left()
        return [cell for cell in cells if self._costs(cell) <= left]

    def progress(self, until: Until | None) -> tuple[int, int, float]:
        """Visits made, how many there are in all, and about how many seconds are left.

        ``until``: what is asked, of which it may be known what it takes.
        """
        to_do = self.to_do()
        total = self._request.most * len(self._cells)
        takes = self._seconds_left(to_do)
        wanted = None if until is None else until.seconds_left(self._costs.seconds)
        if wanted is not None:
            takes = min(takes, wanted)
        return total - len(to_do), total, max(0.0, takes)

    def _seconds_left(self, to_do: Sequence[Cell]) -> float:
        """Of these visits, as far as the budget reaches. GPU hours are taken to go to visits of all
        GPU counts alike."""
        seconds = sum(map(self._costs.seconds, to_do))
        if self._request.gpu_hours is not None:
            gpu_seconds = sum(map(self._costs, to_do))
            return seconds * min(1.0, self.unspent() / gpu_seconds) if to_do else 0.0
        if self._request.budget is not None:
            return min(seconds, self.unspent())
        return seconds

    def _visits_left(self, cell: Cell) -> int:
        if cell in self.failed:
            return 0
        return max(0, self._request.most - self._visited.counts[cell])
