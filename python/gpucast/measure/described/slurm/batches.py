"""Chooses the visits of the next jobs within the budget, and groups them into jobs.

A batch is chosen before the previous one has finished: queued visits count as made. Batches are
large, since each has to wait in the queue: two may each use up to 40 % of the budget, and the rest
confirms their results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

from gpucast.data.records import Entry, Note, Step
from gpucast.measure.described.campaign import DescribedRun, Plan, PlannedVisit
from gpucast.measure.described.request import Request, in_random_order
from gpucast.measure.described.runs import Run
from gpucast.measure.described.slurm.options import RESERVE_SECONDS, Options, Shape, words_of
from gpucast.measure.described.slurm.work import Key
from gpucast.measure.design.cells import START, Cell, in_turn
from gpucast.measure.until import ended_by
from gpucast.measure.visits import Budget, VisitCosts, up_to

T = TypeVar("T")

SHARE = 0.4
"""The share of the whole budget that one batch may take."""

SEED = START + 2
"""Cells of a batch while visit times or the fit are not known."""

MOST_JOBS = 8
"""Most jobs in the queue or running at once."""

_FILL = 0.8
"""The share of a job's usable time that its visits are planned to fill."""


class Wanted:
    """Chooses the visits that the next jobs make.

    Attributes:
        batch_jobs: number of jobs of the last batch, which share the budget that remained.
    """

    def __init__(self, run: DescribedRun, costs: VisitCosts, limit: float) -> None:
        """``run`` is kept up to date by the caller; ``limit`` is the longest time of a job (s)."""
        self._run = run
        self._visits = run.visits
        self._costs = costs
        self._limit = limit
        self.batch_jobs = 0

    def of_grid(self, queued: Set[Key]) -> Iterable[tuple[int, list[Run]]]:
        """Yield the visits that are neither made nor queued, by round and shape of job."""
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
        """Yield the next visits within the remaining budget, once half of the last batch has ended.

        ``live`` is the number of jobs queued or running; ``queued`` has a cell for each of their
        visits.
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
        """Group runs so that each group fits into a job's time limit, if costs are known."""
        known = self._costs.are_known
        return within_limit(
            runs, lambda run: self._costs.seconds(run.cell) if known else 0.0, self._limit
        )

    def _planned(self, open_: Sequence[Cell], left: float) -> list[Cell]:
        """Return the planned visits that would answer all questions, as far as the budget
        allows."""
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
    """Return cells to visit once each, whose total cost is at most the remaining budget and a
    batch's share of the whole; none if the choice has to wait for a queued visit.

    Args:
        open_: cells that may be visited once more.
        queued: a cell for each visit that is running or queued.
        visits: number of visits of each cell.
        costs: cost of a visit; ``known``: whether costs can be predicted yet.
        left: remaining budget without queued visits; ``whole``: the whole budget.
        asked: whether the campaign has questions; a fit, for which few cells suffice, then chooses.
    """
    if queued and (asked or not known):
        return []
    ordered = in_turn(open_, Counter(visits) + Counter(queued))
    if not known:  # start with the cheapest
        return sorted(ordered[:SEED], key=lambda cell: cell.n / cell.gpus)
    affordable = [cell for cell in ordered if costs(cell) <= left]
    return up_to(min(left, SHARE * whole), affordable[: SEED if asked else None], costs)


def by_shape(runs: Iterable[Run]) -> list[list[Run]]:
    """Group runs that one job may make, because they need the same resources."""
    shapes: dict[Shape, list[Run]] = {}
    for run in runs:
        shapes.setdefault(Shape.of(run), []).append(run)
    return list(shapes.values())


def within_limit(
    visits: Iterable[T], seconds: Callable[[T], float], limit: float
) -> Iterator[list[T]]:
    """Group visits so that each group fits into a job's time limit, at least one in each.

    ``seconds`` returns a visit's time, 0 if unknown; ``limit`` is the time limit of a job (s).
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
    """The budget of a campaign, shared by all its starts."""

    def __init__(
        self, request: Request, costs: VisitCosts, queued: Callable[[], Iterable[Cell]]
    ) -> None:
        """``queued`` yields a cell for each visit that jobs still have to make."""
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
        """The part of the budget that is not spent yet."""
        return self.whole - self._used

    def left(self) -> float:
        """The part of the budget that will remain after the queued visits."""
        queued = sum(map(self._costs, self._queued())) if self._costs.are_known else 0.0
        return self.unspent() - queued

    def _failed_before(self, note: Note, ours: Set[str]) -> float:
        """Return the cost of a failed visit, if the note is about one made by an earlier job."""
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
    """A job that a campaign would submit, with its visits in order.

    Attributes:
        options: options of sbatch.
    """

    gpus: int
    options: list[str]
    visits: list[PlannedVisit]

    def to_dict(self) -> dict[str, object]:
        """One JSON object; ``visits`` is their number."""
        return {"gpus": self.gpus, "options": self.options, "visits": len(self.visits)}


def jobs_of(plan: Plan, request: Request, options: Options) -> list[PlannedJob]:
    """Return the jobs for a plan's visits: one for each round and shape, or several if the time
    limit requires it."""
    shapes = {(run.cell.n, run.cell.gpus): Shape.of(run) for run in request.runs}
    jobs: dict[tuple[int, Shape], list[PlannedVisit]] = {}
    for visit in plan.visits:
        jobs.setdefault((visit.number, shapes[visit.n, visit.gpus]), []).append(visit)
    return [
        PlannedJob(shape.gpus, words_of(options.of_job(shape, request.program.path)), some)
        for (_, shape), visits in jobs.items()
        for some in within_limit(visits, lambda visit: visit.seconds or 0.0, options.seconds)
    ]
