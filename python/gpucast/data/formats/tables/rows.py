"""Rows of a table by role, with errors that name line and column; rows gathered into records."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from gpucast.data.formats import UNNAMED, Options, entry
from gpucast.data.formats.tables import numbers
from gpucast.data.formats.tables.columns import TIME, Column, Columns
from gpucast.data.formats.tables.columns import shown as named
from gpucast.data.formats.tables.grid import FRAME, Grid, any_there
from gpucast.data.formats.tables.numbers import Decimal, Number, is_none
from gpucast.data.formats.tables.sizes import with_factor
from gpucast.data.formats.tables.units import spelled_time, with_unit
from gpucast.data.records import Entry
from gpucast.errors import InputError
from gpucast.util import limits
from gpucast.util.number_lists import grid as points
from gpucast.util.order_statistics import disagreeing
from gpucast.util.remarks import Kind, Remark, remark
from gpucast.util.units import duration

MOST_NAMED = 8
"""Number of unused columns that are named; others are counted."""

_NUMERIC = {
    "n", "gpus", "gpus_per_node", "nodes", "ranks", "instances", TIME, "timestep", "steps",
    "repeat", "bytes",
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One line of a table: its number and its cells by role."""

    file: str
    line: int
    cells: dict[str, object]
    columns: dict[str, Column]
    decimal: Decimal

    def has(self, role: str) -> bool:
        """Return whether there is a value: neither an empty cell nor a word for none."""
        cell = self.cells.get(role)
        if isinstance(cell, float) and math.isnan(cell):
            return False
        return cell is not None and not (isinstance(cell, str) and is_none(cell))

    def text(self, role: str) -> str | None:
        """Return the text of a cell; None if the column is absent or the cell is empty."""
        cell = self.cells.get(role)
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return None
        return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)

    def number(self, role: str) -> Number:
        """Return a finite number in SI units. Raises InputError with line and column."""
        cell = self.cells.get(role)
        if cell is None:
            raise self.error(role, f"missing{self._if_above(role)}")
        value, factor = self._value(role, cell), 1.0
        if value is None and role in ("n", "steps") and isinstance(cell, str):
            digits, factor = with_factor(cell)
            value = numbers.parse(digits, self.decimal) or points(cell)
        if value is None:
            hint = "; leave the cell empty if a run has no time" if role == TIME else ""
            raise self.error(role, f"{shown(cell)} is not a number{hint}")
        if not math.isfinite(value):
            raise self.error(role, f"{shown(cell)} is not a finite number")
        scale = factor * self.columns[role].scale
        if scale != 1:
            # Dividing by whole numbers rounds small time steps once, not twice. Sizes in millions
            # are decimals: 2.3 of them are 2300000, not the next double.
            value = value / round(1 / scale) if scale < 1 else float(f"{value * scale:.15g}")
        return value

    def _value(self, role: str, cell: object) -> Number | None:
        """Return the number of a cell, which the unit of its column may follow."""
        if type(cell) in (int, float):
            return cell  # type: ignore[return-value]
        if not isinstance(cell, str):
            return None
        value, unit = numbers.parse(cell, self.decimal), self.columns[role].unit
        if value is None and unit is not None:
            digits, own = with_unit(cell)
            same = own is not None and own.name == unit.name
            value = numbers.parse(digits, self.decimal) if same else None
        return value

    def time(self, role: str) -> float | None:
        """Return the time (s) of a cell that states its own unit: ``12.5 ms``, ``1-03:12:44``, or a
        spreadsheet's duration; None: it is a number in the unit of its column, or not a time.
        Raises InputError if it is not greater than 0."""
        cell, unit = self.cells.get(role), self.columns[role].unit
        if unit is None or unit.rank > 1:
            return None
        if not isinstance(cell, str):
            seconds = numbers.seconds_of(cell)
        elif numbers.parse(cell, self.decimal) is not None:
            seconds = None
        else:
            seconds = numbers.parse_clock(cell, unit.clock)
            digits, own = with_unit(cell)
            value = numbers.parse(digits, self.decimal)
            if own is not None and own.rank == 1 and value is not None:
                seconds = own.seconds(value, 0.0, 0.0)
            elif seconds is None:
                seconds = spelled_time(cell, unit.clock)
        if seconds is not None and seconds <= 0:
            raise self.error(role, f"must be greater than 0, got {cell}")
        return seconds

    def is_worded(self, role: str) -> bool:
        """Return whether a cell for a number holds words without digits."""
        cell = self.cells.get(role)
        return isinstance(cell, str) and not re.search("[0-9]", cell)

    def _if_above(self, role: str) -> str:
        if self.file == FRAME or self.columns[role].down:
            return ""
        how = f"--columns {role}={named(self.columns[role].name)}:down"
        return f"; if a blank means the value above it, import with {how}"

    def positive(self, role: str) -> Number:
        """Return a finite number greater than 0. Raises InputError with line and column."""
        value = self.number(role)
        if value <= 0:
            raise self.error(role, f"must be greater than 0, got {self.cells[role]}")
        return value

    def integer(self, role: str) -> int:
        """Return an integer, also for 1e5 and 1000.0. Raises InputError with line and column."""
        value = self.number(role)
        if isinstance(value, float) and not value.is_integer():
            raise self.error(role, f"must be an integer, got {shown(self.cells[role])}")
        return int(value)

    def error(self, role: str | None, message: str) -> InputError:
        """Return an error about this line, with the name of the column."""
        column = self.columns.get(role or "")
        name = role if column is None else column.name
        return InputError(message, file=self.file, line=self.line, field=name)


Sample = tuple[int, float, Row]
"""Number of the repetition, its time (s) and its row."""


def rows(grid: Grid, columns: Columns, decimal: Decimal | None) -> Iterator[Row]:
    """Yield the rows below the header.

    Raises:
        InputError: there are none, or the decimal mark of their numbers is unclear.
    """
    if not grid.rows:
        raise InputError("holds no line below the header", file=grid.file)
    how = decimal or _decimal(grid, columns)
    # Merged cells of times are not filled: a time belongs to one row.
    grid = grid.filled({column.at for role, column in columns.by_role.items() if role != TIME})
    above: dict[str, object] = {}
    for line, values in grid.rows:
        cells = {role: values[column.at] for role, column in columns.by_role.items()}
        if any_there(cells.values()):
            for role in (role for role, column in columns.by_role.items() if column.down):
                cells[role] = above[role] = above.get(role) if cells[role] is None else cells[role]
            cells |= {role: values[column.at] for role, column in columns.rivals.items()}
            yield Row(grid.file, line, cells, columns.by_role | columns.rivals, how)


def gathered(
    table: Iterator[Row],
    options: Options,
    cell: Callable[[Row], dict[str, object]],
    seconds: Callable[[Row], float],
) -> tuple[list[Entry], list[Remark], list[list[Sample]]]:
    """Gather rows into records, one for each cell, with a sample for each row; return them with
    remarks on cells whose rows differ far more than those of others, and with the rows of each.

    Args:
        table: rows with a time.
        options: as for the formats.
        cell: all fields of the record except its seconds; rows with equal ones are one cell.
        seconds: the sample of a row. Rows with a ``repeat`` number are sorted by it, others keep
            the order of the table.

    Raises:
        InputError: a value is out of range, or a cell has a repeat number twice (both lines are
            named).
    """
    samples: dict[tuple[object, ...], list[Sample]] = {}
    records: dict[tuple[object, ...], Any] = {}
    for row in table:
        value, sample = cell(row), seconds(row)
        machine = _machine(row, options)
        key = (machine, *(field for field in value.items() if field[1] != []))
        if key not in samples:
            try:
                record = {**value, "seconds": [sample]}
                of_machine = replace(options, machine=machine)
                records[key] = entry(of_machine, record, file=row.file, line=row.line)
            except InputError as error:
                raise row.error(error.field, error.message) from None
            samples[key] = []
            limits.RECORDS.check(len(samples), row.file)
        repeat = row.integer("repeat") if "repeat" in row.columns else len(samples[key])
        samples[key].append((repeat, sample, row))
    entries = [replace(record, seconds=_in_order(samples[key])) for key, record in records.items()]
    times = {key: [time for _, time, _ in of_cell] for key, of_cell in samples.items()}
    doubts = [_doubt(samples[key]) for key in disagreeing(times)]
    return entries, doubts, list(samples.values())


def _machine(row: Row, options: Options) -> str:
    """Return the machine of a row; each model of GPU is another machine."""
    name, model = row.text("machine"), row.text("gpu_type")
    stated = name or (options.machine if options.machine != UNNAMED or model is None else None)
    return ", ".join(filter(None, (stated, model)))


def _doubt(samples: list[Sample]) -> Remark:
    """Return a remark on the two rows of a cell that differ most."""
    (_, least, first), (_, most, last) = (end(samples, key=itemgetter(1)) for end in (min, max))
    return remark(
        Kind.DISPUTED,
        f"{first.file}:{first.line} and :{last.line}: {duration(least)} and {duration(most)} for "
        "the same n and GPU count, much farther apart than other repetitions in the table: one is "
        "wrong, or an unused column distinguishes them",
        about="rows",
    )


def notes_of(
    columns: Columns, skipped: int, usual: Collection[str], words: Collection[str] = ()
) -> list[str]:
    """Return lines about columns that were read, left out and skipped.

    ``usual``: names of columns that are not mentioned; ``words``: words in place of times.
    """
    lines = []
    read = [
        f"{role} from {column.name!r}{_unit_beside(column)}"
        for role, column in columns.by_role.items()
        if (column.name.casefold() not in usual or column.scale > 1) and role in _NUMERIC
    ]
    if read:
        lines.append(", ".join(read))
    if columns.ignored:
        count = len(columns.ignored)
        listed = [repr(name) if name else "one without a name" for name in columns.ignored]
        more = [f"and {count - MOST_NAMED} more"] * (count > MOST_NAMED)
        names = ", ".join([*listed[:MOST_NAMED], *more])
        lines.append(f"{count} column{'s' * (count > 1)} not used: {names}")
    if skipped:
        listed = [shown(word) for word in dict.fromkeys(words)]
        instead = f" ({', '.join(listed[:MOST_NAMED])})" if listed else ""
        lines.append(f"{skipped} row{'s' * (skipped > 1)} without a time left out{instead}")
    return lines


def shown(cell: object) -> str:
    """Return a cell as messages show it: on one line, shortened."""
    text = cell if isinstance(cell, str) else str(cell)
    quoted = repr(text) if text.isprintable() else ascii(text)
    return quoted if len(quoted) <= 40 else quoted[:37] + "..."


def _unit_beside(column: Column) -> str:
    """Return the factor of a column, or its unit if the name does not state it."""
    if column.scale > 1:
        return f" (times {column.scale:g})"
    unit = None if column.unit is None else column.unit.name
    return "" if unit is None or unit in column.name.casefold() else f" ({unit})"


def _decimal(grid: Grid, columns: Columns) -> Decimal:
    """Return the decimal mark of a table's numbers; any if it does not matter."""
    indices = [column.at for role, column in columns.by_role.items() if role in _NUMERIC]
    texts = [
        column for _, cells in grid.rows for at in indices if isinstance(column := cells[at], str)
    ]
    point, comma, either = numbers.decimals_of(map(_digits, texts))
    if point is not None and comma is not None:
        lines = [(_line_of(grid, indices, text), text) for text in (comma, point)]
        (first, other), (line, wrong) = sorted(lines, key=itemgetter(0))
        raise InputError(
            f"{shown(wrong)} contradicts {shown(other)} in line {first}: decimals have either "
            "points or commas",
            file=grid.file,
            line=line,
        )
    if comma is not None:
        return "comma"
    # If commas separate the columns, commas within numbers are not decimal marks.
    if either is not None and point is None and grid.delimiter != ",":
        n = columns.by_role.get("n")
        counts = [n.at] if n and n.counts and n.scale == 1 and "," in either else []
        if any(_digits(str(cells[at])) == either for _, cells in grid.rows for at in counts):
            return "point"  # a count of atoms has no decimals
        point, comma, _ = numbers.decimals_of(_beside(grid))
        if (point is None) != (comma is None):
            return "comma" if point is None else "point"
        values = [numbers.parse(either, how) for how in ("point", "comma")]
        one, other = (f"{value:.15g}" for value in values if value is not None)
        raise InputError(
            f"{shown(either)} may be {one} or {other}; import with --decimal point or "
            "--decimal comma",
            file=grid.file,
            line=_line_of(grid, indices, either),
        )
    return "point"


_MEASURED = re.compile(r"[$€]? ?([0-9][0-9.,]*[0-9]) ?(?:[×x%]|[a-z]{1,4}(?:/[a-z]+)?)?", re.I)


def _beside(grid: Grid) -> Iterator[str]:
    """Yield the digits of quantities in the table: ``1.66x``, ``$2.00``, ``1.49 GiB``."""
    for at, name in enumerate(grid.names):
        texts = [cells[at] for _, cells in grid.rows if cells[at] is not None]
        matches = [_MEASURED.fullmatch(text) for text in texts if isinstance(text, str)]
        if all(matches) and not re.search("vers|release|date|driver|cuda|id$", name, re.I):
            yield from (match[1] for match in matches if match)


def _digits(text: str) -> str:
    return with_unit(with_factor(text)[0])[0]


def _line_of(grid: Grid, indices: list[int], text: str) -> int:
    return next(
        line
        for line, cells in grid.rows
        if any(isinstance(cell := cells[at], str) and _digits(cell) == text for at in indices)
    )


def _in_order(gathered: list[Sample]) -> list[float]:
    by_repeat: dict[int, tuple[float, int]] = {}
    for repeat, seconds, row in gathered:
        if repeat in by_repeat:
            first = by_repeat[repeat][1]
            problem = f"{repeat} occurs twice for this cell, first in line {first}"
            raise row.error("repeat", problem)
        by_repeat[repeat] = seconds, row.line
    return [by_repeat[repeat][0] for repeat in sorted(by_repeat)]
