"""Times that people write and read: ``90s``, ``1.5h``, ``3.2 d``."""

from __future__ import annotations

from gpucast.errors import InputError

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse(text: str, field: str | None = None) -> float:
    """``90``, ``90s``, ``5m``, ``1.5h``, ``2d``: seconds.

    Raises:
        InputError: something that is no time greater than 0.
    """
    number = text[:-1] if text[-1:] in _UNITS else text
    try:
        value = float(number) * _UNITS.get(text[-1:], 1.0)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise InputError(f"{text!r} is no time such as 90s, 5m, 1h, 2d", field=field)
    return value


def shown(seconds: float) -> str:
    """A time of seconds to days, three digits: ``42.1 s``, ``3.25 h``."""
    for unit in ("d", "h", "m"):
        if seconds >= 2 * _UNITS[unit]:
            return f"{_three_digits(seconds / _UNITS[unit])} {unit}"
    return f"{_three_digits(seconds)} s"


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
