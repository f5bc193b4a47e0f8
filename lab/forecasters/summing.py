"""Summaries of many splits, and their targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.studies.pages import percent

NORMAL = 1.645 / 0.6745
"""Half-width of a normal distribution's 90 % interval, divided by its median deviation."""

EXACT = 1e-9
"""Smaller errors count as none."""

SMALL = 0.05
"""A median error that is small enough to plan with."""


class Sum:
    """Figures of one forecaster over several splits (``study.splits``). Splits without a forecast
    count as infinite errors; figures are NaN without any split."""

    def __init__(self, splits: pd.DataFrame) -> None:
        own = splits[splits["median"].notna()]
        with_counts, with_intervals = own[own.total > 0], own[own.coverage.notna()]
        self.splits, self.answered = len(splits), len(own)
        self.cells = int(splits["cells"].sum())
        self.medians = splits["median"].fillna(np.inf)
        """Median error of each split."""
        median = float(self.medians.median())
        self.median = median if np.isfinite(median) else np.nan
        """Median over the splits of their median errors; NaN if it is infinite."""
        self.small = float((self.medians <= SMALL).mean())
        """Share of the splits whose median error is at most 5 %."""
        forecast = with_intervals["cells"].sum() or np.nan
        self.lost = float(with_intervals.lost.sum() / forecast)
        """Share of the cells that are off by a factor of two and outside their interval."""
        error = max(np.median(_joined(own.errors)), EXACT)
        self.width = float(np.median(_joined(with_intervals.widths)) / error / NORMAL)
        """Median half-width of intervals, divided by that of a normal distribution with the cells'
        median error."""
        self.coverage = float((with_intervals.coverage * with_intervals["cells"]).sum() / forecast)
        self.interval_score = float(np.mean(_joined(with_intervals.interval_scores)))
        """Mean over the cells."""
        total = with_counts.total.sum() or np.nan
        self.hits = float(with_counts.hits.sum() / total)
        """Share of the sizes whose best GPU count was forecast."""
        self.mean_regret = float((with_counts.regret * with_counts.total).sum() / total)
        self.farther = int((own["median"] > own.own).sum()), int(own.own.notna().sum())
        """Number of splits whose median error exceeds gpucast's, and of splits where both have
        one."""
        self.twice = int((own["median"] > 2 * own.extra_p).sum()), int(own.extra_p.notna().sum())
        """The same for twice the median error of Extra-P's best way."""


def _joined(arrays: pd.Series) -> NDArray[np.float64]:
    return np.concatenate([*arrays]) if len(arrays) else np.array([np.nan])


@dataclass(frozen=True)
class Target:
    """A target: its name and bound, the figure in words, and whether it is reached. A figure that
    is NaN misses no target."""

    what: str
    bound: str
    figure: Callable[[Sum], str]
    reached: Callable[[Sum], bool]


TARGETS = (
    Target("median of the splits' median errors", "at most 5 %",
           lambda s: percent(s.median), lambda s: not s.median > 0.05),
    Target("cells in their 90 % interval", "86 to 94 %",
           lambda s: percent(s.coverage), lambda s: 0.86 <= s.coverage <= 0.94),
    Target("splits more than twice as far off as Extra-P", "a tenth",
           lambda s: f"{s.twice[0]} of {s.twice[1]}", lambda s: s.twice[0] <= 0.1 * s.twice[1]),
    Target("cells off by a factor of two and outside", "under 1 %",
           lambda s: percent(s.lost), lambda s: not s.lost >= 0.01),
    Target("median half-width, in normal distributions' of the median error", "at most 1.5",
           lambda s: f"{s.width:.1f}", lambda s: not s.width > 1.5),
    Target("best count right", "90 %",
           lambda s: percent(s.hits), lambda s: not s.hits < 0.9),
    Target("mean regret", "at most 2 %",
           lambda s: percent(s.mean_regret), lambda s: not s.mean_regret > 0.02),
)  # fmt: skip
