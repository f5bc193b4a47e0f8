"""Numbers, their lists and ranges, and lists of words on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from gpucast.errors import InputError
from gpucast.util.units import parse_duration as duration

__all__ = ["LARGEST_COUNT", "counts", "duration", "sizes", "words"]

LARGEST_COUNT = 100_000
"""Numbers in a list: so many forecasts take some seconds, and 800 MB."""


def sizes(text: str, field: str = "n") -> list[float]:
    """``1000,1e5`` or ``512..1e6:9`` (nine values, evenly spaced in the logarithm), or both.

    Values between whole numbers are rounded to such.

    Raises:
        InputError: something that is no number greater than 0.
    """
    result: list[float] = []
    for part in _parts(text, field):
        if ".." not in part:
            result.append(_positive(part, field))
            continue
        ends, _, count = part.partition(":")
        low, _, high = ends.partition("..")
        first, last = _positive(low, field), _positive(high, field)
        number = int(_whole(count or "13", field))
        if last < first or number > LARGEST_COUNT:
            raise InputError(
                f"{part!r} is no range FIRST..LAST:COUNT of up to {LARGEST_COUNT} values",
                field=field,
            )
        steps = max(1, number - 1)
        spaced = [first * (last / first) ** (i / steps) for i in range(number)]
        whole = first.is_integer() and last.is_integer()
        result.extend(float(round(value)) if whole else value for value in spaced)
    return list(dict.fromkeys(result))


def counts(text: str, field: str = "gpus") -> list[float]:
    """``1-4,8``: single counts and ranges.

    Raises:
        InputError: something that is no whole number of at least 1.
    """
    result: list[float] = []
    for part in _parts(text, field):
        low, dash, high = part.partition("-")
        first = _whole(low, field)
        last = _whole(high, field) if dash else first
        if last < first or last - first > LARGEST_COUNT:
            raise InputError(
                f"{part!r} is no range FIRST-LAST of up to {LARGEST_COUNT} counts", field=field
            )
        result.extend(float(value) for value in range(int(first), int(last) + 1))
    return list(dict.fromkeys(result))


def words(text: str | None, known: Sequence[str], field: str) -> tuple[str, ...] | None:
    """A list of some of the known words; None stays None.

    Raises:
        InputError: a word that is not known.
    """
    if text is None:
        return None
    given = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for word in given:
        if word not in known:
            raise InputError(f"{word!r} is none of {', '.join(known)}", field=field)
    return given


def _parts(text: str, field: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise InputError(f"{text!r} is no list of numbers", field=field)
    return parts


def _positive(text: str, field: str) -> float:
    value = _number(text)
    if not 0 < value < float("inf"):
        raise InputError(f"{text!r} is no number greater than 0", field=field)
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _whole(text: str, field: str) -> float:
    value = _number(text)
    if not (1 <= value < float("inf")) or value != int(value):
        raise InputError(f"{text!r} is no whole number of at least 1", field=field)
    return value
