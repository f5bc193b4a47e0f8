"""The ``--regex`` that would read a text of no known format, made from its own lines.

Lines count that a program prints again and again, with other numbers, and that have a time with its
unit, or a name that speaks of one. Nobody is told of an expression that does not read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from gpucast.data.formats import Options
from gpucast.data.formats.logs import pattern
from gpucast.data.formats.tables.units import parse_column_unit
from gpucast.errors import InputError

NUMBER = r"[0-9][0-9,]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_NUMBER = re.compile(rf"(?<![\w.]){NUMBER}")
_UNIT = re.compile(r"\s?(?P<unit>[a-zµ]+(?:/[a-z]+)?)(?![\w/])", re.I)
_RATE_BEFORE = re.compile(r"([a-z]+/s(?:ec)?)\W{1,3}$", re.I)
_TIME = re.compile(
    r"time|elapsed|took|duration|dauer|laufzeit|wall|\bms\b|\bsec|\(s\)|_s\b|_ms\b", re.I
)
_PER_STEP = re.compile(r"step|iter|batch|schritt|cycle", re.I)
_NO_TIME = re.compile(
    r"\beta\b|remain|left|total|estimat|data|load|timestamp|\bdate|eval|valid|test", re.I
)
_FACTS = (
    r"(?i:world[_ -]?size\D{1,4}(?P<gpus>\d+))",
    r"(?i:\b(?:n|num)_?(?:gpus?|devices)\D{1,4}(?P<gpus>\d+))",
    r"(?i:\b(?P<gpus>\d+) (?:gpus?|devices)\b)",
    r"(?i:\bglobal[_ -]?batch(?:[_ -]?size)?\D{1,4}(?P<n>\d+))",
    r"(?i:\b(?P<n>\d+) (?:atoms|particles|cells)\b)",
)  # fmt: skip
_ENOUGH, _LONGEST = 2, 1000
"""Lines of a kind that show that a program repeats it; characters of a line."""
_LOOKED_AT = 5000
"""Lines in which an expression is looked for."""


def expression(text: str) -> str | None:
    """The expression that reads most of a text's times; None: nothing in it looks like times."""
    lines = text.splitlines()[:_LOOKED_AT]
    shapes = Counter(map(_shape, lines))
    scores: dict[str, float] = {}
    for line in lines:
        if shapes[_shape(line)] >= _ENOUGH and len(line) < _LONGEST:
            for made, score in _candidates(line):
                scores[made] = scores.get(made, 0.0) + score
    facts = {re.findall("P<(.*?)>", fact)[0]: fact for fact in _FACTS if re.search(fact, text)}
    for made in sorted(scores, key=lambda made: -scores[made])[:5]:
        whole = "|".join([made, *facts.values()])
        if _reads(text, whole):
            return whole
    return None


def _shape(line: str) -> str:
    return re.sub(r"\s*#\s*", "#", _NUMBER.sub("#", line))


def _candidates(line: str) -> Iterator[tuple[str, float]]:
    """Expressions for each number of a line that may be a time, and how likely it is one."""
    end = 0
    for match in _NUMBER.finditer(line):
        before, end = line[end : match.start()], match.end()
        label = re.search(r"[^\d|;,]{0,40}$", before)
        words = label[0] if label else ""
        if (named := _RATE_BEFORE.search(words)) and parse_column_unit(named[1]):
            yield rf"(?P<unit>{re.escape(named[1])})\W{{1,3}}(?P<rate>[\d.,]+)", 2.0
            continue
        unit = _UNIT.match(line, match.end())
        known = parse_column_unit(unit["unit"]) if unit and len(unit["unit"]) < 20 else None
        speaks = _TIME.search(words) is not None
        if known is None and not speaks:
            continue
        if _NO_TIME.search(words) or (known is not None and unit and unit["unit"] in ("d", "min")):
            continue
        score = 1.0 + 2 * (_PER_STEP.search(words) is not None) + (known is not None) + speaks
        name = re.sub(r"(?:\\?\s)+", r"\\s*", re.escape(words.strip()))
        name = rf"\b{name}" if name[:1].isalpha() else name
        gap = r"\s*" if name else ""
        if known is not None and unit is not None and known.rank > 1:
            yield rf"{name}{gap}(?P<rate>[\d.,]+)\s?(?P<unit>{re.escape(unit['unit'])})", score
        elif known is not None and unit is not None:
            yield (
                rf"{name}{gap}(?P<seconds>[\d.eE+-]+)\s?(?P<unit>{re.escape(unit['unit'])})\b",
                score,
            )
        else:
            yield rf"{name}{gap}(?P<seconds>[\d.eE+-]+)", score


def _reads(text: str, made: str) -> bool:
    """Whether an expression finds times, and not those since the start, which only grow."""
    try:
        options = Options(regex=made, gpus=1, size=1.0, decimal="point", every_run=True)
        entries = pattern.read(text, "", options).entries
    except (InputError, re.error):
        return False
    times = [float(seconds) for entry in entries for seconds in getattr(entry, "seconds", ())]
    grows = all(before < after for before, after in pairwise(times))
    return bool(times) and not (grows and len(times) > 1 and "rate>" not in made)
