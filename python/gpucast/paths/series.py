"""Transfers that differ only in size, and the curve of each such series.

A series has one machine, path, route, kind of host memory, copy engine or kernel, method of timing,
and pair of devices. ``paths.curves`` fits a route as a step uses it; this module keeps all series
apart, for tables, figures and comparisons.

**Alignment.** Copies within one GPU are made by a kernel of the driver, which takes longer for odd
sizes than for powers of two (on H200 by a quarter from 1.5 KB to 100 KB, and up to twice as long
around 2 MB). Sizes that are multiples of 16 bytes, the widest access of one thread, count as
aligned. A series of such copies may have two curves, for aligned and for other sizes. Two are kept
only if the data support it: the criterion of the breakpoint search (fit/breakpoints.h),

    2 J log(mean |r|) + (parameters + breakpoints) log J,     r: log median - log curve of J sizes

must fall by 6, which counts as strong evidence (Kass & Raftery 1995).
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
"""Mean errors of curves below this count as equal."""


@dataclass(frozen=True)
class Way:
    """One way to move data.

    Attributes:
        issuer: the GPU that makes a copy between GPUs; None: the source, or not known.
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
        """A text such as ``h2d pinned host>gpu0, gated``; what does not apply is left out."""
        return ", ".join(filter(None, (self.where, self.method)))

    @property
    def where(self) -> str:
        """A text such as ``h2d pinned host>gpu0``: the label without the method of timing."""
        words = [self.route, "" if self.memory == "unknown" else self.memory]
        words += ["by a kernel" if self.engine == "kernel" else "", f"{self.start}>{self.end}"]
        words += ["read" if self.reads else ""]
        return " ".join(filter(None, words))


@dataclass(frozen=True)
class Series:
    """The usable records (valid, alone, warm) of one way to move data.

    Attributes:
        samples: times (s) by size (bytes), sizes ascending.
    """

    way: Way
    samples: dict[int, list[float]]
    uncertainty: dict[int, float] = field(default_factory=dict)

    @property
    def sizes(self) -> Array:
        """Sizes in bytes, ascending."""
        return np.array(list(self.samples), dtype=np.float64)

    @cached_property
    def medians(self) -> Array:
        """Median time (s) of each size."""
        return np.array([statistics.median(times) for times in self.samples.values()])

    def only(self, sizes: Iterable[int]) -> Series:
        """Return the series restricted to these sizes."""
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
        curve: the curve of all sizes, or of multiples of 16 bytes if there is ``unaligned``.
        unaligned: the curve of all other sizes; None if one curve fits all.
    """

    series: Series
    curve: TransferFit
    unaligned: TransferFit | None = None

    @property
    def curves(self) -> list[TransferFit]:
        """Its one or two curves."""
        return [self.curve] if self.unaligned is None else [self.curve, self.unaligned]

    def seconds(self, sizes: Array) -> Array:
        """Return the time (s) of one transfer of each size (bytes)."""
        seconds = self.curve.seconds(sizes)
        if self.unaligned is None:
            return seconds
        return np.where(sizes % ALIGNMENT == 0, seconds, self.unaligned.seconds(sizes))


def series_of(data: Dataset) -> list[Series]:
    """Return the series of a dataset in the order of their first records."""
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
    """Fit the curve of a series, or two curves if the data show that alignment matters.

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
