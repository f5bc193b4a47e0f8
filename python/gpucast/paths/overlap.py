"""How well copies and kernels of one device overlap."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from gpucast.data.dataset import Dataset


@dataclass(frozen=True)
class OverlapEfficiency:
    """Parts of one device's work that were started together.

    Attributes:
        seconds: median time (s) until all have ended.
        parts_alone: median time (s) of each part alone.
        bytes: size of each copy.
    """

    machine: str
    path: str
    memory: str
    device: str
    bytes: int
    parts: tuple[str, ...]
    seconds: float
    parts_alone: tuple[float, ...]

    @property
    def efficiency(self) -> float:
        """The hidden share of the time that could be hidden: 0 if the parts run one after the
        other, 1 if they take as long as the longest alone.

        (sum - together) / (sum - longest); noise and contention may bring it above 1 or below 0.
        """
        total, longest = sum(self.parts_alone), max(self.parts_alone)
        return (total - self.seconds) / (total - longest)

    @property
    def label(self) -> str:
        """``h2d + kernel``."""
        return " + ".join(self.parts)


def overlap_efficiencies(data: Dataset) -> list[OverlapEfficiency]:
    """Return the efficiency for each record of several parts that were also timed alone."""
    samples: dict[tuple[str, str, str, str, int, tuple[str, ...]], list[float]] = {}
    for record in data.overlaps:
        where = (record.machine, record.path, record.memory, record.device, record.bytes)
        samples.setdefault((*where, tuple(record.parts)), []).extend(record.seconds)
    result = []
    for key, seconds in samples.items():
        parts = key[-1]
        alone = [samples.get((*key[:-1], (part,))) for part in parts]
        if len(parts) > 1 and all(alone):
            medians = tuple(statistics.median(times) for times in alone if times)
            result.append(OverlapEfficiency(*key, statistics.median(seconds), medians))
    return result
