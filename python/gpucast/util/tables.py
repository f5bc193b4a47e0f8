"""Tables of plain text: aligned columns below a header and a rule."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence


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
    sides = align or "".join(_side(rows, column) for column in range(len(headers)))
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
        if unicodedata.combining(each) or unicodedata.category(each) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(each) in "WF"
        else 1
        for each in text
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
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in line
    )


def _side(rows: Sequence[Sequence[object]], column: int) -> str:
    values = [row[column] for row in rows if row[column] is not None]
    return "r" if values and all(isinstance(value, (int, float)) for value in values) else "l"


def _padded(text: str, size: int, side: str) -> str:
    gap = " " * (size - width(text))
    return gap + text if side == "r" else text + gap
