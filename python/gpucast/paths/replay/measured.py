"""What a dataset says of a path's calls: medians, as curves over bytes where there are bytes."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.records import Launch, Transfer
from gpucast.paths.replay.program import Seconds


@dataclass(frozen=True)
class Curve:
    """Seconds over bytes: medians of what was measured, straight in the logarithms between.

    Below the smallest size it is level, above the largest it goes on by its last two sizes' slope.
    Copies of more than ``inline_bytes`` go another way than smaller ones, which may be faster:
    nothing is told of either by the other. None: all go one way.
    """

    sizes: Seconds
    seconds: Seconds
    inline_bytes: int | None = None

    def at(self, sizes: Seconds) -> Seconds:
        """Seconds that bytes take."""
        if self.inline_bytes is None:
            return _interpolated(self.sizes, self.seconds, sizes)
        large = self.sizes > self.inline_bytes
        if large.all() or not large.any():
            return _interpolated(self.sizes, self.seconds, sizes)
        few = _interpolated(self.sizes[~large], self.seconds[~large], sizes)
        many = _interpolated(self.sizes[large], self.seconds[large], sizes)
        return np.where(sizes > self.inline_bytes, many, few)

    def times(self, factor: float) -> Curve:
        """So many times as long."""
        return replace(self, seconds=self.seconds * factor)

    @property
    def least(self) -> float:
        """Seconds of the smallest size."""
        return float(self.seconds[0])


def _interpolated(known: Seconds, seconds: Seconds, sizes: Seconds) -> Seconds:
    log_size = np.log(np.maximum(sizes, 1.0))
    interpolated = np.exp(np.interp(log_size, np.log(known), np.log(seconds)))
    if known.size > 1:
        slope = (seconds[-1] - seconds[-2]) / (known[-1] - known[-2])
        interpolated = interpolated + slope * np.maximum(sizes - known[-1], 0)
    return np.asarray(interpolated)


def curve_of(
    data: Dataset,
    path: str | None,
    route: str,
    memory: str,
    method: str = "call",
    inline_bytes: int | None = None,
) -> Curve | None:
    """What copies alone between the host and GPUs take; another memory's where this one has none.

    Args:
        inline_bytes: the largest copy that travels within its message; None: there are none.
    """
    wanted = (path, route, method, "copy")
    records = [
        one
        for one in data.transfers
        if (one.path, one.route, one.method, one.engine) == wanted
        and one.valid
        and not one.concurrent
        and not one.cold
    ]
    own = [transfer for transfer in records if transfer.memory == memory]
    return _curve(own, inline_bytes) or _curve(records, inline_bytes)


def _curve(records: Iterable[Transfer], inline_bytes: int | None) -> Curve | None:
    samples: dict[int, list[float]] = {}
    for transfer in records:
        if transfer.bytes > 0:
            samples.setdefault(transfer.bytes, []).extend(transfer.seconds)
    if len(samples) < 2:
        return None
    sizes = sorted(samples)
    medians = np.array([statistics.median(samples[size]) for size in sizes])
    # More bytes never take less on one way: what says so is noise.
    known_sizes = np.array(sizes, float)
    large = np.zeros(known_sizes.size, bool) if inline_bytes is None else known_sizes > inline_bytes
    for way in (large, ~large):
        medians[way] = np.maximum.accumulate(medians[way])
    return Curve(known_sizes, medians, inline_bytes)


def launch_seconds(data: Dataset, path: str | None, method: str, count: int) -> float | None:
    """Median s of ``count`` launches together; None where that was not measured."""
    samples = [
        seconds
        for one in data.launches
        if (one.path, one.method, one.count) == (path, method, count) and not one.cold
        for seconds in one.seconds
    ]
    return statistics.median(samples) if samples else None


def visits_differ(records: Iterable[Launch] | Iterable[Transfer], path: str) -> float:
    """Standard deviation of the logarithm of what was measured again, minutes later.

    It is the median over what was measured on the path more than once, warm and alone.
    """
    medians: dict[tuple[object, ...], list[float]] = {}
    for record in records:
        if record.path == path and not record.cold and record.method != _RESTED:
            medians.setdefault(_alike(record), []).append(statistics.median(record.seconds))
    several = [visits for visits in medians.values() if len(visits) > 1]
    deviations = [statistics.stdev(np.log(visits)) for visits in several]
    return statistics.median(deviations) if deviations else 0.0


_RESTED = "rest"


def _alike(record: Launch | Transfer) -> tuple[object, ...]:
    if isinstance(record, Launch):
        return record.method, record.count
    return record.method, record.route, record.memory, record.bytes, record.engine
