"""What is measured: cells, and the grids of them that a path gets where the user names none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from gpucast.data.records import Step
from gpucast.data.selection import StepSelection
from gpucast.data.vocabulary import Schedule
from gpucast.data.workload import ALL_PAIRS
from gpucast.util.gpu_shares import share_text
from gpucast.util.units import number

PathKind = Literal["host", "native", "remote"]

MPI = "mpi"
SCHEDULES: tuple[str, ...] = get_args(Schedule)
KERNELS = ("claret", "tuned")
MEMORIES = ("pageable", "pinned")

# 8 m^3 particles are a cube of the salt's unit cells.
GPU_SIZES = tuple(8 * m**3 for m in (3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 33))
HOST_SIZES = tuple(8 * m**3 for m in (3, 4, 5, 6, 7, 8))

_IMPOSSIBLE: dict[PathKind, set[str]] = {"host": set(), "native": set(), "remote": {"allgather"}}
"""NCCL, which allgather needs, knows no remote GPUs."""

# Ordered pairs a second of one device and seconds a device for launch and copies: rough, only to
# put cells in order and to say how long they take before any has been measured.
_PAIRS: dict[tuple[bool, str], float] = {
    (True, "claret"): 5e7,
    (True, "tuned"): 1e9,
    (False, "claret"): 5e11,
    (False, "tuned"): 1.2e12,
}
_LATENCY: dict[PathKind, float] = {"host": 1e-5, "native": 2e-5, "remote": 1e-4}


@dataclass(frozen=True, order=True)
class Cell:
    """Steps of n particles on some GPUs; ``series``: of which schedule, kernel and memory;
    ``instances``: of the program at once on these GPUs."""

    series: StepSelection
    n: float
    gpus: int
    instances: int = 1

    def __str__(self) -> str:
        # A described program has one series, which need not be named.
        which = f" {self.series}" if self.series.schedule else ""
        return f"n={number(self.n)} gpus={self.share}{which}"

    @property
    def share(self) -> str:
        """The GPUs of an instance: ``2``, ``1/4``."""
        return share_text(self.gpus, self.instances)

    @property
    def line(self) -> str:
        """As ``gpucast-mdapp measure --cells`` reads it."""
        return f"{self.n} {self.gpus} {self.series}"


@dataclass(frozen=True)
class Choice:
    """What the user named of a grid; None: what suits the path."""

    n: tuple[int, ...] | None = None
    gpus: tuple[int, ...] | None = None
    schedules: tuple[str, ...] | None = None
    kernels: tuple[str, ...] | None = None
    memories: tuple[str, ...] | None = None


def all_series(kind: PathKind, choice: Choice) -> list[StepSelection]:
    """The series of a path, without those that cannot run there."""
    # mpi needs a launcher and is measured where it is asked for.
    schedules = choice.schedules or [each for each in SCHEDULES if each != MPI]
    # On CPU devices all memory is pageable.
    star_serial = choice.memories or (MEMORIES[:1] if kind == "host" else MEMORIES)
    return [
        StepSelection(schedule=schedule, kernel=kernel, memory=memory)
        for schedule in schedules
        if schedule not in _IMPOSSIBLE[kind]
        for kernel in choice.kernels or KERNELS
        # Only star-serial has a choice; the others need pinned memory.
        for memory in (star_serial if schedule == "star-serial" else ("pinned",))
    ]


def series_of(step: Step) -> StepSelection:
    """The series that a step is of."""
    return StepSelection(schedule=step.schedule, kernel=step.kernel, memory=step.memory)


def grid(kind: PathKind, devices: int, choice: Choice, most_ranks: int = 0) -> list[Cell]:
    """All cells of a path with so many devices; ``most_ranks``: processes that mpi may have."""
    sizes = choice.n or (HOST_SIZES if kind == "host" else GPU_SIZES)
    cells = []
    for series in all_series(kind, choice):
        most = max(devices, most_ranks) if series.schedule == MPI else devices
        usual = _counts(most) if kind == "host" else range(1, most + 1)
        counts = [gpus for gpus in choice.gpus or usual if gpus <= most]
        cells += [Cell(series, n, gpus) for gpus in counts for n in sizes]
    return cells


def guess_seconds(kind: PathKind, cell: Cell) -> float:
    """Roughly the time of a step (s), of a machine of which nothing is known."""
    pairs = _PAIRS[kind == "host", str(cell.series.kernel)]
    return _LATENCY[kind] * cell.gpus + ALL_PAIRS.work(cell.n, cell.gpus) / pairs


@dataclass(frozen=True)
class Timing:
    """How a cell is timed; seconds.

    ``set_up``: start, memory, and what else a cell costs beside its steps.
    """

    warm_up: float = 0.2
    max_time: float = 2.0
    set_up: float = 0.05

    @staticmethod
    def of_budget(seconds: float) -> Timing:
        """Timing for a campaign of so many seconds: visits of a cell minutes apart differ by ten
        times what the median of some twenty steps is uncertain by, so that many short visits tell
        more than few long ones."""
        return Timing(warm_up=min(0.2, max(0.02, seconds / 1500)), max_time=0.1)

    @staticmethod
    def of_cell(seconds: float) -> Timing:
        """Timing for so many seconds of steps a cell at most."""
        return Timing(warm_up=min(0.2, seconds / 10), max_time=seconds)

    def cell_seconds(self, step: float) -> float:
        """What a cell costs whose step takes ``step`` seconds."""
        # At least two steps warm up; some fifty mostly settle the median.
        warm_up = max(self.warm_up, 2 * step)
        return self.set_up + warm_up + min(50 * step, max(self.max_time, step))


def pairs_of(cells: Sequence[Cell]) -> list[tuple[float, int]]:
    """n and GPU count of each."""
    return [(cell.n, cell.gpus) for cell in cells]


def _counts(most: int) -> Iterable[int]:
    """1 to 4, then powers of two, and all."""
    counts = [count for count in (1, 2, 3, 4, *(2**p for p in range(3, 17))) if count < most]
    return [*counts, most]


# --- orders and choices of cells that are spread over n and GPU counts ---


Pairs = Sequence[tuple[float, int]]

START = 6
"""Cells of a series that are visited before its fit is asked anything: as many as a model has
quantities that steps alone determine."""

_GOLDEN = (5**0.5 - 1) / 2


def in_turn(cells: Iterable[Cell], visits: Mapping[Cell, int]) -> list[Cell]:
    """Cells in the order in which they are to be visited: those with the fewest visits first.

    A pass over all cells is in a random order, another in each pass and the same in each start. Any
    first part of it is spread over series, n and GPU counts: the i-th cell of the sorted ones comes
    at the fractional part of i times the golden ratio plus a random number, so that gaps between
    the cells of a first part have at most three lengths, none much longer than another.
    """
    ordered = sorted(cells)
    begin = {visit: np.random.default_rng(visit).random() for visit in set(visits.values()) | {0}}
    place = {
        cell: (visit := visits.get(cell, 0), (i * _GOLDEN + begin[visit]) % 1)
        for i, cell in enumerate(ordered)
    }
    return sorted(ordered, key=place.__getitem__)


def spread_over(cells: Pairs, most: int) -> Sequence[int]:
    """Indices of at most ``most`` cells, evenly spaced in the order of GPU counts and n: which of
    two neighbours is measured tells nearly the same."""
    if len(cells) <= most:
        return range(len(cells))
    order = sorted(range(len(cells)), key=lambda i: (cells[i][1], cells[i][0]))
    return [order[i] for i in np.linspace(0, len(cells) - 1, most).round().astype(int)]
