"""Transfers that agree in everything but size, and the curve of each such series.

A series is one way to move data: machine, path, route, kind of host memory, copy engine or kernel,
how it was timed, and between which devices. ``transfers.curves`` fits a route as a step uses
it; this module keeps every way apart, for tables, figures and comparisons.

**Alignment.** Copies within one GPU are made by a kernel of the driver, and there odd sizes take
longer than powers of two (on H200 by a quarter from 1.5 KB to 100 KB and up to twice as long around
2 MB). 16 bytes, the widest access of one thread, are taken for what a size must be a multiple of.
So a series of such copies may have two curves, for such sizes and for all others. Two are kept only
where they earn it: the sizes' criterion of the breakpoint search (fit/breakpoints.h),

    2 J log(mean |r|) + (parameters + breakpoints) log J,     r: log median - log curve of J sizes

must fall by 6, which is "strong" evidence (Kass & Raftery 1995).
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.paths.curves import FEWEST_SIZES, Array, TransferFit, fit_curve

ALIGNMENT = 16
"""Bytes: the widest access of one thread."""

STRONG_EVIDENCE = 6.0
SMALLEST_ERROR = 1e-4
"""Curves closer to the data than this are as good as each other."""


@dataclass(frozen=True)
class Way:
    """One way to move data.

    Attributes:
        issuer: of a copy between GPUs, the one that makes it; None: the source, or not known.
    """

    machine: str
    path: str
    route: str
    memory: str
    engine: str
    method: str | None
    start: str
    end: str
    issuer: str | None = None

    @property
    def reads(self) -> bool:
        """Whether the receiving GPU makes the copy."""
        return self.issuer is not None and self.issuer == self.end != self.start

    @property
    def label(self) -> str:
        """``h2d pinned host>gpu0, gated``; what does not apply is left out."""
        return ", ".join(filter(None, (self.where, self.method)))

    @property
    def where(self) -> str:
        """``h2d pinned host>gpu0``: the copy, without how it was timed."""
        words = [self.route, "" if self.memory == "unknown" else self.memory]
        words += ["by a kernel" if self.engine == "kernel" else "", f"{self.start}>{self.end}"]
        words += ["read" if self.reads else ""]
        return " ".join(filter(None, words))


@dataclass(frozen=True)
class Series:
    """The usable records (valid, alone, warm) of one way.

    Attributes:
        samples: seconds by size in bytes, sizes ascending.
    """

    way: Way
    samples: dict[int, list[float]]
    uncertainty: dict[int, float] = field(default_factory=dict)

    @property
    def sizes(self) -> Array:
        """Bytes, ascending."""
        return np.array(list(self.samples), dtype=np.float64)

    @cached_property
    def medians(self) -> Array:
        """Median seconds of each size."""
        return np.array([statistics.median(times) for times in self.samples.values()])

    def only(self, sizes: Iterable[int]) -> Series:
        """The same way, these sizes only."""
        wanted = set(sizes)
        return Series(
            self.way,
            {size: times for size, times in self.samples.items() if size in wanted},
            {size: uncertainty for size, uncertainty in self.uncertainty.items() if size in wanted},
        )


@dataclass(frozen=True)
class SeriesFit:
    """A series and its curve, or its two curves.

    Attributes:
        curve: of every size, or of multiples of 16 bytes where ``unaligned`` is given.
        unaligned: of all other sizes; None where one curve serves.
    """

    series: Series
    curve: TransferFit
    unaligned: TransferFit | None = None

    @property
    def curves(self) -> list[TransferFit]:
        """One or two."""
        return [self.curve] if self.unaligned is None else [self.curve, self.unaligned]

    def seconds(self, sizes: Array) -> Array:
        """Seconds of one transfer of each size in bytes."""
        seconds = self.curve.seconds(sizes)
        if self.unaligned is None:
            return seconds
        return np.where(sizes % ALIGNMENT == 0, seconds, self.unaligned.seconds(sizes))


def series_of(data: Dataset) -> list[Series]:
    """The series of a dataset, in the order they first occur."""
    samples_by_way: dict[Way, dict[int, list[float]]] = {}
    rounding: dict[Way, dict[int, float]] = {}
    for record in data.transfers:
        if record.concurrent or record.cold or not record.valid:
            continue
        where = (record.machine, record.path, record.route)
        how = (record.memory, record.engine, record.method)
        way = Way(*where, *how, record.from_, record.to, record.issuer)
        samples_by_way.setdefault(way, {}).setdefault(record.bytes, []).extend(record.seconds)
        if record.uncertainty:
            rounding.setdefault(way, {})[record.bytes] = record.uncertainty
    return [
        Series(way, dict(sorted(samples.items())), rounding.get(way, {}))
        for way, samples in samples_by_way.items()
    ]


def fit_series(series: Series) -> SeriesFit:
    """The curve of a series, in two where its sizes show that alignment matters.

    Raises:
        InputError: fewer than three sizes.
    """
    even = [size for size in series.samples if size % ALIGNMENT == 0]
    odd = [size for size in series.samples if size % ALIGNMENT != 0]
    whole = _curve(series)
    if series.way.route != "local" or min(len(even), len(odd)) < 2 * FEWEST_SIZES:
        return SeriesFit(series, whole)
    parts = [_curve(series.only(part)) for part in (even, odd)]
    if _criterion(series, [whole]) - _criterion(series, parts) < STRONG_EVIDENCE:
        return SeriesFit(series, whole)
    return SeriesFit(series, *parts)


def _curve(series: Series) -> TransferFit:
    way = series.way
    cells = [(size, times, series.uncertainty.get(size)) for size, times in series.samples.items()]
    return fit_curve(way.machine, way.path, way.route, cells, replicates=0)


def _criterion(series: Series, curves: Sequence[TransferFit]) -> float:
    seconds = SeriesFit(series, *curves).seconds(series.sizes)
    error = max(SMALLEST_ERROR, float(np.mean(np.abs(np.log(series.medians / seconds)))))
    count = len(series.samples)
    parameters = sum(curve.values.size + len(curve.breakpoints) for curve in curves)
    return 2 * count * float(np.log(error)) + parameters * float(np.log(count))
