"""Scores of the forecasts of a split's cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

OUTSIDE = 20
"""Factor of the distance outside a 90 % interval in the interval score (2/0.1)."""


@dataclass(frozen=True)
class Score:
    """How good the forecasts of a group, or of several groups, are.

    Attributes:
        cells: number of held-out cells; over several groups their sum.
        median, p95: of the cells' relative errors; over several groups those of the median group.
            Infinite without a forecast.
        coverage: share of the cells inside their 90 % interval.
        half_width: relative, of the median cell's interval; over several groups that of the median
            group.
        hits, total: the number of n with a held-out cell at which the GPU count with the shortest
            forecast time also has the shortest measured time, among all counts measured (trained
            ones enter with their forecasts); and the number of all such n.
        regret: the relative time lost by following the forecast, mean over n; over several groups
            their mean.
    """

    cells: int = 0
    median: float | None = None
    p95: float | None = None
    coverage: float | None = None
    half_width: float | None = None
    hits: int | None = None
    total: int | None = None
    regret: float | None = None


def of_group(rows: pd.DataFrame) -> Score:
    """Score a forecaster on one group's rows of one split.

    Columns: n, ``trained``, ``measured`` and ``seconds`` (s), and ``low`` and ``high`` if the
    forecaster gives intervals.
    """
    judged = rows[~rows.trained]
    errors = (judged.seconds / judged.measured - 1).abs().fillna(np.inf)
    regrets = list(_regrets(rows))
    known = [regret for regret in regrets if regret is not None]
    sure = "low" in rows
    return Score(
        cells=len(judged),
        median=float(errors.median()),
        p95=float(np.quantile(errors, 0.95)) if np.isfinite(errors).all() else np.inf,
        coverage=float(judged.measured.between(judged.low, judged.high).mean()) if sure else None,
        half_width=float(np.median(np.sqrt(judged.high / judged.low) - 1)) if sure else None,
        hits=sum(regret == 0 for regret in known),
        total=len(regrets),
        regret=float(np.mean(known)) if known else None,
    )


def _regrets(rows: pd.DataFrame) -> Iterable[float | None]:
    """Regrets of the n that have a held-out cell and several counts; None without a forecast."""
    for _, at_n in rows.groupby("n"):
        if len(at_n) < 2 or at_n.trained.all():
            continue
        forecast, measured = at_n.seconds.to_numpy(), at_n.measured.to_numpy()
        known = np.isfinite(forecast).all()
        yield float(measured[forecast.argmin()] / measured.min() - 1) if known else None


def interval_scores(judged: pd.DataFrame) -> pd.Series:
    """The interval score of ln T of each cell (Gneiting and Raftery, 2007), less is better: ln of
    ``high / low``, plus 20 times the distance in ln T of a measured time outside."""
    low, high, measured = (np.log(judged[name]) for name in ("low", "high", "measured"))
    outside = (low - measured).clip(lower=0) + (measured - high).clip(lower=0)
    return high - low + OUTSIDE * outside
