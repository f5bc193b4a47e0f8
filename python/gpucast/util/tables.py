"""Tables of plain text: aligned columns below a header and a rule.

Commands describe their columns (``Column``) over the rows that ``--json`` and CSV have.
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
    """A column of a table: its heading, and what it shows of a row.

    Attributes:
        value: key of a row (attribute of an object, position in a tuple), or the function of the
            row that gives the value.
        form: writes a value that is not None for people: a function, or a format such as ``.3f``.
        side: ``l`` or ``r``; by default numbers go right, as they are before ``form``.
        optional: whether it is left out where no row has a value.
    """

    heading: str
    value: str | int | Callable[[Any], object]
    form: Callable[[Any], object] | str | None = None
    side: str = ""
    optional: bool = False

    def of(self, row: Any) -> object:
        """The value of a row."""
        if callable(self.value):
            return self.value(row)
        if isinstance(self.value, int) or isinstance(row, Mapping):
            return row[self.value]
        return getattr(row, self.value)

    def written(self, value: object) -> object:
        """The value for people; None stays None."""
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
        headers: one a column.
        rows: one cell a column; None is shown as ``-``, everything else by ``str``.
        align: a letter a column, ``l`` or ``r``; without it columns of numbers go right.
    """
    body = list(rows)
    print(table(headers, body, align))


def table(
    headers: Sequence[str], rows: Sequence[Sequence[object]], align: str | None = None
) -> str:
    """The text that ``print_table`` prints."""
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
    """Columns a text takes on a terminal: wide East Asian characters two, combining marks none."""
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
    """A cell's text without line ends and control characters; ``-`` for None."""
    if cell is None:
        return "-"
    text = str(cell)
    return text if text.isprintable() else shown(" ".join(text.split()))


def shown(line: str) -> str:
    """A line in which what would turn a terminal's text around, or change its colours, is shown as
    what it is."""
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
    """A title and a list of lines, by which an object shows itself in a notebook."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<b>{escape(title)}</b><ul>{items}</ul>"


def html_table(title: str, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A title and a table of texts, likewise."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headers)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f"<b>{escape(title)}</b><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a text begins that a spreadsheet evaluates."""


def quoted(value: object) -> object:
    """A text as a spreadsheet leaves it alone; other values as they are."""
    # One that has the sign already gets another, so that no text comes back as a shorter one.
    return f"'{value}" if isinstance(value, str) and _is_formula(value.lstrip("'")) else value


def unquoted(text: str) -> str:
    """What ``quoted`` was given."""
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
    """A comma-separated text with a header; numbers as Python writes them, which round-trips. With
    a decimal comma, semicolons separate.

    Texts that a spreadsheet would take for a formula get its sign for plain text, ', in front.
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
