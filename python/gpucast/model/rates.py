"""Step times as rates and efficiencies."""

from __future__ import annotations

import numpy as np

from gpucast.model.forecasting import Forecasting
from gpucast.model.forecasts import Forecasts
from gpucast.model.intervals import Array

NANO = 1e-9
DAY = 86400.0


def ns_per_day(timestep: float | None, seconds: Array | float) -> Array:
    """Return simulated nanoseconds per day for steps of ``timestep`` simulated seconds; NaN if that
    is not known."""
    return np.asarray((timestep or np.nan) * (DAY / NANO) / seconds, dtype=np.float64)


def reference_count(model: Forecasting, gpus: Array) -> float:
    """Return N_ref, the reference count of efficiency: the least of ``gpus`` or, if there is only
    one, the least measured count if that is lower."""
    least = float(gpus.min())
    return least if gpus.max() > least else min(least, float(model.domain.gpus[0]))


def efficiency(model: Forecasting, forecasts: Forecasts, *, per_gpu: bool = False) -> Array:
    """Return N_ref T(n, N_ref) / (N T(n, N)) of each forecast or, for weak scaling (``per_gpu``),
    T(n N_ref / N, N_ref) / T(n, N). N_ref is defined by ``reference_count``."""
    if not forecasts.n.size:
        return np.empty(0)
    reference = reference_count(model, forecasts.gpus)
    sizes = forecasts.n * (reference / forecasts.gpus) if per_gpu else forecasts.n
    n, row = np.unique(sizes, return_inverse=True)
    at = np.flatnonzero(forecasts.gpus == reference)
    reference_seconds = np.full(n.size, np.nan)
    reference_seconds[row[at]] = forecasts.seconds[at]
    if np.isnan(reference_seconds).any():
        reference_seconds = model.forecasts(n, np.full(n.size, reference)).seconds
    work = forecasts.n / sizes * reference / forecasts.gpus
    return np.asarray(work * reference_seconds[row] / forecasts.seconds, dtype=np.float64)


def columns(model: Forecasting, forecasts: Forecasts, *, per_gpu: bool = False) -> dict[str, Array]:
    """Return further columns of tables: steps_per_second, ns_per_day (NaN: a step's simulated time
    is not known), efficiency, reference_gpus (its N_ref), measured (s; NaN: not measured)."""
    reference = reference_count(model, forecasts.gpus) if forecasts.n.size else np.nan
    return {
        "steps_per_second": 1 / forecasts.seconds,
        "ns_per_day": ns_per_day(model.timestep, forecasts.seconds),
        "efficiency": efficiency(model, forecasts, per_gpu=per_gpu),
        "reference_gpus": np.full(forecasts.n.size, reference),
        "measured": model.measured(forecasts.n, forecasts.gpus),
    }
