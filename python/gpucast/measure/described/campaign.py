"""Visits a described program's cells, one after the other, and records the results."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from gpucast.data.loading import load
from gpucast.data.records import Note, Step
from gpucast.measure.described.here import (
    disturbances,
    facts_here,
    gpus_here,
    lacks_driver,
    possible,
)
from gpucast.measure.described.request import Request, Visited, beside, in_random_order, visits_of
from gpucast.measure.described.runs import Run
from gpucast.measure.described.traced import TracedRuns
from gpucast.measure.described.visit import FOLDER, Visitor
from gpucast.measure.design.cells import Cell
from gpucast.measure.pathrun import PathRun, identified
from gpucast.measure.store import Store
from gpucast.measure.visits import Budget, VisitCosts
from gpucast.measure.work import HOUR, Report, Watcher


class DescribedRun(PathRun):
    """Records the visits of a described program, made here or by Slurm jobs.

    Attributes:
        runs: the run of each cell.
        visited: the numbers of the visits that were made.
    """

    def __init__(
        self,
        request: Request,
        runs: Sequence[Run],
        machine: str,
        store: Store,
        watcher: Watcher,
        costs: VisitCosts,
        budget: Budget,
    ) -> None:
        """``runs`` are those of the request that can be made here, ``machine`` is the machine's
        id."""
        program = request.program
        steps = store.steps(machine, program.path)
        self.runs = {run.cell: run for run in runs}
        self.visited = Visited(runs, steps)
        visits = visits_of(request, runs, self.visited, costs, budget)
        super().__init__(program.path, machine, visits, store, watcher, program.device)
        self._warn_of_other_runs(request, steps)

    def keep(self, cell: Cell, step: Step) -> None:
        """Record a visit, and its number."""
        assert step.visit is not None  # those of described programs have one
        self.visited.add(cell, step.visit.number)
        super().keep(cell, step)

    def result(self) -> Report:
        """Return the outcome of all visits."""
        self.finish()
        self.report.gpu_hours = self.visits.budget.spent / HOUR
        return Report(self.store.name, [self.report], self.fits(), self.answers())

    def _warn_of_other_runs(self, request: Request, steps: Sequence[Step]) -> None:
        """Warn if the file has steps of these cells that were run in another way: a fit takes
        all."""
        program = request.program
        digests = {
            (run.cell.n, run.cell.gpus, run.cell.instances, run.mps): run.digest
            for run in request.runs
        }
        cells = [(s.n, s.gpus, s.instances or 1, bool(s.mps)) for s in steps]
        other = sum(
            step.visit is not None
            and (step.program, step.case) == (program.program, program.case)
            and digests.get(cell) not in (None, step.visit.digest)
            for cell, step in zip(cells, steps, strict=True)
        )
        if other:
            self.watcher.say(
                f"{self.store.name} has {other} visits of these cells by another command or "
                "program, with other files or another environment; a fit takes all: give this one "
                "another case"
            )


class DescribedCampaign:
    """Measures a described program's cells into a file."""

    def __init__(self, request: Request, store: Store, watcher: Watcher) -> None:
        """
        Raises:
            InputError: no cell can run here.
        """
        program, path = request.program, request.program.path
        self._path = path
        self._lacks_driver = lacks_driver(program)
        traces = None
        if request.trace:
            traces = TracedRuns(beside(store.name, "traces"), program, watcher.say)
        gpus = gpus_here(path, program.environment, program.launcher)
        runs = possible(request.runs, gpus, watcher.say)
        machine = identified(store, facts_here(path), path, request.machine)
        if all(known.id != machine.id for known in store.machines):
            store.append(machine)
        costs = VisitCosts(by_gpu=request.gpu_hours is not None)
        budget = Budget(request.budget, request.gpu_hours)
        self._run = DescribedRun(request, runs, machine.id, store, watcher, costs, budget)
        self._logs = beside(store.name, "logs")
        self._visitor = Visitor(
            program, runs, gpus, machine.id, self._logs, watcher.say, traces=traces
        )
        visits = self._run.visits
        complete = sum(visits.counts[cell] >= visits.most for cell in visits.cells)
        if traces is not None and complete:
            watcher.say(
                f"{complete} cells have all their visits, and no more is recorded of "
                f"them: --visits {visits.most + 1} makes another, which is split"
            )

    def run(self) -> Report:
        """Measure what the file does not hold yet, as far as the budget allows."""
        run = self._run
        if self._lacks_driver:
            run.watcher.say(
                f"note: path {self._path}, but no nvidia-smi here; where gpus counts processor "
                "cores, the description needs path: host"
            )
        for text in disturbances(self._path):
            run.note(text, remark=True)
        self._logs.mkdir(parents=True, exist_ok=True)
        for folder in self._logs.glob(f"*{FOLDER}"):  # left by a campaign that was killed
            shutil.rmtree(folder, ignore_errors=True)
        run.measure(self._visit)
        return run.result()

    def _visit(self, cell: Cell) -> list[Step | Note]:
        return [self._visitor.visit(self._run.runs[cell], self._run.visited.next(cell))]


# --- what a campaign would run ---


@dataclass(frozen=True)
class PlannedVisit:
    """A visit to make.

    Attributes:
        instances: instances that share the GPU; each runs the command.
        words: the command line; ``{workdir}`` stands for the run's folder.
        seconds: roughly how long it takes; None if that is not known.
    """

    n: float
    gpus: int
    instances: int
    number: int
    words: list[str]
    environment: dict[str, str]
    seconds: float | None


@dataclass(frozen=True)
class Plan:
    """Visits to make.

    Attributes:
        made: number of visits that the file already has.
        chosen: whether the campaign makes only some of these visits and chooses them as it goes.
        first: indices of the visits that it would make before its next choice; empty if it does not
            choose, or would make none.
    """

    visits: list[PlannedVisit]
    made: int
    chosen: bool
    first: tuple[int, ...] = ()

    @property
    def seconds(self) -> float:
        """Total time (s) of the visits whose time is known."""
        return sum(visit.seconds or 0.0 for visit in self.visits)

    @property
    def gpu_hours(self) -> float:
        """Total GPU hours of the visits whose time is known."""
        return sum((visit.seconds or 0.0) * visit.gpus for visit in self.visits) / HOUR

    def to_dict(self) -> dict[str, object]:
        """One JSON object."""
        return {**asdict(self), "seconds": self.seconds, "gpu_hours": self.gpu_hours}


def planned(request: Request, output: Path | None) -> Plan:
    """Return the visits that a campaign would add to those in its file.

    Raises:
        InputError: the file holds something that is not a record.
    """
    data, steps = None, []
    if output is not None and output.exists() and output.stat().st_size > 0:
        data = load(os.fspath(output))
        steps = [*data.steps, *data.shared_steps]
    visited = Visited(request.runs, steps)
    costs = VisitCosts(by_gpu=request.gpu_hours is not None)
    budget = Budget(request.budget, request.gpu_hours)
    visits = visits_of(request, request.runs, visited, costs, budget)
    made = sum(visits.counts.values())
    places = Path("{workdir}"), request.program.folder
    planned_visits, cells = [], []
    for number in range(1, request.most + 1):
        for run in in_random_order(request.runs, number):
            if visits.counts[run.cell] < number:
                cells.append(run.cell)
                planned_visits.append(
                    PlannedVisit(
                        run.cell.n,
                        run.cell.gpus,
                        run.cell.instances,
                        number,
                        [run.placed(word, *places) for word in run.words],
                        {name: run.placed(text, *places) for name, text in run.environment.items()},
                        costs.seconds(run.cell) if costs.are_known else None,
                    )
                )
    first: list[Cell] = []
    if request.chooses:
        if data is not None and visited.steps:
            _, last = visited.steps[-1]
            for _ in visits.fit(data.select(machine=last.machine)):
                pass
        first, _ = visits.next()
    # Visit numbers grow along the list, so that a cell's first entry is its next visit.
    numbers = tuple(cells.index(cell) for cell in first)
    return Plan(planned_visits, made, request.chooses, numbers)
