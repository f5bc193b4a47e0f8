"""Parquet files: a table of steps or transfers. Reading them needs pyarrow."""

from __future__ import annotations

from gpucast.data.formats import BinaryFormat, Imported, Options, tables
from gpucast.data.formats.tables.grid import from_parquet


def read(content: bytes, file: str, options: Options) -> Imported:
    """The records of the table. Raises InputError."""
    return tables.read(from_parquet(content, file), options)


FORMATS = (BinaryFormat("parquet", "Parquet files (with pyarrow)", b"PAR1", read),)
