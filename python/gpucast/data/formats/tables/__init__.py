"""Users' tables: spreadsheets, CSV, data frames.

A table has steps (``steps``) or transfers: ``bytes,seconds,route``, optional ``path``, ``memory``.
"""

from __future__ import annotations

from gpucast.data.formats import Imported, Options
from gpucast.data.formats.tables import steps
from gpucast.data.formats.tables.columns import TIME, kind_of, resolve
from gpucast.data.formats.tables.grid import Grid
from gpucast.data.formats.tables.rows import Row, gathered, notes_of, rows

REQUIRED = ("bytes", TIME, "route")
OPTIONAL = ("path", "memory", "machine")

ENDS = {
    "h2d": ("host", "gpu0"),
    "d2h": ("gpu0", "host"),
    "peer": ("gpu0", "gpu1"),
    "staged": ("gpu0", "gpu1"),
    "local": ("gpu0", "gpu0"),
    "net": ("node0", "node1"),
}
"""Start and end of a copy on each route; the table does not name GPUs or nodes."""


def read(grid: Grid, options: Options) -> Imported:
    """Read transfers if the columns are those of transfers, otherwise steps. Raises InputError."""
    kind = kind_of(grid.names, options.columns)
    return read_transfers(grid, options) if kind == "transfers" else steps.read(grid, options)


def read_transfers(grid: Grid, options: Options) -> Imported:
    """Read transfer records: by the copy engine, alone, valid; rows that differ only in seconds
    become one record with several samples. Raises InputError."""
    columns = resolve(grid, options.columns)
    for role in REQUIRED:
        if role not in columns.by_role:
            raise grid.error(
                f"column {role!r} is missing (required: {', '.join(REQUIRED)}; "
                f"optional: {', '.join(OPTIONAL)})"
            )
    unit = columns.by_role[TIME].unit
    assert unit is not None  # a column of times has one
    if unit.rank > 1:
        raise grid.error(
            f"{columns.by_role[TIME].name!r} is not a time of a transfer; give seconds, ms or us"
        )

    def cell(row: Row) -> dict[str, object]:
        route = (row.text("route") or "").lower()
        if route not in ENDS:
            problem = f"{route!r} is unknown" if route else "missing"
            raise row.error("route", f"{problem}; it is one of {', '.join(ENDS)}")
        start, end = ENDS[route]
        return {
            "kind": "transfer",
            "path": row.text("path") or options.path,
            "memory": (row.text("memory") or "unknown").lower(),
            "engine": "copy",
            "route": route,
            "from": start,
            "to": end,
            "bytes": row.integer("bytes"),
            "concurrent": [],
            "valid": True,
        }

    table = rows(grid, columns, options.decimal)

    def seconds(row: Row) -> float:
        own = row.time(TIME)
        return unit.seconds(row.positive(TIME), 0.0, 0.0) if own is None else own

    entries, _, _ = gathered(table, options, cell, seconds)
    return Imported(entries, notes=notes_of(columns, 0, {*REQUIRED, *OPTIONAL}))
