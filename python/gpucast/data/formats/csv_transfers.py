"""Transfers as CSV ``bytes,seconds,route``: what ``data export --format csv-transfers`` writes.

``gpucast.data.formats.tables`` reads; here is what a text is known by, and the way back.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpucast.data.dataset import Dataset
from gpucast.data.formats import Format, Imported, Options, csv_writer, tables
from gpucast.data.formats.single_machine import check_single_machine
from gpucast.data.formats.tables.columns import kind_of, seems_header
from gpucast.data.formats.tables.grid import from_text, header
from gpucast.data.records import Transfer
from gpucast.errors import InputError

WRITTEN = ("path", "memory", "route", "bytes", "seconds")


def detect(text: str) -> bool:
    """Whether there is a header with ``bytes`` or ``route``."""
    return kind_of(header(text, seems_header())) == "transfers"


def read(text: str, file: str, options: Options) -> Imported:
    """Transfer records: copy engine, alone, valid. Raises InputError."""
    return tables.transfers.read(from_text(text, file, seems_header(options.columns)), options)


def write(data: Dataset) -> str:
    """The transfers that this CSV can express: valid ones, by the copy engine, alone.

    Raises:
        InputError: there are none, or they are of several machines.
    """
    transfers = expressible(data)
    if data.transfers and not transfers:
        raise InputError(
            "all transfers are concurrent, invalid or made by kernels, which this CSV cannot say",
            file=data.name,
        )
    check_single_machine(data, transfers, "transfer")

    def lines() -> Iterator[tuple[object, ...]]:
        for transfer in transfers:
            for seconds in transfer.seconds:
                yield (
                    transfer.path,
                    transfer.memory,
                    transfer.route,
                    transfer.bytes,
                    repr(seconds),
                )

    return csv_writer.write(WRITTEN, lines())


def expressible(data: Dataset) -> list[Transfer]:
    """The transfers that ``write`` writes."""
    return [
        transfer
        for transfer in data.transfers
        if transfer.engine == "copy" and transfer.valid and not transfer.concurrent
    ]


FORMATS = (
    Format("csv-transfers", "tables of transfers: bytes, seconds, route", detect, read, write),
)
