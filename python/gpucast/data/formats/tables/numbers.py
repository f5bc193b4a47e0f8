"""Numbers as people write them: decimal points or commas, thousands separators.

``24,000`` is 24000 where decimals have a point and 24 where they have a comma. A table is written
in one way, so its other numbers mostly tell; where none does, the reader asks rather than guess.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from typing import Literal

Decimal = Literal["point", "comma"]
Number = int | float

_EXPONENT = r"([eE][+-]?[0-9]{1,4})?"
_SPACES = " '\u2019\u00a0\u2009\u202f"
_PLAIN = re.compile(rf"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+){_EXPONENT}")
_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")


def _grouped(separators: str, decimal: str) -> re.Pattern[str]:
    """Numbers with every three digits set apart by the same separator, at least once."""
    group = rf"[1-9][0-9]{{0,2}}([{separators}])[0-9]{{3}}(?:\1[0-9]{{3}})*"
    return re.compile(rf"[+-]?{group}([{decimal}][0-9]*)?{_EXPONENT}")


_POINT_GROUPED = _grouped("," + _SPACES, ".")
_COMMA_GROUPED = _grouped("." + _SPACES, ",")
_COMMA_PLAIN = re.compile(rf"[+-]?([0-9]+(,[0-9]*)?|,[0-9]+){_EXPONENT}")


def parse(text: str, decimal: Decimal) -> Number | None:
    """The number that a text is; whole ones are ``int``; None: it is none."""
    plain = None
    if decimal == "point":
        if _PLAIN.fullmatch(text):
            plain = text
        elif _POINT_GROUPED.fullmatch(text):
            plain = re.sub(rf"[,{_SPACES}]", "", text)
    elif _COMMA_PLAIN.fullmatch(text):
        plain = text.replace(",", ".")
    elif _COMMA_GROUPED.fullmatch(text):
        plain = re.sub(rf"[.{_SPACES}]", "", text).replace(",", ".")
    if plain is None:
        return None
    return int(plain) if _WHOLE.fullmatch(plain) else float(plain)


Clock = Literal["h:m:s", "m:s", "h:m"]
"""What the numbers of a clock's time are; two alone may be either."""

_LAST = r"([0-5]?[0-9](?:[.,][0-9]*)?)"
_CLOCKS: dict[Clock, re.Pattern[str]] = {
    "h:m:s": re.compile(rf"(?:([0-9]{{1,6}})-)?([0-9]{{1,6}}):([0-5]?[0-9]):{_LAST}"),
    "m:s": re.compile(rf"()()([0-9]{{1,6}}):{_LAST}"),
    "h:m": re.compile(r"()([0-9]{1,6}):([0-5]?[0-9])()"),
}


def parse_clock(text: str, clock: Clock | None) -> Number | None:
    """Seconds of ``1-03:12:44``, ``03:12:44`` (days, hours, minutes, seconds: Slurm's way), or of
    two numbers where it is known which: hours have no decimals behind them, as in ``70:10.5``;
    None: it is no such text."""
    match = _CLOCKS["h:m:s"].fullmatch(text) or _CLOCKS[clock or "h:m:s"].fullmatch(text)
    if match is None and clock != "h:m" and re.search("[.,]", text):
        match = _CLOCKS["m:s"].fullmatch(text)
    if match is None:
        return None
    days, hours, minutes = (int(part or 0) for part in match.groups()[:3])
    seconds = parse((match[4] or "0").replace(",", "."), "point") or 0
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


_FIRST_DAY = datetime.datetime(1899, 12, 31)
"""Spreadsheets have durations as times of days since then."""


def seconds_of(value: object) -> Number | None:
    """Seconds of a spreadsheet's duration or time of day; None: it is neither."""
    if isinstance(value, datetime.time):
        value = datetime.datetime.combine(_FIRST_DAY, value)
    if isinstance(value, datetime.datetime) and value.year < 1901:
        value = value - _FIRST_DAY
    return value.total_seconds() if isinstance(value, datetime.timedelta) else None


def decimals_of(texts: Iterable[str]) -> tuple[str | None, str | None, str | None]:
    """The first text that needs decimal points, the first that needs decimal commas, and the first
    that is a number either way, but not the same one."""
    point = comma = either = None
    for text in texts:
        if "," not in text and "." not in text:
            continue
        as_point, as_comma = parse(text, "point"), parse(text, "comma")
        if as_point is None and as_comma is None:
            continue
        if as_comma is None:
            point = point or text
        elif as_point is None:
            comma = comma or text
        elif as_point != as_comma:
            either = either or text
    return point, comma, either
