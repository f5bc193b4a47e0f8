"""A deviation of ln T that depends on n alone, a stationary process in ln n, from what some sizes
tell of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_LENGTH = 2.75
"""Length of the process in ln n: deviations of sizes a factor of 2 apart have a correlation of
0.93, of a factor of 10, 0.57, of a factor of 100, 0.22."""

_JITTER = 1e-6
"""Relative variance that each told size has for itself, so that near ones do not make a covariance
singular."""


def size_covariance(sizes: Array, sd: float) -> Array:
    """Return the prior covariance, (sizes + 1) x (sizes + 1), of the variables of
    ``size_features``."""
    result = np.eye(sizes.size + 1)
    result[:-1, :-1] = sd**2 * _among(sizes)
    return result


def size_features(n: Array, sizes: Array, sd: float) -> Array:
    """Return the factors by which a deviation at each n depends on its variables, (cells, sizes +
    1): the deviations at told ``sizes``, and a standard normal one for what these leave open, which
    all n share.

    Args:
        sd: standard deviation of the process.
    """
    across = _correlation(n, sizes)
    known = np.linalg.solve(_among(sizes), across.T).T
    left = np.clip(1 - np.einsum("cs,cs->c", known, across), 0.0, 1.0)
    return np.column_stack([known, sd * np.sqrt(left)])


def _among(sizes: Array) -> Array:
    return _correlation(sizes, sizes) + _JITTER * np.eye(sizes.size)


def _correlation(rows: Array, columns: Array) -> Array:
    """Return the correlation of a Matern process with smoothness 3/2."""
    distance = np.sqrt(3) / _LENGTH * np.abs(np.subtract.outer(np.log(rows), np.log(columns)))
    return np.asarray((1 + distance) * np.exp(-distance))
