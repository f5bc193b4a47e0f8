"""Lists what a campaign would run, in order, and roughly how long it would take."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path

from gpucast.data.loading import load
from gpucast.measure.costs import VisitCosts
from gpucast.measure.described.request import Request, Visited, in_random_order, visits_of
from gpucast.measure.design.cells import Cell
from gpucast.measure.visits import Budget
from gpucast.measure.work import HOUR


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
