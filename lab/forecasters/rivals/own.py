"""gpucast, as a user calls it."""

from __future__ import annotations

import pandas as pd

import gpucast


def forecast(measured: pd.DataFrame, asked: pd.DataFrame) -> pd.DataFrame:
    """gpucast's forecasts and 90 % intervals; the unit of times is not guessed from their
    length."""
    steps = gpucast.read(measured, columns={"seconds": "seconds:s"})
    forecasts = gpucast.fit(steps).forecasts(asked.n.to_numpy(float), asked.gpus.to_numpy(float))
    return asked.assign(seconds=forecasts.seconds, low=forecasts.low, high=forecasts.high)
