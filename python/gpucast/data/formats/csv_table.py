"""CSV as users write it: delimiter sniffed, columns by name, errors with line and column.

Comma, semicolon and tab are delimiters. A header line is required; its names may be in any case
and order. Lines before it that start with ``#`` are comments; blank lines are skipped.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpucast.data.formats import Options, entry
from gpucast.data.records import Entry
from gpucast.errors import InputError

DELIMITERS = ",;\t"
_NUMBER = re.compile(r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,4})?")
_DIGITS = re.compile(r"[+-]?[0-9]{1,30}")


@dataclass(frozen=True)
class Row:
    """One line of a table: its number and its fields by column name."""

    file: str
    line: int
    fields: Mapping[str, str]

    def text(self, column: str, default: str) -> str:
        """A field's text; ``default`` where the column is absent or the field empty."""
        return self.fields.get(column, "").strip() or default

    def label(self, column: str, default: str | None) -> dict[str, object]:
        """A field as part of a record: none where the file says nothing and nobody else did."""
        found = self.fields.get(column, "").strip() or default
        return {} if found is None else {column: found}

    def number(self, column: str) -> float:
        """A finite number. Raises InputError with line and column."""
        text = self._required(column)
        if not _NUMBER.fullmatch(text):
            hint = "; decimals need a point" if re.fullmatch(r"[+-]?[0-9]*,[0-9]+", text) else ""
            raise self.error(column, f"{_shown(text)} is no number{hint}")
        value = float(text)
        if not math.isfinite(value):
            raise self.error(column, f"{_shown(text)} is not a finite number")
        return value

    def positive(self, column: str) -> float:
        """A finite number greater than 0. Raises InputError with line and column."""
        value = self.number(column)
        if value <= 0:
            raise self.error(column, f"must be greater than 0, got {self._required(column)}")
        return value

    def integer(self, column: str) -> int:
        """An integer; 1e5 and 1000.0 are integers too. Raises InputError with line and column."""
        text = self._required(column)
        if _DIGITS.fullmatch(text):
            return int(text)
        value = self.number(column)
        if not value.is_integer():
            raise self.error(column, f"must be an integer, got {_shown(text)}")
        return int(value)

    def size(self, column: str) -> float:
        """A number greater than 0, whole ones as such. Raises InputError with line and column."""
        text = self._required(column)
        return int(text) if _DIGITS.fullmatch(text) else self.number(column)

    def error(self, column: str | None, message: str) -> InputError:
        """An error about this line."""
        return InputError(message, file=self.file, line=self.line, field=column)

    def _required(self, column: str) -> str:
        text = self.fields[column].strip()
        if not text:
            raise self.error(column, "missing")
        return text


def header(text: str) -> list[str]:
    """The column names of a CSV text, lower case; empty where there is no header to be seen."""
    return _header(text.splitlines())[0]


def _header(lines: Iterable[str]) -> tuple[list[str], str, int]:
    """Column names, delimiter, and the number of the line that holds them; 0: there is none."""
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith("#"):
            delimiter = max(DELIMITERS, key=line.count)
            values = next(csv.reader([line.strip("\r\n")], delimiter=delimiter), [])
            return [value.strip().lower() for value in values], delimiter, number
    return [], DELIMITERS[0], 0


def rows(text: str, file: str, required: Sequence[str], optional: Sequence[str]) -> Iterator[Row]:
    """The lines below the header.

    Raises:
        InputError: a required column is missing, one is unknown or twice there, a line has
            another number of fields than the header, or quotes do not match.
    """
    lines = io.StringIO(text, newline="")
    names, delimiter, skipped = _header(lines)
    if not skipped:
        raise InputError("holds no header line", file=file)
    _check_names(names, file, skipped, required, optional)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    found = False
    while True:
        line = skipped + reader.line_num + 1
        try:
            values = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            raise InputError(f"not valid CSV: {error}", file=file, line=line) from None
        if not any(value.strip() for value in values):
            continue
        if len(values) != len(names):
            raise InputError(
                f"has {len(values)} fields where the header has {len(names)}", file=file, line=line
            )
        found = True
        yield Row(file, line, dict(zip(names, values, strict=True)))
    if not found:
        raise InputError("holds no line below the header", file=file)


def cells(
    table: Iterator[Row],
    options: Options,
    cell: Callable[[Row], dict[str, object]],
    *,
    numbered: bool = False,
) -> list[Entry]:
    """Rows gathered into records: one record a cell, one sample a row.

    Args:
        table: rows with a ``seconds`` column.
        options: as the formats'.
        cell: everything of the record but its seconds; rows that agree in it are one cell.
        numbered: rows have a ``repeat`` number, by which the samples are ordered; without it they
            keep the order of the file.

    Raises:
        InputError: a value out of range, or a repeat number twice in one cell (both lines named).
    """
    samples: dict[tuple[object, ...], list[tuple[int, float, Row]]] = {}
    records: dict[tuple[object, ...], Entry] = {}
    for row in table:
        value = cell(row)
        seconds = row.positive("seconds")
        key = tuple(each for each in value.items() if each[1] != [])
        if key not in samples:
            made = {**value, "seconds": [seconds]}
            records[key] = entry(options, made, file=row.file, line=row.line)
            samples[key] = []
        repeat = row.integer("repeat") if numbered else len(samples[key])
        samples[key].append((repeat, seconds, row))
    return [
        record.model_copy(update={"seconds": _in_order(samples[key])})
        for key, record in records.items()
    ]


def write(columns: Sequence[str], lines: Iterator[Sequence[object]]) -> str:
    """A comma-separated text with a header; numbers as Python writes them, which round-trips."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    return stream.getvalue()


def _in_order(gathered: list[tuple[int, float, Row]]) -> list[float]:
    found: dict[int, tuple[float, int]] = {}
    for repeat, seconds, row in gathered:
        if repeat in found:
            first = found[repeat][1]
            problem = f"{repeat} is there twice for this cell, first in line {first}"
            raise row.error("repeat", problem)
        found[repeat] = seconds, row.line
    return [found[repeat][0] for repeat in sorted(found)]


def _check_names(
    names: Sequence[str], file: str, line: int, required: Sequence[str], optional: Sequence[str]
) -> None:
    allowed = f"required: {', '.join(required)}; optional: {', '.join(optional)}"
    for name in names:
        if name not in required and name not in optional:
            raise InputError(f"column {_shown(name)} is unknown ({allowed})", file=file, line=line)
        if names.count(name) > 1:
            raise InputError(f"column {_shown(name)} is there twice", file=file, line=line)
    for name in required:
        if name not in names:
            raise InputError(f"column {_shown(name)} is missing ({allowed})", file=file, line=line)


def _shown(text: str) -> str:
    shown = repr(text) if text.isprintable() else ascii(text)
    return shown if len(shown) <= 40 else shown[:37] + "..."
