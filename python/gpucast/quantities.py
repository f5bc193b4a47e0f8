"""Quantities for people: the digits that matter, with the unit that suits the size."""

from __future__ import annotations

from collections.abc import Sequence


def duration(value: float) -> str:
    """A time: four digits and the unit that suits its size."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value * 1e9:.4g} ns"


# No link carries this much: the piece of a curve has no slope that the data could show.
FLAT = 1e14


def throughput(value: float) -> str:
    """Bytes a second, decimal prefixes: ``5.19 GB/s``; ``flat`` where size costs no time."""
    if value >= FLAT:
        return "flat"
    for unit, size in (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if value >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value:.4g} B/s"


def quantity(value: float | None, unit: str) -> str | None:
    """A value in SI units as text; None stays None (shown as ``-``)."""
    if value is None:
        return None
    return throughput(value) if unit == "B/s" else duration(value)


def interval(ends: Sequence[float] | None, unit: str) -> str | None:
    """``low ... high``."""
    if ends is None:
        return None
    return f"{quantity(ends[0], unit)} ... {quantity(ends[1], unit)}"


def percent(value: float | None, digits: int = 1) -> str | None:
    """A share as per cent."""
    return None if value is None else f"{100 * value:.{digits}f} %"


LEAST_P = 1e-16
"""Less is no more improbable to anybody; far below, it is 0 in floating point."""


def p_value(value: float) -> str:
    """The probability of a test: ``p = 0.0032``, ``p < 1e-16``."""
    return f"p = {value:.2g}" if value >= LEAST_P else f"p < {LEAST_P:.0e}"
