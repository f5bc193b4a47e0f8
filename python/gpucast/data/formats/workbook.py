"""Workbooks of spreadsheet programs (.xlsx): one table of steps or transfers."""

from __future__ import annotations

from gpucast.data.formats import BinaryFormat, Imported, Options, tables
from gpucast.data.formats.tables.columns import kind_of
from gpucast.data.formats.tables.grid import from_workbook


def read(content: bytes, file: str, options: Options) -> Imported:
    """The records of the only sheet with a table, or of ``Options.sheet``. Raises InputError."""

    def is_header(names: list[str]) -> bool:
        return kind_of(names, options.columns) is not None

    return tables.read(from_workbook(content, file, is_header, options.sheet), options)


FORMATS = (BinaryFormat("xlsx", "Excel workbooks (.xlsx)", b"PK\x03\x04", read),)
