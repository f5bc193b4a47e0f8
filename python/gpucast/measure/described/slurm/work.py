"""What one job is to do, and where what it does is kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpucast.data.records import Machine
from gpucast.measure.described.description import Program
from gpucast.measure.described.runs import Run
from gpucast.measure.described.slurm.options import Shape

Key = tuple[str, int]
"""A visit: digest of what is run, and its number."""


@dataclass(frozen=True)
class Work:
    """The visits of a job, in order.

    Attributes:
        visits: runs, each with the number of the visit.
        machine: under whose id the records are.
        folder: of the campaign's jobs; ``logs``: of runs. Both absolute, on a file system that
            nodes share.
        seconds: the job's time limit.
        allowance: seconds (GPU seconds where ``by_gpu``) after which no further visit begins.
    """

    program: Program
    visits: tuple[tuple[Run, int], ...]
    machine: Machine
    folder: Path
    logs: Path
    seconds: float
    allowance: float | None = None
    by_gpu: bool = False

    @property
    def keys(self) -> list[Key]:
        """Of its visits."""
        return [(run.digest, number) for run, number in self.visits]

    @property
    def shape(self) -> Shape:
        """Of all its cells."""
        return Shape.of(self.visits[0][0])


def part_of(folder: Path, job: str) -> Path:
    """The records of a job."""
    return folder / f"{job}.jsonl"


def marker_of(folder: Path, job: str) -> Path:
    """Says which visit is under way in a job: digest and number."""
    return folder / f"{job}.now"


def workdir_ending(job: str) -> str:
    """How the folders of a job's runs end."""
    return f".job{job}"
