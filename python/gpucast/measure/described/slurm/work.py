"""What one job is to do, and the records that it has written so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpucast.data import jsonl
from gpucast.data.records import Machine, Record
from gpucast.errors import InputError
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
        folder: for the campaign's jobs; ``logs``: for what runs print. Both absolute, on a file
            system that nodes share.
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
        """The keys of its visits."""
        return [(run.digest, number) for run, number in self.visits]

    @property
    def shape(self) -> Shape:
        """The shape that all its cells share."""
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


class Part:
    """The records of one job, as its file grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0

    def new(self) -> Iterator[Record]:
        """The records since the last call. Half a line waits for the rest; a line that is no
        record, which a node that loses its power may leave, is passed over: its visit is made
        again."""
        try:
            if self.path.stat().st_size <= self._offset:
                return
            with self.path.open("rb") as stream:
                stream.seek(self._offset)
                content = stream.read()
        except FileNotFoundError:
            return
        whole, cut, _ = content.rpartition(b"\n")
        self._offset += len(whole) + len(cut)
        for line in whole.splitlines():
            if line.strip():
                try:
                    yield from jsonl.parse(line + b"\n", str(self.path)).records
                except InputError:
                    continue
