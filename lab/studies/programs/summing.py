"""Many splits summed up, and whether that is enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pages import percent
from programs.study import EXTRA_P, GPUCAST

NORMAL = 1.645 / 0.6745
"""Half-width of a normal distribution's 90 % interval over its median deviation."""

EXACT = 1e-9
"""Errors below this one are none."""

SMALL = 0.05
"""A median error that is small enough to plan with."""


class Sum:
    """Figures of gpucast's forecasts over several splits (``study.splits``); those it refused count
    as infinite errors, and all are NaN where there is nothing to sum up."""

    def __init__(self, splits: pd.DataFrame) -> None:
        self.splits = splits
        own = splits[splits[GPUCAST].notna()]
        asked = own[own.total > 0]
        self.cells = int(splits["cells"].sum())
        errors = np.concatenate([*own.errors]) if len(own) else np.array([np.nan])
        widths = np.concatenate([*own.widths]) if len(own) else np.array([np.nan])
        self.lost = float(own.lost.sum() / (own["cells"].sum() or np.nan))
        """Share of the cells that are off by a factor of two and outside their interval."""
        self.width = float(np.median(widths) / max(np.median(errors), EXACT) / NORMAL)
        """Median half-width of intervals, against that of a normal distribution whose median error
        is the cells'."""
        self.coverage = float((own.coverage * own["cells"]).sum() / (own["cells"].sum() or np.nan))
        total = asked.total.sum() or np.nan
        self.hits = float(asked.hits.sum() / total)
        """Share of the sizes whose best count was found."""
        self.mean_regret = float((asked.regret * asked.total).sum() / total)
        pairs = own[own[EXTRA_P].notna()]
        self.better = int((pairs[GPUCAST] < pairs[EXTRA_P]).sum()), len(pairs)
        """Splits whose median error is less than Extra-P's, of those where Extra-P has one."""
        self.twice_as_bad = int((pairs[GPUCAST] > 2 * pairs[EXTRA_P]).sum())
        """Splits whose median error is more than twice Extra-P's."""

    def __len__(self) -> int:
        return len(self.splits)

    def medians(self, method: str = GPUCAST) -> pd.Series:
        """Median error of each split."""
        return self.splits[method].fillna(np.inf)

    def median(self, method: str = GPUCAST) -> float:
        """Median over the splits of their median errors; NaN where that is infinite."""
        median = float(self.medians(method).median())
        return median if np.isfinite(median) else np.nan

    def small(self, method: str = GPUCAST) -> float:
        """Share of the splits whose median error is at most 5 %."""
        return float((self.medians(method) <= SMALL).mean())


@dataclass(frozen=True)
class Target:
    """What must be reached: what, the figure in words, and whether it is enough. A figure that is
    not a number misses nothing."""

    what: str
    bound: str
    figure: Callable[[Sum], str]
    reached: Callable[[Sum], bool]


TARGETS = (
    Target("median of the splits' median errors", "at most 5 %",
           lambda s: percent(s.median()), lambda s: not s.median() > 0.05),
    Target("cells in their 90 % interval", "86 to 94 %",
           lambda s: percent(s.coverage), lambda s: 0.86 <= s.coverage <= 0.94),
    Target("splits more than twice as far off as Extra-P", "a tenth",
           lambda s: f"{s.twice_as_bad} of {s.better[1]}",
           lambda s: s.twice_as_bad <= 0.1 * s.better[1]),
    Target("cells off by a factor of two and outside", "under 1 %",
           lambda s: percent(s.lost), lambda s: not s.lost >= 0.01),
    Target("median half-width, in normal distributions' of the median error", "at most 1.5",
           lambda s: f"{s.width:.1f}", lambda s: not s.width > 1.5),
    Target("best count right", "90 %",
           lambda s: percent(s.hits), lambda s: not s.hits < 0.9),
    Target("mean regret", "at most 2 %",
           lambda s: percent(s.mean_regret), lambda s: not s.mean_regret > 0.02),
)  # fmt: skip
