"""What the user wants of a program, and where it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpucast.design.questions import Question
from gpucast.measure.described.description import Program
from gpucast.measure.described.runs import Run

VISITS = 6
"""Visits that a cell gets at most where a budget is shared out."""

HOUR = 3600.0


@dataclass(frozen=True)
class Request:
    """What the user wants of a program.

    Attributes:
        runs: one a cell.
        visits: of each cell, in passes over all; with a budget, at most. None: once, or six times.
        budget: seconds of all of it; ``gpu_hours``: of GPUs that runs have. None: the whole grid.
        machine: name of this machine in the records; None: the file's, or a new one.
        until: questions; once all are sure, nothing more is measured.
        trace: a run of each cell is recorded, too, and its visits say how a step is split.
    """

    program: Program
    runs: Sequence[Run]
    visits: int | None = None
    budget: float | None = None
    gpu_hours: float | None = None
    machine: str | None = None
    until: Sequence[Question] = ()
    trace: bool = False

    @property
    def has_budget(self) -> bool:
        """Whether it ends when so much was spent."""
        return self.budget is not None or self.gpu_hours is not None

    @property
    def chooses(self) -> bool:
        """Whether cells are chosen."""
        return self.has_budget or bool(self.until)

    @property
    def most(self) -> int:
        """Visits of a cell at most."""
        return self.visits or (VISITS if self.chooses else 1)


def beside(data: str, what: str) -> Path:
    """``x.jsonl`` has its logs in ``x.logs``; another name keeps its ending."""
    return Path(f"{data.removesuffix('.jsonl')}.{what}")
