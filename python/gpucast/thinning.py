"""Records made lean for fits: thinned, and without what no model of them can use.

Measured records hold up to thousands of samples of a cell. For training they are thinned to evenly
spaced quantiles, which keep median and spread; a forecast is held against the median of all.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpucast import _core
from gpucast.datasets import Dataset
from gpucast.records import Entry, Launch, Skeleton, Step, Transfer

_Lean = Launch | Skeleton | Step | Transfer


def thinned(data: Dataset, most: int) -> Dataset:
    """At most ``most`` samples a record; all that is nothing that a fit can use is left out."""
    kept = [each for each in data.records if isinstance(each, _Lean)]
    return replace(data, records=[_thin(record, most) for record in kept], warnings=[])


def _thin(record: _Lean, most: int) -> Entry:
    count = len(record.seconds)
    if count <= most:
        return record
    at = ((np.arange(most) + 0.5) / most * count).astype(int)
    return record.model_copy(update={"seconds": np.sort(record.seconds)[at].tolist()})


def useful(data: Dataset, schedule: str) -> Dataset:
    """Without transfers on routes that no model of the schedule has: they only cost time."""
    routes = {route for com in ("star-serial", schedule) for route in _core.COM_TERMS[com].routes}
    return replace(
        data,
        records=[r for r in data.records if not isinstance(r, Transfer) or r.route in routes],
    )
