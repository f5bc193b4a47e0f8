"""GPU counts, and 1/k of a GPU, which means k instances of a program on one GPU."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from gpucast.errors import InputError

MOST_INSTANCES = 1000
"""Most instances on one GPU; each is a process."""

GpuShare = int | Fraction
"""The GPUs of an instance: their number (``numerator``), or 1/k (``denominator``: instances)."""


def share_text(gpus: int, instances: int = 1) -> str:
    """Format the GPUs of each instance as options do: ``2``, ``1/4``."""
    return str(gpus) if instances == 1 else f"{gpus}/{instances}"


def share_of(text: str) -> Fraction | None:
    """Parse a share such as ``1/4``; None if it is not a fraction.

    Raises:
        ValueError: the fraction is not 1/k.
    """
    above, stroke, below = (part.strip() for part in text.partition("/"))
    if not stroke:
        return None
    if above != "1" or not (below.isascii() and below.isdecimal()) or not below.strip("0"):
        raise ValueError(f"{text!r} is no GPU count; 1/4 of a GPU means four instances on one")
    if int(below) > MOST_INSTANCES:
        raise ValueError(f"{text!r}: at most {MOST_INSTANCES} instances on a GPU")
    return Fraction(1, int(below))


def parted(text: str, field: str = "gpus") -> tuple[list[int], str]:
    """Split a list such as ``1/4,1/2,1,2-4`` into instances on one GPU and the rest of the list.

    Raises:
        InputError: a fraction is not 1/k.
    """
    instances, rest = [], []
    for part in text.split(","):
        try:
            share = share_of(part)
        except ValueError as error:
            raise InputError(str(error), field=field) from None
        if share is None or share == 1:
            rest.append("1" if share == 1 else part)
        else:
            instances.append(share.denominator)
    if instances and not all(part.strip() for part in rest):
        raise InputError(f"{text!r} is no list of numbers", field=field)
    return list(dict.fromkeys(instances)), ",".join(rest)


@dataclass(frozen=True)
class Device:
    """Names of a device: one, several, and hours of them."""

    one: str
    many: str
    hours: str

    def counted(self, count: int) -> str:
        """Return a text such as ``1 GPU`` or ``4 cores``."""
        return f"{count} {self.one if count == 1 else self.many}"


GPU = Device("GPU", "GPUs", "GPU hours")
CORE = Device("core", "cores", "core hours")


def device(path: str | None, cores: int | None = None) -> Device:
    """Return what GPU counts count on a path.

    Args:
        cores: on path ``host``, the cores that each of a run's ``gpus`` stands for; None: one.
    """
    if path != "host":
        return GPU
    if cores is None or cores == 1:
        return CORE
    group = f"{cores} cores"
    return Device(f"group of {group}", f"groups of {group}", f"hours of {group}")
