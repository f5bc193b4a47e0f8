"""Workbooks (.xlsx) and Parquet files (with pyarrow): one table of steps or transfers."""

from __future__ import annotations

from gpucast.data.formats import BinaryFormat, Imported, Options, tables
from gpucast.data.formats.tables.columns import kind_of
from gpucast.data.formats.tables.grid import from_parquet, from_workbook


def read_workbook(content: bytes, file: str, options: Options) -> Imported:
    """The records of the only sheet with a table, or of ``Options.sheet``. Raises InputError."""

    def is_header(names: list[str]) -> bool:
        return kind_of(names, options.columns) is not None

    return tables.read(from_workbook(content, file, is_header, options.sheet), options)


def read_parquet(content: bytes, file: str, options: Options) -> Imported:
    """The records of the table. Raises InputError."""
    return tables.read(from_parquet(content, file), options)


FORMATS = (
    BinaryFormat("xlsx", "Excel workbooks (.xlsx)", b"PK\x03\x04", read_workbook),
    BinaryFormat("parquet", "Parquet files (with pyarrow)", b"PAR1", read_parquet),
)
