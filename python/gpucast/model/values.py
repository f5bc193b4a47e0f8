"""Bounds of values in model files, and small objects that several parts of a file use."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Annotated

from gpucast import _core
from gpucast.data.workload import LARGEST_GPUS, LARGEST_N, SMALLEST_N
from gpucast.util.typed_json import Ascending, Bounds

LARGEST_INTEGER = 100_000
"""The largest k that a file may hold; the largest tried is 128."""


def now() -> str:
    """Return the current time as files state it."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


Positive = Annotated[float, Bounds(above=0)]
NotNegative = Annotated[float, Bounds(least=0)]
LogOdds = Annotated[float, Bounds(least=-50, most=50)]
LogFactor = Annotated[float, Bounds(least=-20, most=20)]
Integer = Annotated[int, Bounds(least=1, most=LARGEST_INTEGER)]
Tally = Annotated[int, Bounds(least=0, most=2**53)]  # that a float holds exactly
Interval = tuple[float, float]
Size = Annotated[float, Bounds(above=0, least=SMALLEST_N, most=LARGEST_N)]
Count = Annotated[int, Bounds(least=1, most=LARGEST_GPUS)]
Sizes = Annotated[tuple[Size, Size], Ascending()]
Counts = Annotated[tuple[Count, Count], Ascending()]


@dataclass(kw_only=True, eq=False, match_args=False)
class Gpu:
    """The fitted machine, with cores and multiprocessors of a GPU and threads of a block; 0: not
    known."""

    id: str | None = None
    name: str | None = field(default=None, metadata={"omit": True})
    cores: NotNegative
    sms: NotNegative
    block: NotNegative


@dataclass(kw_only=True, eq=False, match_args=False)
class Terms:
    """The names of the three terms (``_core.GPU_TERMS`` and so on)."""

    gpu: str
    cpu: str
    com: str

    def __str__(self) -> str:
        return f"{self.gpu}+{self.cpu}+{self.com}"

    def core(
        self,
        machine: Gpu,
        work: _core.Workload,
        integer: int | None = None,
        curves: dict[str, list[float]] | None = None,
    ) -> _core.Model:
        """Return the core's model of these terms.

        Args:
            integer: the structural integer, if the terms have one.
            curves: breakpoints of transfer curves (bytes) by route; None for straight lines.
        """
        return _core.Model(
            self.gpu,
            self.cpu,
            self.com,
            cores=machine.cores,
            sms=machine.sms,
            block=machine.block,
            integer=integer or 1,
            curves=curves or {},
            workload=work,
        )


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The dataset that was fitted."""

    name: str
    digest: str | None = None


@dataclass(kw_only=True, eq=False, match_args=False)
class TimedCells:
    """Measured cells, one entry per cell.

    Attributes:
        seconds: median of each cell's samples (s).
    """

    n: list[Size]
    gpus: list[Count]
    seconds: list[Positive]

    def __post_init__(self) -> None:
        if not len(self.n) == len(self.gpus) == len(self.seconds):
            raise ValueError("cells have as many n as gpus and seconds")
