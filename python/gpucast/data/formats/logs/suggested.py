"""A ``--regex`` for a text of unknown format, made from its lines.

Candidates are lines that a program prints repeatedly with other numbers, and that have a time with
its unit, or a name that means one; if there are none, a line that has both, such as the time of the
whole run. Only expressions that find times in the text are suggested.
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
from gpucast.data.formats.tables.units import Unit, parse_column_unit
from gpucast.errors import InputError

NUMBER = r"[0-9][0-9,]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_NUMBER = re.compile(rf"(?<![\w.]){NUMBER}")
_UNIT = re.compile(
    r"(?P<gap>\s?(?:elapsed |wall |\()?)(?P<unit>[a-zµ]+(?:(?:/| per )[a-z]+){0,2})"
    r"(?![\w/]|\s?:|=|\)? (?:remain|left))",
    re.I,
)
_UNIT_BEFORE = re.compile(r"(?:[(\[]|\bin )(?:s|secs?|seconds|ms|us)\b[)\]]?\W*$", re.I)
_NAME = re.compile(r"""(?P<name>[a-z][a-z_/]*(?: per [a-z]+)?)["']?\s?[:=]\s?["']?$""", re.I)
"""The name before a number."""
_COUNT = re.compile(
    r"(?<![\w.])[0-9]+(?P<behind> "
    r"(?!\D*(?:(?:/|\bper )(?:time ?)?(?:step|iter)|(?:step|iter)\w* (?:wall)?time))"
    r"(?:iter(?:ation)?s?|(?:time)?steps?|cycles|times|calls)\b\D*)$",
    re.I,
)
"""The number of steps that a time after it covers."""
_OF_EACH = re.compile("/(?:time)?(?:step|iter)")
_SIMULATED = re.compile(r"\btime *=$", re.I)
"""Text before the simulated time in lines that also have the time step."""
_TIME = re.compile(
    r"time(?!r)|elapsed?|took|duration|dauer|laufzeit|wall|\bms\b|\bsec|\(s\)|_s\b|_ms\b"
    r"|(?:batch|step|iter)_cost", re.I
)  # fmt: skip
_PER_STEP = re.compile(r"step|iter|batch|schritt|cycle|/it\b", re.I)
_NO_TIME = re.compile(
    r"\beta\b|remain|left|total|estimat|data|load|reader|timestamp|\bdate|eval|valid|test|init"
    r"|setup|Δt|\bdt\b",
    re.I,
)
_OF_RUN = (
    r"(?i:\b(?:iteration count|number of (?:time ?)?(?:steps|iterations|cycles))"
    r"\D{1,12}(?P<steps>\d+))"
)
_IN_CLOCK = re.compile(r"\d:$|\.[a-z]{1,4}:$", re.I)
"""Text before a number of a time of day, or of a line in a source file."""
_FACTS = (
    r"(?i:world[_ -]?size\D{1,4}(?P<gpus>\d+))",
    r"(?i:\b(?:n|num|number of)[_ ]?(?:gpus?|devices)\D{1,4}(?P<gpus>\d+))",
    r"(?i:\b(?P<gpus>\d+) (?:gpus?|devices)\b(?!\S* (?:per|a|each) ))",
    r"(?i:\bglobal[_ -]?batch(?:[_ -]?size)?\D{1,4}(?P<n>\d+))",
    r"(?i:\b(?P<n>\d+) (?:atoms|particles|cells)\b)",
)  # fmt: skip
_SECONDS = r"(?P<seconds>\d[\d.]*(?:[eE][+-]?\d+)?)"
_ENOUGH, _LONGEST, _LONGEST_UNIT = 2, 1000, 30
"""Lines that show that a program repeats itself; longest line and unit (characters)."""
_SURE = 3.0
"""Score of a number that may be a time but occurs in one line only."""
_LOOKED_AT = 5000
"""Number of lines that are searched."""


def expression(text: str) -> str | None:
    """Return the expression that reads most of a text's times; None if nothing looks like one."""
    lines = [line for line in text.splitlines()[:_LOOKED_AT] if len(line) < _LONGEST]
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
    """Return the options to read a text; None if there is no expression for it."""
    made = expression(text)
    if made is None:
        return None
    beside = f"--regex {shlex.quote(made)}"
    beside += "" if _reads(text, made, None) else " --decimal point"
    asked = {"<gpus>": " --gpus N", "<n>": " -n SIZE"}
    beside += "".join(option for group, option in asked.items() if group not in made)
    matches = [*re.finditer(made, text, re.MULTILINE)]
    if "epoch" in made.lower() or pattern.of_epochs(matches):
        return f"{beside} --steps STEPS-OF-AN-EPOCH"
    if _is_of_run(made) and not pattern.of_numbered_steps(matches):
        return f"{beside}, with --steps N if a time covers N steps"
    return beside


def _is_of_run(made: str) -> bool:
    """Return whether the times that an expression finds may cover several steps."""
    return not re.search("rate>|steps>|/it", made) and not _PER_STEP.search(made)


def _shape(line: str) -> str:
    return re.sub(r"\s*#\s*", "#", _NUMBER.sub("#", re.sub(r"[^!-~]+", " ", line)))


def _candidates(line: str) -> Iterator[tuple[str, float]]:
    """Yield an expression and a score for each number of a line that may be a time."""
    end = 0
    for match in _NUMBER.finditer(line):
        before, end = line[end : match.start()], match.end()
        if _IN_CLOCK.search(line[: match.start()][-6:]) or re.match(r":\d", line[end : end + 2]):
            continue
        label = re.search(r"(?<!\w)[^\d|;,]{0,40}$", re.sub(r"\s+", " ", before))
        words = re.split(r"[:=)\]]\s+(?=[^\s:=])", label[0])[-1].strip() if label else ""
        if _NO_TIME.search(words):
            continue
        if (rate := _rate_named(words)) is not None:
            yield rate, 2.0
            continue
        gap, unit, known = _unit_behind(line, end)
        of_each = _OF_EACH.match(line, end)
        plain = re.sub("(?i)time[ -]?step", "step", words)
        speaks = bool(of_each or _TIME.search(plain) or gap.strip(" ("))
        simulated = _SIMULATED.search(words) and "dt" in line
        if (known is None and (simulated or not speaks)) or unit in ("d", "min"):
            continue
        is_rate = known is not None and known.rank > 1
        of_step = of_each or _PER_STEP.search(f"{words} {unit}") or (known and known.needs_timestep)
        has_unit = known is not None or _UNIT_BEFORE.search(words) is not None
        score = 1.0 + 2 * bool(of_step) + has_unit + speaks + 0.5 * (not is_rate)
        score -= bool(re.search(r"\bcpu\b", words, re.I))
        count = None if of_each or is_rate else _COUNT.search(line[: match.start()])
        if count is not None:
            words, score = count["behind"].strip(), score + 2
        name = _escaped(words) + (r"\s*" if words else "")
        name = rf"\b{name}" if name[:1].isalpha() else name
        name = rf"(?P<steps>\d+)\s*{name}" if count is not None else name
        name += r"(?P<rate>[\d.,]+)" if is_rate else _SECONDS
        if known is not None:
            yield rf"{name}\s?{_escaped(gap.lstrip())}(?P<unit>{re.escape(unit)})\b", score
        else:
            yield name + (of_each[0] if of_each else ""), score


def _unit_behind(line: str, end: int) -> tuple[str, str, Unit | None]:
    """Return the text between a number and its unit, and the longest text there that is a unit."""
    match = _UNIT.match(line, end)
    gap, text = match.groups() if match else ("", "")
    while text and (parse_column_unit(text) is None or len(text) > _LONGEST_UNIT):
        text = text[: max(text.rfind("/"), text.rfind(" per "), 0)]
    return gap, text, parse_column_unit(text) if text else None


def _rate_named(words: str) -> str | None:
    """Return the expression for a number after the name of a rate: ``train_samples/s: ``."""
    match = _NAME.search(words)
    name = match["name"] if match else ""
    for part in re.finditer(r"(?<![a-z])[a-z]", name, re.I):
        prefix, unit = name[: part.start()], name[part.start() :]
        known = parse_column_unit(unit)
        if known is not None and known.rank > 1:
            named = rf"{re.escape(prefix)}(?P<unit>{re.escape(unit)})"
            return rf"\b{named}\W{{1,3}}(?P<rate>[\d.,]+)"
    return None


def _escaped(text: str) -> str:
    """Return a text as a pattern that allows any number of blanks."""
    return re.sub(r"(?:\\?\s)+", r"\\s*", re.escape(text))


def _reads(text: str, made: str, decimal: Literal["point"] | None = "point") -> bool:
    """Return whether an expression finds times other than those since the start, which rise."""
    try:
        stated = Options(
            regex=made, gpus=1, size=1.0, decimal=decimal, every_run=True, timestep=1e-15, steps=1
        )
        entries = pattern.read(text, "", stated).entries
    except (InputError, re.error):
        return False
    if re.search("rate>|steps>|/step", made):
        return bool(entries)
    times = [float(match["seconds"]) for match in re.finditer(made, text) if match["seconds"]]
    grows = len(times) > 1 and all(before < after for before, after in pairwise(times))
    return bool(entries) and not grows
