"""Users' tables: spreadsheets, CSV, data frames."""

from __future__ import annotations

from gpucast.data.formats import Imported, Options
from gpucast.data.formats.tables import steps, transfers
from gpucast.data.formats.tables.columns import kind_of
from gpucast.data.formats.tables.grid import Grid


def read(grid: Grid, options: Options) -> Imported:
    """Read transfers if the columns are those of transfers, otherwise steps. Raises InputError."""
    kind = kind_of(grid.names, options.columns)
    return transfers.read(grid, options) if kind == "transfers" else steps.read(grid, options)
