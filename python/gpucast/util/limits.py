"""How much a file may ask of its reader: all limits, and how the user raises them.

A small file can name more than a machine has: sizes, rows, columns. What it declares is held
against these before it is unpacked or read.
"""

from __future__ import annotations

import math
import os
import zipfile
from dataclasses import dataclass

from gpucast.errors import InputError

VARIABLE = "GPUCAST_LIMITS"
"""Environment variable: how many times as much is read."""


@dataclass(frozen=True)
class Limit:
    """The most of something that one file may have.

    Attributes:
        default: how many, unless the user raises the limits.
        unit: what is counted, in the plural; ``bytes`` are shown as MiB.
    """

    default: int
    unit: str

    @property
    def most(self) -> int:
        """How many are read. Raises InputError where the environment variable is no factor."""
        return int(self.default * _factor())

    def check(
        self,
        count: int,
        file: str | os.PathLike[str],
        *,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        """Raise InputError where there are more."""
        if count > self.most:
            raise self.error(file, line=line, field=field)

    def error(
        self, file: str | os.PathLike[str], *, line: int | None = None, field: str | None = None
    ) -> InputError:
        """What is said of more."""
        shown = f"{self.most >> 20} MiB" if self.unit == "bytes" else f"{self.most} {self.unit}"
        verb = "is larger than" if self.unit == "bytes" else "has more than"
        message = (
            f"{verb} {shown}, which is as much as is read; split it, or thin it out "
            f"({VARIABLE}=2: read twice as much)"
        )
        return InputError(message, file=file, line=line, field=field)


def check_archive(archive: zipfile.ZipFile, file: str | os.PathLike[str]) -> None:
    """Raise InputError where an archive declares more than is read; no file in it yields more."""
    ARCHIVE.check(sum(member.file_size for member in archive.infolist()), file)


def check_json(content: bytes, file: str | os.PathLike[str]) -> None:
    """Raise InputError where a JSON text, or one of lines of JSON, holds more values than are read.

    They are counted before any is made: each takes up to a hundred times its place in the text.
    """
    JSON_VALUES.check(sum(map(content.count, (b",", b"[", b"{"))), file)


def _factor() -> float:
    text = os.environ.get(VARIABLE, "1")
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 1 <= factor <= 1e6:
        raise InputError(f"{text!r} is no number from 1 to 1e6", field=VARIABLE)
    return factor


INPUT = Limit(128 << 20, "bytes")
"""A file that is read as a whole, also once it is decompressed."""

ARCHIVE = Limit(256 << 20, "bytes")
"""The files within a zip archive together, decompressed: of a trace, of a workbook."""

TRACE_TEXT = Limit(512 << 20, "bytes")
"""A trace that is text, decompressed; no more than one event of it is read at once."""

RECORD = Limit(16 << 20, "bytes")
"""A line of records, or a value of a JSON text that is read in pieces."""

TABLE_LINE = Limit(1 << 20, "bytes")
"""A row of a table that is text."""

JSON_VALUES = Limit(4_000_000, "values")
"""Values of a JSON text."""

YAML_VALUES = Limit(200_000, "values")
"""Values of a YAML text, aliases followed."""

RECORDS = Limit(150_000, "records")
"""Lines of a file of records."""

COLUMNS = Limit(1000, "columns")
"""Columns of a table."""

ROWS = Limit(300_000, "lines")
"""Lines of a table, blank ones among them."""

CELLS = Limit(4_000_000, "cells")
"""Rows times columns of a table."""

SHEET_LINES = Limit(4 << 20, "lines")
"""Lines of all sheets of a workbook, blank ones among them: one may stand far below others."""

XML_TAGS = Limit(1_000_000, "XML tags")
"""Tags of all files of a workbook: some four a cell."""

EVENTS = Limit(400_000, "events")
"""Calls, work, waits and ranges of a trace that another program wrote, all together."""

TEXTS = Limit(64 << 20, "bytes")
"""Names in an sqlite export, all together."""

PROCESSES = Limit(1000, "processes")
"""Processes in a trace."""
