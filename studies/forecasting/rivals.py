"""Other ways to forecast, on the same cells: Extra-P, and the paper's form fitted with scipy.

Both get what gpucast is trained on, but neither can use transfers or launches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares, nnls

import extra_p
from forecasting.results import Result
from forecasting.splits import Split
from gpucast.data.dataset import Dataset
from gpucast.data.steps import Cell
from gpucast.forecast.validation import score

Array = NDArray[np.float64]


def judged(
    forecast: Sequence[float] | Array, measured: Mapping[Cell, float], split: Split
) -> Result:
    """Forecasts of all measured cells, in their order, judged as gpucast's own are."""
    if not np.isfinite(forecast).all():
        return Result("a time that is no number")
    cells = [
        {
            "n": n,
            "gpus": gpus,
            "measured": seconds,
            "predicted": float(predicted),
            "relative_error": float(predicted / seconds - 1),
        }
        for ((n, gpus), seconds), predicted in zip(measured.items(), forecast, strict=True)
    ]
    return Result(**score(cells, split.has))


def paper_by_scipy(
    known: Mapping[Cell, float],
    measured: Mapping[Cell, float],
    split: Split,
    cores: int,
    largest_k: int,
) -> Result:
    """The paper's form by ``scipy.optimize.least_squares``: log residuals, every k tried.

    Trained on the split's cells of ``known``, held against ``measured``.
    Steps alone know four quantities of it: t_gpu, what grows with n, with n N and with N.
    """
    if not cores:
        return Result("the number of cores is not known")
    trained = [cell for cell in known if split.has(*cell)]
    seconds = np.array([known[cell] for cell in trained])
    _, k, values = min(
        (_least(_columns(trained, k * cores), seconds, k) for k in range(1, largest_k + 1)),
        key=lambda found: found[0],
    )
    return judged(_columns(list(measured), k * cores) @ values, measured, split)


def _columns(cells: Sequence[Cell], threads: int) -> Array:
    """Derivatives of the paper's T by t_gpu; t_cpu + 12/B_d2h; 16/B_h2d; L_h2d + L_d2h + t_kernel.

    T = ceil(n / (k c N)) n k c t_gpu + t_cpu n + 16 n N/B_h2d + 12 n/B_d2h
        + N (L_h2d + L_d2h + t_kernel)
    """
    n, gpus = np.array(cells, dtype=np.float64).T
    return np.column_stack([np.ceil(n / (threads * gpus)) * n * threads, n, n * gpus, gpus])


def _least(columns: Array, seconds: Array, k: int) -> tuple[float, int, Array]:
    start, _ = nnls(columns / seconds[:, None], np.ones_like(seconds))
    # Logarithms keep parameters positive; one that nnls puts at zero starts as next to nothing.
    least = 1e-6 * float(seconds.min()) / columns.max(axis=0)

    def residuals(logarithms: Array) -> Array:
        # A trial step may be wild; what overflows could not be turned back from.
        return np.asarray(np.log(columns @ np.exp(np.minimum(logarithms, 100)) / seconds))

    found = least_squares(residuals, np.log(np.maximum(start, least)))
    return float(found.cost), k, np.exp(found.x)


def by_extrap(
    trained: Sequence[Dataset], measured: Mapping[Cell, float], splits: Sequence[Split]
) -> dict[str, list[Result]]:
    """Extra-P's forecasts of each split, by its options."""
    return {
        options: [
            Result(fit["error"]) if "error" in fit else judged(fit["forecast"], measured, split)
            for fit, split in zip(of_splits, splits, strict=True)
        ]
        for options, of_splits in extra_p.fits(trained, list(measured)).items()
    }
