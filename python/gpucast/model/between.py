"""Values of a curve at many points, of which few are asked for and the rest lie between."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TOLERANCE = 1e-3
"""What is interpolated is off by no more (in the values' own unit)."""

# So far a point in the middle may lie from the line between its neighbours. What is interpolated on
# either side of it is off by a quarter of that where the curve bends evenly, and by twice that at
# most where it bends one way.
_BENT = TOLERANCE / 2

_FIRST = 33


def between(of: Callable[[Array], Array], points: Array, exact: NDArray[np.bool_]) -> Array:
    """Values at all points, asked for only where the curve bends.

    Args:
        of: values at some of the points.
        points: in rising order.
        exact: those to be asked for in any case: next to them the curve may jump.
    """
    known = exact.copy()
    known[np.linspace(0, points.size - 1, _FIRST).round().astype(np.intp)] = True
    values = np.full(points.size, np.nan)
    values[known] = of(points[known])
    at = np.flatnonzero(known)
    low, high = at[:-1], at[1:]
    while True:
        wide = high - low > 1
        low, high = low[wide], high[wide]
        if not low.size:
            break
        # In the middle of the points' own unit: far from it, a curve that bends near one end alone
        # would look straight.
        centre = np.searchsorted(points, (points[low] + points[high]) / 2)
        middle = np.clip(centre, low + 1, high - 1)
        share = (points[middle] - points[low]) / (points[high] - points[low])
        line = values[low] + share * (values[high] - values[low])
        values[middle] = of(points[middle])
        bent = np.abs(values[middle] - line) > _BENT
        low, middle, high = low[bent], middle[bent], high[bent]
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    there = ~np.isnan(values)
    return np.asarray(np.interp(points, points[there], values[there]), dtype=np.float64)
