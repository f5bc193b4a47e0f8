"""Other models of the same cells: Extra-P, and the paper's form fitted with scipy.

Both are trained on the same steps as gpucast; neither can use transfers or launches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from forecasting.answers import KEY
from forecasting.questions import Measured, marked, restricted, splits_of
from gpucast.data.selection import StepSelection
from gpucast.fitting.selection import problem_of
from lab.forecasters.asking import answers
from lab.forecasters.rivals import OF_SAMPLES
from lab.forecasters.rivals.laws import fitted, logarithmic
from lab.forecasters.series import samples_of

Array = NDArray[np.float64]

RIVALS = ["extrap", "scipy"]


def rivals_of(measured: Measured, name: str, group: StepSelection) -> pd.DataFrame:
    """The rivals' forecasts of one group's cells, s, for each split: KEY, RIVALS; NaN: none."""
    cells, training = measured.cells(group), measured.training(group)
    known = splits_of(cells)
    wanted = cells[["n", "gpus"]]
    questions = [(samples_of(restricted(training, kept).steps), wanted) for kept in known.values()]
    ways = [answers(way, questions) for way in OF_SAMPLES if way.available()]
    problem = problem_of(training, group)
    tables = [pd.DataFrame(columns=KEY + RIVALS)]
    for i, (split, kept) in enumerate(known.items()):
        own = marked(cells, kept)
        extrap = nearest([replies[i].seconds.to_numpy() for replies in ways], own)
        scipy = paper_by_scipy(own, problem.cores, problem.largest_k)
        tables.append(own.assign(group=name, split=split, extrap=extrap, scipy=scipy))
    return pd.concat(tables[1:] or tables)[KEY + RIVALS]


def nearest(forecasts: Sequence[Array], cells: pd.DataFrame) -> Array:
    """The best of Extra-P's options in hindsight."""
    return min(
        (seconds for seconds in forecasts if np.isfinite(seconds).all()),
        key=lambda seconds: np.median(np.abs(seconds / cells.measured - 1)[~cells.trained]),
        default=np.full(len(cells), np.nan),
    )


def paper_by_scipy(cells: pd.DataFrame, cores: int, largest_k: int) -> Array:
    """The paper's form, fitted by scipy's least squares of log time for every k.

    It is fitted to the trained cells. Steps alone determine four of its quantities: t_gpu, and the
    coefficients of n, n N and N. NaN if the number of cores is not known.
    """
    if not cores:
        return np.full(len(cells), np.nan)
    trained = cells[cells.trained]
    seconds = trained.measured.to_numpy()
    fits = []
    for k in range(1, largest_k + 1):
        columns = _columns(trained, k * cores)
        coefficients = fitted(logarithmic, columns, seconds)
        off = np.log(columns @ coefficients / seconds)
        fits.append((float(off @ off), k, coefficients))
    _, k, values = min(fits, key=lambda fit: fit[0])
    return np.asarray(_columns(cells, k * cores) @ values)


def _columns(cells: pd.DataFrame, threads: int) -> Array:
    """Derivatives of the paper's T with respect to t_gpu; t_cpu + 12/B_d2h; 16/B_h2d; L_h2d + L_d2h
    + t_kernel.

    T = ceil(n / (k c N)) n k c t_gpu + t_cpu n + 16 n N/B_h2d + 12 n/B_d2h
        + N (L_h2d + L_d2h + t_kernel)
    """
    n, gpus = cells.n.to_numpy(float), cells.gpus.to_numpy(float)
    return np.column_stack([np.ceil(n / (threads * gpus)) * n * threads, n, n * gpus, gpus])
