"""CSV as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence


def write(columns: Sequence[str], lines: Iterator[Sequence[object]]) -> str:
    """A comma-separated text with a header; numbers as Python writes them, which round-trips."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    return stream.getvalue()
