"""Refuses tables in which some times are in milliseconds and the others in seconds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    """Refuse cells of which some lie about a factor of 1,000 away from all others: cells between
    others, as a law may change at either end, or all sizes of a GPU count.

    Args:
        name: the data's, for the message.

    Raises:
        InputError: some do; it names the farthest cell, or the count.
    """
    if cells.n.size < FEWEST or np.ptp(np.log(cells.seconds)) < np.log(_ALIKE):
        return
    text = _unlike_cells(cells) or _unlike_count(cells)
    if text is not None:
        message = f"{text}; give all times in one unit"
        raise InputError(message, file=name, field="seconds")


def _unlike_cells(cells: Cells) -> str | None:
    away = _from_power_law(cells, np.log(cells.seconds))
    unlike = np.abs(away) > np.log(_ALIKE)
    if 2 * unlike.sum() >= unlike.size or not _is_factor(away[unlike]).all():
        return None
    alike = np.flatnonzero(~unlike)
    if not any(_lies_between(cells, int(at), alike) for at in np.flatnonzero(unlike)):
        return None
    worst = int(np.argmax(np.abs(away)))
    others = int(unlike.sum()) - 1
    relation = "1,000 times" if away[worst] > 0 else "a thousandth of"
    return (
        f"n = {number(float(cells.n[worst]))} on {gpus_in_words(int(cells.gpus[worst]))}"
        f"{f' and {others} other cell(s)' * (others > 0)} took about {relation} what the other "
        f"cells suggest ({duration(float(cells.seconds[worst]))})"
    )


def _lies_between(cells: Cells, at: int, others: NDArray[np.int64]) -> bool:
    """Whether some of the others have less and some have more GPUs for the same n, or a smaller and
    a larger n on as many GPUs."""
    for along, across in ((cells.n, cells.gpus), (cells.gpus, cells.n)):
        apart = along[others][across[others] == across[at]] - along[at]
        if apart.size and apart.min() < 0 < apart.max():
            return True
    return False


def _unlike_count(cells: Cells) -> str | None:
    """Return the GPU count to which the times of several sizes all jump."""
    counts = np.unique(cells.gpus)
    times = [
        dict(zip(cells.n[at].tolist(), np.log(cells.seconds[at]), strict=True))
        for at in (cells.gpus == count for count in counts)
    ]
    for i in range(1, counts.size):
        common = times[i - 1].keys() & times[i].keys()
        jumps = np.array([times[i][n] - times[i - 1][n] for n in common])
        same_way = jumps.size > 1 and abs(np.sign(jumps).sum()) == jumps.size
        if same_way and _is_factor(jumps).all():
            relation = "1,000 times" if jumps[0] > 0 else "a thousandth of"
            return (
                f"all steps on {gpus_in_words(int(counts[i]))} took about {relation} those on "
                f"{int(counts[i - 1])}"
            )
    return None


def _is_factor(ln_ratio: Array) -> NDArray[np.bool_]:
    return np.asarray(np.abs(np.abs(ln_ratio) - np.log(_FACTOR)) < np.log(_NEAR))


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
