"""Other ways to forecast, on the same cells: Extra-P, and the paper's form fitted with scipy.

Both get the steps that gpucast is trained on; neither can use transfers or launches.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import least_squares, nnls

import extra_p
from forecasting.answers import KEY
from forecasting.questions import Measured, marked, restricted, splits_of
from gpucast.data.dataset import Dataset
from gpucast.data.selection import StepSelection
from gpucast.fitting.selection import pose

Array = NDArray[np.float64]

RIVALS = ["extrap", "scipy"]


def rivals_of(measured: Measured, name: str, group: StepSelection) -> pd.DataFrame:
    """Their forecasts of one group's cells, s, split by split: KEY, RIVALS; NaN: none."""
    cells, training = measured.cells(group), measured.training(group)
    trained = {split: marked(cells, kept) for split, kept in splits_of(cells).items()}
    known = {split: restricted(training, kept) for split, kept in splits_of(cells).items()}
    extrap = by_extrap(known, trained)
    problem = pose(training, group)
    tables = [
        own.assign(
            group=name,
            split=split,
            extrap=extrap[split],
            scipy=paper_by_scipy(own, problem.cores, problem.largest_k),
        )
        for split, own in trained.items()
    ]
    return pd.concat(tables)[KEY + RIVALS] if tables else pd.DataFrame(columns=KEY + RIVALS)


def by_extrap(known: Mapping[str, Dataset], cells: Mapping[str, pd.DataFrame]) -> dict[str, Array]:
    """Each split's forecasts by the best of Extra-P's options, chosen in hindsight."""
    none = {split: np.full(len(own), np.nan) for split, own in cells.items()}
    if not extra_p.available() or not cells:
        return none
    any_cells = next(iter(cells.values()))
    points = list(zip(any_cells.n, any_cells.gpus, strict=True))
    ways = extra_p.fits(list(known.values()), points)
    best = dict(none)
    for i, (split, own) in enumerate(cells.items()):
        judged = ~own.trained.to_numpy()
        times = [np.array(fits[i]["forecast"]) for fits in ways.values() if "error" not in fits[i]]
        measured = own.measured.to_numpy()
        best[split] = min(
            (seconds for seconds in times if np.isfinite(seconds).all()),
            key=lambda seconds: np.median(np.abs(seconds / measured - 1)[judged]),
            default=none[split],
        )
    return best


def paper_by_scipy(cells: pd.DataFrame, cores: int, largest_k: int) -> Array:
    """The paper's form by ``scipy.optimize.least_squares``: log residuals, every k tried.

    Fitted to the trained cells. Steps alone know four quantities of it: t_gpu, what grows with n,
    with n N and with N. NaN where the number of cores is not known.
    """
    if not cores:
        return np.full(len(cells), np.nan)
    trained = cells[cells.trained]
    seconds = trained.measured.to_numpy()
    _, k, values = min(
        (_least(_columns(trained, k * cores), seconds, k) for k in range(1, largest_k + 1)),
        key=lambda found: found[0],
    )
    return np.asarray(_columns(cells, k * cores) @ values)


def _columns(cells: pd.DataFrame, threads: int) -> Array:
    """Derivatives of the paper's T by t_gpu; t_cpu + 12/B_d2h; 16/B_h2d; L_h2d + L_d2h + t_kernel.

    T = ceil(n / (k c N)) n k c t_gpu + t_cpu n + 16 n N/B_h2d + 12 n/B_d2h
        + N (L_h2d + L_d2h + t_kernel)
    """
    n, gpus = cells.n.to_numpy(float), cells.gpus.to_numpy(float)
    return np.column_stack([np.ceil(n / (threads * gpus)) * n * threads, n, n * gpus, gpus])


def _least(columns: Array, seconds: Array, k: int) -> tuple[float, int, Array]:
    start, _ = nnls(columns / seconds[:, None], np.ones_like(seconds))
    # Logarithms keep parameters positive; one that nnls puts at zero starts as next to nothing.
    least = 1e-6 * float(seconds.min()) / columns.max(axis=0)

    def residuals(logarithms: Array) -> Array:
        # A trial step may be wild; what overflows could not be turned back from.
        return np.asarray(np.log(columns @ np.exp(np.minimum(logarithms, 100)) / seconds))

    fit = least_squares(residuals, np.log(np.maximum(start, least)))
    return float(fit.cost), k, np.exp(fit.x)
