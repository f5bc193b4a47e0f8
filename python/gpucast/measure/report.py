"""What a campaign tells when it has ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from gpucast.measure.design.questions import Answer
from gpucast.measure.work import PathReport
from gpucast.util.gpu_shares import GPU, Device


@dataclass(frozen=True)
class FitReport:
    """How well the cells of a series that were measured are fitted, or why they are not."""

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
        seconds_left: about how long visits would take that make all questions to these steps sure;
            None: not known, or no visits do.
        gpu_hours_left: the same in hours of their GPUs; ``device``: what these are.
        outlook: in words, what would make it sure, or what more visits would bring.
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
    """What became of a campaign, and what the fits say of it so far; JSON-ready by ``to_dict``."""

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
