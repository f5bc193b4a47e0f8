"""Step times in the words of the programs that they are of: rates, and efficiency."""

from __future__ import annotations

import numpy as np

from gpucast.model.forecaster import Array, Forecaster, Forecasts

NANO = 1e-9
DAY = 86400.0


def ns_per_day(timestep: float | None, seconds: Array | float) -> Array:
    """Simulated nanoseconds a day, for steps of ``timestep`` simulated seconds; NaN where that is
    not known."""
    return np.asarray((timestep or np.nan) * (DAY / NANO) / seconds, dtype=np.float64)


def base_count(model: Forecaster, gpus: Array) -> float:
    """The GPU count that efficiency is against: the fewest asked about; of one alone, the fewest
    measured if that is less."""
    least = float(gpus.min())
    return least if gpus.max() > least else min(least, float(model.domain.gpus[0]))


def efficiency(model: Forecaster, found: Forecasts) -> Array:
    """N0 T(n, N0) / (N T(n, N)) of each forecast; N0: see ``base_count``."""
    if not found.n.size:
        return np.empty(0)
    base = base_count(model, found.gpus)
    n, row = np.unique(found.n, return_inverse=True)
    at = np.flatnonzero(found.gpus == base)
    of_base = np.full(n.size, np.nan)
    of_base[row[at]] = found.seconds[at]
    if np.isnan(of_base).any():
        of_base = model.forecasts(n, np.full(n.size, base)).seconds
    few = of_base[row]
    return np.asarray(base * few / (found.gpus * found.seconds), dtype=np.float64)


def columns(model: Forecaster, found: Forecasts) -> dict[str, Array]:
    """What tables say beside times: steps_per_second, ns_per_day (NaN: a step's simulated time is
    not known), efficiency, measured (s; NaN: not measured)."""
    return {
        "steps_per_second": 1 / found.seconds,
        "ns_per_day": ns_per_day(model.timestep, found.seconds),
        "efficiency": efficiency(model, found),
        "measured": model.measured(found.n, found.gpus),
    }
