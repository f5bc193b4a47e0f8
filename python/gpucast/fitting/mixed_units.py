"""Refuses tables in which some times are in milliseconds and the others in seconds."""

from __future__ import annotations

import numpy as np

from gpucast.errors import InputError
from gpucast.fitting.cells import Array, Cells
from gpucast.util.units import duration, gpus_in_words, number

FEWEST = 5
"""Fewer cells than this do not show which of them are unlike."""

_FACTOR = 1000.0

_ALIKE = 30.0
"""Cells of one unit are within this factor of a power law in n and N (16 in published tables)."""

_NEAR = 5.0
"""Cells of another unit are within this factor of _FACTOR away from it."""


def require_one_unit(cells: Cells, name: str) -> None:
    """Refuse cells of which some lie about a factor of 1,000 away from all others.

    Args:
        name: the data's, for the message.

    Raises:
        InputError: some do; it names the farthest.
    """
    log_seconds = np.log(cells.seconds)
    if cells.n.size < FEWEST or np.ptp(log_seconds) < np.log(_ALIKE):
        return
    away = _from_power_law(cells, log_seconds)
    unlike = np.abs(away) > np.log(_ALIKE)
    if not unlike.any() or 2 * unlike.sum() >= unlike.size:
        return
    if (np.abs(np.abs(away[unlike]) - np.log(_FACTOR)) > np.log(_NEAR)).any():
        return
    worst = int(np.argmax(np.abs(away)))
    others = int(unlike.sum()) - 1
    relation = "1,000 times" if away[worst] > 0 else "a thousandth of"
    raise InputError(
        f"n = {number(float(cells.n[worst]))} on {gpus_in_words(int(cells.gpus[worst]))}"
        f"{f' and {others} other cell(s)' * (others > 0)} took about {relation} what the other "
        f"cells suggest ({duration(float(cells.seconds[worst]))}); give all times in one unit",
        file=name,
        field="seconds",
    )


def _from_power_law(cells: Cells, log_seconds: Array) -> Array:
    """Return how far ln T of each cell is from a power law in n and N with the least sum of
    absolute deviations, which a minority of cells hardly moves."""
    from scipy.optimize import linprog

    count = log_seconds.size
    columns = np.column_stack([np.ones(count), np.log(cells.n), np.log(cells.gpus)])
    # Unknowns: the law's three, which may be negative, then deviations upwards and downwards.
    law = linprog(
        np.repeat([0.0, 1.0], [3, 2 * count]),
        A_eq=np.hstack([columns, np.eye(count), -np.eye(count)]),
        b_eq=log_seconds,
        bounds=[(None, None)] * 3 + [(0, None)] * (2 * count),
    )
    return np.asarray(log_seconds - columns @ np.asarray(law.x)[:3])
