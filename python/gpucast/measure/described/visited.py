"""Which visits were made, and the order of those that are to make."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from gpucast.data.records import Step
from gpucast.design.cells import Cell
from gpucast.measure.described.runs import Run
from gpucast.util import units


class Visited:
    """Which visits of which runs a file has."""

    def __init__(self, runs: Sequence[Run], steps: Sequence[Step]) -> None:
        self._runs = {run.digest: run for run in runs}
        self._numbers: dict[Cell, set[int]] = {run.cell: set() for run in runs}
        self.counts: Counter[Cell] = Counter()
        self.known: list[tuple[Cell, Step]] = []
        for step in steps:
            run = None if step.visit is None else self._runs.get(step.visit.digest)
            if run is not None and step.visit is not None:
                self.add(run.cell, step.visit.number)
                self.known.append((run.cell, step))

    def add(self, cell: Cell, number: int) -> None:
        """A visit was made."""
        self._numbers[cell].add(number)
        self.counts[cell] = len(self._numbers[cell])

    def made(self, cell: Cell) -> frozenset[int]:
        """Numbers of the visits that it had."""
        return frozenset(self._numbers[cell])

    def next(self, cell: Cell) -> int:
        """The number of its next visit."""
        made = self._numbers[cell]
        return next(number for number in range(1, len(made) + 2) if number not in made)


def in_random_order(runs: Sequence[Run], visit: int) -> list[Run]:
    """One pass over the cells. The order is drawn from what is run: the same in every start, and
    another in each pass. Instances that share a GPU come next to one that has it alone, because
    they are compared with it."""

    def drawn(what: str) -> bytes:
        return hashlib.sha256(f"{visit} {what}".encode()).digest()

    shared = {(run.cell.n, run.cell.gpus) for run in runs if run.cell.instances > 1}

    def place(run: Run) -> tuple[bytes, bytes]:
        own, cell = drawn(run.digest), (run.cell.n, run.cell.gpus)
        return (drawn(f"{units.number(run.cell.n)}/k") if cell in shared else own, own)

    return sorted(runs, key=place)
