"""Step times in a table: sizes, GPU counts and the time of a step, in one of many units.

Rows that differ only in their time are repetitions of one cell and become one record with several
samples. Rows without a time (failed runs) are left out and counted.
"""

from __future__ import annotations

import os
import re
import statistics
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from gpucast.data.formats import (
    Imported,
    Options,
    are_flat,
    check_gpus_of_all,
    gpus_of_node,
    of_utilization,
)
from gpucast.data.formats.tables import series
from gpucast.data.formats.tables.across import melted
from gpucast.data.formats.tables.columns import (
    TIME,
    Column,
    Columns,
    may_be_rate,
    resolve,
    roles_of,
    shown,
    unit_of_heading,
)
from gpucast.data.formats.tables.grid import FRAME, Grid, with_sides
from gpucast.data.formats.tables.numbers import OUTCOMES, failure, speaks_of_failure
from gpucast.data.formats.tables.rows import MOST_NAMED, Row, gathered, notes_of, rows
from gpucast.data.formats.tables.rows import shown as shown_cell
from gpucast.data.formats.tables.sizes import may_be_a_share
from gpucast.data.formats.tables.units import RATE_OF_WORK
from gpucast.data.records import Entry, Step
from gpucast.errors import InputError
from gpucast.util.units import duration

LONG_STEP = 300.0
"""Median step time (s) beyond which the unit must be confirmed: jobs of quantum chemistry, each
taken as a step, last up to some 200 s; longer ones are more likely microseconds without a unit."""

_LABELS = ("schedule", "kernel", "program", "case", "unit")
_COUNTS = ("nodes", "ranks", "instances")
CONTRADICTION = 2.0
"""Factor by which two columns must differ to contradict each other beyond rounding."""
_SHARERS = {"gpus": "the GPUs", "ranks": "the ranks (the GPUs where no ranks are stated)"}
_USUAL = {"n", "gpus", TIME, "nodes", "ranks", "timestep", "repeat"}


def read(grid: Grid, options: Options) -> Imported:
    """Read step records, one for each cell, in the order of their first rows.

    Raises:
        InputError: a column is missing, a value is wrong, a unit needs a time step that is not
            stated, or times are so long that their unit must be confirmed.
    """
    grid, options, notes = melted(grid, options)
    grid, sides = with_sides(grid)
    columns = resolve(grid, options.columns, _worded(grid), stepped=options.steps is not None)
    _require(columns, options, grid)
    column = columns.by_role.get("gpu_type")
    models = {cells[column.at] for _, cells in grid.rows} - {None} if column else set()
    if len(models) == 1:  # several models are several machines
        del columns.by_role["gpu_type"]
    time = columns.by_role[TIME]
    _ask_about_runs(time, options, grid)
    skipped = 0
    words: list[str] = []
    worded: list[Row] = []
    broken: Counter[str] = Counter()
    nodes: set[int] = set()
    counted: dict[tuple[int, int], Row] = {}
    timesteps: dict[str, float] = {}

    def timed() -> Iterator[Row]:
        nonlocal skipped
        for row in rows(grid, columns, options.decimal):
            ended = {role: text for role in OUTCOMES if (text := row.text(role))}
            failed, instead = failure(ended), row.cells.get(TIME)
            if failed is not None:
                broken[failed] += 1
            elif isinstance(instead, str) and speaks_of_failure(instead):
                words.append(instead)
            elif row.has(TIME) and row.is_worded(TIME):
                worded.append(row)
            elif row.has(TIME):
                if row.has("nodes"):
                    nodes.add(row.integer("nodes"))
                    if "gpus" in columns.by_role:
                        counted.setdefault((row.integer("nodes"), row.integer("gpus")), row)
                _check_stated(row, options)
                if columns.rivals:
                    _check_rivals(row, columns, options, timesteps)
                yield row
            else:
                skipped += 1

    entries, doubts, cells = gathered(
        timed(),
        options,
        lambda row: _cell(row, columns, options),
        lambda row: _seconds_of(row, TIME, time, options),
    )
    if worded and len(worded) >= sum(map(len, cells)):
        worded[0].number(TIME)  # raises the error
    words += [str(row.cells[TIME]) for row in worded]
    _check_all(counted, options)
    series.check(grid, columns, cells, options)
    if broken:
        states = ", ".join(f"{count} {state}" for state, count in broken.items())
        notes.append(f"rows of jobs that did not complete left out: {states}")
    on_nodes: Collection[int] = ()
    if not columns.by_role.keys() & {"gpus", "gpus_per_node"}:
        on_nodes = nodes if options.gpus is not None else ()
        check_gpus_of_all(options, nodes, grid.file)
        if (per_node := gpus_of_node(options)) is not None:
            notes.append(f"gpus from 'nodes' (times {per_node})")
    if not entries:
        why = "; cells of formulas have values once a spreadsheet has opened and saved the workbook"
        why *= grid.file.endswith((".xlsx", ".xlsm"))
        raise InputError(f"no row has a time{why}", file=grid.file, field=time.name)
    if not any(rival.unit and rival.unit.rank == RATE_OF_WORK for rival in columns.rivals.values()):
        # Otherwise, a rate confirms the unit.
        samples = [sample for entry in entries for sample in getattr(entry, TIME)]
        unit = time.unit.name if time.unit is not None else ""
        asked = of_long_steps(samples, grid.times or shown(time.name), unit)
        if asked is not None and not time.confirmed:
            raise grid.error(asked, time.name)
    _ask_about_shares(entries, columns, options, grid)
    _ask_about_tokens(columns, grid)
    entries = _on_one_machine(entries)
    notes += _of_shares(columns)
    if sides and columns.by_role.get("n") and columns.by_role["n"].name == sides:
        notes.append(f"n is {sides}, taken as the size of all GPUs together")
    if "steps" in columns.by_role:
        notes.append(f"seconds are {time.name!r} over {columns.by_role['steps'].name!r}")
    notes += [
        f"{time.name!r} and {name!r} together imply a time step of {1e15 * step:.3g} fs"
        for name, step in timesteps.items()
    ]
    notes = [*notes, *notes_of(columns, skipped + len(words), _USUAL, words)]
    gpus = [{"name": str(model)} for model in models] if len(models) == 1 else []
    machine: dict[str, object] = {"gpus": gpus} if gpus else {}
    return Imported(entries, machine, remarks=doubts, notes=notes, nodes=on_nodes)


def _worded(grid: Grid) -> set[int]:
    """Return the indices of columns with words where others have numbers."""
    return {
        at
        for at in range(len(grid.names))
        if any(isinstance(cell := cells[at], str) and cell[:1].isalpha() for _, cells in grid.rows)
    }


def _of_shares(columns: Columns) -> list[str]:
    """Return a line for each quantity per GPU that was added up, or that may be one and was not."""
    n, time = columns.by_role.get("n"), columns.by_role[TIME]
    notes = []
    if n is not None and n.share is not None:
        notes.append(
            f"n is {n.name!r} times {_SHARERS[n.share]}: it grows with them (weak scaling)"
        )
    elif n is not None and may_be_a_share(n.name):
        notes.append(
            f"n is {n.name!r}, taken as that of all GPUs together; if it is of each, import with "
            f"--columns n={shown(n.name)}:per-GPU"
        )
    if time.unit is not None and time.unit.share is not None:
        notes.append(f"throughput is {time.name!r} times {_SHARERS[time.unit.share]}")
    elif notes and time.unit is not None and time.unit.rank == RATE_OF_WORK:
        notes[0] += f"; throughput {time.name!r} taken as that of all GPUs"
    counts_tokens = n is not None and n.counts == "tokens"
    if time.unit is not None and time.unit.name.startswith("tokens") and not counts_tokens:
        size = f"{n.name!r}" if n is not None else "-n"
        notes.append(f"seconds are {size} over {time.name!r}: n is taken as the tokens of a step")
    return notes


def _ask_about_shares(entries: list[Entry], columns: Columns, options: Options, grid: Grid) -> None:
    """Ask whether the batch is that of each GPU if times do not change with the GPU count."""
    n = columns.by_role.get("n")
    if n is None or n.share is not None or not may_be_a_share(n.name):
        return
    if "n" in options.columns or not are_flat(entries):
        return
    column = f"--columns n={shown(n.name)}"
    raise grid.error(
        "times do not change with the GPU count: if n is the batch of each GPU, import with "
        f"{column}:per-GPU; if it is that of all GPUs together, with {column}",
        n.name,
    )


def _ask_about_tokens(columns: Columns, grid: Grid) -> None:
    """Ask for the tokens of a step if the rate counts tokens, because a batch counts sequences."""
    n, unit = columns.by_role.get("n"), columns.by_role[TIME].unit
    if n and unit and unit.name.startswith("tokens") and not n.counts and "batch" in n.name.lower():
        lengths = {
            str(cells[at])
            for at, name in enumerate(grid.names)
            if re.search("seq|context", name, re.I)
            for _, cells in grid.rows
        }
        long = f"{lengths.pop() if len(lengths) == 1 else 4096} tokens"
        raise grid.error(
            f"is a rate of tokens, and {n.name!r} may count sequences; import with --columns "
            f"n={shown(n.name)}:'{long}' where each has {long}, n={shown(n.name)}:tokens if it "
            "counts tokens",
            columns.by_role[TIME].name,
        )


def _on_one_machine(entries: list[Entry]) -> list[Entry]:
    """Return the entries with one machine if machine names differ only in the number of GPUs used.

    "1 x V100" and "4 x V100" are one host: only numbers differ, and they grow with the GPU count.
    "A40" and "A100" are two. The name with the most GPUs is used for all.
    """
    named = {(entry.gpus, str(entry.machine)) for entry in entries if isinstance(entry, Step)}
    counts, names = {count for count, _ in named}, {name for _, name in named}
    patterns = {re.sub(r"[0-9]+", "#", name) for name in names}
    if len(names) < 2 or len(patterns) > 1 or not len(named) == len(counts) == len(names):
        return entries
    for column in zip(*(re.findall("[0-9]+", name) for _, name in sorted(named)), strict=True):
        pairs = zip(map(float, column), sorted(counts), strict=True)
        if len(set(column)) > 1 and len({number / count for number, count in pairs}) > 1:
            return entries
    changed: Any = {"machine": max(named)[1]}
    return [replace(entry, **changed) for entry in entries]


def _require(columns: Columns, options: Options, grid: Grid) -> None:
    """Refuse a table that lacks a required column, and suggest columns that may be it."""
    roles = columns.by_role
    wanted = {
        "n": (
            "n" in roles or options.size is not None,
            "n, atoms, particles, cells, size",
            "n=COLUMN",
        ),
        "gpus": (
            "gpus" in roles
            or {"nodes", "gpus_per_node"} <= roles.keys()
            or ("nodes" in roles and gpus_of_node(options) is not None)
            or options.gpus is not None,
            "gpus, devices",
            f"gpus={shown(roles['nodes'].name)}*4 where each node has 4"
            if "nodes" in roles
            else f"gpus={shown(roles['ranks'].name)} where each rank has a GPU of its own"
            if "ranks" in roles
            else "gpus=COLUMN",
        ),
        TIME: (TIME in roles, "seconds, ms/step, ns/day, steps/s", "seconds=COLUMN:UNIT"),
    }
    missing = {role: words for role, (there, *words) in wanted.items() if not there}
    # Exports of monitors have the time of day in "Time".
    timeless = TIME in missing or ("n" in missing and roles[TIME].name.casefold() == "time")
    timeless &= not _may_be_times(grid, columns)
    busy = of_utilization("\n".join(grid.names)) if timeless else None
    if busy is not None:
        raise grid.error(busy)
    if missing:
        one = len(missing) == 1
        *first, last = map(repr, missing)
        names = " and ".join(filter(None, (", ".join(first), last)))
        usual = "; ".join(words for words, _ in missing.values())
        examples = {role: example for role, (_, example) in missing.items()}
        raise grid.error(
            f"column{'' if one else 's'} {names} {'is' if one else 'are'} missing (usual names: "
            f"{usual}); if {'it has another' if one else 'they have others'}, "
            f"{_by_hand(grid, columns, examples)}"
        )
    time = roles[TIME]
    needed = time.unit is not None and time.unit.needs_timestep
    if needed and options.timestep is None and "timestep" not in roles:
        raise grid.error(
            f"{time.name!r} needs the simulated time of a step; import with --timestep 2fs"
        )


def _by_hand(grid: Grid, columns: Columns, examples: dict[str, str]) -> str:
    """Return how to name columns: as options of the command line, or in Python for data frames."""
    times = _may_be_times(grid, columns) if TIME in examples else []
    named = {role: example.partition(" where ") for role, example in examples.items()}
    if grid.file == FRAME:
        pairs = (example.split("=") for example, _, _ in named.values())
        listed = ", ".join(f"{role!r}: {column!r}" for role, column in pairs)
        return f"read it with gc.read(frame, columns={{{listed}}})"
    sized = re.search(r"R[0-9]{1,2}B[0-9]{2}|[0-9]+(?:x[0-9]+){1,2}", os.path.basename(grid.file))
    size = sized[0] if sized else "SIZE"
    of_nodes = "nodes" in columns.by_role and "gpus" in named
    counted = "gpus" in named and not of_nodes and not named["gpus"][0].endswith("COLUMN")
    where = [f"; {example} where {when}" for example, _, when in named.values() if when]
    if not times:
        stated = {"n": f"-n {size}", "gpus": "--gpus N"}
        left = [stated[role] for role in stated if examples.get(role, "").endswith("COLUMN")]
        listed = ",".join(example for example, _, _ in named.values())
        if TIME not in examples:  # the GPUs come last, and their remark may follow here
            listed, where = ",".join(examples.values()), []
        where += [f"; where no column has it, with {' '.join(left)}"] * bool(left)
        return f"import with --columns {listed}{''.join(where)}"
    column = f"{named['gpus'][0]}," if counted else ""
    others = f" (or {', '.join(map(shown, times[1:MOST_NAMED]))})" if times[1:] else ""
    gpus = " --gpus-per-node N" if of_nodes else " --gpus N (or gpus=COLUMN)"
    gpus *= "gpus" in named and not counted
    return (
        f"import with --columns {column}{_with_unit(times[0])}{others}{gpus}"
        f"{f' -n {size} (or n=COLUMN)' * ('n' in named)}, and --steps N where times are of whole "
        f"runs{''.join(where) * (not of_nodes)}"
    )


_NO_TIME = re.compile(
    r"/s(?:ec(?:ond)?)?\b|per_s|flop|speed_?up|eff|throughput|\bfom|cost|price|[$%]|mem|[gm]i?b\b|util|mfu"
    r"|hfu|loss|acc|watt|energy|_k?j$|estimat|predict",
    re.I,
)
"""Words in the names of columns that are not times."""


_DECIMALS = re.compile("[0-9]+[.,][0-9]+ ?[mu]?s?")


def _with_unit(name: str) -> str:
    """Return the column option for times, in seconds if the column's name states no unit."""
    return f"{TIME}={shown(name)}{'' if unit_of_heading(name) else ':s'}"


def _may_be_times(grid: Grid, columns: Columns) -> list[str]:
    """Return the names of unused columns that may hold times, those of whole steps first."""
    used = {column.at for column in columns.by_role.values()}

    def holds_times(at: int, name: str) -> bool:
        decimals = (_DECIMALS.fullmatch(str(cells[at])) for _, cells in grid.rows)
        return not _NO_TIME.search(name) and ("run" in roles_of(name) or any(decimals))

    names = [
        name
        for at, name in enumerate(grid.names)
        if at not in used and name and (may_be_rate(name) or holds_times(at, name))
    ]

    def unlikely(name: str) -> tuple[bool, ...]:
        last, *wanted = "cpu", "time|total|lat|sec|avg|mean|median|wall|_ms", "wall|total"
        lacks = [re.search(words, name, re.I) is None for words in wanted]
        return (re.search(last, name, re.I) is not None, *lacks)

    return sorted(names, key=unlikely)


def _cell(row: Row, columns: Columns, options: Options) -> dict[str, object]:
    roles = columns.by_role
    counted = roles["n"].counts if "n" in roles else None
    value: dict[str, object | None] = {
        "kind": "step",
        "path": row.text("path") or options.path,
        "n": _size(row, options),
        "gpus": _gpus(row, options),
        **{role: row.text(role) or getattr(options, role) for role in _LABELS},
        **{role: row.integer(role) for role in _COUNTS if role in roles and row.has(role)},
        "timestep": _timestep(row, options),
        "block": options.block,
    }
    value["unit"] = value["unit"] or counted
    return {name: stated for name, stated in value.items() if stated is not None}


def _size(row: Row, options: Options) -> float:
    """Return n of all GPUs together."""
    if "n" not in row.columns and options.size is not None:
        return options.size * (_gpus(row, options) if options.size_of == "gpu" else 1)
    share = row.columns["n"].share if "n" in row.columns else None
    return row.positive("n") * (_sharers(row, share, options) if share else 1)


def _sharers(row: Row, share: str, options: Options) -> int:
    """Return the number of GPUs (or ranks, if stated) over which a row's quantity is summed."""
    return row.integer("ranks") if share == "ranks" and row.has("ranks") else _gpus(row, options)


def _gpus(row: Row, options: Options) -> int:
    if "gpus" in row.columns:
        return row.integer("gpus")
    if "gpus_per_node" in row.columns:
        return row.integer("nodes") * row.integer("gpus_per_node")
    if "nodes" in row.columns and (per_node := gpus_of_node(options)) is not None:
        return row.integer("nodes") * per_node
    assert options.gpus is not None  # a table without any of these was refused
    return options.gpus


def _timestep(row: Row, options: Options) -> float | None:
    if row.has("timestep"):
        return float(row.positive("timestep"))
    return options.timestep


def _check_rivals(row: Row, columns: Columns, options: Options, said: dict[str, float]) -> None:
    """Refuse a row in which two columns state very different times of a step.

    Args:
        row, columns, options: of the table.
        said: receives the simulated time of a step (s) implied by two columns if it is not stated,
            by the name of the second; a row that implies another one is refused, too.

    Raises:
        InputError: two columns contradict each other; the message names both.
    """
    seconds = _seconds_of(row, TIME, columns.by_role[TIME], options)
    for role, rival in columns.rivals.items():
        unit = rival.unit
        if unit is None:  # the steps of a run
            continue
        timestep = _timestep(row, options)
        given = replace(options, timestep=said.get(rival.name, 1.0)) if not timestep else options
        try:
            other = _seconds_of(row, role, rival, given)
        except InputError:  # the user did not name this column
            continue
        if unit.needs_timestep and not timestep and rival.name not in said:
            said[rival.name] = seconds / other
        elif not 1 / CONTRADICTION < other / seconds < CONTRADICTION:
            time = columns.by_role[TIME]
            over, wrong = "", "one is wrong"
            if rival.covers == "run":
                over = f" over {row.columns['steps'].name!r}"
                wrong += ", or the run did more than its steps"
            raise row.error(
                TIME,
                f"{shown_cell(row.cells[TIME])} means {duration(seconds)} a step, {rival.name!r} "
                f"{shown_cell(row.cells[role])}{over} means {duration(other)}: {wrong}; take "
                f"one with --columns seconds={shown(time.name)} or seconds={shown(rival.name)}",
            )


def _seconds_of(row: Row, role: str, column: Column, options: Options) -> float:
    """Return the seconds a step from a column of times or rates."""
    unit = column.unit
    assert unit is not None  # a column of times has one
    timestep = _timestep(row, options)
    if unit.needs_timestep and timestep is None:
        raise row.error("timestep", f"missing; {column.name!r} needs it")
    seconds = row.time(role)
    if seconds is None:
        value: float = row.positive(role)
        if unit.share is not None:
            value *= _sharers(row, unit.share, options)
        size = float(_size(row, options)) if unit.rank == RATE_OF_WORK else 0.0
        seconds = unit.seconds(value, size, timestep or 0.0)
    if column.covers == "run":
        seconds /= row.positive("steps") if "steps" in row.columns else options.steps or 1
    if not 0 < seconds < float("inf"):
        raise row.error(role, f"{row.cells[role]} gives no time greater than 0")
    return seconds


def _check_stated(row: Row, options: Options) -> None:
    """Raise InputError if a row's GPU counts contradict ``--gpus-per-node``."""
    stated = options.gpus_per_node
    role = next((role for role in ("gpus", "gpus_per_node") if role in row.columns), None)
    if stated is None or role is None:
        return
    count, name = row.integer(role), row.columns[role].name
    if role == "gpus_per_node":
        told, fits = f"{name!r} says {count}", count == stated
    elif row.has("nodes"):
        nodes = row.integer("nodes")
        told, fits = f"{name!r} says {_on(count, nodes)}", count == nodes * stated
    else:
        told, fits = f"{name!r} says {count} GPUs", count <= stated or count % stated == 0
    if not fits:
        message = f"{stated} contradicts the table: {told}; omit the option"
        raise InputError(message, file=row.file, line=row.line, field="--gpus-per-node")


def _check_all(counted: dict[tuple[int, int], Row], options: Options) -> None:
    """Raise InputError if GPU counts seem to be those of each node and the user did not say so.

    Args:
        counted: a row for each pair of nodes and GPUs.
        options: the columns that the user named.
    """
    if "gpus" in options.columns:
        return
    fewer = min((pair for pair in counted if pair[1] < pair[0]), default=None)
    is_one_count = len({gpus for _, gpus in counted}) == 1 < len(counted)
    if fewer is None and not is_one_count:
        return
    nodes, gpus = fewer or max(counted)
    row = counted[nodes, gpus]
    name = shown(row.columns["gpus"].name)
    raise row.error(
        "gpus",
        f"{_on(gpus, nodes)} may be a count for each node; if so, import with --columns "
        f"gpus_per_node={name}; if it is that of all nodes together, with --columns gpus={name}",
    )


def _on(gpus: int, nodes: int) -> str:
    return f"{gpus} GPU{'s' * (gpus > 1)} on {nodes} node{'s' * (nodes > 1)}"


_STEPS_ABOVE = re.compile(r"\b[0-9][0-9,]*\s(?:time[- ]?)?(?:steps|iterations)\b", re.I)


def _ask_about_runs(time: Column, options: Options, grid: Grid) -> None:
    """Ask whether times are those of a step or of all the steps named in a title."""
    assert time.unit is not None  # a column of times has one
    if time.covers or time.confirmed or time.unit.rank > 1 or options.steps is not None:
        return
    steps = _STEPS_ABOVE.search("\n".join(grid.above[-_NEAR:]))
    if steps is not None:
        raise grid.error(
            f"may be the time of a step or of the {steps[0]} that the text above names; import "
            f"with --columns seconds={shown(time.name)}:{time.unit.name}/step for one step, with "
            f"--steps {steps[0].split()[0].replace(',', '')} for all",
            time.name,
        )


_NEAR = 5
"""Number of lines above a table that may be its title."""


def of_long_steps(samples: Sequence[float], column: str, unit: str) -> str | None:
    """Return the question to the user if steps (s) are unusually long; None if they are not."""
    median = statistics.median(samples) if samples else 0.0
    if median < LONG_STEP:
        return None
    right, ms, us = (f"--columns seconds={column}:{name}" for name in (unit, "ms", "us"))
    return (
        f"the median step takes {duration(median)}; if that is right, import with {right}; if "
        f"these are milliseconds, with {ms}; if microseconds, with {us}"
    )
