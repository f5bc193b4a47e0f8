"""Tables with sizes in rows and GPU counts in columns, converted to a row for each time.

``atoms, 1 GPU, 2 GPUs, 4 GPUs`` is such a header, also with ``N=2`` or bare numbers. The unit of
the times is in brackets beside a count, in the corner, or in a line above the table; otherwise the
user states it for all: ``--columns seconds=*:ms``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from gpucast.data.formats import Options
from gpucast.data.formats.tables.columns import TIME, roles_of, shown
from gpucast.data.formats.tables.grid import Grid
from gpucast.data.formats.tables.sizes import GPU_WORDS, counts_across, is_worded
from gpucast.data.formats.tables.units import COUNTED, normalized, parse_column_unit
from gpucast.errors import InputError

ALL = "*"
"""The name of all columns of GPU counts in ``--columns``."""


def melted(grid: Grid, options: Options) -> tuple[Grid, Options, list[str]]:
    """Return the table with a row for each time, its column options, and a note; unchanged if GPU
    counts are not in columns.

    Raises:
        InputError: the content of the columns or their unit is not clear.
    """
    across = counts_across(grid.names)
    given = dict(options.columns)
    of_all, confirmed = _unit_of_all(given)
    others = {at: name for at, name in enumerate(grid.names) if at not in across}
    if across and len(others) == 1:
        # The slash in a corner separates the names of rows and columns.
        others = {at: re.sub(r"\s*/\s*gpu\b", "", name, flags=re.I) for at, name in others.items()}
    sizes = given.get("n")
    roles = {role for name in others.values() if name != sizes for role in roles_of(name)}
    corner_is_unit = len(others) == 1 and TIME in roles
    taken = (roles - {TIME} if corner_is_unit else roles) | given.keys()
    if not across or (taken & {"gpus", "gpus_per_node", TIME} and not confirmed and not of_all):
        return grid, options, []
    _ask_for_counts(grid, list(across), confirmed=confirmed)
    unit = of_all or _unit(grid, across)
    if "n" not in taken and options.size is None:
        others = _with_sizes(grid, others)
    time = f"time ({unit})"
    rows = [
        (line, [*(cells[at] for at in others), count, cells[at_count]])
        for line, cells in grid.filled(others).rows
        for at_count, count in across.items()
    ]
    note = f"GPU counts across: {', '.join(map(str, across.values()))}, times in {unit}"
    if of_all:
        given[TIME] = f"{time}:{unit}"
    names = [*others.values(), "gpus", time]
    return (
        replace(grid, names=names, rows=rows, times=ALL, merged={}),
        replace(options, columns=given),
        [note],
    )


def _unit_of_all(given: dict[str, str]) -> tuple[str | None, bool]:
    """Return the unit that the user gave to all columns of counts, and whether these were named;
    both are removed from the column options."""
    confirmed = given.get("gpus") == ALL
    if confirmed:
        del given["gpus"]
    column, _, unit = given.get(TIME, "").partition(":")
    if column.strip() != ALL:
        return None, confirmed
    del given[TIME]
    parsed = parse_column_unit(unit)
    if parsed is None:
        raise InputError(
            f"seconds={ALL} needs a unit: seconds={ALL}:ms (s, ms, us, steps/s, ns/day, ...)",
            field="--columns",
        )
    return parsed.name, confirmed


def _ask_for_counts(grid: Grid, across: list[int], *, confirmed: bool) -> None:
    """Ask the user, because plain 1, 2, 3 may also number repetitions."""
    names = [grid.names[at] for at in across]
    counts = list(counts_across(grid.names).values())
    beside = " ".join([*grid.above, *(grid.names[at] for at in set(range(across[0])))])
    known = any(map(is_worded, names)) or re.search(GPU_WORDS, normalized(beside))
    if confirmed or known or counts != list(range(1, len(counts) + 1)):
        return
    raise grid.error(
        f"columns {', '.join(names)} may be GPU counts or repetitions; if they are GPU counts, "
        f"import with --columns gpus={ALL}"
    )


def _unit(grid: Grid, across: dict[int, int]) -> str:
    """Return the only unit that the header or a line above it names."""
    beside = [name for at, name in enumerate(grid.names) if at not in across]
    for texts in ([grid.names[at] for at in across], beside, grid.above):
        named = dict.fromkeys(unit for text in texts for unit in _units_in(text))
        if len(named) == 1:
            return next(iter(named))
        if named:
            break
    else:
        named = {}
    problem = f"is {' or '.join(named)}" if named else "is not stated"
    listed = ", ".join(shown(grid.names[at]) for at in list(across)[:3])
    raise grid.error(
        f"the unit of the times below {listed} {problem}; import with --columns "
        f"seconds={ALL}:ms (or s, us, steps/s, ns/day, ...)"
    )


def _units_in(text: str) -> Iterator[str]:
    """Yield units of time in a text: in brackets, after a slash, alone, or after "in"."""
    words = re.findall(r"[(\[]([^)\]]+)[)\]]", text)
    words += re.findall(r"[^\s,;:()\[\]\\|]+/[^\s,;:()\[\]\\|]+", text)
    words.append(text)
    words += re.findall(r"\bin\s+([^\s,;:()\[\]]+)", text, re.IGNORECASE)
    for word in words:
        unit = parse_column_unit(word)
        if unit is not None:
            yield unit.name


def _with_sizes(grid: Grid, others: dict[int, str]) -> dict[int, str]:
    """Return the other columns; the corner is named after what it counts (``atoms / GPUs``)."""
    for at, name in others.items():
        stem = re.sub(r"[(\[].*?[)\]]", "", name)
        words = [part for part in re.split(r"[^a-z]+", normalized(stem)) if part]
        sizes = [word for word in words if word in COUNTED or word in ("n", "size", "sizes")]
        if sizes:
            return {**others, at: sizes[0].removesuffix("s") if sizes[0] == "sizes" else sizes[0]}
    first = next(iter(others.values()), "")
    what = (
        f"if {shown(first)} is the size, import with --columns n={shown(first)}"
        if first
        else "write n, atoms, cells or the like above them"
    )
    raise grid.error(f"no column is named as one of sizes; {what}")
