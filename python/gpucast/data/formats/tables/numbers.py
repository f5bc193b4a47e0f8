"""Numbers as people write them: decimal points or commas, thousands separators.

``24,000`` is 24000 where decimals have a point and 24 where they have a comma. A table is written
in one way, so its other numbers mostly tell; where none does, the reader asks rather than guess.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
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
        if as_point is not None and re.search(r"[.][0-9]+[eE]", text):
            as_comma = None  # digits in groups have no exponent
        if as_point is None and as_comma is None:
            continue
        if as_comma is None:
            point = point or text
        elif as_point is None:
            comma = comma or text
        elif as_point != as_comma:
            either = either or text
    return point, comma, either


OUTCOMES = ("state", "exit_code", "success")
"""Roles of columns that tell how a run ended."""

_NONE = frozenset(("nan", "na", "n/a", "n.a.", "none", "null", "k.a.", "k. a."))

_FAILED = re.compile(
    r"abgebroch|abbruch|abgest|absturz|fehl|gescheit|crash|fail|abort|kill|cancel|oom\b"
    r"|out[ _-]?of[ _-]?me|seg(mentation)?[ _-]?f|sigsegv|diverg|blew up|explod|time[d ]?[ _-]?out"
    r"|time[ _-]?limit|err\b|error|did not|dnf\b|not (run|finished|completed|available|enough)"
    r"|no (result|time|data|run)|unstable|incomplete|unfinished|broken|skipped|preempt"
    r"|node[ _-]?fail|boot_fail|revoked|suspended|stopped|deadline|pending|running|queued|requeued"
    r"|configuring|completing|resizing|signaling|todo|tbd\b|missing|fehlt|nicht|kein|échec|échou|erreur|fall[oó]|fallid",
    re.IGNORECASE,
)  # fmt: skip
"""How words begin that say so, and the states of Slurm's jobs other than COMPLETED (``sacct``)."""


_FAILED_BY_ROLE = {
    "state": re.compile(r"(?:BF|CA|DL|F|NF|OOM|PD|PR|TO)(?![^ ])"),  # Slurm's short states
    "exit_code": re.compile(r"(?!0+(?:[.:]0+)?$)-?[0-9]"),
    "success": re.compile(r"(?:no|n|false|f|0|nein|falsch)$", re.IGNORECASE),
}
"""What says so in columns of these roles alone."""


def is_none(text: str) -> bool:
    """Whether a cell holds no value: ``n/a``, ``---``, a spreadsheet's error such as ``#NV``."""
    return text.casefold() in _NONE or text[:1] == "#" or not re.search(r"\w", text)


def has_failed(text: str) -> bool:
    """Whether a cell says that the run failed, or has not ended."""
    return _FAILED.match(text.strip()) is not None


def speaks_of_failure(text: str) -> bool:
    """Whether some word of a cell says so: ``CUDA error 700``."""
    return any(has_failed(text[word.start() :]) for word in re.finditer(r"[^\W\d]\w*", text))


def failure(outcomes: Mapping[str, str]) -> str | None:
    """What says so in the cells of a row that tell how its run ended, by role; None: nothing."""
    for role, text in outcomes.items():
        if has_failed(text) or _FAILED_BY_ROLE[role].match(text.strip()):
            word = text.split()[0]
            return word if role == "state" else f"{role} {word}"
    return None
