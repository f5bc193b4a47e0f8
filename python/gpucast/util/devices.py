"""Words for what a GPU count counts: on path ``host`` there are no GPUs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """What one is called, several are, and the hours that runs have of them."""

    one: str
    many: str
    hours: str

    def counted(self, count: int) -> str:
        """``1 GPU``, ``4 cores``."""
        return f"{count} {self.one if count == 1 else self.many}"


GPU = Device("GPU", "GPUs", "GPU hours")
CORE = Device("core", "cores", "core hours")


def device(path: str | None, cores: int | None = None) -> Device:
    """What is counted on a path.

    Args:
        cores: path ``host``: that each of a run's ``gpus`` stands for; None: one.
    """
    if path != "host":
        return GPU
    if cores is None or cores == 1:
        return CORE
    group = f"{cores} cores"
    return Device(f"group of {group}", f"groups of {group}", f"hours of {group}")
