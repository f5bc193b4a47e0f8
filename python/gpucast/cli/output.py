"""How commands answer: JSON on stdout, warnings on stderr; plain text, no colours."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence

from gpucast.util.tables import Column, one_line, print_table, shown

EXTRAPOLATED = "* outside the n or GPU counts that were fitted"


MARK = Column("", lambda row: "*" if row["extrapolated"] else "")
"""Marks rows that are extrapolated."""


def print_json(value: object) -> None:
    """Print one JSON object. NaN and infinities are refused: they are no JSON."""
    print(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def say(text: str) -> None:
    """Print lines in which names of data, programs or machines stand."""
    print("\n".join(map(shown, text.split("\n"))))


def print_marked(
    headers: Sequence[str], rows: Iterable[Sequence[object]], marks: Sequence[bool], align: str
) -> None:
    """A table whose last column marks the rows that are extrapolated, and what the mark means."""
    marked = [[*row, "*" if mark else ""] for row, mark in zip(rows, marks, strict=True)]
    print_table([*headers, ""], marked, f"{align}l")
    if any(marks):
        print(EXTRAPOLATED)


def warn(text: str) -> None:
    """Print a warning of one line on stderr."""
    print(f"gpucast: warning: {one_line(text)}", file=sys.stderr)


def note(text: str) -> None:
    """Print a note of one line on stderr."""
    print(f"gpucast: note: {one_line(text)}", file=sys.stderr)
