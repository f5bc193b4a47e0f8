"""Deviations of ln T that depend on n alone: a stationary process in ln n."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_WAVES = np.pi / np.log(1e4) * np.array([1.0, 2.0])
"""Waves per unit of ln n: deviations of sizes a factor of 10 apart have a correlation of 0.57, of a
factor of 100, none."""

SIZE_VARIABLES = 1 + 2 * _WAVES.size
"""Number of variables of ``size_features``."""


def size_features(n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the features of sizes, (cells, ``SIZE_VARIABLES``).

    Their products with independent standard normal variables sum to a stationary process in ln n of
    variance 1.
    """
    phase = np.outer(np.log(n), _WAVES)
    columns = [np.ones((n.size, 1)), np.cos(phase), np.sin(phase)]
    return np.asarray(np.hstack(columns) / np.sqrt(1 + _WAVES.size))
