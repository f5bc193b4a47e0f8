"""Hypothetical networks, written as ``25Gb/s,30us``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpucast.errors import InputError
from gpucast.util.units import duration

_RATES = {"Mb/s": 1e6 / 8, "Gb/s": 1e9 / 8, "Tb/s": 1e12 / 8, "MB/s": 1e6, "GB/s": 1e9}
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True)
class Network:
    """A network between the program's host and the hosts of its GPUs.

    Attributes:
        bandwidth: bandwidth in each direction (B/s), shared by all GPUs.
        round_trip: round-trip time (s) without software.
    """

    bandwidth: float
    round_trip: float

    def __str__(self) -> str:
        return f"{self.bandwidth * 8 / 1e9:.4g} Gb/s, round trip {duration(self.round_trip)}"


def parse_network(text: str) -> Network:
    """Parse a text such as ``25Gb/s,30us``: bandwidth (Mb/s, Gb/s, MB/s, GB/s) and round trip (ns,
    us, ms, s).

    Raises:
        InputError: the text has another form.
    """
    rate, _, time = text.replace(" ", "").partition(",")
    bandwidth = _quantity(rate, _RATES)
    round_trip = _quantity(time, _TIMES)
    if bandwidth is None or round_trip is None or not 0 < bandwidth < 1e15 or not round_trip < 10:
        message = f"{text!r} is no network such as 25Gb/s,30us: bandwidth and round trip"
        raise InputError(message, field="--network")
    return Network(bandwidth, round_trip)


def _quantity(text: str, units: dict[str, float]) -> float | None:
    matched = re.fullmatch(r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)([A-Za-z/]+)", text)
    if matched is None or matched[2] not in units:
        return None
    return float(matched[1]) * units[matched[2]]
