"""Formats and parses quantities with suitable digits and units."""

from __future__ import annotations

from collections.abc import Sequence

from gpucast.errors import InputError

_TIMES = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

SIMULATED_TIMES = {"fs": 1e-15, "ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
"""Seconds by unit of simulated time."""


def duration(value: float) -> str:
    """Format a time with four digits and a suitable unit."""
    return _in_unit(value, 4, s=1.0, ms=1e-3, us=1e-6, ns=1e-9)


def _in_unit(value: float, digits: int, **units: float) -> str:
    """Format a value in the largest unit that it exceeds, else in the smallest."""
    unit = next((unit for unit, size in units.items() if value >= size), [*units][-1])
    return f"{value / units[unit]:.{digits}g} {unit}"


def parse_duration(text: str, field: str | None = None) -> float:
    """Parse ``90``, ``90s``, ``5m``, ``1.5h``, ``2d``; return seconds.

    Raises:
        InputError: it is not a time greater than 0.
    """
    number = text[:-1] if text[-1:] in _TIMES else text
    try:
        value = float(number) * _TIMES.get(text[-1:], 1.0)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise InputError(f"{text!r} is no time such as 90s, 5m, 1h, 2d", field=field)
    return value


def parse_timestep(text: str, field: str | None = None) -> float:
    """Parse the simulated time of a step, such as ``2fs``, ``0.002 ps``, ``1e-3 s``; return
    seconds.

    Raises:
        InputError: it is not a time greater than 0, or has no unit.
    """
    number = text.strip().rstrip("fpnums")
    size = SIMULATED_TIMES.get(text.strip()[len(number) :])
    try:
        # Dividing by a whole number makes 2 fs the double nearest to 2e-15.
        value = float("nan") if size is None else float(number) / round(1 / size)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise InputError(f"{text!r} is no time step such as 2fs, 0.002ps, 1e-3s", field=field)
    return value


def long_duration(seconds: float) -> str:
    """Format a time of seconds to days with three digits: ``42.1 s``, ``3.25 h``."""
    unit = _long_unit(seconds)
    return f"{_three_digits(seconds / _TIMES[unit])} {unit}"


def long_interval(low: float, high: float) -> str:
    """Format two times in the unit of the longer one: ``1.75 d ... 2.64 d``."""
    unit = _long_unit(high)
    ends = (f"{_three_digits(seconds / _TIMES[unit])} {unit}" for seconds in (low, high))
    return " ... ".join(ends)


def _long_unit(seconds: float) -> str:
    return next((unit for unit in ("d", "h", "m") if seconds >= 2 * _TIMES[unit]), "s")


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


# No link is this fast: the data show no slope of this piece of a curve.
FLAT = 1e14


def throughput(value: float) -> str:
    """Format a throughput with decimal prefixes: ``5.19 GB/s``; ``flat`` if time does not grow."""
    if value >= FLAT:
        return "flat"
    return _in_unit(value, 4, TB=1e12, GB=1e9, MB=1e6, kB=1e3, B=1.0) + "/s"


def size(value: int) -> str:
    """Format a number of bytes, in binary units if it is a multiple of one."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if value >= 2**power and value % 2**power == 0:
            return f"{value // 2**power} {unit}"
    return f"{value} B"


def bytes_in_words(value: float) -> str:
    """Format a number of bytes with three digits: ``8 B``, ``1.02 MB``."""
    return _in_unit(value, 3, GB=1e9, MB=1e6, kB=1e3, B=1.0)


EXACT = 2**53
"""Whole numbers below this are exact as floats."""

_LONGEST_WHOLE = 10**9


def plain(n: float) -> float:
    """Return a size as ``int`` if it is exactly a whole number, else as ``float``."""
    return int(n) if float(n).is_integer() and n < EXACT else float(n)


def number(n: float) -> str:
    """Format a size n: ``1500000``, ``3e9``, ``0.25``; whole numbers up to 1e9 with all digits."""
    if n <= _LONGEST_WHOLE and float(n).is_integer():
        return str(int(n))
    digits, exponent, power = f"{n:.6g}".partition("e")
    return digits + (f"e{int(power)}" if exponent else "")


def quantity(value: float | None, unit: str) -> str | None:
    """Format a value in SI units, or a pure number without unit; None stays None (shown as
    ``-``)."""
    if value is None:
        return None
    if not unit:
        return f"{value:.4g}"
    return throughput(value) if unit == "B/s" else duration(value)


def interval(ends: Sequence[float] | None, unit: str) -> str | None:
    """Format an interval as ``low ... high``."""
    if ends is None:
        return None
    return f"{quantity(ends[0], unit)} ... {quantity(ends[1], unit)}"


def percent(value: float | None, digits: int = 1) -> str | None:
    """Format a share in per cent."""
    return None if value is None else f"{100 * value:.{digits}f} %"


def whole_percent(value: float | None) -> str | None:
    """Format a share in whole per cent."""
    return percent(value, 0)


def change(value: float | None, digits: int = 0) -> str | None:
    """Format a relative difference in per cent with its sign: ``+4 %``."""
    return None if value is None else f"{100 * value:+.{digits}f} %"


LEAST_P = 1e-16
"""Least p-value that is shown; smaller ones underflow to 0 and tell nothing else."""


def p_value(value: float) -> str:
    """Format the p-value of a test: ``p = 0.0032``, ``p < 1e-16``."""
    return f"p = {value:.2g}" if value >= LEAST_P else f"p < {LEAST_P:.0e}"


def ranges(integers: Sequence[int]) -> str:
    """Format integers as ranges: ``2, 5-9`` for 2, 5, 6, 7, 8, 9."""
    parts: list[list[int]] = []
    for integer in integers:
        if parts and parts[-1][-1] == integer - 1:
            parts[-1].append(integer)
        else:
            parts.append([integer])
    return ", ".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)


def gpus_in_words(count: int) -> str:
    """Return a text such as ``1 GPU`` or ``2 GPUs``."""
    return f"{count} GPU" if count == 1 else f"{count} GPUs"
