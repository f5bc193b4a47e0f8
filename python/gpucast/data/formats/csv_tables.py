"""Tables of steps and transfers as CSV, as ``data export`` writes and ``import`` reads them.

``gpucast.data.formats.tables`` reads them; this module recognizes and writes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from gpucast.data.dataset import Dataset
from gpucast.data.formats import (
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
    by_copies = [transfer for transfer in data.transfers if transfer.engine == "copy"]
    return [transfer for transfer in by_copies if transfer.valid and not transfer.concurrent]


def _csv(
    name: str,
    what: str,
    kind: str,
    read: Callable[[Grid, Options], Imported],
    write: Callable[[Dataset], str],
) -> Format:
    """Return the format of texts with a table of this kind, recognized by its header."""
    return Format(
        name,
        what,
        lambda text: kind_of(header(text, seems_header())) == kind,
        lambda text, file, options: read(
            from_text(text, file, seems_header(options.columns)), options
        ),
        write,
    )


def _read_workbook(content: bytes, file: str, options: Options) -> Imported:
    """Read the only sheet with a table, or ``Options.sheet``."""
    grid = from_workbook(
        content, file, lambda names: kind_of(names, options.columns) is not None, options.sheet
    )
    return tables.read(grid, options)


FORMATS = (
    _csv("csv", "tables (CSV, TSV) of steps: n, gpus, seconds", "steps", tables.steps.read,
         write_steps),
    _csv("csv-transfers", "tables of transfers: bytes, seconds, route", "transfers",
         tables.read_transfers, write_transfers),
    Format("xlsx", "Excel workbooks (.xlsx)", lambda content: content.startswith(b"PK\x03\x04"),
           _read_workbook, binary=True),
    Format("parquet", "Parquet files (with pyarrow)", lambda content: content.startswith(b"PAR1"),
           lambda content, file, options: tables.read(from_parquet(content, file), options),
           binary=True),
)  # fmt: skip
