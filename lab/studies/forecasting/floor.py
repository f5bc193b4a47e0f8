"""The least possible error: that of a model which knows each cell's long-run time exactly.

Its remaining error is the noise of the measured mean of the visits. This noise is resampled from
the deviations of visits from the others of their cell, scaled to those of single visits, with as
many draws as a cell of the group has visits.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpucast.data.dataset import Dataset
from gpucast.data.steps import names_of, steps_of

DRAWS = 4000


def floors(data: Dataset, elsewhere: Dataset | None = None) -> pd.DataFrame:
    """Median and 95th percentile of the least possible errors: a row for each group, indexed by its
    name.

    If its cells were visited once, a group gets the deviations of the same steps ``elsewhere``;
    without these it is left out.
    """
    others = logarithms(elsewhere) if elsewhere is not None else {}
    rng = np.random.default_rng(0)
    by_group = {}
    for name, cells in logarithms(data).items():
        off = deviations(cells) if max(map(len, cells)) > 1 else deviations(others.get(name, ()))
        if off.size:
            visits = round(np.mean([len(cell) for cell in cells]))
            errors = np.abs(rng.choice(off, (DRAWS, visits)).mean(axis=1))
            by_group[name] = {"median": np.median(errors), "p95": np.quantile(errors, 0.95)}
    return pd.DataFrame.from_dict(by_group, orient="index", columns=["median", "p95"])


def logarithms(data: Dataset) -> Mapping[str, list[NDArray[np.float64]]]:
    """Logarithms of the visits' medians, for each cell of each group."""
    steps = steps_of(data)
    by_group = {}
    for group, name in names_of(steps).items():
        cells: dict[tuple[float, int], list[float]] = {}
        for step in steps[group]:
            cells.setdefault((step.n, step.gpus), []).append(float(np.median(step.seconds)))
        by_group[name] = [np.log(seconds) for seconds in cells.values()]
    return by_group


def deviations(cells: list[NDArray[np.float64]] | tuple[()]) -> NDArray[np.float64]:
    """Deviations of visits from the mean of the others of their cell, scaled to those of single
    visits.

    The difference of one of V visits from the mean of the others has 1 + 1/(V - 1) times its
    variance.
    """
    several = [cell for cell in cells if len(cell) > 1]
    return np.array(
        [
            (x - (cell.sum() - x) / (len(cell) - 1)) * np.sqrt(1 - 1 / len(cell))
            for cell in several
            for x in cell
        ]
    )
