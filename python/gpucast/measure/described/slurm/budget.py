"""The budget of a campaign through Slurm: of all starts together, since clients come and go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set

from gpucast.data.records import Entry, Note, Step
from gpucast.design.cells import Cell
from gpucast.measure.described.budget import Budget
from gpucast.measure.described.costs import VisitCosts
from gpucast.measure.described.request import HOUR, Request
from gpucast.measure.described.visited import Visited


class SharedBudget(Budget):
    """What a campaign may spend, by whichever start of it."""

    def __init__(
        self,
        request: Request,
        cells: Sequence[Cell],
        costs: VisitCosts,
        visited: Visited,
        queued: Callable[[], Iterable[Cell]],
    ) -> None:
        """``queued``: a cell for each visit that jobs still have to make."""
        super().__init__(request, cells, costs, visited)
        self._queued = queued
        self._used = 0.0

    def count_before(self, entries: Iterable[Entry], digests: Iterable[str]) -> None:
        """What earlier starts spent on these runs."""
        ours = set(digests)
        for entry in entries:
            if isinstance(entry, Step):
                visit = entry.visit
                if visit is not None and visit.job is not None and visit.digest in ours:
                    self._used += self._share(visit.seconds, entry.gpus)
            elif isinstance(entry, Note):
                self._used += self._failed_before(entry, ours)

    def count(self, seconds: float, gpus: int) -> None:
        """A visit of this start."""
        self.spent += seconds * gpus
        self._used += self._share(seconds, gpus)

    def whole(self) -> float:
        """All of it: seconds, or GPU seconds; without a budget, what all visits cost."""
        if self._request.gpu_hours is not None:
            return self._request.gpu_hours * HOUR
        if self._request.budget is not None:
            return self._request.budget
        return self._used + sum(map(self._costs, self.to_do()))  # all may be needed

    def unspent(self) -> float:
        """Of the budget, whichever start spent the rest."""
        return self.whole() - self._used

    def left(self) -> float:
        """Of the budget, when what is queued will have been measured."""
        queued = sum(map(self._costs, self._queued())) if self._costs.are_known else 0.0
        return self.unspent() - queued

    def _failed_before(self, note: Note, ours: Set[str]) -> float:
        """What a visit cost of which a note says that it failed."""
        about = note.about or {}
        if about.get("job") is None:  # of a start without Slurm
            return 0.0
        seconds, gpus = about.get("seconds"), about.get("gpus")
        is_ours = isinstance(digest := about.get("digest"), str) and digest in ours
        if is_ours and isinstance(seconds, int | float) and isinstance(gpus, int):
            return self._share(seconds, gpus)
        return 0.0

    def _share(self, seconds: float, gpus: int) -> float:
        return seconds * (gpus if self._request.gpu_hours is not None else 1)
