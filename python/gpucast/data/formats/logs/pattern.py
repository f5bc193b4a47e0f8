"""Runs in any text, found by a regular expression of the user's: training logs and the like.

Each match of ``--regex`` sets what its named groups hold, and what is set stays until another
match sets it anew, so that a header's batch size counts for the lines below. A match with
``seconds`` or ``rate`` is a sample. ``unit`` is the unit of either, as of a table's column:
``ms``, ``it/s``, ``s/it``, ``samples/s``, ``ns/day``; seconds without one are seconds.

Samples that agree in everything else are one record's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gpucast.data.formats import PATTERN, Format, Imported, Options
from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.runs import Found, Run
from gpucast.data.formats.tables import numbers, units
from gpucast.errors import InputError

NUMBERS = ("n", "gpus", "nodes", "ranks", "seconds", "rate")
GROUPS = (*NUMBERS, "unit", "case", "program")
"""Groups that ``--regex`` may have."""

_SHORT = {"img": "images", "imgs": "images", "image": "images", "tok": "tokens", "seq": "sequences",
          "seqs": "sequences", "ex": "examples", "sents": "sentences"}  # fmt: skip
_TIMES = ("seconds", "rate")


def detect(text: str) -> bool:
    """Never: only ``--regex`` says what a text holds."""
    return False


def read(text: str, file: str, options: Options) -> Imported:
    """Records of the matches. Raises InputError."""
    if options.regex is None:
        raise InputError("says which parts of the text are times; it is needed", field="--regex")
    pattern = runs.compiled(options.regex, "--regex", GROUPS)
    if not set(_TIMES) & pattern.groupindex.keys():
        raise InputError("needs a group seconds or rate: (?P<seconds>[0-9.]+)", field="--regex")
    matches = list(pattern.finditer(text))
    found = Found()
    if not matches:
        found.warnings.append("nothing matches --regex")
        return runs.imported(found, file, options)
    decimal = _decimal(matches, file, options)
    stated = runs.named(file, options)
    known: dict[str, object] = {**stated.given, **stated.named}
    cells: dict[tuple[object, ...], Run] = {}
    lines = runs.Lines(text)
    for match in matches:
        line = lines.of(match.start())
        values = dict(_values(match, decimal, file, line))
        times = {name: values.pop(name) for name in _TIMES if name in values}
        known.update(values)
        if not times:
            continue
        (value,) = list(times.values())[:1]
        seconds, counted = _seconds(float(str(value)), "rate" in times, known, file, line)
        key = tuple(known.get(name) for name in (*NUMBERS, "case", "program"))
        if key in cells:
            cells[key] = _with_sample(cells[key], seconds)
        else:
            cells[key] = _run(known, seconds, counted, line, len(cells))
    found.runs += cells.values()
    return runs.imported(found, file, options)


def _decimal(matches: list[re.Match[str]], file: str, options: Options) -> numbers.Decimal:
    if options.decimal is not None:
        return options.decimal
    groups = [item for match in matches for item in match.groupdict().items()]
    texts = [text for name, text in groups if text is not None and name in NUMBERS]
    point, comma, either = numbers.decimals_of(texts)
    if either is not None and point is None and comma is None:
        raise InputError(
            f"{either!r} is two numbers, by the decimal separator; say which: point or comma",
            file=file, field="--decimal",
        )  # fmt: skip
    return "comma" if comma is not None and point is None else "point"


def _values(
    match: re.Match[str], decimal: numbers.Decimal, file: str, line: int
) -> Iterator[tuple[str, object]]:
    for name, text in match.groupdict().items():
        if text is None:
            continue
        if name not in NUMBERS:
            # Not what n counts, which is the unit of a run.
            yield "unit of time" if name == "unit" else name, " ".join(text.split())
            continue
        value = numbers.parse(text.strip(), decimal)
        whole = name in ("gpus", "nodes", "ranks")
        if value is None or not 0 < value < float("inf") or (whole and value != int(value)):
            what = "whole number" if whole else "number"
            raise InputError(
                f"{text!r} is no {what} greater than 0", file=file, line=line, field=name
            )
        yield name, int(value) if whole else value


def _seconds(
    value: float, is_rate: bool, known: dict[str, object], file: str, line: int
) -> tuple[float, str | None]:
    """Seconds a step, and what the size counts, where the unit tells."""
    name = str(known.get("unit of time") or ("" if is_rate else "s"))
    above, slash, below = units.normalized(name).partition("/")
    unit = units.parse_unit(f"{_SHORT.get(above, above)}{slash}{below}") if name else None
    if unit is None:
        what = f"unit {name!r} is unknown" if name else "rate needs a group unit: (?P<unit>it/s)"
        known_units = "known are s, ms, us, it/s, s/it, samples/s, ns/day and the like"
        raise InputError(f"{what}; {known_units}", file=file, line=line, field="--regex")
    timestep, size = known.get("timestep"), known.get("n")
    if unit.needs_timestep and timestep is None:
        raise InputError(f"{name} needs the simulated time of a step, such as 2fs",
                         file=file, line=line, field="--timestep")  # fmt: skip
    if unit.rank == 3 and size is None:
        raise InputError(f"{name} needs the size of a step: -n, or a group n",
                         file=file, line=line, field="-n")  # fmt: skip
    seconds = unit.seconds(value, float(str(size or 0)), float(str(timestep or 0)))
    if not 0 < seconds < float("inf"):
        raise InputError(f"{value:g} {name} is no step time", file=file, line=line, field="--regex")
    return seconds, unit.name.partition("/")[0] if unit.rank == 3 else None


def _run(
    known: dict[str, object], seconds: float, counted: str | None, line: int, number: int
) -> Run:
    values = {name: known.get(name) for name in ("n", "gpus", "nodes", "ranks", "case", "program")}
    return Run(line=line, seconds=(seconds,), unit=counted, execution=number, **values)  # type: ignore[arg-type]


def _with_sample(run: Run, seconds: float) -> Run:
    return replace(run, seconds=(*run.seconds, seconds))


FORMATS = (
    Format(PATTERN, "any text, by --regex", detect, read, log=True),
)  # fmt: skip
