"""Joint forecasts of many cells: a few are computed and the others interpolated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpucast.model.asked import outer
from gpucast.model.intervals import Array

DRAWS = 400
"""Number of draws for a probability, whose standard error is then at most 2.5 %."""

# Most cells that are drawn jointly, which needs a matrix with as many rows; more are interpolated.
_MOST_DRAWN = 600
_SIZES_DRAWN = 25
COUNTS_DRAWN = 24

TOLERANCE = 1e-3
"""Largest error of interpolation (in the values' own unit)."""

# Largest distance of a middle point from the line between its neighbours. Interpolation on either
# side of it is off by a quarter of that for a constant curvature, and by at most twice that for a
# curvature of constant sign.
_BENT = TOLERANCE / 2

_FIRST = 33


def joint_draws(
    drawn: Callable[[Array, Array], Array],
    seconds: Callable[[Array, Array], Array],
    n: Array,
    gpus: Array,
) -> Array:
    """Return draws of cells, one row per draw. If there are too many cells to draw jointly, the
    ratios of draws to the model's own times are interpolated on a grid of sizes and counts, in the
    logarithm of both.

    Args:
        drawn: draws cells jointly (s).
        seconds: returns the model's own times of cells (s).
    """
    if n.size <= _MOST_DRAWN:
        return drawn(n, gpus)
    from scipy.interpolate import RegularGridInterpolator

    axes = [nodes_of(n, _SIZES_DRAWN), nodes_of(gpus, COUNTS_DRAWN)]
    at = outer(*(np.exp(axis) for axis in axes))
    ratio = np.log(drawn(*at) / seconds(*at))
    grid = ratio.T.reshape(axes[0].size, axes[1].size, -1)
    wanted = np.column_stack([np.log(n), np.log(gpus)])
    log_ratio = RegularGridInterpolator(axes, grid)(wanted)
    return np.asarray(seconds(n, gpus) * np.exp(log_ratio.T), dtype=np.float64)


def shuffled(draws: Array, seed: int) -> Array:
    """Shuffle the rows: a mixture's draws come form by form, which would correlate them with
    another model's."""
    return draws[np.random.default_rng(seed).permutation(len(draws))]


def nodes_of(values: Array, most: int) -> Array:
    """Return the logarithms of the values, or ``most`` evenly spaced ones over their range."""
    logs = np.unique(np.log(values))
    if logs.size == 1:
        return np.array([logs[0], logs[0] + 1.0])
    return logs if logs.size <= most else np.linspace(logs[0], logs[-1], most)


def between(value_at: Callable[[Array], Array], points: Array, exact: NDArray[np.bool_]) -> Array:
    """Return values at all points, computing them only where the curve bends.

    Args:
        value_at: computes values at points.
        points: in ascending order.
        exact: points that are always computed, because the curve may jump next to them.
    """
    known = exact.copy()
    known[np.linspace(0, points.size - 1, _FIRST).round().astype(np.intp)] = True
    values = np.full(points.size, np.nan)
    values[known] = value_at(points[known])
    at = np.flatnonzero(known)
    low, high = at[:-1], at[1:]
    while True:
        wide = high - low > 1
        low, high = low[wide], high[wide]
        if not low.size:
            break
        # Take the middle in the points' own unit; otherwise a curve that bends only near one end
        # would look straight.
        centre = np.searchsorted(points, (points[low] + points[high]) / 2)
        middle = np.clip(centre, low + 1, high - 1)
        share = (points[middle] - points[low]) / (points[high] - points[low])
        line = values[low] + share * (values[high] - values[low])
        values[middle] = value_at(points[middle])
        bent = np.abs(values[middle] - line) > _BENT
        low, middle, high = low[bent], middle[bent], high[bent]
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    computed = ~np.isnan(values)
    return np.asarray(np.interp(points, points[computed], values[computed]), dtype=np.float64)
