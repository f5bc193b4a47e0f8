"""Laws of scaling, fitted by least squares with coefficients that are not negative: Amdahl's, the
universal scalability law, a + b n/N, and data-parallel training's a + b n/N + c (N - 1)/N.

The first two are laws for one size; with several sizes, the work is proportional to n. The median
stands for a cell that was timed several times.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import least_squares, nnls

Array = NDArray[np.float64]
Columns = Callable[[Array, Array], list[Array]]
"""The factors of a law's coefficients, by n and GPU count."""
Fit = Callable[[Array, Array], Array]
"""Finds coefficients from columns, scaled to a maximum of 1, and seconds."""


def amdahl(measured: pd.DataFrame, asked: pd.DataFrame) -> pd.DataFrame:
    """T = T1 n (s + (1 - s)/N): a share s of the work is done on one GPU whatever N."""
    return _by_law(lambda n, gpus: [n, n / gpus], logarithmic, measured, asked)


def universal(measured: pd.DataFrame, asked: pd.DataFrame) -> pd.DataFrame:
    """T = T1 n (1 + sigma (N - 1) + kappa N (N - 1))/N (Gunther's universal scalability law)."""
    # T1, T1 sigma and T1 kappa are linear coefficients that must not be negative.
    return _by_law(
        lambda n, gpus: [n / gpus, n * (gpus - 1) / gpus, n * (gpus - 1)],
        logarithmic, measured, asked,
    )  # fmt: skip


def plain(measured: pd.DataFrame, asked: pd.DataFrame) -> pd.DataFrame:
    """T = a + b n/N."""
    return _by_law(lambda n, gpus: [np.ones_like(n), n / gpus], relative, measured, asked)


def ring(measured: pd.DataFrame, asked: pd.DataFrame) -> pd.DataFrame:
    """T = a + b n/N + c (N - 1)/N: gradients are summed by a ring all-reduce among the GPUs."""
    return _by_law(
        lambda n, gpus: [np.ones_like(n), n / gpus, (gpus - 1) / gpus], relative, measured, asked
    )


def _by_law(
    columns: Columns, fit: Fit, measured: pd.DataFrame, asked: pd.DataFrame
) -> pd.DataFrame:
    cells = measured.groupby(["n", "gpus"], as_index=False).seconds.median()
    known, wanted = (
        np.column_stack(columns(table.n.to_numpy(float), table.gpus.to_numpy(float)))
        for table in (cells, asked)
    )
    return asked.assign(seconds=wanted @ fitted(fit, known, cells.seconds.to_numpy()))


def fitted(fit: Fit, columns: Array, seconds: Array) -> Array:
    """Coefficients of columns of any scale; 0 for a column that is zero in all cells (N > 1)."""
    scale = columns.max(axis=0)
    seen = scale > 0
    coefficients = np.zeros(len(scale))
    coefficients[seen] = fit(columns[:, seen] / scale[seen], seconds) / scale[seen]
    return coefficients


def relative(columns: Array, seconds: Array) -> Array:
    """Minimize the squares of relative errors."""
    coefficients, _ = nnls(columns / seconds[:, None], np.ones_like(seconds))
    return np.asarray(coefficients)


def logarithmic(columns: Array, seconds: Array) -> Array:
    """Minimize the squares of errors of log time."""
    start = relative(columns, seconds)
    lowest = 1e-12 * seconds.max()

    def residuals(coefficients: Array) -> Array:
        return np.asarray(np.log(columns @ coefficients / seconds))

    fit = least_squares(
        residuals,
        np.maximum(start, 1e-3 * start.max()),
        bounds=(lowest, np.inf),
        x_scale=float(start.max()),
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    return np.asarray(fit.x)
