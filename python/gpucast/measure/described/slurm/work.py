"""The visits of one job, and the records that it has written so far."""

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
"""A visit: the run's digest, and the visit's number."""


@dataclass(frozen=True)
class Work:
    """The visits of a job, in order.

    Attributes:
        visits: runs, each with the visit's number.
        machine: the machine of the records.
        folder: the folder of the campaign's jobs; ``logs``: the folder for what runs print. Both
            are absolute, on a file system that the nodes share.
        seconds: the job's time limit (s).
        allowance: seconds (GPU seconds if ``by_gpu``) after which no further visit begins.
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
    """Return the file of a job's records."""
    return folder / f"{job}.jsonl"


def marker_of(folder: Path, job: str) -> Path:
    """Return the file that holds digest and number of a job's current visit."""
    return folder / f"{job}.now"


def workdir_ending(job: str) -> str:
    """Return how the names of the folders of a job's runs end."""
    return f".job{job}"


class Part:
    """Reads the records of one job as its file grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0

    def new(self) -> Iterator[Record]:
        """Yield the records since the last call. An incomplete line waits for its rest. A broken
        line, which a node may leave when it loses power, is skipped; its visit is made again."""
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
