"""Remote steps forecast from native steps and the remote path's microbenchmarks alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import gpucast as gc
from forecasting.studies import Study
from gpucast.data.dataset import Dataset
from gpucast.data.selection import StepSelection
from gpucast.data.steps import Cell
from gpucast.errors import InputError
from gpucast.forecast.remote_cost import break_even
from gpucast.model.fitted import Model


def what_ifs(
    data: Dataset, training: Dataset, studies: Mapping[StepSelection, Study], native: str
) -> dict[StepSelection, Any]:
    """``gpucast.validate``'s answer and the break-even sizes of each group over another path.

    Microbenchmarks come from ``training``, the steps to compare with from ``data``.
    """
    found: dict[StepSelection, Any] = {}
    for group, study in studies.items():
        other = group.over(native, studies)
        if group.path == native or other is None:
            continue
        beside = studies[other]
        if beside.whole is None:
            found[group] = {"refused": f"there is no model of path {native!r}"}
            continue
        try:
            found[group] = _what_if(data, training, beside, study)
        except InputError as error:
            found[group] = {"refused": str(error)}
    return found


def _what_if(data: Dataset, training: Dataset, native: Study, remote: Study) -> dict[str, Any]:
    group, model = remote.group, native.whole
    assert model is not None
    forecast = gc.what_if(
        model,
        training.where(lambda step: False),
        group.path,
        machine=group.machine,
        memory=group.memory,
    )
    answer = gc.validate(forecast, data, group)
    return {
        **answer,
        "chosen": model.content["chosen"],
        "break_even": _break_evens(native, remote, model, forecast),
    }


def _break_evens(
    native: Study, remote: Study, model: Model, forecast: Model
) -> list[dict[str, Any]]:
    """The n from which on remote GPUs cost a tenth more at most, for each GPU count, both ways.

    Measured and forecast are interpolated between the same sizes, those measured on both paths.
    """
    rows = []
    for gpus in sorted({gpus for _, gpus in remote.measured}):
        both = remote.measured.keys() & native.measured.keys()
        sizes = sorted(n for n, count in both if count == gpus)
        if len(sizes) < 2:
            continue
        n = np.array(sizes, dtype=np.float64)
        counts = np.full(n.size, float(gpus))
        ratio = forecast.forecasts(n, counts).seconds / model.forecasts(n, counts).seconds
        cells: list[Cell] = [(size, gpus) for size in sizes]
        measured = [remote.measured[cell] / native.measured[cell] for cell in cells]
        rows.append(_row(gpus, n, np.array(measured) - 1, ratio - 1))
    return rows


def _row(gpus: int, n: np.ndarray, measured: np.ndarray, forecast: np.ndarray) -> dict[str, Any]:
    there, said = break_even(n, measured), break_even(n, forecast)
    return {
        "gpus": gpus,
        "largest_n": int(n[-1]),
        "measured": there,
        "forecast": said,
        "relative_error": said / there - 1 if there and said else None,
        "extra_at_largest": {"measured": float(measured[-1]), "forecast": float(forecast[-1])},
    }
