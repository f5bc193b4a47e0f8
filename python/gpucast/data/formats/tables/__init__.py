"""Tables that users bring: spreadsheets, CSV, data frames. Columns by name, numbers as written."""

from __future__ import annotations

from gpucast.data.formats import Imported, Options
from gpucast.data.formats.tables import steps, transfers
from gpucast.data.formats.tables.columns import kind_of
from gpucast.data.formats.tables.grid import Grid


def read(grid: Grid, options: Options) -> Imported:
    """The records of a table: transfers where its columns say so, else steps. Raises InputError."""
    kind = kind_of(grid.names, options.columns)
    return transfers.read(grid, options) if kind == "transfers" else steps.read(grid, options)
