"""How much of the copies and the kernel of one device is hidden behind each other."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from gpucast.data.dataset import Dataset


@dataclass(frozen=True)
class OverlapEfficiency:
    """Parts of one device begun together.

    Attributes:
        seconds: median until all have ended.
        parts_alone: median seconds of each part alone.
        bytes: of each copy.
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
        """What was hidden of what could be: 0, one after the other; 1, as the longest part alone.

        (sum - together) / (sum - longest); above 1 or below 0 by noise and by disturbance.
        """
        total, longest = sum(self.parts_alone), max(self.parts_alone)
        return (total - self.seconds) / (total - longest)

    @property
    def label(self) -> str:
        """``h2d + kernel``."""
        return " + ".join(self.parts)


def overlap_efficiencies(data: Dataset) -> list[OverlapEfficiency]:
    """The efficiencies of all records of several parts whose parts were also timed alone."""
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
