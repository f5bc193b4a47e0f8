"""Which visits the next jobs are to make, which of them go into one job, and what they may cost;
and all jobs that a campaign would submit.

A batch is chosen before the one before it has come home: visits that are queued count as made.
Batches are large, since each waits in the queue: two have 40 % of the budget each at most, and the
rest confirms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

from gpucast.data.records import Entry, Note, Step
from gpucast.measure.costs import VisitCosts
from gpucast.measure.described.campaign import DescribedRun
from gpucast.measure.described.dry_run import Plan, PlannedVisit
from gpucast.measure.described.request import Request, in_random_order
from gpucast.measure.described.runs import Run
from gpucast.measure.described.slurm.options import RESERVE_SECONDS, Options, Shape, words_of
from gpucast.measure.described.slurm.work import Key
from gpucast.measure.design.cells import START, Cell, in_turn
from gpucast.measure.until import ended_by
from gpucast.measure.visits import Budget, up_to

T = TypeVar("T")

SHARE = 0.4
"""The share of the whole budget that one batch may take."""

SEED = START + 2
"""Cells of a batch before it is known what visits take, or what a fit says."""

MOST_JOBS = 8
"""In the queue or running, at once."""

_FILL = 0.8
"""The share of a job's time for visits that its visits are expected to take."""


class Wanted:
    """Says what is worth a job.

    Attributes:
        batch_jobs: jobs of the last batch, which share what was left of the budget.
    """

    def __init__(self, run: DescribedRun, costs: VisitCosts, limit: float) -> None:
        """``run``: kept up to date by the caller; ``limit``: seconds that a job may take."""
        self._run = run
        self._visits = run.visits
        self._costs = costs
        self._limit = limit
        self.batch_jobs = 0

    def of_grid(self, queued: Set[Key]) -> Iterable[tuple[int, list[Run]]]:
        """Visits that are neither made nor queued: of each round, for each shape."""
        for number in range(1, self._visits.most + 1):
            missing = [
                run
                for run in in_random_order(list(self._run.runs.values()), number)
                if number not in self._run.visited.made(run.cell)
                and (run.digest, number) not in queued
                and run.cell not in self._visits.left_out
            ]
            for runs in by_shape(missing):
                for some in self._in_time(runs):
                    yield number, some

    def of_batch(self, live: int, queued: Sequence[Cell]) -> Iterable[tuple[int, list[Run]]]:
        """The next visits for what is left of the budget, once half of the last batch is home.

        ``live``: jobs in the queue or running; ``queued``: a cell for each of their visits.
        """
        visits = self._visits
        if live > self.batch_jobs // 2 or ended_by(visits.until):
            return
        left = visits.budget.left()
        open_ = [cell for cell in visits.open() if cell not in set(queued)]
        if left <= 0 or not open_:
            return
        cells = self._planned(open_, left) or next_batch(
            open_, queued, visits.counts, self._costs, left=left,
            whole=visits.budget.whole, known=self._costs.are_known, asked=bool(visits.until),
        )  # fmt: skip
        runs = [self._run.runs[cell] for cell in cells]
        jobs = [some for group in by_shape(runs) for some in self._in_time(group)][:MOST_JOBS]
        self.batch_jobs = len(jobs)
        for some in jobs:
            yield 1 + max(visits.counts[run.cell] for run in some), some

    def _in_time(self, runs: Sequence[Run]) -> Iterable[list[Run]]:
        """As many together as a job's time limit lets end, as far as their costs are known."""
        known = self._costs.are_known
        return within_limit(
            runs, lambda run: self._costs.seconds(run.cell) if known else 0.0, self._limit
        )

    def _planned(self, open_: Sequence[Cell], left: float) -> list[Cell]:
        """The visits that would make all answers sure, if there are questions and it is known."""
        (until,) = self._visits.until.values() or (None,)
        if until is None or until.plan is None:
            return []
        among, chosen = set(open_), dict.fromkeys(until.plan.enough or until.plan.order)
        cells = [cell for cell in chosen if cell in among]
        costs = accumulate(map(self._costs, cells))
        return [cell for cell, cost in zip(cells, costs, strict=True) if cost <= left]


def next_batch(
    open_: Sequence[Cell],
    queued: Sequence[Cell],
    visits: Mapping[Cell, int],
    costs: Callable[[Cell], float],
    *,
    left: float,
    whole: float,
    known: bool,
    asked: bool,
) -> list[Cell]:
    """Cells to visit once each, that together take no more than is left, or a batch's share; empty
    where nothing can be said before a visit that is queued comes home.

    Args:
        open_: those that may be visited once more.
        queued: under way or in the queue, a cell for each visit.
        visits: how many each cell has had.
        costs: of a visit; ``known``: whether anything is known of them.
        left: of the budget, without what is queued; ``whole``: all of it.
        asked: whether a fit is to say what to visit, for which few cells are enough.
    """
    if queued and (asked or not known):
        return []
    ordered = in_turn(open_, Counter(visits) + Counter(queued))
    if not known:  # the cheapest begin
        return sorted(ordered[:SEED], key=lambda cell: cell.n / cell.gpus)
    affordable = [cell for cell in ordered if costs(cell) <= left]
    return up_to(min(left, SHARE * whole), affordable[: SEED if asked else None], costs)


def by_shape(runs: Iterable[Run]) -> list[list[Run]]:
    """Runs that one job may make, in their order: those that ask for the same."""
    shapes: dict[Shape, list[Run]] = {}
    for run in runs:
        shapes.setdefault(Shape.of(run), []).append(run)
    return list(shapes.values())


def within_limit(
    visits: Iterable[T], seconds: Callable[[T], float], limit: float
) -> Iterator[list[T]]:
    """As many visits together as a job's time limit lets end, at least one.

    ``seconds``: of a visit, 0 where nobody knows; ``limit``: of a job, in seconds.
    """
    most = _FILL * (limit - RESERVE_SECONDS)
    some: list[T] = []
    taken = 0.0
    for visit in visits:
        cost = seconds(visit)
        if some and taken + cost > most:
            yield some
            some, taken = [], 0.0
        some.append(visit)
        taken += cost
    if some:
        yield some


class SharedBudget(Budget):
    """What a campaign may spend, by whichever start of it."""

    def __init__(
        self, request: Request, costs: VisitCosts, queued: Callable[[], Iterable[Cell]]
    ) -> None:
        """``queued``: a cell for each visit that jobs still have to make."""
        super().__init__(request.budget, request.gpu_hours)
        self._costs = costs
        self._queued = queued
        self._used = 0.0

    def count_before(self, entries: Iterable[Entry], digests: Iterable[str]) -> None:
        """Count the visits of these runs that earlier starts made."""
        ours = set(digests)
        for entry in entries:
            if isinstance(entry, Step):
                visit = entry.visit
                if visit is not None and visit.job is not None and visit.digest in ours:
                    self._used += self._share(visit.seconds, entry.gpus)
            elif isinstance(entry, Note):
                self._used += self._failed_before(entry, ours)

    def spend(self, seconds: float, gpus: int) -> None:
        super().spend(seconds, gpus)
        self._used += self._share(seconds, gpus)

    def unspent(self) -> float:
        """The part that no start has spent yet."""
        return self.whole - self._used

    def left(self) -> float:
        """The part that will be left when the queued visits are made."""
        queued = sum(map(self._costs, self._queued())) if self._costs.are_known else 0.0
        return self.unspent() - queued

    def _failed_before(self, note: Note, ours: Set[str]) -> float:
        """The cost of a visit that failed, if the note is about one of an earlier job."""
        about = note.about or {}
        seconds, gpus, digest = about.get("seconds"), about.get("gpus"), about.get("digest")
        if about.get("job") is None or not isinstance(digest, str) or digest not in ours:
            return 0.0
        if isinstance(seconds, int | float) and isinstance(gpus, int):
            return self._share(seconds, gpus)
        return 0.0

    def _share(self, seconds: float, gpus: int) -> float:
        return seconds * (gpus if self.by_gpu else 1)


@dataclass(frozen=True)
class PlannedJob:
    """A job, and what it would do in order.

    Attributes:
        options: of sbatch.
    """

    gpus: int
    options: list[str]
    visits: list[PlannedVisit]

    def to_dict(self) -> dict[str, object]:
        """One JSON object; visits by their number in the plan's list."""
        return {"gpus": self.gpus, "options": self.options, "visits": len(self.visits)}


def jobs_of(plan: Plan, request: Request, options: Options) -> list[PlannedJob]:
    """The jobs for a plan's visits: for each round and shape of cells one, or as many as their time
    limits need."""
    shapes = {(run.cell.n, run.cell.gpus): Shape.of(run) for run in request.runs}
    jobs: dict[tuple[int, Shape], list[PlannedVisit]] = {}
    for visit in plan.visits:
        jobs.setdefault((visit.number, shapes[visit.n, visit.gpus]), []).append(visit)
    return [
        PlannedJob(shape.gpus, words_of(options.of_job(shape, request.program.path)), some)
        for (_, shape), visits in jobs.items()
        for some in within_limit(visits, lambda visit: visit.seconds or 0.0, options.seconds)
    ]
