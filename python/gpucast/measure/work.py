"""What is to be measured on a path, who is told how it goes, and what became of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Literal, Protocol

import numpy as np

from gpucast.data.records import Machine
from gpucast.data.selection import StepSelection
from gpucast.design.cells import Cell, Choice, Timing
from gpucast.design.questions import Question
from gpucast.measure.paths import Path
from gpucast.util.devices import GPU, Device

Status = Literal["complete", "sure", "unsure", "budget", "ended", "failed"]


class Watcher(Protocol):
    """Who is told how it goes."""

    def under_way(self, path: str, what: str, done: int, total: int, left: float) -> None:
        """``done`` cells of ``total``; ``left``: seconds, about."""

    def finished(
        self, path: str, what: str, done: int, total: int, left: float, step: float
    ) -> None:
        """The same, once it is measured; ``step``: seconds."""

    def fitted(self, path: str, series: StepSelection, error: float) -> None:
        """``error``: median relative error of the cells that were fitted."""

    def answered(self, path: str, series: StepSelection, text: str) -> None:
        """``text``: what a fit says to a question, and what it would take to be sure."""

    def say(self, text: str) -> None:
        """A line that should be seen."""


@dataclass
class PathReport:
    """What became of a path.

    Attributes:
        status: complete; sure (of what was asked); unsure (no cells would make it surer); budget
            (used up); ended (before its end, see notes); failed (some cells).
        transfers: records of transfers, launches and host memory written now.
        measured, skipped: visits made now, and those that the file had; failed: cells.
        gpu_hours: of a described program's runs; None where nobody counted them; ``device``:
            what its GPU counts count.
        notes: what the file's notes of this start say.
    """

    path: str
    machine: str | None = None
    status: Status = "complete"
    transfers: int = 0
    measured: int = 0
    skipped: int = 0
    failed: int = 0
    gpu_hours: float | None = None
    notes: list[str] = field(default_factory=list)
    device: Device = GPU

    def to_dict(self) -> dict[str, object]:
        """JSON values."""
        return {**vars(self), "device": self.device.one}


@dataclass(frozen=True)
class Request:
    """What the user wants.

    Attributes:
        paths: None for those that are there.
        budget: seconds for all of it; None: the whole grid.
        visits: how often each cell is measured, in passes over all cells; with a budget, at most.
            None: once, or with a budget up to six times.
        cell_seconds: of timed steps of a cell at most, each visit; None: what suits the budget.
        machine: name of this machine in the records; None: the file's, or a new one.
        launcher: what starts the processes of the schedule mpi, with ``{ranks}`` in it.
        until: questions to the steps of each series; once all are sure, a path is done.
    """

    paths: tuple[Path, ...] | None = None
    choice: Choice = field(default_factory=Choice)
    budget: float | None = None
    transfers: bool = True
    visits: int | None = None
    cell_seconds: float | None = None
    machine: str | None = None
    launcher: str | None = None
    secret_file: FilePath | None = None
    until: Sequence[Question] = ()


@dataclass(frozen=True)
class Work:
    """What is to be measured on a path.

    Attributes:
        cells: all of them, those that the file has included.
        deadline: when its time is over (``time.monotonic``); infinite without a budget.
    """

    request: Request
    path: Path
    machine: Machine
    cells: list[Cell]
    timing: Timing
    launcher: str
    deadline: float

    @property
    def has_budget(self) -> bool:
        """Whether its time is limited."""
        return bool(np.isfinite(self.deadline))

    @property
    def chooses(self) -> bool:
        """Whether cells are chosen."""
        return self.has_budget or bool(self.request.until)

    def seconds_left(self) -> float:
        """Seconds that are left of its time."""
        return self.deadline - time.monotonic()
