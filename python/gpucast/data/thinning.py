"""Records reduced for fits: thinned, and without records that no model can use.

Measured records hold up to thousands of samples of a cell. For training they are thinned to evenly
spaced quantiles, which keep median and spread; a forecast is compared with the median of all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from gpucast import _core
from gpucast.data.dataset import Dataset
from gpucast.data.records import Entry, Launch, Note, Skeleton, Step, Transfer

# Limits of a record's samples and a transfer curve's sizes in intermediate fits.
_SAMPLES = 8
_SIZES = 10

_Lean = Launch | Skeleton | Step | Transfer
_T = TypeVar("_T")


def thinned(data: Dataset, most: int) -> Dataset:
    """Return a dataset with at most ``most`` samples per record and without records that no fit
    uses."""
    kept = [record for record in data.records if isinstance(record, _Lean)]
    return replace(data, records=[_thin(record, most) for record in kept], warnings=[])


def _thin(record: _Lean, most: int) -> Entry:
    count = len(record.seconds)
    if count <= most:
        return record
    at = ((np.arange(most) + 0.5) / most * count).astype(int)
    return replace(record, seconds=np.sort(record.seconds)[at].tolist())


def without_unused_routes(data: Dataset, schedule: str | None) -> Dataset:
    """Return a dataset without transfers on routes that no model of the schedule has, which only
    take time."""
    known = {"star-serial", schedule or "star-serial"}
    routes = {route for com in known for route in _core.COM_TERMS[com].routes}
    kept = [r for r in data.records if not isinstance(r, Transfer) or r.route in routes]
    return replace(data, records=kept)


def coarsened(data: Dataset) -> Dataset:
    """Return a dataset with fewer samples and transfer sizes for intermediate fits, which must be
    fast; most of a fit's time goes into the breakpoints of transfer curves."""
    sizes: dict[tuple[object, ...], set[int]] = {}
    for transfer in data.transfers:
        sizes.setdefault(_curve(transfer), set()).add(transfer.bytes)
    kept = {curve: set(evenly(sorted(measured), _SIZES)) for curve, measured in sizes.items()}
    return replace(
        data,
        records=[
            record
            if isinstance(record, Note)
            else replace(record, seconds=evenly(record.seconds, _SAMPLES))
            for record in data.records
            if not isinstance(record, Transfer) or record.bytes in kept[_curve(record)]
        ],
    )


def _curve(transfer: Transfer) -> tuple[object, ...]:
    return (transfer.path, transfer.route, transfer.memory, transfer.method, transfer.engine)


def evenly(values: list[_T], most: int) -> list[_T]:
    """Return at most ``most`` of the values, evenly spaced and including both ends."""
    if len(values) <= most:
        return values
    return [values[round(i * (len(values) - 1) / (most - 1))] for i in range(most)]
