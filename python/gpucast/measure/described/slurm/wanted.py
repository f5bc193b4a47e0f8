"""The visits that the next jobs are to make, each group of them one job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import accumulate

from gpucast.design.cells import Cell
from gpucast.measure.described.costs import VisitCosts
from gpucast.measure.described.fits import Fits
from gpucast.measure.described.runs import Run
from gpucast.measure.described.slurm.batches import by_shape, next_batch, within_limit
from gpucast.measure.described.slurm.budget import SharedBudget
from gpucast.measure.described.slurm.work import Key
from gpucast.measure.described.visited import Visited, in_random_order
from gpucast.measure.until import ended_by

MOST_JOBS = 8
"""In the queue or running, at once."""


class Wanted:
    """Says what is worth a job; the arguments are kept up to date by the caller."""

    def __init__(
        self,
        runs: Mapping[Cell, Run],
        costs: VisitCosts,
        fits: Fits,
        budget: SharedBudget,
        visited: Visited,
        limit: float,
    ) -> None:
        """``limit``: of a job's time, in seconds."""
        self._runs = runs
        self._costs = costs
        self._fits = fits
        self._budget = budget
        self._visited = visited
        self._limit = limit
        self.batch_jobs = 0
        """Jobs of the last batch, which share what was left of the budget."""

    def of_grid(self, most: int, queued: Set[Key]) -> Iterable[tuple[int, list[Run]]]:
        """Visits that are neither made nor queued: of each round, for each shape."""
        for number in range(1, most + 1):
            missing = [
                run
                for run in in_random_order(list(self._runs.values()), number)
                if number not in self._visited.made(run.cell)
                and (run.digest, number) not in queued
                and run.cell not in self._budget.failed
            ]
            for runs in by_shape(missing):
                for some in self._in_time(runs):
                    yield number, some

    def of_batch(self, live: int, queued: Sequence[Cell]) -> Iterable[tuple[int, list[Run]]]:
        """The next visits for what is left of the budget, once half of the last batch is home.

        ``live``: jobs in the queue or running; ``queued``: a cell for each of their visits.
        """
        if live > self.batch_jobs // 2 or ended_by(self._fits.until):
            return
        left = self._budget.left()
        open_ = [cell for cell in self._budget.open() if cell not in set(queued)]
        if left <= 0 or not open_:
            return
        cells = self._planned(open_, left) or next_batch(
            open_, queued, self._visited.counts, self._costs, left=left,
            whole=self._budget.whole(), known=self._costs.are_known, asked=bool(self._fits.until),
        )  # fmt: skip
        runs = [self._runs[cell] for cell in cells]
        jobs = [some for group in by_shape(runs) for some in self._in_time(group)][:MOST_JOBS]
        self.batch_jobs = len(jobs)
        for some in jobs:
            yield 1 + max(self._visited.counts[run.cell] for run in some), some

    def _in_time(self, runs: Sequence[Run]) -> Iterable[list[Run]]:
        """As many together as a job's time limit lets end, as far as their costs are known."""
        known = self._costs.are_known
        return within_limit(
            runs, lambda run: self._costs.seconds(run.cell) if known else 0.0, self._limit
        )

    def _planned(self, open_: Sequence[Cell], left: float) -> list[Cell]:
        """What would make the questions sure, if there are any and it can be told."""
        until = self._fits.until.get(self._fits.series)
        if until is None or until.plan is None:
            return []
        among, chosen = set(open_), dict.fromkeys(until.plan.enough or until.plan.order)
        cells = [cell for cell in chosen if cell in among]
        costs = accumulate(map(self._costs, cells))
        return [cell for cell, cost in zip(cells, costs, strict=True) if cost <= left]
