"""Numbers as people write them: decimal points or commas, thousands separators.

``24,000`` is 24000 with decimal points and 24 with decimal commas. A table uses one way throughout,
so that its other numbers usually decide; if none does, the user is asked.
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
    """Return the pattern of numbers with at least one thousands separator."""
    group = rf"[1-9][0-9]{{0,2}}([{separators}])[0-9]{{3}}(?:\1[0-9]{{3}})*"
    return re.compile(rf"[+-]?{group}([{decimal}][0-9]*)?{_EXPONENT}")


_POINT_GROUPED = _grouped("," + _SPACES, ".")
_COMMA_GROUPED = _grouped("." + _SPACES, ",")
_COMMA_PLAIN = re.compile(rf"[+-]?([0-9]+(,[0-9]*)?|,[0-9]+){_EXPONENT}")


def parse(text: str, decimal: Decimal) -> Number | None:
    """Return the number in a text, an ``int`` if whole; None for other texts."""
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
"""The meaning of a clock time's two numbers, which the text does not tell."""

_LAST = r"([0-5]?[0-9](?:[.,][0-9]*)?)"
_CLOCKS: dict[Clock, re.Pattern[str]] = {
    "h:m:s": re.compile(rf"(?:([0-9]{{1,6}})-)?([0-9]{{1,6}}):([0-5]?[0-9]):{_LAST}"),
    "m:s": re.compile(rf"()()([0-9]{{1,6}}):{_LAST}"),
    "h:m": re.compile(r"()([0-9]{1,6}):([0-5]?[0-9])()"),
}


def parse_clock(text: str, clock: Clock | None) -> Number | None:
    """Return the seconds of ``1-03:12:44``, ``03:12:44`` (days, hours, minutes, seconds, as in
    Slurm), or of two numbers whose meaning ``clock`` states; None for other texts. Hours are not
    followed by decimals, as in ``70:10.5``."""
    match = _CLOCKS["h:m:s"].fullmatch(text) or _CLOCKS[clock or "h:m:s"].fullmatch(text)
    if match is None and clock != "h:m" and re.search("[.,]", text):
        match = _CLOCKS["m:s"].fullmatch(text)
    if match is None:
        return None
    days, hours, minutes = (int(part or 0) for part in match.groups()[:3])
    seconds = parse((match[4] or "0").replace(",", "."), "point") or 0
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


_FIRST_DAY = datetime.datetime(1899, 12, 31)
"""The date from which spreadsheets count durations."""


def seconds_of(value: object) -> Number | None:
    """Return the seconds of a spreadsheet's duration or time of day; None for other values."""
    if isinstance(value, datetime.time):
        value = datetime.datetime.combine(_FIRST_DAY, value)
    if isinstance(value, datetime.datetime) and value.year < 1901:
        value = value - _FIRST_DAY
    return value.total_seconds() if isinstance(value, datetime.timedelta) else None


def decimals_of(texts: Iterable[str]) -> tuple[str | None, str | None, str | None]:
    """Return the first text that needs decimal points, the first that needs decimal commas, and the
    first whose number depends on which of them is meant."""
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
"""Roles of columns that state how a run ended."""

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
"""Beginnings of words for failure, and Slurm's job states other than COMPLETED (``sacct``)."""


_FAILED_BY_ROLE = {
    "state": re.compile(r"(?:BF|CA|DL|F|NF|OOM|PD|PR|TO)(?![^ ])"),  # Slurm's short states
    "exit_code": re.compile(r"(?!0+(?:[.:]0+)?$)-?[0-9]"),
    "success": re.compile(r"(?:no|n|false|f|0|nein|falsch)$", re.IGNORECASE),
}
"""Words for failure in columns of these roles only."""


def is_none(text: str) -> bool:
    """Return whether a cell has no value: ``n/a``, ``---``, an error such as ``#NV``."""
    return text.casefold() in _NONE or text[:1] == "#" or not re.search(r"\w", text)


def has_failed(text: str) -> bool:
    """Return whether a cell states that the run failed or has not ended."""
    return _FAILED.match(text.strip()) is not None


def speaks_of_failure(text: str) -> bool:
    """Return whether any word of a cell states a failure: ``CUDA error 700``."""
    return any(has_failed(text[word.start() :]) for word in re.finditer(r"[^\W\d]\w*", text))


def failure(outcomes: Mapping[str, str]) -> str | None:
    """Return the text that states a failure among a row's outcomes (by role); None without one."""
    for role, text in outcomes.items():
        if has_failed(text) or _FAILED_BY_ROLE[role].match(text.strip()):
            word = text.split()[0]
            return word if role == "state" else f"{role} {word}"
    return None
