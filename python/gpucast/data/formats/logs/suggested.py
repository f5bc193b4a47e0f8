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
from gpucast.data.formats.tables.units import Unit, parse_column_unit
from gpucast.errors import InputError

NUMBER = r"[0-9][0-9,]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_NUMBER = re.compile(rf"(?<![\w.]){NUMBER}")
_UNIT = re.compile(r"\s?(?P<unit>[a-zµ]+(?:(?:/| per )[a-z]+){0,2})(?![\w/]|\s?[:=])", re.I)
_NAME = re.compile(r"""(?P<name>[a-z][a-z_/]*(?: per [a-z]+)?)["']?\s?[:=]\s?["']?$""", re.I)
"""What a number is called that stands behind its name."""
_TIME = re.compile(
    r"time(?!r)|elapsed?|took|duration|dauer|laufzeit|wall|\bms\b|\bsec|\(s\)|_s\b|_ms\b"
    r"|(?:batch|step|iter)_cost", re.I
)  # fmt: skip
_PER_STEP = re.compile(r"step|iter|batch|schritt|cycle|/it\b", re.I)
_NO_TIME = re.compile(
    r"\beta\b|remain|left|total|estimat|data|load|reader|timestamp|\bdate|eval|valid|test", re.I
)
_IN_CLOCK = re.compile(r"\d:$|\.[a-z]{1,4}:$", re.I)
"""Before a number: it belongs to a time of day, or is the line of a source file."""
_FACTS = (
    r"(?i:world[_ -]?size\D{1,4}(?P<gpus>\d+))",
    r"(?i:\b(?:n|num|number of)[_ ]?(?:gpus?|devices)\D{1,4}(?P<gpus>\d+))",
    r"(?i:\b(?P<gpus>\d+) (?:gpus?|devices)\b)",
    r"(?i:\bglobal[_ -]?batch(?:[_ -]?size)?\D{1,4}(?P<n>\d+))",
    r"(?i:\b(?P<n>\d+) (?:atoms|particles|cells)\b)",
)  # fmt: skip
_SECONDS = r"(?P<seconds>\d[\d.]*(?:[eE][+-]?\d+)?)"
_ENOUGH, _LONGEST, _LONGEST_UNIT = 2, 1000, 30
"""Lines of a kind that show that a program repeats it; characters of a line, and of a unit."""
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


def beside(text: str, made: str) -> str:
    """The options that an expression needs beside it."""
    asked = {"<gpus>": "--gpus N", "<n>": "-n SIZE"}
    options = [option for group, option in asked.items() if group not in made]
    if "epoch" in made.lower() or pattern.of_epochs([*re.finditer(made, text, re.MULTILINE)]):
        options.append("--steps STEPS-OF-AN-EPOCH")
    return "".join(f" {option}" for option in options)


def _shape(line: str) -> str:
    return re.sub(r"\s*#\s*", "#", _NUMBER.sub("#", re.sub(r"[^!-~]+", " ", line)))


def _candidates(line: str) -> Iterator[tuple[str, float]]:
    """Expressions for each number of a line that may be a time, and how likely it is one."""
    end = 0
    for match in _NUMBER.finditer(line):
        before, end = line[end : match.start()], match.end()
        if _IN_CLOCK.search(line[: match.start()]) or re.match(r":\d", line[end:]):
            continue
        label = re.search(r"(?<!\w)[^\d|;,]{0,40}$", before)
        words = re.split(r"[:=)\]]\s+(?=\S)", label[0])[-1].strip() if label else ""
        if _NO_TIME.search(words):
            continue
        if (rate := _rate_named(words)) is not None:
            yield rate, 2.0
            continue
        unit, known = _unit_behind(line, end)
        speaks = _TIME.search(words) is not None
        if (known is None and not speaks) or unit in ("d", "min"):
            continue
        is_rate = known is not None and known.rank > 1
        of_step = _PER_STEP.search(words if is_rate else f"{words} {unit}") is not None
        score = 1.0 + 2 * of_step + (known is not None) + speaks + 0.5 * (not is_rate)
        name = re.sub(r"(?:\\?\s)+", r"\\s*", re.escape(words))
        name = rf"\b{name}" if name[:1].isalpha() else name
        gap = r"\s*" if name else ""
        if is_rate:
            yield rf"{name}{gap}(?P<rate>[\d.,]+)\s?(?P<unit>{re.escape(unit)})", score
        elif known is not None:
            yield rf"{name}{gap}{_SECONDS}\s?(?P<unit>{re.escape(unit)})\b", score
        else:
            yield rf"{name}{gap}{_SECONDS}", score


def _unit_behind(line: str, end: int) -> tuple[str, Unit | None]:
    """The longest text behind a number that is a unit."""
    match = _UNIT.match(line, end)
    text = match["unit"] if match else ""
    while text and (parse_column_unit(text) is None or len(text) > _LONGEST_UNIT):
        text = text[: max(text.rfind("/"), text.rfind(" per "), 0)]
    return text, parse_column_unit(text) if text else None


def _rate_named(words: str) -> str | None:
    """The expression for a number whose name ends with a rate, such as ``train_samples/s: ``."""
    match = _NAME.search(words)
    name = match["name"] if match else ""
    for part in re.finditer(r"(?<![a-z])[a-z]", name, re.I):
        prefix, unit = name[: part.start()], name[part.start() :]
        known = parse_column_unit(unit)
        if known is not None and known.rank > 1:
            named = rf"{re.escape(prefix)}(?P<unit>{re.escape(unit)})"
            return rf"\b{named}\W{{1,3}}(?P<rate>[\d.,]+)"
    return None


def _reads(text: str, made: str) -> bool:
    """Whether an expression finds times, and not those since the start, which only grow."""
    try:
        options = Options(regex=made, gpus=1, size=1.0, decimal="point", every_run=True)
        entries = pattern.read(text, "", options).entries
    except (InputError, re.error):
        return False
    times = [match["seconds"] for match in re.finditer(made, text) if "seconds>" in made]
    raw = [float(seconds) for seconds in times if seconds]
    grows = len(raw) > 1 and all(before < after for before, after in pairwise(raw))
    return bool(entries) and not grows
