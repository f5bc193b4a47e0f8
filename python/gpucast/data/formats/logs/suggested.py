"""The ``--regex`` that would read a text of no known format, made from its own lines.

Lines count that a program prints again and again, with other numbers, and that have a time with its
unit, or a name that speaks of one; where there are none, a line that has both, such as the time of
the whole run. Nobody is told of an expression that does not read.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from gpucast.data.formats import Options
from gpucast.data.formats.logs import pattern
from gpucast.data.formats.tables.units import parse_column_unit
from gpucast.errors import InputError

NUMBER = r"[0-9][0-9,]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_NUMBER = re.compile(rf"(?<![\w.]){NUMBER}")
_UNIT = re.compile(
    r"(?P<gap>\s?(?:elapsed |wall |\()?)(?P<unit>[a-zµ]+(?:/[a-z]+)?)(?![\w/]|\)? (?:remain|left))",
    re.I,
)
_UNIT_BEFORE = re.compile(r"(?:[(\[]|\bin )(?:s|secs?|seconds|ms|us)\b[)\]]?\W*$", re.I)
_COUNT = re.compile(
    r"(?<![\w.])[0-9]+(?P<behind> (?:iter(?:ation)?s?|(?:time)?steps?|cycles|times|calls)\b\D*)$",
    re.I,
)
"""How many steps a time behind it is of."""
_EACH = re.compile(r"(?:/|\bper )(?:time ?)?(?:step|iter)|(?:step|iter)\w* (?:wall)?time", re.I)
_SIMULATED = re.compile(r"\btime *= *$", re.I)
"""What stands before the simulated time in lines that have the time step, too."""
_RATE_BEFORE = re.compile(r"([a-z]+/s(?:ec)?)\W{1,3}$", re.I)
_TIME = re.compile(
    r"time|elapsed|took|duration|dauer|laufzeit|wall|\bms\b|\bsec|\(s\)|_s\b|_ms\b", re.I
)
_PER_STEP = re.compile(r"step|iter|batch|schritt|cycle", re.I)
_NO_TIME = re.compile(
    r"\beta\b|remain|left|total|estimat|data|load|timestamp|\bdate|eval|valid|test|init|setup"
    r"|Δt|\bdt\b",
    re.I,
)
_OF_RUN = (
    r"(?i:\b(?:iteration count|number of (?:time ?)?(?:steps|iterations|cycles))"
    r"\D{1,12}(?P<steps>\d+))"
)
_FACTS = (
    r"(?i:world[_ -]?size\D{1,4}(?P<gpus>\d+))",
    r"(?i:\b(?:n|num)_?(?:gpus?|devices)\D{1,4}(?P<gpus>\d+))",
    r"(?i:\b(?P<gpus>\d+) (?:gpus?|devices)\b(?!\S* (?:per|a|each) ))",
    r"(?i:\bglobal[_ -]?batch(?:[_ -]?size)?\D{1,4}(?P<n>\d+))",
    r"(?i:\b(?P<n>\d+) (?:atoms|particles|cells)\b)",
)  # fmt: skip
_ENOUGH, _LONGEST = 2, 1000
"""Lines of a kind that show that a program repeats it; characters of a line."""
_SURE = 3.0
"""How likely a number is a time that stands in one line alone."""
_LOOKED_AT = 5000
"""Lines in which an expression is looked for."""


def expression(text: str) -> str | None:
    """The expression that reads most of a text's times; None: nothing in it looks like times."""
    lines = text.splitlines()[:_LOOKED_AT]
    lines = [line for line in lines if len(line) < _LONGEST]
    shapes = Counter(map(_shape, lines))
    facts = {re.findall("P<(.*?)>", fact)[0]: fact for fact in _FACTS if re.search(fact, text)}
    for fewest, least in ((_ENOUGH, 0.0), (1, _SURE)):
        scores: dict[str, float] = {}
        for line in lines:
            if shapes[_shape(line)] >= fewest:
                for made, score in _candidates(line):
                    if score >= least:
                        scores[made] = scores.get(made, 0.0) + score
        for made in sorted(scores, key=lambda made: -scores[made])[:5]:
            counted = fewest == 1 and _is_of_run(made) and re.search(_OF_RUN, text)
            whole = "|".join([made, *[_OF_RUN] * bool(counted), *facts.values()])
            if _reads(text, whole):
                return whole
    return None


def options(text: str) -> str | None:
    """What to say on the command line, for this expression to be read; None: there is none."""
    made = expression(text)
    if made is None:
        return None
    decimal = "" if _reads(text, made, None) else " --decimal point"
    steps = ", with --steps N where a time is of N steps" if _is_of_run(made) else ""
    return f"--regex {shlex.quote(made)}{decimal}{steps}"


def _is_of_run(made: str) -> bool:
    """Whether the times that an expression finds may be of more steps than one."""
    return not re.search("rate>|steps>|/it", made) and not _PER_STEP.search(made)


def _shape(line: str) -> str:
    return re.sub(r"\s*#\s*", "#", _NUMBER.sub("#", line))


def _candidates(line: str) -> Iterator[tuple[str, float]]:
    """Expressions for each number of a line that may be a time, and how likely it is one."""
    end = 0
    for match in _NUMBER.finditer(line):
        before, end = line[end : match.start()], match.end()
        label = re.search(r"[^\d|;,]{0,40}$", re.sub(r"\s+", " ", before))
        words = label[0] if label else ""
        if (named := _RATE_BEFORE.search(words)) and parse_column_unit(named[1]):
            yield rf"(?P<unit>{re.escape(named[1])})\W{{1,3}}(?P<rate>[\d.,]+)", 2.0
            continue
        unit = _UNIT.match(line, match.end())
        known = parse_column_unit(unit["unit"]) if unit and len(unit["unit"]) < 20 else None
        behind = re.match(r"/(?:time)?(?:step|iter)", line[match.end() :])
        plain = re.sub("(?i)time[ -]?step", "step", words)
        speaks = bool(behind or _TIME.search(plain) or (unit and unit["gap"].strip(" (")))
        if known is None and (not speaks or (_SIMULATED.search(words) and "dt" in line)):
            continue
        if _NO_TIME.search(words) or (known is not None and unit and unit["unit"] in ("d", "min")):
            continue
        has_unit = known is not None or _UNIT_BEFORE.search(words) is not None
        of_step = (words, unit["unit"] if unit else "")
        per_step = behind or any(map(_PER_STEP.search, of_step)) or (known and known.needs_timestep)
        score = 1.0 + 2 * bool(per_step) + has_unit + speaks
        score -= re.search(r"\bcpu\b", words, re.I) is not None
        count = _COUNT.search(line[: match.start()]) if not (known and known.rank > 1) else None
        if count is not None and not behind and not _EACH.search(count["behind"]):
            words, score = count["behind"], score + 2
        else:
            count = None
        name = _escaped(words.strip())
        name = rf"\b{name}" if name[:1].isalpha() else name
        name = rf"(?P<steps>\d+)\s*{name}" if count is not None else name
        name += r"\s*" if name else ""
        if known is not None and unit is not None:
            group = r"(?P<rate>[\d.,]+)" if known.rank > 1 else r"(?P<seconds>[\d.eE+-]+)"
            gap = _escaped(unit["gap"].lstrip())
            yield rf"{name}{group}\s?{gap}(?P<unit>{re.escape(unit['unit'])})\b", score
        else:
            yield rf"{name}(?P<seconds>[\d.eE+-]+){behind[0] if behind else ''}", score


def _escaped(text: str) -> str:
    """A text as a pattern, however many blanks it has."""
    return re.sub(r"(?:\\?\s)+", r"\\s*", re.escape(text))


def _reads(text: str, made: str, decimal: Literal["point"] | None = "point") -> bool:
    """Whether an expression finds times, and not those since the start, which only grow."""
    try:
        stated = Options(
            regex=made, gpus=1, size=1.0, decimal=decimal, every_run=True, timestep=1e-15, steps=1
        )
        entries = pattern.read(text, "", stated).entries
    except (InputError, re.error):
        return False
    times = [float(seconds) for entry in entries for seconds in getattr(entry, "seconds", ())]
    grows = all(before < after for before, after in pairwise(times))
    return bool(times) and not (grows and len(times) > 1 and not re.search("rate>|/step", made))
