"""Scores of forecasts: of a group, of the typical group, and against targets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from forecasting.answers import FORECAST
from forecasting.questions import (
    ANOTHER_MACHINE,
    GPUS,
    RANDOM,
    SIZES,
    THREE_CELLS,
    WHAT_IF,
    WITHOUT_SKELETONS,
)
from lab.forecasters.scores import Score, of_group

OWN = FORECAST[0]


def of_forecaster(rows: pd.DataFrame, forecaster: str) -> Score:
    """Score one group's rows of one split (``answers``, ``rivals``)."""
    sure = ["low", "high"] if forecaster == OWN else []
    return of_group(rows[["n", "trained", "measured", *sure]].assign(seconds=rows[forecaster]))


def over_groups(scores: pd.DataFrame) -> Score:
    """The score of the typical group, with coverage over all cells and sums (see ``Score``)."""
    if scores.empty:
        return Score()

    def reduced(column: str, how: str) -> Any:
        known = scores[column].dropna()
        return None if known.empty else getattr(known, how)()

    covered = scores.dropna(subset="coverage")
    pooled = np.average(covered.coverage, weights=covered.cells) if len(covered) else None
    hits, total = reduced("hits", "sum"), reduced("total", "sum")
    return Score(
        cells=int(scores.cells.sum()),
        median=reduced("median", "median"),
        p95=reduced("p95", "median"),
        coverage=None if pooled is None else float(pooled),
        half_width=reduced("half_width", "median"),
        hits=None if hits is None else int(hits),
        total=None if total is None else int(total),
        regret=reduced("regret", "mean"),
    )


def table(rows: pd.DataFrame, forecasters: Iterable[str]) -> pd.DataFrame:
    """Scores of every group, split and forecaster with at least one forecast."""
    return pd.DataFrame(
        [
            {"group": group, "split": split, "forecaster": name, **asdict(of_forecaster(own, name))}
            for (group, split), own in rows.groupby(["group", "split"], sort=False)
            for name in forecasters
            if name == OWN or own[name].notna().any()
        ]
    )


@dataclass(frozen=True)
class Target:
    """A target of gpucast over the groups of a dataset.

    Attributes:
        figure: a field of ``Score``.
        part: restricts the groups to those whose name contains this.
        least, most: bounds of the figure.
    """

    dataset: str
    split: str
    figure: str
    least: float = 0.0
    most: float = np.inf
    part: str = ""

    def reached(self, score: Score) -> bool:
        value = getattr(score, self.figure)
        return value is not None and self.least <= value <= self.most


def _of_study(split: str, median: float, p95: float, half_width: float, hits: int) -> list[Target]:
    on = ("h200-x4-mixed", split)
    return [
        Target(*on, "median", most=median),
        Target(*on, "p95", most=p95),
        Target(*on, "coverage", least=0.86, most=0.94),
        Target(*on, "half_width", most=half_width),
        Target(*on, "hits", least=hits),
    ]


# Half-widths may be a tenth larger than the prototype's (prototype.csv).
TARGETS = [
    *_of_study(GPUS, 0.028, 0.08, 0.0817, 225),
    *_of_study(SIZES, 0.03, 0.07, 0.0627, 45),
    *_of_study(RANDOM, 0.018, 0.046, 0.0540, 133),
    Target("h200-x2-other", ANOTHER_MACHINE, "coverage", least=0.85, most=0.97),
    Target("h200-x2-other", THREE_CELLS, "median", most=0.025),
    Target("h200-x2", WHAT_IF, "median", most=0.03, part="claret"),
    Target("h200-x2", WHAT_IF, "median", most=0.05, part="tuned"),
    Target("h200-x2", WHAT_IF, "coverage", least=0.85, most=0.97),
    Target("h200-x2", WITHOUT_SKELETONS, "coverage", least=0.85),
]
