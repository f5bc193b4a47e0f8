"""Other ways to forecast the same cells: Amdahl's law, the universal scalability law, a + b n/N.

Each takes sizes, GPU counts and seconds of the training cells and the sizes and counts to forecast.
The first two are laws of one size; where there are several, their work is in proportion to n.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares, nnls

Array = NDArray[np.float64]
Columns = Callable[[Array, Array], Array]
Method = Callable[[Array, Array, Array, Array, Array], Array]


def amdahl(n: Array, gpus: Array, seconds: Array, at_n: Array, at_gpus: Array) -> Array:
    """T = T1 n (s + (1 - s)/N): a share s of the work is done on one GPU whatever N."""
    return _logarithmic(_amdahl, n, gpus, seconds, at_n, at_gpus)


def universal(n: Array, gpus: Array, seconds: Array, at_n: Array, at_gpus: Array) -> Array:
    """T = T1 n (1 + sigma (N - 1) + kappa N (N - 1))/N (Gunther's universal scalability law)."""
    return _logarithmic(_universal, n, gpus, seconds, at_n, at_gpus)


def plain(n: Array, gpus: Array, seconds: Array, at_n: Array, at_gpus: Array) -> Array:
    """T = a + b n/N, a and b not negative, least squares of relative errors."""
    columns, scale = _scaled(_shared(n, gpus))
    coefficients, _ = nnls(columns / seconds[:, None], np.ones_like(seconds))
    forecast: Array = _shared(at_n, at_gpus) / scale @ coefficients
    return forecast


def _amdahl(n: Array, gpus: Array) -> Array:
    return np.stack([n, n / gpus], axis=1)


def _universal(n: Array, gpus: Array) -> Array:
    # Multiplied out, sigma and kappa times T1 are coefficients that only must not be negative.
    return np.stack([n / gpus, n * (gpus - 1) / gpus, n * (gpus - 1)], axis=1)


def _shared(n: Array, gpus: Array) -> Array:
    return np.stack([np.ones_like(n), n / gpus], axis=1)


def _logarithmic(
    form: Columns, n: Array, gpus: Array, seconds: Array, at_n: Array, at_gpus: Array
) -> Array:
    """Least squares of log time over coefficients that are not negative."""
    columns, scale = _scaled(form(n, gpus))
    # What the training cells do not have (N > 1) is forecast not to be.
    seen = columns.any(axis=0)
    columns = columns[:, seen]
    start, _ = nnls(columns / seconds[:, None], np.ones_like(seconds))
    lowest = 1e-12 * seconds.max()

    def residuals(coefficients: Array) -> Array:
        residual: Array = np.log(columns @ coefficients / seconds)
        return residual

    fit = least_squares(
        residuals,
        np.maximum(start, 1e-3 * start.max()),
        bounds=(lowest, np.inf),
        x_scale=float(start.max()),
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    forecast: Array = (form(at_n, at_gpus) / scale)[:, seen] @ fit.x
    return forecast


def _scaled(columns: Array) -> tuple[Array, Array]:
    scale = np.where((largest := columns.max(axis=0)) > 0, largest, 1.0)
    return columns / scale, scale
