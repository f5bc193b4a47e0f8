"""Transfer times a user brings: CSV ``bytes,seconds,route`` (optional ``path,memory``).

Rows that agree in everything but seconds become one record with several samples.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpucast.data.dataset import Dataset
from gpucast.data.formats import Format, Imported, Options, csv_table
from gpucast.data.formats.single_machine import check_single_machine
from gpucast.data.records import Transfer
from gpucast.errors import InputError

REQUIRED = ("bytes", "seconds", "route")
OPTIONAL = ("path", "memory")
WRITTEN = ("path", "memory", "route", "bytes", "seconds")

ENDS = {
    "h2d": ("host", "gpu0"),
    "d2h": ("gpu0", "host"),
    "peer": ("gpu0", "gpu1"),
    "staged": ("gpu0", "gpu1"),
    "local": ("gpu0", "gpu0"),
    "net": ("node0", "node1"),
}
"""Where a copy of each route starts and ends; the CSV does not name GPUs or nodes."""


def detect(text: str) -> bool:
    """Whether the first line is a header with ``bytes`` or ``route``."""
    return not {"bytes", "route"}.isdisjoint(csv_table.header(text))


def read(text: str, file: str, options: Options) -> Imported:
    """Transfer records: copy engine, alone, valid. Raises InputError."""

    def cell(row: csv_table.Row) -> dict[str, object]:
        route = row.text("route", "").lower()
        if route not in ENDS:
            problem = f"{route!r} is unknown" if route else "missing"
            raise row.error("route", f"{problem}; it is one of {', '.join(ENDS)}")
        start, end = ENDS[route]
        return {
            "kind": "transfer",
            "path": row.text("path", options.path),
            "memory": row.text("memory", "unknown").lower(),
            "engine": "copy",
            "route": route,
            "from": start,
            "to": end,
            "bytes": row.integer("bytes"),
            "concurrent": [],
            "valid": True,
        }

    table = csv_table.rows(text, file, REQUIRED, OPTIONAL)
    return Imported(csv_table.cells(table, options, cell))


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

    return csv_table.write(WRITTEN, lines())


def expressible(data: Dataset) -> list[Transfer]:
    """The transfers that ``write`` writes."""
    return [
        transfer
        for transfer in data.transfers
        if transfer.engine == "copy" and transfer.valid and not transfer.concurrent
    ]


FORMATS = (Format("csv-transfers", "CSV bytes,seconds,route", detect, read, write),)
