"""Plain-text tables: aligned columns below a header and a rule.

Commands describe their columns (``Column``); ``--json`` and CSV have the same rows.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from numbers import Real
from typing import Any


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, and the value of a row that it shows.

    Attributes:
        value: key of a row (attribute of an object, position in a tuple), or a function of the row.
        form: formats a value that is not None: a function, or a format such as ``.3f``.
        side: ``l`` or ``r``; by default ``r`` if values are numbers before formatting.
        optional: whether it is left out if no row has a value.
    """

    heading: str
    value: str | int | Callable[[Any], object]
    form: Callable[[Any], object] | str | None = None
    side: str = ""
    optional: bool = False

    def of(self, row: Any) -> object:
        """Return the value of a row."""
        if callable(self.value):
            return self.value(row)
        if isinstance(self.value, int) or isinstance(row, Mapping):
            return row[self.value]
        return getattr(row, self.value)

    def written(self, value: object) -> object:
        """Format a value; None stays None."""
        if value is None or self.form is None:
            return value
        return format(value, self.form) if isinstance(self.form, str) else self.form(value)


def print_rows(rows: Iterable[Any], columns: Sequence[Column]) -> None:
    """Print a table of rows: dicts, objects or tuples."""
    every = list(rows)
    shown = [
        (column, values)
        for column in columns
        for values in ([column.of(row) for row in every],)
        if not column.optional or any(value is not None for value in values)
    ]
    print_table(
        [column.heading for column, _ in shown],
        zip(
            *([column.written(value) for value in values] for column, values in shown), strict=True
        ),
        "".join(column.side or _side(values, bool(column.form)) for column, values in shown),
    )


def print_table(
    headers: Sequence[str], rows: Iterable[Sequence[object]], align: str | None = None
) -> None:
    """Print rows in aligned columns below a header and a rule.

    Args:
        headers: one for each column.
        rows: one cell for each column; None is shown as ``-``, everything else by ``str``.
        align: a letter for each column, ``l`` or ``r``; by default columns of numbers are ``r``.
    """
    body = list(rows)
    print(table(headers, body, align))


def table(
    headers: Sequence[str], rows: Sequence[Sequence[object]], align: str | None = None
) -> str:
    """Return the text that ``print_table`` prints."""
    sides = align or "".join(_side([row[i] for row in rows]) for i in range(len(headers)))
    cells = [[one_line(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(width(row[column]) for row in cells) for column in range(len(headers))]
    lines = [
        "  ".join(
            _padded(cell, size, side) for cell, size, side in zip(row, widths, sides, strict=True)
        ).rstrip()
        for row in cells
    ]
    lines.insert(1, "  ".join("-" * size for size in widths).rstrip())
    return "\n".join(lines)


def width(text: str) -> int:
    """Return the columns of a text on a terminal: two for wide East Asian characters, none for
    combining marks."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(letter) or unicodedata.category(letter) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(letter) in "WF"
        else 1
        for letter in text
    )


def one_line(cell: object) -> str:
    """Return a cell's text without line ends and control characters; ``-`` for None."""
    if cell is None:
        return "-"
    text = str(cell)
    return text if text.isprintable() else shown(" ".join(text.split()))


def shown(line: str) -> str:
    """Return a line in which control characters, which might affect a terminal, are escaped."""
    if line.isprintable():
        return line
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in line
    )


def _side(values: Iterable[object], empty_right: bool = False) -> str:
    known = [value for value in values if value is not None]
    numbers = all(isinstance(value, Real) and not isinstance(value, bool) for value in known)
    return "r" if numbers and (known or empty_right) else "l"


def _padded(text: str, size: int, side: str) -> str:
    gap = " " * (size - width(text))
    return gap + text if side == "r" else text + gap


def html_listing(title: str, lines: Iterable[str]) -> str:
    """Return a title and a list of lines as HTML, for an object in a notebook."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<b>{escape(title)}</b><ul>{items}</ul>"


def html_table(title: str, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a title and a table of texts as HTML, for an object in a notebook."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headers)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f"<b>{escape(title)}</b><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of texts that a spreadsheet evaluates."""


def quoted(value: object) -> object:
    """Quote a text so that a spreadsheet does not evaluate it; return other values unchanged."""
    # A text that has the quote already gets another, so that ``unquoted`` restores it.
    return f"'{value}" if isinstance(value, str) and _is_formula(value.lstrip("'")) else value


def unquoted(text: str) -> str:
    """Undo ``quoted``."""
    return text[1:] if text.startswith("'") and _is_formula(text.lstrip("'")) else text


def _is_formula(text: str) -> bool:
    if not text.startswith(FORMULA):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False  # a negative number


def csv_text(columns: Sequence[str], lines: Iterator[Sequence[object]], decimal: str = ".") -> str:
    """Return comma-separated text with a header; numbers have full precision. With a decimal comma,
    the separator is a semicolon.

    Texts that a spreadsheet would evaluate are quoted by a leading '.
    """
    stream = io.StringIO()
    comma = decimal == ","
    writer = csv.writer(stream, lineterminator="\n", delimiter=";" if comma else ",")
    writer.writerow(columns)
    writer.writerows(
        [
            str(value).replace(".", ",") if comma and isinstance(value, float) else quoted(value)
            for value in line
        ]
        for line in lines
    )
    return stream.getvalue()
