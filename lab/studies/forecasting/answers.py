"""gpucast's forecasts: the fit of each question, and forecasts of its held-out cells."""

from __future__ import annotations

import numpy as np
import pandas as pd

import gpucast as gc
from forecasting.questions import Held, Question
from gpucast.errors import InputError
from gpucast.model.fitted import Model

KEY = ["group", "split", "n", "gpus"]
MEASURED = ["visits", "trained", "measured"]
"""Columns: a cell's visits, whether it is trained on, and its measured time, s."""
FORECAST = ["gpucast", "low", "high"]
"""Columns: the forecast time and the 90 % interval of the measured time, s; NaN: refused."""


def answered(question: Question, replicates: int) -> pd.DataFrame:
    """A row for each cell: KEY, MEASURED, FORECAST, and the reason if it is ``refused``."""
    try:
        model = gc.fit(question.training, question.selection, replicates=replicates)
    except InputError as error:
        return pd.concat([_refused(held, error) for held in question.held])
    return pd.concat([_forecast(model, held) for held in question.held])


def _forecast(model: Model, held: Held) -> pd.DataFrame:
    cells = held.cells
    try:
        changed = held.change(model) if held.change else model
        n, gpus = cells.n.to_numpy(float), cells.gpus.to_numpy(float)
        forecasts = changed.forecasts(n, gpus, held.interval)
    except InputError as error:
        return _refused(held, error)
    low, high = changed.cell_intervals(
        forecasts, cells.samples.to_list(), np.zeros(len(cells)), cells.visits.to_list()
    )
    return _rows(held).assign(gpucast=forecasts.seconds, low=low, high=high, refused="")


def _refused(held: Held, error: InputError) -> pd.DataFrame:
    return _rows(held).assign(**dict.fromkeys(FORECAST, np.nan), refused=str(error))


def _rows(held: Held) -> pd.DataFrame:
    return held.cells.assign(group=held.group, split=held.split)[KEY + MEASURED]
