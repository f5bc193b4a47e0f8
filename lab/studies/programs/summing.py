"""Many outcomes summed up, and whether that is enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from forecasting.markdown import percent
from programs.judging import Verdict
from programs.study import EXTRA_P, GPUCAST, Outcome

SMALL = 0.05
"""A median error that is small enough to plan with."""


@dataclass(frozen=True)
class Sum:
    """Figures of gpucast's forecasts over several outcomes; those it refused count as infinite
    errors."""

    outcomes: Sequence[Outcome]

    @property
    def cells(self) -> int:
        return sum(len(each.cells) for each in self.outcomes)

    def medians(self, method: str = GPUCAST) -> list[float]:
        """Median error of each split."""
        return [v.median if (v := o.verdicts.get(method)) else np.inf for o in self.outcomes]

    def median(self, method: str = GPUCAST) -> float | None:
        """Median over the splits of their median errors."""
        found = self.medians(method)
        return float(np.median(found)) if found and np.isfinite(np.median(found)) else None

    def small(self, method: str = GPUCAST) -> float:
        """Share of the splits whose median error is at most 5 %."""
        return float(np.mean(np.array(self.medians(method)) <= SMALL))

    @property
    def p95(self) -> float:
        """95th percentile of the errors of all cells."""
        return float(np.quantile([e for v in self._own for e in v.errors], 0.95))

    @property
    def coverage(self) -> float:
        """Share of all left-out cells in their 90 % interval."""
        return float(np.mean([c for v in self._own for c in v.covered or ()]))

    @property
    def regrets(self) -> list[float]:
        return [regret for v in self._own for regret in v.regrets]

    @property
    def hits(self) -> float | None:
        """Share of the sizes whose best count was found."""
        return float(np.mean(np.array(self.regrets) == 0)) if self.regrets else None

    @property
    def mean_regret(self) -> float | None:
        return float(np.mean(self.regrets)) if self.regrets else None

    @property
    def better(self) -> tuple[int, int]:
        """Splits whose median error is less than Extra-P's, of those where Extra-P has one."""
        pairs = self._pairs
        return sum(own.median < other.median for own, other in pairs), len(pairs)

    @property
    def twice_as_bad(self) -> int:
        """Splits whose median error is more than twice Extra-P's."""
        return sum(own.median > 2 * other.median for own, other in self._pairs)

    @property
    def _own(self) -> list[Verdict]:
        return [v for o in self.outcomes if (v := o.verdicts[GPUCAST])]

    @property
    def _pairs(self) -> list[tuple[Verdict, Verdict]]:
        both = [(o.verdicts[GPUCAST], o.verdicts.get(EXTRA_P)) for o in self.outcomes]
        return [(own, other) for own, other in both if own and other]


@dataclass(frozen=True)
class Target:
    """What must be reached: what, the figure in words, and whether it is enough."""

    what: str
    bound: str
    figure: Callable[[Sum], str]
    reached: Callable[[Sum], bool]


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole}"


TARGETS = (
    Target("median of the splits' median errors", "at most 3 %",
           lambda s: percent(s.median()), lambda s: (s.median() or 0) <= 0.03),
    Target("splits with a median error of at most 5 %", "all",
           lambda s: percent(s.small()), lambda s: s.small() == 1),
    Target("p95 of the errors of all cells", "at most 20 %",
           lambda s: percent(s.p95), lambda s: s.p95 <= 0.2),
    Target("cells in their 90 % interval", "80 to 97 %",
           lambda s: percent(s.coverage), lambda s: 0.8 <= s.coverage <= 0.97),
    Target("splits better than Extra-P", "8 of 10",
           lambda s: _of(*s.better), lambda s: s.better[0] >= 0.8 * s.better[1]),
    Target("splits more than twice as far off as Extra-P", "none",
           lambda s: str(s.twice_as_bad), lambda s: s.twice_as_bad == 0),
    Target("best count right", "90 %",
           lambda s: percent(s.hits), lambda s: (1 if s.hits is None else s.hits) >= 0.9),
    Target("mean regret", "at most 2 %",
           lambda s: percent(s.mean_regret), lambda s: (s.mean_regret or 0) <= 0.02),
)  # fmt: skip
