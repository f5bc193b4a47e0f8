"""Two models side by side: native against remote, one machine against another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpucast.model.fitted import Model, Numbers, as_list, interval_width, outer


def compare(first: Model, second: Model, n: Numbers, gpus: Numbers) -> dict[str, Any]:
    """Forecasts of both, their ratio, and what each does best.

    Returns:
        ``ratio``: for each (n, gpus) both times, second over first with its 90 % interval, and the
        probability that the first is faster; ``best``: for each n the best count of each and the
        ratio of the two best times.
    """
    sizes, counts = outer(n, gpus)
    a = first.forecasts(sizes, counts)
    b = second.forecasts(sizes, counts)
    rows = []
    for i in range(sizes.size):
        ratio = float(b.seconds[i] / a.seconds[i])
        # The two fits share no measurement: their errors add as independent ones.
        spread = float(np.hypot(_spread(first, a, i), _spread(second, b, i)))
        t90 = max(first.noise.t90, second.noise.t90)
        width = float(interval_width(np.asarray(t90 * spread)))
        rows.append(
            {
                "n": int(sizes[i]),
                "gpus": int(counts[i]),
                "first": float(a.seconds[i]),
                "second": float(b.seconds[i]),
                "ratio": ratio,
                "low": ratio * float(np.exp(-width)),
                "high": ratio * float(np.exp(width)),
                "probability_first_faster": _probability(np.log(ratio), spread),
                "extrapolated": bool(a.extrapolated[i] or b.extrapolated[i]),
            }
        )
    return {
        "first": first.name,
        "second": second.name,
        "ratio": rows,
        "best": _best(first, second, as_list(n), as_list(gpus)),
    }


def _spread(model: Model, found: Any, i: int) -> float:
    return float(np.hypot(found.spread[i], model.noise.between_cells))


def _probability(log_ratio: float, spread: float) -> float:
    """P(ratio > 1) for a normal log ratio."""
    from math import erf, sqrt

    if spread == 0:
        return float(log_ratio > 0) if log_ratio != 0 else 0.5
    return 0.5 * (1 + erf(log_ratio / spread / sqrt(2)))


def _best(
    first: Model, second: Model, n: Sequence[float], gpus: Sequence[float]
) -> list[dict[str, Any]]:
    pairs = zip(first.best_counts(n, gpus), second.best_counts(n, gpus), strict=True)
    return [
        {
            "n": a["n"],
            "first": {key: a[key] for key in ("gpus", "seconds", "probability")},
            "second": {key: b[key] for key in ("gpus", "seconds", "probability")},
            "ratio": b["seconds"] / a["seconds"],
        }
        for a, b in pairs
    ]
