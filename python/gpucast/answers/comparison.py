"""Two models side by side: native against remote, one machine against another."""

from __future__ import annotations

from math import erf, sqrt
from typing import TypedDict

import numpy as np

from gpucast.model.asked import Numbers, as_list, outer
from gpucast.model.engine import interval_width
from gpucast.model.fitted import Model
from gpucast.model.forecasts import Best
from gpucast.model.intervals import Interval, interval_named
from gpucast.util.units import plain


class Ratio(TypedDict):
    """Forecasts of one cell by both (s), and second over first with its 90 % interval."""

    n: float
    gpus: int
    first: float
    second: float
    ratio: float
    low: float
    high: float
    probability_first_faster: float
    extrapolated: bool


class BestTime(TypedDict):
    """As ``Best``."""

    gpus: int
    seconds: float
    probability: float | None


class BestOfBoth(TypedDict):
    """What each does best for an n, and the ratio of their times."""

    n: float
    first: BestTime
    second: BestTime
    ratio: float


class Compared(TypedDict):
    """Two models, by their names; ``interval``: what intervals and probabilities are of."""

    first: str
    second: str
    interval: str
    ratio: list[Ratio]
    best: list[BestOfBoth]


def compare(
    first: Model,
    second: Model,
    n: Numbers,
    gpus: Numbers,
    interval: str = Interval.now,
    *,
    per_gpu: bool = False,
) -> Compared:
    """Forecasts of both, their ratio, and what each does best.

    ``interval``: whether the ratio is of times now, later, or on other machines, each on its own.
    ``per_gpu``: n is of each GPU, and no count is best.

    Returns:
        ``ratio``: for each (n, gpus) both times, second over first with its 90 % interval, and the
        probability that the first is faster; ``best``: for each n the best count of each and the
        ratio of the two best times.
    """
    sizes, counts = outer(n, gpus)
    sizes = sizes * counts if per_gpu else sizes
    kind = interval_named(interval)
    a, b = first.forecasts(sizes, counts, kind), second.forecasts(sizes, counts, kind)
    # The two fits share no measurement: their errors add as independent ones.
    spread = np.hypot(
        np.hypot(a.spread, first.between_cells),
        np.hypot(b.spread, second.between_cells),
    )
    widths = interval_width(max(first.t90, second.t90) * spread)
    ratio = b.seconds / a.seconds
    columns = {
        "n": [plain(size) for size in sizes],
        "gpus": counts.astype(int).tolist(),
        "first": a.seconds.tolist(),
        "second": b.seconds.tolist(),
        "ratio": ratio.tolist(),
        "low": (ratio * np.exp(-widths)).tolist(),
        "high": (ratio * np.exp(widths)).tolist(),
        "probability_first_faster": map(_probability, np.log(ratio), spread.tolist()),
        "extrapolated": (a.extrapolated | b.extrapolated).tolist(),
    }
    rows: list[Ratio] = [
        dict(zip(columns, row, strict=True))  # type: ignore[misc]
        for row in zip(*columns.values(), strict=True)
    ]
    alone = [] if per_gpu else as_list(n)
    best = (model.best_counts(alone, as_list(gpus), kind) for model in (first, second))
    return {
        "first": first.name,
        "second": second.name,
        "interval": str(kind),
        "ratio": rows,
        "best": [
            {
                "n": one["n"],
                "first": _short(one),
                "second": _short(other),
                "ratio": other["seconds"] / one["seconds"],
            }
            for one, other in zip(*best, strict=True)
        ],
    }


def _short(best: Best) -> BestTime:
    return {"gpus": best["gpus"], "seconds": best["seconds"], "probability": best["probability"]}


def _probability(log_ratio: float, spread: float) -> float:
    """P(ratio > 1) for a normal log ratio."""
    if spread == 0:
        return float(log_ratio > 0) if log_ratio != 0 else 0.5
    return 0.5 * (1 + erf(log_ratio / spread / sqrt(2)))
