"""Parses numbers, lists and ranges of numbers, and lists of words on the command line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from gpucast.errors import InputError
from gpucast.util.units import parse_duration as duration

__all__ = [
    "LARGEST_COUNT",
    "counts",
    "duration",
    "grid",
    "money",
    "one_each",
    "size",
    "sizes",
    "whole_each",
    "words",
]

LARGEST_COUNT = 100_000
"""Most numbers in a list; as many forecasts take some seconds and 800 MB."""


def sizes(text: str, field: str = "n") -> list[float]:
    """Parse ``1000,1e5`` or ``512..1e6:9`` (nine values, evenly spaced in the logarithm), or both.

    Values between whole numbers are rounded to whole numbers. ``1000-5000:1000`` has a step.
    ``64k``, ``5M`` and ``1G`` are thousands, millions and billions; ``5,000,000`` is one number,
    because no size is 000. ``64x64x128`` is the size of a grid, ``R02B09`` one of ICON's.

    Raises:
        InputError: a value is not a number greater than 0.
    """
    whole = text.replace(",", "") if _GROUPED.fullmatch(text.strip()) else text
    return _listed(whole, field, _positive)


def size(text: str, field: str = "n") -> float:
    """Parse one size, in the form of lists.

    Raises:
        InputError: it is not a number greater than 0, or there are several.
    """
    values = sizes(text, field)
    if len(values) > 1:
        raise InputError(f"{text!r} are several sizes; state one", field=field)
    return values[0]


def money(text: str, field: str) -> tuple[float, str]:
    """Parse an amount of 0 or more and its currency (empty if not stated): ``0.30``, ``0.30 EUR``.

    Raises:
        InputError: it is none.
    """
    match = re.fullmatch(r"([0-9.]+(?:e[+-]?[0-9]+)?)\s*([^\W\d_]{1,9}|\W?)", text.strip(), re.I)
    try:
        return float(match[1] if match else ""), match[2] if match else ""
    except ValueError:
        raise InputError(f"{text!r} is no amount such as 0.30 or '0.30 EUR'", field=field) from None


def one_each(text: str, field: str = "n") -> tuple[float, ...]:
    """Parse a list of sizes, one for each of several things, so that repetitions are kept.

    Raises:
        InputError: a value is not a number greater than 0.
    """
    whole = text.replace(",", "") if _GROUPED.fullmatch(text.strip()) else text
    return tuple(_positive(part, field) for part in _parts(whole, field))


def whole_each(text: str, field: str = "gpus") -> tuple[int, ...]:
    """Parse a list of whole numbers of at least 1, keeping repetitions."""
    return tuple(int(_whole(part, field)) for part in _parts(text, field))


def grid(text: str) -> float | None:
    """Return the number of points of ``64x64x128``, ``1024 1024 1024``, ``(64, 64)``, ``64^3``, or
    of cells of ICON's ``R02B09``; None for other texts."""
    text = text.strip().strip("()[]{}").strip()
    if icon := re.fullmatch("R0*([0-9]{1,2})B0*([0-9]{1,2})", text, re.IGNORECASE):
        return math.ldexp(20.0 * int(icon[1]) * int(icon[1]), 2 * int(icon[2]))
    if power := re.fullmatch(r"([0-9]{1,9})(?:\^|\*\*)([1-4])", text):
        return math.pow(float(power[1]), int(power[2]))
    sides = re.split(r"\s*[xX*×]\s*|\s*,\s*|\s+", text)
    if 2 <= len(sides) <= 4 and all(re.fullmatch("0*[1-9][0-9]{0,8}", side) for side in sides):
        return float(math.prod(map(float, sides)))
    return None


def counts(text: str, field: str = "gpus") -> list[float]:
    """Parse counts and ranges such as ``1-4,8``; ``1-8:2`` has a step, ``1..64:7`` is as for sizes.

    Raises:
        InputError: a value is not a whole number of at least 1.
    """
    return _listed(text, field, _whole)


def words(text: str | None, known: Sequence[str], field: str) -> tuple[str, ...] | None:
    """Parse a list of known words; None stays None.

    Raises:
        InputError: a word is not known.
    """
    if text is None:
        return None
    given = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for word in given:
        if word not in known:
            raise InputError(f"{word!r} is none of {', '.join(known)}", field=field)
    return given


def _listed(text: str, field: str, number: Callable[[str, str], float]) -> list[float]:
    result: list[float] = []
    for part in _parts(text, field):
        if ".." in part:
            result += _spaced(part, field, number)
        elif dash := _dash(part):
            result += _stepped(part, dash, field, number)
        else:
            result.append(number(part, field))
    return list(dict.fromkeys(result))


def _spaced(part: str, field: str, number: Callable[[str, str], float]) -> list[float]:
    """Parse FIRST..LAST:COUNT, evenly spaced in the logarithm."""
    ends, _, count = part.partition(":")
    low, _, high = ends.partition("..")
    first, last = number(low, field), number(high, field)
    values = int(_whole(count or "13", field))
    if last < first or values > LARGEST_COUNT:
        raise InputError(
            f"{part!r} is no range FIRST..LAST:COUNT of up to {LARGEST_COUNT} values", field=field
        )
    steps = max(1, values - 1)
    spaced = [first * (last / first) ** (i / steps) for i in range(values)]
    whole = first.is_integer() and last.is_integer()
    return [float(round(value)) if whole else value for value in spaced]


def _stepped(part: str, dash: int, field: str, number: Callable[[str, str], float]) -> list[float]:
    """Parse FIRST-LAST:STEP; LAST is included if the steps reach it."""
    ends, _, wide = part[dash + 1 :].partition(":")
    first, last = number(part[:dash], field), number(ends, field)
    step = number(wide or "1", field)
    if last < first or (last - first) / step > LARGEST_COUNT:
        raise InputError(
            f"{part!r} is no range FIRST-LAST:STEP of up to {LARGEST_COUNT} values", field=field
        )
    return [first + i * step for i in range(int((last - first) / step) + 1)]


def _dash(part: str) -> int:
    """Return the position of a range's dash, not of a number's or exponent's sign; 0 if there is
    none."""
    dash = re.search(r"(?<=[^eE])-", part)
    return dash.start() if dash else 0


def _parts(text: str, field: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise InputError(f"{text!r} is no list of numbers", field=field)
    return parts


def _positive(text: str, field: str) -> float:
    if (points := grid(text)) is not None:
        return points
    factor = _FACTORS.get(text[-1:])
    # 2.3M is 2300000, not the double next to it.
    value = _number(text) if factor is None else float(f"{_number(text[:-1]) * factor:.15g}")
    if not 0 < value < float("inf"):
        raise InputError(
            f"{text!r} is no number greater than 0 such as 5000000, 5e6, 5M", field=field
        )
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


# Commas between every three digits, with a group that begins with 0.
_GROUPED = re.compile(r"(?=.*,0)[1-9][0-9]{0,2}(,[0-9]{3})+")
_FACTORS = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}


def _whole(text: str, field: str) -> float:
    value = _number(text)
    if not (1 <= value < float("inf")) or value != int(value):
        raise InputError(f"{text!r} is no whole number of at least 1", field=field)
    return value
