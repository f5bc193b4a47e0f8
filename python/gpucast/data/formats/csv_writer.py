"""CSV as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

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


def write(columns: Sequence[str], lines: Iterator[Sequence[object]]) -> str:
    """A comma-separated text with a header; numbers as Python writes them, which round-trips.

    Texts that a spreadsheet would take for a formula get its sign for plain text, ', in front.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([quoted(value) for value in line] for line in lines)
    return stream.getvalue()
