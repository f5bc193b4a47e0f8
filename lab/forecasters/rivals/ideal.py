"""The time on the most GPUs measured, scaled ideally: a forecast that needs no model."""

from __future__ import annotations

import numpy as np
import pandas as pd


def forecast(measured: pd.DataFrame, asked: pd.DataFrame) -> pd.DataFrame:
    """T = T' (n/N)/(n'/N'), T' the median time on the most GPUs, of the size nearest in ln n."""
    most = measured[measured.gpus == measured.gpus.max()]
    known = most.groupby(["n", "gpus"], as_index=False).seconds.median()
    off = np.abs(np.subtract.outer(np.log(asked.n.to_numpy()), np.log(known.n.to_numpy())))
    nearest = known.iloc[off.argmin(axis=1)].reset_index(drop=True)
    share = (asked.n / asked.gpus) / (nearest.n / nearest.gpus)
    return asked.assign(seconds=nearest.seconds * share)
