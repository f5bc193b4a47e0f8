"""From which n on a condition holds, found for many conditions at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpucast.model.forecaster import SAME_SIZE, Array, grain_of, rounded, spaced

FIRST = 129
"""Sizes looked at first, evenly spaced in the logarithm."""

FURTHER = 17
"""Sizes looked at each time the interval around a crossing is narrowed."""


def from_n_on(holds: Callable[[Array], Array], searches: int, low: float, high: float) -> Array:
    """The smallest n, whole between whole numbers, from which on a condition holds up to ``high``.

    Conditions need not be monotone: it is the n above the *last* size at which it fails. Sizes are
    first looked at on a grid; the gap above its last failure is then looked at on a finer grid, and
    so on down to neighbouring whole numbers. Up to ``FIRST`` whole numbers in all are looked at one
    by one, so that the answer is exact; beyond, failures that lie wholly between two sizes of the
    grid are overlooked.

    Args:
        holds: for sizes of shape (searches, points), one row a search, whether each holds.

    Returns:
        n of each search: ``low`` where it always holds, inf where it fails at ``high``.
    """
    grain = grain_of(low, high)
    sizes = np.tile(_first(low, high, grain), (searches, 1))
    good = np.asarray(holds(sizes), dtype=bool)
    always = good.all(axis=1)
    never = ~good[:, -1]
    below, above = _gap(sizes, good)
    while np.any((above - below > np.maximum(1.01 * grain, SAME_SIZE * above)) & ~always & ~never):
        sizes = rounded(np.linspace(below, above, FURTHER, axis=1), grain)
        sizes[:, 0], sizes[:, -1] = below, above
        good = np.asarray(holds(sizes), dtype=bool)
        good[:, 0], good[:, -1] = False, True
        below, above = _gap(sizes, good)
    return np.where(never, np.inf, np.where(always, low, above))


def _first(low: float, high: float, grain: float) -> Array:
    if grain == 1 and high - low < FIRST:
        return np.arange(low, high + 1)
    return spaced(low, high, FIRST)


def _gap(sizes: Array, good: Array) -> tuple[Array, Array]:
    """The last failure of each row and the size above it."""
    rows = np.arange(sizes.shape[0])
    last = sizes.shape[1] - 1 - np.argmin(good[:, ::-1], axis=1)
    at = np.minimum(last, sizes.shape[1] - 2)
    return sizes[rows, at], sizes[rows, at + 1]
