"""Every split of every series, forecast by gpucast and by others: a row a cell, a row a split."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import extra_p
import gpucast
from forecasting import scores
from gpucast.errors import GpucastError
from programs import extrap_lines, rivals
from programs.series import Series, families
from programs.splits import Split, splits_of

Array = NDArray[np.float64]

GPUCAST = scores.OWN
EXTRA_P = "Extra-P"
LAWS: Mapping[str, rivals.Method] = {
    "Amdahl": rivals.amdahl,
    "USL": rivals.universal,
    "a + b n/N": rivals.plain,
}
METHODS = (GPUCAST, EXTRA_P, *LAWS)
WAYS = [f"{layout}, {way}" for way in extrap_lines.OPTIONS for layout in extrap_lines.LAYOUTS]
"""Ways of using Extra-P."""

Forecast = tuple[Array, Array, Array]
"""Seconds of all cells of a series, and the ends of their 90 % intervals."""


def forecast(series: Series, split: Split) -> Forecast:
    """gpucast's, as a user calls it: the steps that are trained on, and nothing else."""
    forecasts = gpucast.fit(series.trained_on(split)).forecasts(series.n, series.gpus)
    return forecasts.seconds, forecasts.low, forecasts.high


def cells(
    every: Sequence[Series],
    progress: Callable[[int, int], None],
    own: Callable[[Series, Split], Forecast] = forecast,
) -> pd.DataFrame:
    """A row a cell of every split, in their order: measured, trained on or not, and what each
    method forecasts, s; NaN: nothing. Extra-P is left out where it is not installed."""
    tasks = [(series, split) for series in every for split in splits_of(series.n, series.gpus)]
    ways: list[dict[str, Array]] = [{} for _ in tasks]
    if extra_p.available():
        ways = extrap_lines.forecasts(
            [extrap_lines.Question(s.n, s.gpus, s.seconds, p.trained) for s, p in tasks]
        )
    parts = []
    for done, (series, split) in enumerate(tasks):
        progress(done, len(tasks))
        parts.append(_cells(series, split, own).assign(**dict.fromkeys(WAYS, np.nan) | ways[done]))
    progress(len(tasks), len(tasks))
    return pd.concat(parts, ignore_index=True)


def _cells(series: Series, split: Split, own: Callable[[Series, Split], Forecast]) -> pd.DataFrame:
    begin, refused = time.perf_counter(), ""
    try:
        seconds, low, high = own(series, split)
    except GpucastError as error:
        refused, seconds = str(error), np.full(series.n.size, np.nan)
        low = high = seconds
    elapsed = time.perf_counter() - begin
    known = [column[split.trained] for column in (series.n, series.gpus, series.seconds)]
    laws = {name: law(*known, series.n, series.gpus) for name, law in LAWS.items()}
    about = {"series": series.name, "table": series.table, "tuned": series.tuned,
             "split": split.kind, "refused": refused, "elapsed": elapsed}  # fmt: skip
    columns = {"n": series.n, "gpus": series.gpus, "trained": split.trained,
               "measured": series.seconds, GPUCAST: seconds, "low": low, "high": high}  # fmt: skip
    return pd.DataFrame({**columns, **about, **laws})


def splits(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a split of ``cells``.

    Columns: what the series is, and its ``family``; how many cells and GPU counts were ``trained``
    on and ``cells`` left out; of gpucast the fields of ``Score``, the ``errors`` of the cells, half
    of ln of ``high / low`` (``widths``), and how many cells are off by a factor of two and outside
    their interval (``lost``); by name of each
    method and way of using Extra-P the median error, NaN where a cell left out has no forecast.
    Extra-P's is that of its best way.
    """
    kept = ["series", "table", "tuned", "split", "refused", "elapsed"]
    family = families()
    return pd.DataFrame(
        [
            {**part.iloc[0][kept], "family": family.get(part.table.iloc[0], ""), **_of_split(part)}
            for _, part in rows.groupby(["series", "split"], sort=False)
        ]
    )


def _of_split(rows: pd.DataFrame) -> dict[str, Any]:
    trained, left = rows[rows.trained], rows[~rows.trained]
    errors = {name: (left[name] / left.measured - 1).abs() for name in (GPUCAST, *LAWS, *WAYS)}
    medians = {
        name: error.median() if np.isfinite(error).all() else np.nan
        for name, error in errors.items()
    }
    known = np.isfinite(medians[GPUCAST])
    outside = (left.measured < left.low) | (left.measured > left.high)
    far = np.abs(np.log(left.measured / left[GPUCAST])) > np.log(2)
    return {
        **vars(scores.of_group(rows, GPUCAST) if known else scores.Score()),
        "trained": len(trained),
        "counts": trained.gpus.nunique(),
        "cells": len(left),
        "errors": errors[GPUCAST].to_numpy(),
        "widths": (np.log(left.high / left.low) / 2).to_numpy(),
        "lost": int((outside & far).sum()),
        EXTRA_P: min((medians[way] for way in WAYS if medians[way] >= 0), default=np.nan),
        **medians,
    }
