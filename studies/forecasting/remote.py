"""Remote steps forecast from native steps and the remote path's microbenchmarks alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

import gpucast as gc
from forecasting.results import BreakEven, RemoteResult
from forecasting.studies import Study
from gpucast.data.dataset import Dataset
from gpucast.data.selection import StepSelection
from gpucast.errors import InputError
from gpucast.forecast.remote_cost import break_even
from gpucast.forecast.validation import score
from gpucast.model.fitted import Model

Array = NDArray[np.float64]


def what_ifs(
    data: Dataset, training: Dataset, studies: Mapping[StepSelection, Study], native: str
) -> dict[StepSelection, RemoteResult]:
    """How well each group over another path is forecast, and the break-even sizes.

    Microbenchmarks come from ``training``, the steps to compare with from ``data``.
    """
    found: dict[StepSelection, RemoteResult] = {}
    for group, study in studies.items():
        other = group.over(native, studies)
        if group.path == native or other is None:
            continue
        try:
            found[group] = _what_if(data, training, studies[other], study)
        except InputError as error:
            found[group] = RemoteResult(str(error))
    return found


def _what_if(data: Dataset, training: Dataset, native: Study, remote: Study) -> RemoteResult:
    group, model = remote.group, native.whole
    if model is None:
        return RemoteResult(f"there is no model of path {native.group.path!r}")
    forecast = gc.what_if(
        model,
        training.where(lambda step: False),
        group.path,
        machine=group.machine,
        memory=group.memory,
    )
    cells = gc.validate(forecast, data, group)["cells"]
    return RemoteResult(
        models=[model.content["chosen"]],
        **score(cells, lambda n, gpus: False),
        break_even=list(_break_evens(native, remote, model, forecast)),
    )


def _break_evens(
    native: Study, remote: Study, model: Model, forecast: Model
) -> Iterator[BreakEven]:
    """The n from which on remote GPUs cost a tenth more at most, for each GPU count, both ways.

    Measured and forecast are interpolated between the same sizes, those measured on both paths.
    """
    for gpus in sorted({gpus for _, gpus in remote.measured}):
        both = remote.measured.keys() & native.measured.keys()
        cells = sorted(cell for cell in both if cell[1] == gpus)
        if len(cells) < 2:
            continue
        n, counts = np.array(cells, dtype=np.float64).T
        ratio = forecast.forecasts(n, counts).seconds / model.forecasts(n, counts).seconds
        measured = np.array([remote.measured[cell] / native.measured[cell] for cell in cells])
        there, said = break_even(n, measured - 1), break_even(n, ratio - 1)
        yield BreakEven(
            gpus=gpus,
            largest_n=int(n[-1]),
            measured=there,
            forecast=said,
            relative_error=said / there - 1 if there and said else None,
            extra_at_largest={"measured": measured[-1] - 1, "forecast": ratio[-1] - 1},
        )
