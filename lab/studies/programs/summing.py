"""Many splits summed up, and whether that is enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pages import percent
from programs.study import EXTRA_P, GPUCAST

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
        self.p95 = float(np.quantile(errors, 0.95))
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
    Target("median of the splits' median errors", "at most 3 %",
           lambda s: percent(s.median()), lambda s: not s.median() > 0.03),
    Target("splits with a median error of at most 5 %", "all",
           lambda s: percent(s.small()), lambda s: s.small() == 1),
    Target("p95 of the errors of all cells", "at most 20 %",
           lambda s: percent(s.p95), lambda s: s.p95 <= 0.2),
    Target("cells in their 90 % interval", "80 to 97 %",
           lambda s: percent(s.coverage), lambda s: 0.8 <= s.coverage <= 0.97),
    Target("splits better than Extra-P", "8 of 10",
           lambda s: "{} of {}".format(*s.better), lambda s: s.better[0] >= 0.8 * s.better[1]),
    Target("splits more than twice as far off as Extra-P", "none",
           lambda s: str(s.twice_as_bad), lambda s: s.twice_as_bad == 0),
    Target("best count right", "90 %",
           lambda s: percent(s.hits), lambda s: not s.hits < 0.9),
    Target("mean regret", "at most 2 %",
           lambda s: percent(s.mean_regret), lambda s: not s.mean_regret > 0.02),
)  # fmt: skip
