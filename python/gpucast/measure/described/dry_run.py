"""What a campaign would run, in order, and about what it would cost."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.loading import load
from gpucast.design.cells import Cell
from gpucast.measure.described.budget import Budget
from gpucast.measure.described.chosen import Chooser
from gpucast.measure.described.costs import VisitCosts
from gpucast.measure.described.fits import Fits
from gpucast.measure.described.request import HOUR, Request
from gpucast.measure.described.visited import Visited, in_random_order


@dataclass(frozen=True)
class PlannedVisit:
    """A visit to make.

    Attributes:
        instances: at once on the GPU; one command each.
        words: of its command; ``{workdir}`` stands for a folder that it gets.
        seconds: about what it takes; None: nobody knows.
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
        made: visits that the file has.
        chosen: whether these are chosen from on the way.
        first: numbers in that list of those that would be made before anything is chosen anew; none
            where nothing is chosen, or nothing would be made.
    """

    visits: list[PlannedVisit]
    made: int
    chosen: bool
    first: tuple[int, ...] = ()

    @property
    def seconds(self) -> float:
        """Of all whose cost is known."""
        return sum(visit.seconds or 0.0 for visit in self.visits)

    @property
    def gpu_hours(self) -> float:
        """Of all whose cost is known."""
        return sum((visit.seconds or 0.0) * visit.gpus for visit in self.visits) / HOUR

    def to_dict(self) -> dict[str, object]:
        """One JSON object."""
        return {
            "visits": [asdict(visit) for visit in self.visits],
            "made": self.made,
            "chosen": self.chosen,
            "first": list(self.first),
            "seconds": self.seconds,
            "gpu_hours": self.gpu_hours,
        }


def planned(request: Request, output: Path | None) -> Plan:
    """The visits that a campaign would make beside those that its file has.

    Raises:
        InputError: the file holds what is no record.
    """
    data, steps = None, []
    if output is not None and output.exists() and output.stat().st_size > 0:
        data = load(os.fspath(output))
        steps = [*data.steps, *data.shared_steps]
    visited = Visited(request.runs, steps)
    costs = VisitCosts(by_gpu=request.gpu_hours is not None)
    for cell, step in visited.known:
        assert step.visit is not None  # of those that are known
        costs.learn(cell, step.visit.seconds, float(np.median(step.seconds)))
    made = sum(visited.counts.values())
    visits, listed = [], []
    for number in range(1, request.most + 1):
        for run in in_random_order(request.runs, number):
            if visited.counts[run.cell] < number:
                listed.append(run.cell)
                places = Path("{workdir}"), request.program.folder
                visits.append(
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
    # Numbers of visits grow along the list: of a cell's the first is its next one.
    first = (listed.index(cell) for cell in _first(request, data, visited, costs))
    return Plan(visits, made, request.chooses, tuple(first))


def _first(
    request: Request, data: Dataset | None, visited: Visited, costs: VisitCosts
) -> list[Cell]:
    """Cells that are visited before anything is chosen anew, as the file and a fit to it say."""
    if not request.chooses:
        return []
    runs = {run.cell: run for run in request.runs}
    budget = Budget(request, list(runs), costs, visited)
    fits = Fits(request, list(runs), costs, visited.counts)
    if data is not None and visited.known:
        _, last = visited.known[-1]
        fits.update(data.select(machine=last.machine), budget.open())
    chooser = Chooser(runs, costs, fits, budget, visited.counts)
    return [run.cell for run in chooser.next_runs()[0]]
