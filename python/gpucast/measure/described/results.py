"""Finds step times in what a run printed or wrote."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpucast.data.formats import Options, formats, printed
from gpucast.data.formats.tables.units import parse_unit
from gpucast.data.records import Phases, Step
from gpucast.errors import GpucastError, InputError
from gpucast.measure.described.description import OUTPUT, Program, Result
from gpucast.measure.described.runs import Run
from gpucast.util import units
from gpucast.util.remarks import Kind
from gpucast.util.typed_json import to_json


class NoResultError(GpucastError):
    """A run has no step time where the description looks for one."""


@dataclass(frozen=True)
class Times:
    """Step times of one run.

    Attributes:
        seconds: the samples.
        more: other fields of a record that an importer found.
        warnings: lines for the user.
    """

    seconds: list[float]
    more: dict[str, object] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def times_in(output: str, folder: Path, program: Program, run: Run) -> Times:
    """Return the step times of a run.

    Raises:
        NoResultError: there are none where the description says, or they are not times.
    """
    result = program.result
    text = output if result.file is None else _file(folder / result.file, result.file)
    if result.importer is not None:
        return _imported(text, result.importer, program, run)
    numbers = list(_NUMBERS[next(iter(result.ways))](text, result))
    if len(numbers) <= result.skip:
        what = f"only {len(numbers)} of more than {result.skip} numbers" if numbers else "nothing"
        key, value = next(iter(result.ways.items()))
        raise NoResultError(f"{what} found by {key} {value!r} in {result.file or 'its output'}")
    unit = parse_unit(result.unit)
    assert unit is not None  # the description was checked
    n, timestep = float(run.cell.n), result.timestep or 0.0
    seconds = []
    for time in numbers[result.skip :]:
        taken = unit.seconds(time, n, timestep) if 0 < time < float("inf") else 0.0
        if not 0 < taken < float("inf"):
            raise NoResultError(f"{time:g} {result.unit} is no step time")
        seconds.append(taken)
    more: dict[str, object] = {} if result.timestep is None else {"timestep": result.timestep}
    return Times(seconds, more)


def _imported(text: str, name: str, program: Program, run: Run) -> Times:
    result = program.result
    options = Options(
        path=program.path, program=program.program, case=program.case, unit=program.unit,
        timestep=result.timestep, gpus=run.cell.gpus, size=float(run.cell.n), overrule=True,
        every_run=result.pick == "all", whose="the description's",
    )  # fmt: skip
    reader, where = formats()[name], result.file or "its output"
    # Try even if the format is not recognized: only the log's head may be missing.
    other = "" if reader.detect(text) else f": {where} is not {reader.what}"
    try:
        table = reader.read(text, result.file or OUTPUT, options)
    except InputError as error:
        raise NoResultError(
            f"no run that importer {name} understands{other or f': {error}'}"
        ) from error
    steps = [entry for entry in table.entries if isinstance(entry, Step)]
    if not steps:
        why = f": {table.remarks[0]}" if table.remarks else ""
        raise NoResultError(f"no run that importer {name} understands{other or why}")
    if result.pick == "last":
        steps = steps[-1:]
    seconds = [sample for step in steps for sample in step.seconds][result.skip :]
    if not seconds:
        raise NoResultError(f"no more than {result.skip} samples (result.skip)")
    last = steps[-1]
    more: dict[str, object] = {
        "uncertainty": last.uncertainty,
        "timestep": last.timestep,
        "caveat": last.caveat,
    }
    if len(steps) == 1 and not result.skip and isinstance(last.phases, Phases):
        more["phases"] = to_json(last.phases, nulls=False)
    stated = {name: value for name, value in more.items() if value is not None}
    # The user is told only where the log contradicts the description.
    cell = f"n={units.number(run.cell.n)} gpus={run.cell.gpus}"
    warnings = [f"{cell}: {one.text}" for one in table.remarks if one.kind == Kind.OVERRULED]
    return Times(seconds, stated, warnings)


def together(repeats: Sequence[Sequence[Times]], *, alike: bool) -> Times:
    """The samples of repeats, each of some instances, instance by instance; all else as the last
    says it. ``alike``: the same number of each, the last ones."""
    least = min(len(one.seconds) for repeat in repeats for one in repeat)
    first = -least if alike else None
    instances = zip(*repeats, strict=True)
    seconds = [sample for own in instances for one in own for sample in one.seconds[first:]]
    last = repeats[-1]
    more = dict(last[-1].more)
    if alike or len(repeats) > 1:
        more.pop("phases", None)
    return Times(seconds, more, [text for one in last for text in one.warnings])


def _file(path: Path, name: str) -> str:
    try:
        return printed(path.read_bytes())
    except OSError as error:
        raise NoResultError(f"it left no {name} ({error.strerror})") from error


def _by_regex(text: str, result: Result) -> Iterator[float]:
    for match in re.finditer(result.regex or "", text, re.MULTILINE):
        (value,) = match.groupdict().values()
        if value is not None:
            yield _number(value)


def _by_json(text: str, result: Result) -> Iterator[float]:
    try:
        whole = json.loads(text)
    except ValueError:
        objects = list(_objects(text))
        if not objects:
            raise NoResultError(f"no JSON object in {result.file or 'its output'}") from None
        whole = objects[-1]
    yield from _along(whole, result.json_ or "")


def _by_json_lines(text: str, result: Result) -> Iterator[float]:
    for value in _objects(text):
        yield from _along(value, result.json_lines or "")


def _by_csv(text: str, result: Result) -> Iterator[float]:
    lines = text.splitlines()
    for i, line in enumerate(lines):
        for delimiter in (",", ";", "\t", " "):
            names = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
            if result.csv in names:
                at = names.index(result.csv)
                for row in csv.reader(lines[i + 1 :], delimiter=delimiter, skipinitialspace=True):
                    if len(row) == len(names) and row[at].strip():
                        yield _number(row[at])
                return


_NUMBERS = {
    "regex": _by_regex,
    "json": _by_json,
    "json_lines": _by_json_lines,
    "csv": _by_csv,
}


def _objects(text: str) -> Iterator[object]:
    """The object of each line that ends with one; loggers put words before."""
    for line in text.splitlines():
        at = line.find("{")
        if at >= 0 and line.rstrip().endswith("}"):
            try:
                yield json.loads(line[at:])
            except ValueError:
                continue


def _along(value: object, path: str) -> Iterator[float]:
    """The numbers at a path such as ``timing.steps[*].ms``."""
    parts = re.findall(r"[^.\[\]]+", path)
    reached = [value]
    for part in parts:
        within: list[object] = []
        for node in reached:
            if isinstance(node, dict) and part in node:
                within.append(node[part])
            elif isinstance(node, list) and part == "*":
                within += node
            elif isinstance(node, list) and part.isdecimal() and int(part) < len(node):
                within.append(node[int(part)])
        reached = within
    for node in reached:
        for number in node if isinstance(node, list) else [node]:
            if isinstance(number, bool) or not isinstance(number, int | float | str):
                raise NoResultError(f"{json.dumps(number)[:40]} at {path!r} is no number")
            yield _number(str(number))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise NoResultError(f"{text[:40]!r} is no number") from None
