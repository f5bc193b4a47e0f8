"""What the user wants measured, which visits were made, and the order of the others."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.selection import StepSelection
from gpucast.fitting.fit import fit
from gpucast.measure.described.description import Program
from gpucast.measure.described.runs import Run
from gpucast.measure.design.cells import Cell
from gpucast.measure.visits import Budget, VisitCosts, Visits
from gpucast.measure.work import Bounds
from gpucast.model.fitted import Model
from gpucast.util import units


@dataclass(frozen=True)
class Request(Bounds):
    """What the user wants measured of a program.

    Attributes:
        runs: one for each cell.
        trace: whether one run of each cell is traced as well, so that its visits record how a step
            is split into parts.
    """

    program: Program
    runs: Sequence[Run]
    trace: bool = False


def beside(data: str, what: str) -> Path:
    """Return the folder beside a file of records: ``x.logs`` for ``x.jsonl``."""
    return Path(f"{data.removesuffix('.jsonl')}.{what}")


class Visited:
    """The numbers of each cell's visits in a file.

    Attributes:
        steps: the file's steps of these runs, each with its cell.
    """

    def __init__(self, runs: Sequence[Run], steps: Sequence[Step]) -> None:
        """``steps`` are all steps of the file; those of other runs are ignored."""
        cells = {run.digest: run.cell for run in runs}
        self._numbers: dict[Cell, set[int]] = {run.cell: set() for run in runs}
        self.steps: list[tuple[Cell, Step]] = []
        for step in steps:
            cell = None if step.visit is None else cells.get(step.visit.digest)
            if cell is None or step.visit is None or step.visit.number in self.made(cell):
                continue
            self.add(cell, step.visit.number)
            self.steps.append((cell, step))

    def add(self, cell: Cell, number: int) -> None:
        """Note that a visit was made."""
        self._numbers[cell].add(number)

    def made(self, cell: Cell) -> frozenset[int]:
        """Numbers of the visits of a cell that were made."""
        return frozenset(self._numbers[cell])

    def next(self, cell: Cell) -> int:
        """The number of a cell's next visit."""
        made = self._numbers[cell]
        return next(number for number in range(1, len(made) + 2) if number not in made)


def visits_of(
    request: Request, runs: Sequence[Run], visited: Visited, costs: VisitCosts, budget: Budget
) -> Visits:
    """Return the schedule of visits of these runs, given those that the file has."""

    def fitted(data: Dataset, series: StepSelection) -> Model:
        return fit(data, series, replicates=0)

    def order(cells: Sequence[Cell], number: int, fit_seconds: float) -> list[Cell]:
        wanted = set(cells)
        return [run.cell for run in in_random_order(runs, number) if run.cell in wanted]

    return Visits(
        [run.cell for run in runs], costs, budget, request, request.program.device, fitted, order,
        visited.steps,
    )  # fmt: skip


def in_random_order(runs: Sequence[Run], visit: int) -> list[Run]:
    """Return the runs in a random order that depends on the digests alone: every start of a
    campaign has the same order, each pass over the cells another one. Runs that share a GPU come
    next to the run that has it alone, with which they are compared."""

    def drawn(what: str) -> bytes:
        return hashlib.sha256(f"{visit} {what}".encode()).digest()

    shared = {(run.cell.n, run.cell.gpus) for run in runs if run.cell.instances > 1}

    def place(run: Run) -> tuple[bytes, bytes]:
        own, cell = drawn(run.digest), (run.cell.n, run.cell.gpus)
        return (drawn(f"{units.number(run.cell.n)}/k") if cell in shared else own, own)

    return sorted(runs, key=place)
