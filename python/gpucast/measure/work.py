"""What the user requests of a campaign, who is told of its progress, and the outcome of a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path as FilePath
from typing import Literal, Protocol

from gpucast.data.selection import StepSelection
from gpucast.measure.design.cells import Choice
from gpucast.measure.design.questions import Answer, Question
from gpucast.measure.paths import Path
from gpucast.util.gpu_shares import GPU, Device

HOUR = 3600.0

VISITS = 6
"""Default of the most visits of a cell with a budget or questions: their mean has 40 % of the noise
of one visit, and more visits would reduce it slowly."""

Status = Literal["complete", "sure", "unsure", "budget", "ended", "failed"]


class Watcher(Protocol):
    """Receives the progress of a campaign."""

    def under_way(self, path: str, what: str, done: int, total: int, left: float) -> None:
        """A visit begins, after ``done`` of ``total``; ``left`` is the estimated remaining time
        (s)."""

    def finished(
        self, path: str, what: str, done: int, total: int, left: float, step: float
    ) -> None:
        """A visit has ended; arguments as of ``under_way``, and ``step`` is its step time (s)."""

    def fitted(self, path: str, series: StepSelection, error: float) -> None:
        """A series was fitted; ``error`` is the median relative error over its cells."""

    def answered(self, path: str, series: StepSelection, text: str) -> None:
        """A fit answered a question; ``text`` is the answer, and what would make it certain."""

    def say(self, text: str) -> None:
        """Show a line even where progress is not shown."""


@dataclass
class PathReport:
    """The outcome of a path.

    Attributes:
        status: ``complete``; ``sure`` (all questions are answered); ``unsure`` (no cells would help
            the others); ``budget`` (used up); ``ended`` (early, see notes); ``failed`` (some
            cells).
        transfers: records of transfers, launches and host memory that were added.
        measured, skipped: visits made now, and visits that the file had; failed: failed cells.
        gpu_hours: GPU hours of a described program's runs; None if not counted; ``device``: what
            its GPU counts count.
        notes: texts of the notes of this start.
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
    """What the user may request of every campaign.

    Attributes:
        visits: visits of each cell, in passes over all cells; with a budget or questions, the most
            visits. None: once, or up to six times.
        budget: time limit of the campaign (s); ``gpu_hours``: limit of GPU hours. None: no limit.
        machine: name of this machine in the records; None: the one in the file, or a new one.
        until: questions about each series; a path is done once all are answered.
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
        """Whether cells are chosen by budget or questions."""
        return self.has_budget or bool(self.until)

    @property
    def most(self) -> int:
        """Most visits of a cell."""
        return self.visits or (VISITS if self.chooses else 1)


@dataclass(frozen=True)
class Request(Bounds):
    """What the user wants of our own programs.

    Attributes:
        paths: paths to measure; None: those that are available.
        cell_seconds: longest time of a cell's timed steps in a visit (s); None: by the budget.
        launcher: command that starts the processes of the schedule mpi, with ``{ranks}``.
    """

    paths: tuple[Path, ...] | None = None
    choice: Choice = field(default_factory=Choice)
    transfers: bool = True
    cell_seconds: float | None = None
    launcher: str | None = None
    secret_file: FilePath | None = None


@dataclass(frozen=True)
class FitReport:
    """How well a series is fitted, or why it is not."""

    path: str
    schedule: str | None = None
    kernel: str | None = None
    memory: str | None = None
    program: str | None = None
    case: str | None = None
    model: str | None = None
    cells: int = 0
    median_relative_error: float | None = None
    p95_relative_error: float | None = None
    why_not: str | None = None


@dataclass(frozen=True)
class AnswerReport:
    """The answer to a question about the steps of a series.

    Attributes:
        seconds_left: estimated time (s) of the visits that would answer all questions to this
            series with certainty; None: not known, or no visits would.
        gpu_hours_left: the same in GPU hours; ``device``: what counts as a GPU.
        outlook: a text about what would make the answer certain, or what more visits would bring.
    """

    path: str
    series: str
    answer: Answer
    seconds_left: float | None = None
    gpu_hours_left: float | None = None
    device: Device = GPU
    outlook: str = ""

    def to_dict(self) -> dict[str, object]:
        """JSON values."""
        return {
            **asdict(self.answer),
            "path": self.path,
            "series": self.series or None,
            "seconds_left": self.seconds_left,
            "gpu_hours_left": self.gpu_hours_left,
            "outlook": self.outlook,
        }


@dataclass
class Report:
    """The outcome of a campaign, with its fits and answers."""

    file: str
    paths: list[PathReport] = field(default_factory=list)
    fits: list[FitReport] = field(default_factory=list)
    answers: list[AnswerReport] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether a path ended early or a cell could not be measured."""
        return any(path.status in ("ended", "failed") for path in self.paths)

    def to_dict(self) -> dict[str, object]:
        """One JSON object."""
        counted = ("measured", "skipped", "failed", "transfers")
        return {
            "file": self.file,
            **{name: sum(getattr(path, name) for path in self.paths) for name in counted},
            "notes": [note for path in self.paths for note in path.notes],
            "paths": [path.to_dict() for path in self.paths],
            "fits": [vars(fit) for fit in self.fits],
            "answers": [answer.to_dict() for answer in self.answers],
        }
