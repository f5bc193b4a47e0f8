"""How commands answer: tables and JSON on stdout, warnings on stderr; plain text, no colours."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gpucast.quantities import duration as seconds

if TYPE_CHECKING:
    from gpucast.models import Model

__all__ = [
    "EXTRAPOLATED",
    "print_json",
    "print_table",
    "seconds",
    "size",
    "table",
    "warn",
    "warn_of",
    "width",
]

EXTRAPOLATED = "* outside the n or GPU counts that were fitted"


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
    cells = [[_text(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(width(row[column]) for row in cells) for column in range(len(headers))]
    lines = [
        "  ".join(
            _padded(cell, size, side) for cell, size, side in zip(row, widths, sides, strict=True)
        ).rstrip()
        for row in cells
    ]
    lines.insert(1, "  ".join("-" * size for size in widths))
    return "\n".join(lines)


def print_json(value: object) -> None:
    """Print one JSON object. NaN and infinities are refused: they are no JSON."""
    print(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def warn(text: str) -> None:
    """Print a warning of one line on stderr."""
    print(f"gpucast: warning: {_text(text)}", file=sys.stderr)


def warn_of(model: Model) -> None:
    """What the fit of a model warned of, on one line."""
    if model.warnings:
        warn(f"model {model.name}: {'; '.join(model.warnings)}")


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


def size(value: int) -> str:
    """A number of bytes for people, binary units where it is a round number of them."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if value >= 2**power and value % 2**power == 0:
            return f"{value // 2**power} {unit}"
    return f"{value} B"


def _text(cell: object) -> str:
    if cell is None:
        return "-"
    text = str(cell)
    return text if text.isprintable() else " ".join(text.split())


def _side(rows: Sequence[Sequence[object]], column: int) -> str:
    values = [row[column] for row in rows if row[column] is not None]
    return "r" if values and all(isinstance(value, (int, float)) for value in values) else "l"


def _padded(text: str, size: int, side: str) -> str:
    gap = " " * (size - width(text))
    return gap + text if side == "r" else text + gap
