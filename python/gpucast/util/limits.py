"""All limits on the contents of files, which the user can raise.

A small file can declare sizes, rows or columns that exceed a machine's memory. Declarations are
checked against these limits before the file is unpacked or read.
"""

from __future__ import annotations

import math
import os
import zipfile
from dataclasses import dataclass

from gpucast.errors import InputError

VARIABLE = "GPUCAST_LIMITS"
"""Environment variable with a factor on all limits."""


@dataclass(frozen=True)
class Limit:
    """The largest number of something in one file.

    Attributes:
        default: the limit, unless the user raises it.
        unit: the things counted, in the plural; ``bytes`` are shown as MiB.
    """

    default: int
    unit: str

    @property
    def most(self) -> int:
        """The limit. Raises InputError if the environment variable is not a factor."""
        return int(self.default * _factor())

    def check(
        self,
        count: int,
        file: str | os.PathLike[str],
        *,
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        """Raise InputError if the count exceeds the limit."""
        if count > self.most:
            raise self.error(file, line=line, field=field)

    def error(
        self, file: str | os.PathLike[str], *, line: int | None = None, field: str | None = None
    ) -> InputError:
        """Return the error of exceeding the limit."""
        shown = f"{self.most >> 20} MiB" if self.unit == "bytes" else f"{self.most} {self.unit}"
        verb = "is larger than" if self.unit == "bytes" else "has more than"
        message = (
            f"{verb} {shown}, which is as much as is read; split it, or thin it out "
            f"({VARIABLE}=2: read twice as much)"
        )
        return InputError(message, file=file, line=line, field=field)


def check_archive(archive: zipfile.ZipFile, file: str | os.PathLike[str]) -> None:
    """Raise InputError if an archive declares too much; its files never yield more than
    declared."""
    ARCHIVE.check(sum(member.file_size for member in archive.infolist()), file)


def check_json(content: bytes, file: str | os.PathLike[str]) -> None:
    """Raise InputError if a text of JSON or of JSON lines has too many values.

    They are counted before parsing, because a value may need a hundred times the memory of its
    text.
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
"""A file that is read as a whole, compressed or decompressed."""

ARCHIVE = Limit(256 << 20, "bytes")
"""All decompressed files of a zip archive (trace or workbook)."""

TRACE_TEXT = Limit(512 << 20, "bytes")
"""A decompressed text trace, whose events are read one at a time."""

RECORD = Limit(16 << 20, "bytes")
"""A line of records, or a value of a JSON text that is read piecewise."""

TABLE_LINE = Limit(1 << 20, "bytes")
"""A row of a text table."""

JSON_VALUES = Limit(4_000_000, "values")
"""Values of a JSON text."""

YAML_VALUES = Limit(200_000, "values")
"""Values of a YAML text, with aliases expanded."""

RECORDS = Limit(150_000, "records")
"""Lines of a file of records."""

COLUMNS = Limit(1000, "columns")
"""Columns of a table."""

ROWS = Limit(300_000, "lines")
"""Lines of a table, including blank ones."""

CELLS = Limit(4_000_000, "cells")
"""Rows times columns of a table."""

SHEET_LINES = Limit(4 << 20, "lines")
"""Lines of all sheets of a workbook, including blank ones between distant cells."""

XML_TAGS = Limit(1_000_000, "XML tags")
"""Tags of all files of a workbook, about four per cell."""

EVENTS = Limit(400_000, "events")
"""Calls, work, waits and ranges together of a trace that another program wrote."""

TEXTS = Limit(64 << 20, "bytes")
"""All names in an sqlite export."""

PROCESSES = Limit(1000, "processes")
"""Processes in a trace."""
