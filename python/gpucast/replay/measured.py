"""What a dataset says of a path's calls: medians, as curves over bytes where there are bytes."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.records import Launch, Transfer
from gpucast.replay.program import Seconds


@dataclass(frozen=True)
class Curve:
    """Seconds over bytes: medians of what was measured, straight in the logarithms between.

    Below the smallest size it is level, above the largest it goes on by its last two sizes' slope.
    """

    sizes: Seconds
    seconds: Seconds

    def at(self, sizes: Seconds) -> Seconds:
        """Seconds of so many bytes."""
        log_size = np.log(np.maximum(sizes, 1.0))
        found = np.exp(np.interp(log_size, np.log(self.sizes), np.log(self.seconds)))
        if self.sizes.size > 1:
            slope = (self.seconds[-1] - self.seconds[-2]) / (self.sizes[-1] - self.sizes[-2])
            beyond = np.maximum(sizes - self.sizes[-1], 0)
            found = found + slope * beyond
        return np.asarray(found)

    @property
    def least(self) -> float:
        """Of the smallest size."""
        return float(self.seconds[0])


def curve_of(
    data: Dataset, path: str, route: str, memory: str, method: str = "call"
) -> Curve | None:
    """Of copies alone between the host and GPUs; another memory's where this one has none."""
    records = [
        each
        for each in data.transfers
        if (each.path, each.route, each.method, each.engine) == (path, route, method, "copy")
        and each.valid
        and not each.concurrent
        and not each.cold
    ]
    own = [each for each in records if each.memory == memory]
    return _curve(own) or _curve(records)


def _curve(records: Iterable[Transfer]) -> Curve | None:
    samples: dict[int, list[float]] = {}
    for each in records:
        if each.bytes > 0:
            samples.setdefault(each.bytes, []).extend(each.seconds)
    if len(samples) < 2:
        return None
    sizes = sorted(samples)
    medians = np.array([statistics.median(samples[size]) for size in sizes])
    # More bytes never take less: what says so is noise.
    return Curve(np.array(sizes, float), np.maximum.accumulate(medians))


def launch_seconds(data: Dataset, path: str, method: str, count: int) -> float | None:
    """Median s of so many launches together; None where that was not measured."""

    def chosen(each: Launch) -> bool:
        return (each.path, each.method, each.count) == (path, method, count) and not each.cold

    samples = [value for each in data.launches if chosen(each) for value in each.seconds]
    return statistics.median(samples) if samples else None
