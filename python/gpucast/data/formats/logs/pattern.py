"""Runs in any text, found by the user's regular expression.

Each match of ``--regex`` sets the values of its named groups; they hold until another match sets
them, so that a header's batch size applies to the lines below. A match with ``seconds`` (of one
step, or of ``steps``) or ``rate`` is a sample. ``unit`` is its unit, as in a table's column:
``ms``, ``it/s``, ``s/it``, ``samples/s``, ``ns/day``. Without such a group, ``--columns
seconds=seconds:us`` states it, or the text beside the number does: ``334 us``, ``time (ms): 38.3``,
``ms per step: 38.3``, ``step_ms=38.3``. Other times are seconds, unless they are too long for a
step.

Samples that agree in all other values form one record. If each line counts steps, much slower first
ones warm up and are left out, and the lines of several ranks for a step are one.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from gpucast.data.formats import PATTERN, Format, Imported, Options
from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.lines import Sample, agree, clocked, steady
from gpucast.data.formats.logs.runs import Found, Run
from gpucast.data.formats.tables import numbers, units
from gpucast.data.formats.tables.columns import TIME
from gpucast.data.formats.tables.steps import of_long_steps
from gpucast.data.records import Step
from gpucast.errors import InputError
from gpucast.util.remarks import Kind, Remark, remark
from gpucast.util.units import duration

NUMBERS = ("n", "gpus", "nodes", "ranks", "steps", "seconds", "rate")
GROUPS = (*NUMBERS, "unit", "case", "program")
"""Groups that ``--regex`` may have."""

_TIMES = ("seconds", "rate")

_WORD = re.compile(
    r"(?<![a-zäöüµμ'])(?P<word>[a-zäöüµμ]+)(?P<each>(?:/|[ _]per[ _]|[ _]pro[ _])[a-zäöü]+)?"
    r"(?![\wµμ/]|-[a-z])",
    re.IGNORECASE,
)
"""A word that may be a unit: ``ms``, ``ms/step``, ``ms per step``, the end of ``step_ms``."""
_COUNTER = re.compile(
    r"\b(?P<what>step|iter|iteration|batch)s?\b\W{1,3}(?P<count>[0-9]{1,15})(?![0-9])", re.I
)
_PROGRESS = re.compile(r"\b(step|iter|iteration)s?\b\W{1,3}([0-9]{1,15})(?![0-9])", re.I)
_EPOCH = re.compile(r"\bepochs?\b\W{1,3}([0-9]{1,9})(?![0-9])", re.I)
_LEADING = re.compile(r"^ *([0-9]{1,9})[ :|]+(?=[0-9]*[.])")
_BRACKETED = re.compile(
    r"(?<!epoch)(?<!epoch[: ])(?<!epoch: )\[ *([0-9]{1,15})/ *[0-9]+[^\[\]]*\](?!\[)", re.I
)
"""The step counter in a line that a program prints repeatedly."""
_OF_EACH = re.compile(r"(?: ?/ ?| per )[a-z]+", re.I)
"""Text that may follow the unit of a rate, such as that of one GPU."""
_OF_ONE = re.compile(r"(?:step|iter|batch)[^|;,\d]*$", re.I)
"""Words that mean that the time behind them is that of one step."""
_BRACKET = re.compile(r"[ \t]*[(\[]([^)\]\n]*)")
_IN_BRACKETS = re.compile(r"[^(\[]*[)\]]")
"""The rest of a text in brackets."""
_MEASURED = re.compile(rf"[0-9][0-9.,]*[ \t]*(?:{_WORD.pattern})?", re.IGNORECASE)
"""Another number, with its unit."""
_SPREAD = re.compile(r"[ \t]*(?:±|\+/?-)[ \t]*[0-9.,]+")
_PARTING = re.compile(
    "|".join(
        (
            rf"[0-9][.,]?\s*(?>{_WORD.pattern})(?=(?s:.*)[a-z])",  # a number's unit, before a name
            r"[0-9][.,]?",
            r"[|;,](?![^(\[]*[)\]])",  # outside brackets
            r"(?<!unit)=[ \t]*[a-z][^\s|;,]*(?![^(\[]*[)\]])",  # another field's value
        )
    ),
    re.IGNORECASE,
)
"""Separators of fields."""
_LONGEST = 80
"""Number of characters before a number that may contain its unit."""
_NO_UNITS_IN_PROSE = {"min", "second", "minute", "hour", "day"}
"""Words that are not a unit among other words: the second step, the least of each day."""


def read(text: str, file: str, options: Options) -> Imported:
    """Read a record for each set of matches. Raises InputError."""
    if options.regex is None:
        raise InputError("is required: it tells which parts of the text are times", field="--regex")
    pattern = runs.compiled(options.regex, "--regex", GROUPS)
    if not set(_TIMES) & pattern.groupindex.keys():
        raise InputError("needs a group seconds or rate: (?P<seconds>[0-9.]+)", field="--regex")
    stated_unit = _stated_unit(options, pattern)
    matches = list(pattern.finditer(text))
    content = Found()
    if not matches:
        content.remarks.append(remark(Kind.LACKS, "nothing matches --regex", about="--regex"))
        return runs.imported(content, file, options)
    decimal = _decimal(matches, file, options)
    stated = runs.named(file, options)
    known: dict[str, object] = {**stated.given, **stated.named}
    cells: dict[tuple[object, ...], tuple[Run, list[Sample]]] = {}
    line_of = runs.lines_of(text)
    beside: dict[str, None] = {}
    for match in matches:
        line = line_of(match.start())
        values = dict(_values(match, decimal, file, line))
        times = {name: values.pop(name) for name in _TIMES if name in values}
        known.update(values)
        if not times:
            continue
        (name, value), *_ = times.items()
        unit = str(known.get("unit of time") or stated_unit)
        if not unit and name == TIME and "unit" not in pattern.groupindex:
            unit = _unit_beside(match, file, line)
            if unit:
                beside[unit] = None
        elif name == "rate" and "unit" in pattern.groupindex and match["unit"]:
            behind = _OF_EACH.match(text, match.end("unit"))
            of_each = units.parse_column_unit(unit + behind[0]) if behind else None
            unit = of_each.name if of_each and of_each.share else unit
        seconds, counted, work = _seconds(
            float(str(value)), unit, name == "rate", known, file, line
        )
        if name == TIME:
            seconds /= float(str(known.get("steps", 1)))
        of_run: dict[str, Any] = {name: known.get(name) for name in runs.NAMES}
        key = tuple(of_run.values())
        if key not in cells:
            run = Run(
                line=line, seconds=(), unit=counted, execution=len(cells), work=work, **of_run
            )
            cells[key] = (run, [])
        cells[key][1].append(Sample("seconds", line, _step(_line(match)), seconds, 0.0, {}))
    timed = TIME in pattern.groupindex and "steps" not in pattern.groupindex
    whole = timed and options.steps is not None
    for run, samples in cells.values():
        kept = tuple(sample.seconds for sample in _steady(samples))
        content.runs.append(replace(run, seconds=kept, whole=whole))
    by_clock = None if whole else clocked((_step(_line(match)), _line(match)) for match in matches)
    if timed and not whole and of_epochs(matches):
        text = "each line is of an epoch, and its time is taken for a step; if not, use --steps"
        content.remarks.append(remark(Kind.READ_AS, text, about="--regex"))
    elif timed and not whole and by_clock is None:
        content.remarks += _counted_by_several(matches)
    content.remarks += _parts_of_steps(matches)
    content.remarks += _far_apart(samples for _, samples in cells.values())
    if not (whole or beside or stated_unit or "unit" in pattern.groupindex):
        seconds_of_all = [sample for run in content.runs for sample in run.seconds]
        if (asked := of_long_steps(seconds_of_all, "seconds", "s")) is not None:
            raise InputError(asked, file=file, line=content.runs[0].line, field="seconds")
    made = runs.imported(content, file, options)
    made.notes.extend(f"times are read as {unit}, the unit beside them" for unit in beside)
    if by_clock is not None and len(made.entries) == 1 and isinstance(made.entries[0], Step):
        read_as = statistics.median(made.entries[0].seconds)
        if not agree(by_clock, read_as):
            text = (
                f"{file}: a step takes {duration(by_clock)} by the time of day of its lines, but "
                f"{duration(read_as)} by --regex: check what its times cover"
            )
            made.remarks.append(remark(Kind.DATA, text, about="--regex"))
    return made


def of_epochs(matches: list[re.Match[str]]) -> bool:
    """Return whether the lines with times count only epochs."""
    epochs = []
    for match in matches:
        if TIME not in match.re.groupindex or match[TIME] is None:
            continue
        before, epoch = _before(match), _EPOCH.search(_before(match))
        if (
            epoch is None
            or _OF_ONE.search(before[epoch.end() :])
            or _step(_line(match)) is not None
        ):
            return False
        epochs.append(int(epoch[1]))
    return len(epochs) > 1 and all(before < after for before, after in pairwise(epochs))


def of_numbered_steps(matches: list[re.Match[str]]) -> bool:
    """Return whether each line with a time states the number of its step."""
    return all(_step(_line(match)) is not None for match in matches if match[TIME])


def _before(match: re.Match[str]) -> str:
    """Return the part of a line before its time."""
    return match.string[match.string.rfind("\n", 0, match.start(TIME)) + 1 : match.start(TIME)]


def _line(match: re.Match[str]) -> str:
    return runs.line_at(match.string, match.start(), match.end())


def _step(line: str) -> float | None:
    """Return the number of the step in a line."""
    progress = _PROGRESS.search(line)
    counts = [progress[2]] if progress else _BRACKETED.findall(line) or _LEADING.findall(line)
    return float(counts[-1]) if counts else None


def _steady(samples: list[Sample]) -> list[Sample]:
    """Return the samples that do not warm up, if each has the number of its step."""
    numbers = [sample.step for sample in samples]
    if None in numbers or len({*numbers}) < 2:
        return samples
    whole, numbered = 0, []
    for before, sample in zip((samples[0], *samples), samples, strict=False):
        whole += (sample.step or 0) < (before.step or 0)  # a restart, or another epoch
        numbered.append(replace(sample, whole=whole))
    return steady(numbered, first=False)


def _parts_of_steps(matches: list[re.Match[str]]) -> Iterator[Remark]:
    """Yield a remark if lines count iterations and several iterations make a step."""
    for match in reversed(matches):
        counts = {name.casefold(): int(count) for name, count in _PROGRESS.findall(_line(match))}
        steps, parts = counts.pop("step", 0), max(counts.values(), default=0)
        if parts >= 2 * steps > 0:
            text = (
                f"its lines count {parts} iterations to {steps} step{'s' if steps > 1 else ''}: "
                "a time is taken for one iteration, and the size must be that of one"
            )
            yield remark(Kind.READ_AS, text, about="--regex")
        return


def _counted_by_several(matches: list[re.Match[str]]) -> Iterator[Remark]:
    """Yield a remark if lines count several steps each and do not state whose time they have."""
    counters = []
    for match in matches:
        if match[TIME] is None:
            continue
        before = _before(match)
        counter = _COUNTER.search(before)
        if counter is None or _OF_ONE.search(before[counter.end() :]):
            return
        counters.append(counter)
    counts = [int(counter["count"]) for counter in counters]
    rises = {after - before for before, after in pairwise(counts)}
    if len(counts) > 2 and len(rises) == 1 and (rise := rises.pop()) > 1:
        text = (
            f"the count in each line ({counters[0]['what'].casefold()}) rises by {rise}, and its "
            f"time is taken for one of them; if it covers all, use --steps {rise}"
        )
        yield remark(Kind.READ_AS, text, about="--regex")


_FEW, _APART = 5, 1.25


def _far_apart(cells: Iterable[list[Sample]]) -> Iterator[Remark]:
    """Yield a remark if a cell's few times differ so much that they may be of several runs."""
    factors = []
    for samples in cells:
        times, steps = zip(*((sample.seconds, sample.step) for sample in samples), strict=True)
        of_one_run = None not in steps and all(before < after for before, after in pairwise(steps))
        if len(times) <= _FEW and not of_one_run:
            factors.append(max(times) / min(times))
    if factors and max(factors) > _APART:
        text = (
            f"times of the same n and GPU count differ by a factor of {max(factors):.2g} and are "
            "taken as repetitions; if they are of several runs, add groups gpus, n or case"
        )
        yield remark(Kind.READ_AS, text, about="--regex")


def _stated_unit(options: Options, pattern: re.Pattern[str]) -> str:
    """Return the unit of times in ``--columns``; empty if there is none.

    Raises:
        InputError: it names anything else; a text has no columns.
    """
    unit = ""
    for role, column in options.columns.items():
        group, _, unit = (part.strip() for part in column.partition(":"))
        if role != TIME or group not in _TIMES or group not in pattern.groupindex or not unit:
            example = next(name for name in _TIMES if name in pattern.groupindex)
            raise InputError(
                f"{role}={column} names a table's column; with --regex, whose groups name what "
                f"they find, it may only state a unit: {example}={example}:UNIT, such as "
                f"{'ms' if example == TIME else 'it/s'}",
                field="--columns",
            )
    if unit and "unit" in pattern.groupindex:
        raise InputError("states a unit, and --regex has a group unit; omit one",
                         field="--columns")  # fmt: skip
    return unit


def _unit_beside(match: re.Match[str], file: str, line: int) -> str:
    """Return the unit beside a match's seconds; empty if there is none.

    Raises:
        InputError: it is the unit of a rate, there are two, or it may not be a unit.
    """
    number = match[TIME]
    named: dict[str, None] = {}
    doubtful = False
    for word, bracketed in (*_words_before(match), *_words_behind(match)):
        text = " ".join(word[0].split())
        unit = units.parse_unit(text)
        if unit is None:
            continue
        if unit.rank > 1:
            raise InputError(
                f"{number} {text} is not a time; name it with groups rate and unit: "
                f"(?P<rate>[0-9.]+) (?P<unit>{text})",
                file=file, line=line, field="--regex",
            )  # fmt: skip
        if text.casefold() == "min" and not bracketed:
            doubtful = True
        else:
            named[unit.name] = None
    if len(named) > 1 or (doubtful and not named):
        what = f"{' and '.join(named)} beside it" if named else "min beside it (minutes, the least)"
        answers = [*named] or ["min", "s", "ms"]
        raise InputError(
            f"{number} has {what}; say which: --columns "
            + " or ".join(f"seconds=seconds:{answer}" for answer in answers),
            file=file, line=line, field="--regex",
        )  # fmt: skip
    return next(iter(named), "")


def _words_before(match: re.Match[str]) -> Iterator[tuple[re.Match[str], bool]]:
    """Yield the words that the text puts before a time, and whether they are in brackets."""
    start = match.start(TIME)
    farthest = max(0, start - _LONGEST)
    line = max(farthest, match.string.rfind("\n", farthest, start) + 1)
    text = match.string[max(farthest, min(match.start(), line)) : start]
    text = text.rstrip(" \t|;,")
    name = text[max((parting.end() for parting in _PARTING.finditer(text)), default=0) :]
    words = [*_WORD.finditer(name)]
    for word in words:
        bracketed = _IN_BRACKETS.match(name, word.end()) is not None
        joined = name[: word.start()].endswith("_")
        plain = not (bracketed or word["each"] or joined)
        text = word["word"].casefold()
        if plain and (len(text) == 1 or text in _NO_UNITS_IN_PROSE):
            continue
        if (joined and text == "d") or (text == "min" and _among_extremes(words)):
            continue
        yield word, bracketed


def _words_behind(match: re.Match[str]) -> Iterator[tuple[re.Match[str], bool]]:
    """Yield the words directly after a time, and whether they are in brackets."""
    text, end = match.string, match.end(TIME)
    spread = _SPREAD.match(text, end)
    end = spread.end() if spread else end
    bracket = _BRACKET.match(text, end, end + _LONGEST)
    if bracket is not None:
        words = [*_WORD.finditer(_MEASURED.sub(" ", bracket[1]))]
        yield from ((word, not _among_extremes(words)) for word in words)
        return
    blanks = re.compile(r"[ \t]*").match(text, end)
    word = _WORD.match(text, blanks.end() if blanks else end)
    if word is not None and not re.match(r"\s?[:=]", text[word.end() : word.end() + 2]):
        yield word, False  # it is not the name of the next number


def _among_extremes(words: list[re.Match[str]]) -> bool:
    """Return whether ``min`` among these words means the least time."""
    return not {"max", "avg", "mean", "median"}.isdisjoint(word[0].casefold() for word in words)


def _decimal(matches: list[re.Match[str]], file: str, options: Options) -> numbers.Decimal:
    if options.decimal is not None:
        return options.decimal
    groups = [item for match in matches for item in match.groupdict().items()]
    texts = [text for name, text in groups if text is not None and name in NUMBERS]
    point, comma, either = numbers.decimals_of(texts)
    if either is not None and point is None and comma is None:
        others = re.findall(r"(?<![\w.,:])[0-9]+[.,][0-9]+(?![\d.,])", matches[0].string)
        point, comma, _ = numbers.decimals_of(others)
    if either is not None and (point is None) == (comma is None):
        raise InputError(
            f"{either!r} is ambiguous: state its decimal separator, point or comma",
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
            # ``unit`` of a run is what n counts.
            yield "unit of time" if name == "unit" else name, " ".join(text.split())
            continue
        value = numbers.parse(text.strip(), decimal)
        if value == 0 and name in _TIMES:
            continue  # before the first step
        whole = name in ("gpus", "nodes", "ranks", "steps")
        if value is None or not 0 < value < float("inf") or (whole and value != int(value)):
            what = "whole number" if whole else "number"
            raise InputError(
                f"{text!r} is not a {what} greater than 0", file=file, line=line, field=name
            )
        yield name, int(value) if whole else value


def _seconds(
    value: float, name: str, is_rate: bool, known: dict[str, object], file: str, line: int
) -> tuple[float, str | None, str | None]:
    """Return the seconds of a step (for a rate of work: of a unit of work), what the size counts,
    and which work it is (``Run.work``)."""
    name = name or ("" if is_rate else "s")
    unit = units.parse_column_unit(name) if name else None
    if unit is None:
        what = f"unit {name!r} is unknown" if name else "rate needs a group unit: (?P<unit>it/s)"
        known_units = "known are s, ms, us, it/s, s/it, samples/s, ns/day and the like"
        raise InputError(f"{what}; {known_units}", file=file, line=line, field="--regex")
    timestep = known.get("timestep")
    if unit.needs_timestep and timestep is None:
        raise InputError(f"{name} needs the simulated time of a step, such as 2fs",
                         file=file, line=line, field="--timestep")  # fmt: skip
    seconds = unit.seconds(value, 1.0, float(str(timestep or 0)))
    if not 0 < seconds < float("inf"):
        raise InputError(f"bad step time: {value:g} {name}", file=file, line=line, field="--regex")
    if unit.rank != units.RATE_OF_WORK:
        return seconds, None, None
    return seconds, unit.name.partition("/")[0], "each" if unit.share else "n"


# Only --regex says what a text holds.
FORMATS = (Format(PATTERN, "any text, by --regex", lambda text: False, read, log=True),)
