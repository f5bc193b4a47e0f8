"""Times of many cells together, of which few are worked out and the rest interpolated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpucast.model.asked import outer
from gpucast.model.intervals import Array

DRAWS = 400
"""Draws behind a probability: known to 2.5 % at worst."""

# The most cells drawn together, which takes a matrix of as many rows; more are interpolated.
_MOST_DRAWN = 600
_SIZES_DRAWN = 25
COUNTS_DRAWN = 24

TOLERANCE = 1e-3
"""What is interpolated is off by no more (in the values' own unit)."""

# How far a point in the middle may lie from the line between its neighbours. What is interpolated
# on either side of it is off by a quarter of that where the curve bends evenly, and by twice that
# at most where it bends one way.
_BENT = TOLERANCE / 2

_FIRST = 33


def joint_draws(
    drawn: Callable[[Array, Array], Array],
    seconds: Callable[[Array, Array], Array],
    n: Array,
    gpus: Array,
) -> Array:
    """Draws of cells, a row a draw: where these are too many to be drawn together, the ratios of
    draws to the model's own times are interpolated between sizes and counts on a grid, in the
    logarithm of both.

    Args:
        drawn: draws (s) of some cells together.
        seconds: the model's own times of some cells.
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
    """The rows in another order: a mixture's come form by form, and beside those of another model
    they would seem to go with it."""
    return draws[np.random.default_rng(seed).permutation(len(draws))]


def nodes_of(values: Array, most: int) -> Array:
    """Logarithms of the values, or ``most`` evenly spaced from the least to the greatest."""
    logs = np.unique(np.log(values))
    if logs.size == 1:
        return np.array([logs[0], logs[0] + 1.0])
    return logs if logs.size <= most else np.linspace(logs[0], logs[-1], most)


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
