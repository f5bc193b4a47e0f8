"""Cells to measure, and the default grid of cells of a path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from gpucast.data.records import Step
from gpucast.data.selection import StepSelection
from gpucast.data.vocabulary import Schedule
from gpucast.data.workload import ALL_PAIRS
from gpucast.measure.energy import SHORTEST
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

# Rough pair rate of one device (1/s) and time per device for launch and copies (s). They only order
# cells and estimate their times before any has been measured.
_PAIRS: dict[tuple[bool, str], float] = {
    (True, "claret"): 5e7,
    (True, "tuned"): 1e9,
    (False, "claret"): 5e11,
    (False, "tuned"): 1.2e12,
}
_LATENCY: dict[PathKind, float] = {"host": 1e-5, "native": 2e-5, "remote": 1e-4}


@dataclass(frozen=True, order=True)
class Cell:
    """Steps of n particles on some GPUs. ``series`` holds schedule, kernel and memory;
    ``instances`` is how many instances of the program share these GPUs."""

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
        """The cell as a line for ``gpucast-mdapp measure --cells``."""
        return f"{self.n} {self.gpus} {self.series}"


@dataclass(frozen=True)
class Choice:
    """The user's choice of a grid; None stands for the path's default."""

    n: tuple[int, ...] | None = None
    gpus: tuple[int, ...] | None = None
    schedules: tuple[str, ...] | None = None
    kernels: tuple[str, ...] | None = None
    memories: tuple[str, ...] | None = None


def all_series(kind: PathKind, choice: Choice) -> list[StepSelection]:
    """Return the series that can run on a path."""
    # mpi needs a launcher and is measured only on request.
    schedules = choice.schedules or [schedule for schedule in SCHEDULES if schedule != MPI]
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
    """Return a step's series."""
    return StepSelection(schedule=step.schedule, kernel=step.kernel, memory=step.memory)


def grid(kind: PathKind, devices: int, choice: Choice, most_ranks: int = 0) -> list[Cell]:
    """Return all cells of a path with ``devices`` devices; MPI may start up to ``most_ranks``
    processes."""
    sizes = choice.n or (HOST_SIZES if kind == "host" else GPU_SIZES)
    cells = []
    for series in all_series(kind, choice):
        most = max(devices, most_ranks) if series.schedule == MPI else devices
        usual = _counts(most) if kind == "host" else range(1, most + 1)
        counts = [gpus for gpus in choice.gpus or usual if gpus <= most]
        cells += [Cell(series, n, gpus) for gpus in counts for n in sizes]
    return cells


def guess_seconds(kind: PathKind, cell: Cell) -> float:
    """Return a rough guess of the step time (s) on an unknown machine."""
    pairs = _PAIRS[kind == "host", str(cell.series.kernel)]
    return _LATENCY[kind] * cell.gpus + ALL_PAIRS.work(cell.n, cell.gpus) / pairs


@dataclass(frozen=True)
class Timing:
    """How a cell is timed (s): its steps for ``min_time`` at least, where GPUs' energy is read, and
    for ``max_time`` at most; ``set_up`` is its time outside of steps, as for start and memory."""

    warm_up: float = 0.2
    min_time: float = 0.0
    max_time: float = 2.0
    set_up: float = 0.05

    @staticmethod
    def of_budget(seconds: float) -> Timing:
        """Return the timing for a campaign of ``seconds``. Visits of a cell minutes apart differ by
        ten times the standard error of a median of twenty steps, so that many short visits are
        worth more than few long ones."""
        return Timing(warm_up=min(0.2, max(0.02, seconds / 1500)), max_time=0.1)

    @staticmethod
    def of_cell(seconds: float) -> Timing:
        """Return the timing for at most ``seconds`` of steps in a cell: where they suffice, for as
        long as reading their energy takes."""
        min_time = 1.02 * SHORTEST if seconds > SHORTEST else 0.0
        return Timing(warm_up=min(0.2, seconds / 10), min_time=min_time, max_time=seconds)

    def cell_seconds(self, step: float) -> float:
        """Return the time of a visit (s) of a cell whose step takes ``step`` seconds."""
        # At least two steps are for warm-up; about fifty usually settle the median.
        warm_up = max(self.warm_up, 2 * step)
        return self.set_up + warm_up + min(max(50 * step, self.min_time), max(self.max_time, step))


def pairs_of(cells: Sequence[Cell]) -> list[tuple[float, int]]:
    """Return n and GPU count of each cell."""
    return [(cell.n, cell.gpus) for cell in cells]


def _counts(most: int) -> Iterable[int]:
    """1 to 4, then powers of two, and all."""
    counts = [count for count in (1, 2, 3, 4, *(2**p for p in range(3, 17))) if count < most]
    return [*counts, most]


# --- orders and subsets of cells that are spread over n and GPU counts ---


Pairs = Sequence[tuple[float, int]]

START = 6
"""Cells of a series that are visited before its first fit: as many as a model has parameters that
step times alone determine."""

_GOLDEN = (5**0.5 - 1) / 2


def in_turn(cells: Iterable[Cell], visits: Mapping[Cell, int]) -> list[Cell]:
    """Return cells in the order of their visits: those with the fewest visits first.

    Each pass over the cells has its own random order, which is the same in every start. Every
    initial part of a pass is spread over series, n and GPU counts: the i-th of the sorted cells
    comes at the fractional part of i times the golden ratio plus a random number, so that the gaps
    between the cells of an initial part have at most three lengths, none much longer than another.
    """
    ordered = sorted(cells)
    begin = {visit: np.random.default_rng(visit).random() for visit in set(visits.values()) | {0}}
    place = {
        cell: (visit := visits.get(cell, 0), (i * _GOLDEN + begin[visit]) % 1)
        for i, cell in enumerate(ordered)
    }
    return sorted(ordered, key=place.__getitem__)


def spread_over(cells: Pairs, most: int) -> Sequence[int]:
    """Return the indices of at most ``most`` cells, evenly spaced in the order of GPU counts and n:
    two neighbours tell nearly the same."""
    if len(cells) <= most:
        return range(len(cells))
    order = sorted(range(len(cells)), key=lambda i: (cells[i][1], cells[i][0]))
    return [order[i] for i in np.linspace(0, len(cells) - 1, most).round().astype(int)]
