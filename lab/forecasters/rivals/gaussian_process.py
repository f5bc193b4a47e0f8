"""A Gaussian process of ln T over ln n and ln N, by scikit-learn, under .venv-extrap's interpreter.

Its kernel is a power law, smooth deviations from it, and noise, whose sizes and ranges maximize the
likelihood of the data.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

NORMAL = 1.645
RESTARTS = 4


def forecast(measured: pd.DataFrame, asked: pd.DataFrame) -> pd.DataFrame:
    """Exponentials of its mean and of the ends of the 90 % prediction interval."""
    known, wanted = (np.log(cells[["n", "gpus"]].to_numpy(float)) for cells in (measured, asked))
    centre, spread = known.mean(axis=0), known.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    smooth = ConstantKernel(1.0, (1e-6, 1e3)) * RBF([1.0, 1.0], (1e-1, 1e2))
    kernel = ConstantKernel(1.0, (1e-6, 1e3)) * DotProduct() + smooth + WhiteKernel(1e-2)
    process = GaussianProcessRegressor(
        kernel, normalize_y=True, n_restarts_optimizer=RESTARTS, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about sizes and ranges at their bounds
        process.fit((known - centre) / scale, np.log(measured.seconds.to_numpy()))
    mean, deviation = process.predict((wanted - centre) / scale, return_std=True)
    low, high = mean - NORMAL * deviation, mean + NORMAL * deviation
    return asked.assign(seconds=np.exp(mean), low=np.exp(low), high=np.exp(high))
