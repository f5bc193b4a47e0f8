"""Draws of the times of many cells together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpucast.model.forecaster import Array, outer

DRAWS = 400
"""Draws behind a probability: known to 2.5 % at worst."""

# Draws of so many cells together need a matrix of so many rows; more are interpolated.
_MOST_DRAWN = 600
_SIZES_DRAWN = 25
COUNTS_DRAWN = 24


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
    between = RegularGridInterpolator(axes, grid)(wanted)
    return np.asarray(seconds(n, gpus) * np.exp(between.T), dtype=np.float64)


def shuffled(draws: Array, seed: int) -> Array:
    """The rows in another order: a mixture's come form by form, and beside those of another model
    they would seem to go with it."""
    return draws[np.random.default_rng(seed).permutation(len(draws))]


def nodes_of(values: Array, most: int) -> Array:
    """Logarithms of the values, or of so many evenly spaced between the least and the greatest."""
    logs = np.unique(np.log(values))
    if logs.size == 1:
        return np.array([logs[0], logs[0] + 1.0])
    return logs if logs.size <= most else np.linspace(logs[0], logs[-1], most)
