"""The report of a campaign that has ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from gpucast.measure.design.questions import Answer
from gpucast.measure.work import PathReport
from gpucast.util.gpu_shares import GPU, Device


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
