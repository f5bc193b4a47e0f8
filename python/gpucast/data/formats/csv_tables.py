"""Tables of steps and transfers as CSV, as ``data export`` writes and ``import`` reads them.

``gpucast.data.formats.tables`` reads them; this module recognizes and writes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpucast.data.dataset import Dataset
from gpucast.data.formats import (
    BinaryFormat,
    Format,
    Imported,
    Options,
    check_single_kind,
    check_single_machine,
    tables,
)  # fmt: skip
from gpucast.data.formats.tables.columns import kind_of, seems_header
from gpucast.data.formats.tables.grid import Grid, from_parquet, from_text, from_workbook, header
from gpucast.data.records import Transfer
from gpucast.errors import InputError
from gpucast.util.tables import csv_text

STEPS = ("path", "schedule", "kernel", "n", "gpus", "repeat", "seconds")
STATED = ("program", "case", "unit", "nodes", "ranks", "timestep")
"""Columns that are written if a step states them."""
TRANSFERS = ("path", "memory", "route", "bytes", "seconds")


def detect_steps(text: str) -> bool:
    """Return whether a text has a header of steps."""
    return kind_of(header(text, seems_header())) == "steps"


def detect_transfers(text: str) -> bool:
    """Return whether a text has a header with ``bytes`` or ``route``."""
    return kind_of(header(text, seems_header())) == "transfers"


def read_steps(text: str, file: str, options: Options) -> Imported:
    """Read step records, one for each cell, in order of their first rows. Raises InputError."""
    return tables.steps.read(_grid(text, file, options), options)


def read_transfers(text: str, file: str, options: Options) -> Imported:
    """Read transfer records: by the copy engine, alone, valid. Raises InputError."""
    return tables.transfers.read(_grid(text, file, options), options)


def _grid(text: str, file: str, options: Options) -> Grid:
    return from_text(text, file, seems_header(options.columns))


def write_steps(data: Dataset) -> str:
    """Return the steps of a dataset as CSV, a row for each sample, numbered from 1 in each cell.

    Raises:
        InputError: there are no steps, or steps of several machines or kinds, which would be
            merged.
    """
    check_single_machine(data, data.steps, "step")
    check_single_kind(data, but=STATED)
    stated = [name for name in STATED if any(getattr(step, name) for step in data.steps)]

    def lines() -> Iterator[tuple[object, ...]]:
        counts: Counter[tuple[object, ...]] = Counter()
        for step in data.steps:
            cell = (step.path, step.schedule, step.kernel, step.n, step.gpus)
            more = tuple(getattr(step, name) for name in stated)
            for seconds in step.seconds:
                counts[cell, more] += 1
                yield (*cell, counts[cell, more], repr(seconds), *more)

    return csv_text((*STEPS, *stated), lines())


def write_transfers(data: Dataset) -> str:
    """Return the transfers that this CSV can express: valid ones, by the copy engine, alone.

    Raises:
        InputError: there are none, or they are of several machines.
    """
    transfers = expressible(data)
    if data.transfers and not transfers:
        raise InputError(
            "all transfers are concurrent, invalid or made by kernels: CSV cannot express them",
            file=data.name,
        )
    check_single_machine(data, transfers, "transfer")
    lines = (
        (*(getattr(transfer, name) for name in TRANSFERS[:-1]), repr(seconds))
        for transfer in transfers
        for seconds in transfer.seconds
    )
    return csv_text(TRANSFERS, lines)


def expressible(data: Dataset) -> list[Transfer]:
    """Return the transfers that ``write_transfers`` writes."""
    return [
        transfer
        for transfer in data.transfers
        if transfer.engine == "copy" and transfer.valid and not transfer.concurrent
    ]


def read_workbook(content: bytes, file: str, options: Options) -> Imported:
    """Read the records of the only sheet with a table, or of ``Options.sheet``. Raises
    InputError."""

    def is_header(names: list[str]) -> bool:
        return kind_of(names, options.columns) is not None

    return tables.read(from_workbook(content, file, is_header, options.sheet), options)


def read_parquet(content: bytes, file: str, options: Options) -> Imported:
    """Read the records of the table. Raises InputError."""
    return tables.read(from_parquet(content, file), options)


FORMATS = (
    Format("csv", "tables (CSV, TSV) of steps: n, gpus, seconds", detect_steps, read_steps,
           write_steps),
    Format("csv-transfers", "tables of transfers: bytes, seconds, route", detect_transfers,
           read_transfers, write_transfers),
    BinaryFormat("xlsx", "Excel workbooks (.xlsx)", b"PK\x03\x04", read_workbook),
    BinaryFormat("parquet", "Parquet files (with pyarrow)", b"PAR1", read_parquet),
)  # fmt: skip
