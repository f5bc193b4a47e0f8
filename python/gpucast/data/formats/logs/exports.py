"""Exports of training loggers: CSV of Weights & Biases and TensorBoard, JSON and CSV lines of
steps.

From TensorBoard's ``Wall time,Step,Value``, the wall times between steps are read, whatever the
value is. From Weights & Biases, columns are read whose names mean the time of a step or a rate;
each run has its own column (``RUN - perf/step_time_s``), whose name ``--from-name`` may search for
n and GPUs; ``__MIN`` and ``__MAX`` are left out. Without such a column, seconds a step are runtime
or timestamp over steps. The first steps warm up and are left out.

Source: docs.wandb.ai (export of a panel), tensorboard's scalars plugin; published exports.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from gpucast.data.formats import Format, Imported, Options
from gpucast.data.formats.logs import runs
from gpucast.data.formats.logs.lines import Sample, steady
from gpucast.data.formats.logs.runs import Found, Run
from gpucast.data.formats.tables.columns import of_name, roles_of
from gpucast.data.formats.tables.units import RATE_OF_WORK, Unit, spelled_time
from gpucast.errors import InputError

STEPS = re.compile(
    r"_?step|current_steps|iteration|iter|(?:train(?:er)?/)?global_step|Relative Time \(.*\)",
    re.I,
)
CLOCKS = re.compile(r"Wall ?[Tt]ime|elapsed_time|_runtime|_timestamp|Relative Time \(.*\)", re.I)
TENSORBOARD = ["Wall time", "Step", "Value"]


_LOOKED_AT = 1 << 16
"""Number of characters that may contain the header."""


def _table(text: str) -> tuple[list[str], list[list[str]]]:
    """Return the names of columns and the rows of a CSV, or of JSON lines."""
    text = text.lstrip("\ufeff")
    if not text.startswith("{"):
        names, *rows = csv.reader(text.split("\n"))
        # A line without a line end may be cut off.
        return [name.strip() for name in names], rows[: text.count("\n") - 1]
    objects = [made for line in text.split("\n") if isinstance(made := _object(line), dict)]
    keys = list(dict.fromkeys(key for made in objects for key in made))
    return keys, [[str(made.get(key, "")) for key in keys] for made in objects]


def _object(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def detect(text: str) -> bool:
    """Return whether the header is that of an export."""
    try:
        names, rows = _table(text[:_LOOKED_AT])
    except (ValueError, csv.Error):
        return False
    first, rest = names[:1], names[1:]
    has_steps = any(map(STEPS.fullmatch, names))
    if text.lstrip("\ufeff").startswith("{"):
        return has_steps and (any(_timed(names)) or any(map(CLOCKS.fullmatch, names)))
    of_wandb = "_step" in names and any(map(CLOCKS.fullmatch, names))
    of_panel = any(map(STEPS.fullmatch, first)) and any(" - " in name for name in rest)
    return names == TENSORBOARD or of_wandb or of_panel or _counts_steps(names, rows)


def _counts_steps(names: list[str], rows: list[list[str]]) -> bool:
    """Return whether a table is one run, with a row every few steps; tables of runs have GPUs."""
    at = next((at for at, name in enumerate(names[:2]) if STEPS.fullmatch(name)), None)
    if at is None or any({"gpus", "nodes", "ranks"} & {*roles_of(name)} for name in names):
        return False
    steps = [runs.decimal(row[at].strip()) or 0 for row in rows if len(row) > at]
    grows = len(steps) > 2 and all(before < after for before, after in pairwise(steps))
    return grows and any(_timed(names))


def read(text: str, file: str, options: Options) -> Imported:
    """Read the runs of an export. Raises InputError."""
    try:
        names, rows = _table(text)
    except (ValueError, csv.Error) as error:
        raise InputError(f"not valid CSV: {error}", file=file) from None
    held = Found()
    steps = next((at for at, name in enumerate(names) if STEPS.fullmatch(name)), None)
    timed = list(_timed(names))
    clock = next((at for at, name in enumerate(names) if CLOCKS.fullmatch(name)), None)
    if clock is not None and steps not in (None, clock) and " - " not in "".join(names):
        # Tokens a second need the tokens of a step; a batch may count sequences.
        timed = [(at, unit) for at, unit in timed if not unit.name.startswith("tokens")]
    if not timed and (steps is None or clock is None or " - " in "".join(names)):
        raise InputError(
            f"has no column of step times or rates among {', '.join(names[:8])}; export a panel "
            "that shows one, such as perf/step_time_s",
            file=file, line=1,
        )  # fmt: skip
    columns: list[tuple[int, Unit | None]] = [*timed] or [(clock or 0, None)]
    for at, unit in columns:
        if samples := list(_samples(rows, steps, at, unit)):
            held.runs.append(_run(names, rows, at, unit, samples))
    if not options.from_name or len(timed) < 2:
        return runs.imported(held, file, options)
    parts = [runs.imported(replace(held, runs=[run]), str(run.case), options) for run in held.runs]
    return replace(parts[0], entries=[entry for part in parts for entry in part.entries])


def _timed(names: list[str]) -> Iterator[tuple[int, Unit]]:
    """Yield the columns of times or rates, the best of each run, with their units."""
    best: dict[str, list[tuple[int, int, Unit]]] = {}
    for at, name in enumerate(names):
        run, _, metric = name.rpartition(" - ")
        unit = of_name(metric)
        known = unit is not None and not unit.needs_timestep and not CLOCKS.fullmatch(name)
        if unit is not None and known and not re.search("__M(IN|AX)$", name):
            best.setdefault(run, []).append((unit.rank, at, unit))
    yield from (min(columns, key=lambda one: one[:2])[1:] for columns in best.values())


def _samples(
    rows: list[list[str]], steps: int | None, at: int, unit: Unit | None
) -> Iterator[Sample]:
    before: tuple[float, float] | None = None
    for line, row in enumerate(rows, start=2):
        value = runs.decimal(row[at].strip()) if len(row) > at else None
        step = runs.decimal(row[steps].strip()) if steps is not None and len(row) > steps else None
        if value is None and unit is None and len(row) > at:
            value = spelled_time(row[at])
        if value is None or value <= 0:
            continue
        if unit is not None:
            seconds = unit.seconds(value, 1.0, 0.0)
            yield Sample("seconds", line, step, seconds, 0.0, {})
        elif step is not None:
            if before is not None and step > before[0] and value > before[1]:
                seconds = (value - before[1]) / (step - before[0])
                yield Sample("clock", line, step, seconds, 0.0, {})
            before = step, value


def _run(
    names: list[str], rows: list[list[str]], at: int, unit: Unit | None, samples: list[Sample]
) -> Run:
    kept, told = steady(samples), dict[str, Any]()
    for column, name in enumerate(names):
        for role in {"n", "gpus", "nodes"} & {*roles_of(name)}:
            values = {row[column] for row in rows if len(row) > column and row[column].strip()}
            value = runs.decimal(values.pop()) if len(values) == 1 else None
            if value:
                told.setdefault(role, value if role == "n" else int(value))
    if unit is not None and unit.rank == RATE_OF_WORK:
        told |= {"work": "each" if unit.share else "n", "unit": unit.name.partition("/")[0]}
        if told["unit"] == "tokens":
            told.pop("n", None)
    return Run(
        program=None,
        line=kept[0].place,
        seconds=tuple(sample.seconds for sample in kept),
        case=names[at].rpartition(" - ")[0] or None,
        unclear="an export does not say on how many GPUs it ran",
        **told,
    )


FORMATS = (
    Format(
        "exports",
        "exports of Weights & Biases and TensorBoard (CSV), JSON and CSV lines of steps",
        detect,
        read,
        log=True,
    ),
)
