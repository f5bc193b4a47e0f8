"""What a user asks of a campaign, who is told how it goes, and what became of a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Literal, Protocol

from gpucast.data.selection import StepSelection
from gpucast.measure.design.cells import Choice
from gpucast.measure.design.questions import Question
from gpucast.measure.paths import Path
from gpucast.util.gpu_shares import GPU, Device

HOUR = 3600.0

VISITS = 6
"""Visits that a cell gets at most where a budget is shared out: their mean has 40 % of the noise of
one, and more of them would lower it slowly."""

Status = Literal["complete", "sure", "unsure", "budget", "ended", "failed"]


class Watcher(Protocol):
    """Who is told how it goes."""

    def under_way(self, path: str, what: str, done: int, total: int, left: float) -> None:
        """A cell is begun, after ``done`` visits of ``total``; ``left``: about how many seconds."""

    def finished(
        self, path: str, what: str, done: int, total: int, left: float, step: float
    ) -> None:
        """A cell is measured, with the arguments of ``under_way``; ``step``: seconds of a step."""

    def fitted(self, path: str, series: StepSelection, error: float) -> None:
        """A series was fitted; ``error``: median relative error of the fitted cells."""

    def answered(self, path: str, series: StepSelection, text: str) -> None:
        """A fit answered a question; ``text``: the answer, and what it would take to be sure."""

    def say(self, text: str) -> None:
        """Show a line even where progress is not shown."""


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


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What is wanted of all campaigns.

    Attributes:
        visits: how often each cell is measured, in passes over all cells; with a budget or
            questions at most. None: once, or up to six times.
        budget: seconds for all of it; ``gpu_hours``: of the GPUs that runs have. None: no bound.
        machine: name of this machine in the records; None: the file's, or a new one.
        until: questions to the steps of each series; once all are sure, a path is done.
    """

    visits: int | None = None
    budget: float | None = None
    gpu_hours: float | None = None
    machine: str | None = None
    until: Sequence[Question] = ()

    @property
    def has_budget(self) -> bool:
        """Whether time or GPU hours are limited."""
        return self.budget is not None or self.gpu_hours is not None

    @property
    def chooses(self) -> bool:
        """Whether cells are chosen as it goes."""
        return self.has_budget or bool(self.until)

    @property
    def most(self) -> int:
        """Visits of a cell at most."""
        return self.visits or (VISITS if self.chooses else 1)


@dataclass(frozen=True)
class Request(Bounds):
    """What the user wants of our own programs.

    Attributes:
        paths: None for those that are there.
        cell_seconds: longest time of a cell's timed steps in a visit; None: what suits the budget.
        launcher: what starts the processes of the schedule mpi, with ``{ranks}`` in it.
    """

    paths: tuple[Path, ...] | None = None
    choice: Choice = field(default_factory=Choice)
    transfers: bool = True
    cell_seconds: float | None = None
    launcher: str | None = None
    secret_file: FilePath | None = None
