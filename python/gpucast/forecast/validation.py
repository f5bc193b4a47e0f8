"""Hold a model against measurements that it was not fitted to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import NotRequired, TypedDict, Unpack

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.loading import Source, dataset_of
from gpucast.data.selection import ANY, SelectionArguments, StepSelection, alike
from gpucast.errors import InputError
from gpucast.fitting.selection import require_plausible
from gpucast.model.forecaster import Forecaster


class Cell(TypedDict):
    """Measured and forecast time of a cell (s), and whether its 90 % interval holds the measured
    one; ``covered`` may be missing where there is no interval."""

    n: float
    gpus: int
    measured: float
    predicted: float
    relative_error: float
    covered: NotRequired[bool]
    repetitions: NotRequired[int]
    extrapolated: NotRequired[bool]


class Summary(TypedDict):
    """Of many cells; None where nothing is known."""

    median_relative_error: float
    p95_relative_error: float
    max_relative_error: float
    best_hits: int
    best_total: int
    mean_regret: float | None
    max_regret: float | None
    coverage: float | None


class Score(Summary):
    """A summary with its cells."""

    cells: list[Cell]


class Validation(Score):
    """A summary with its cells and the name of the model."""

    model: str


def validate(
    model: Forecaster,
    data: Dataset | Source,
    selection: StepSelection = ANY,
    **choice: Unpack[SelectionArguments],
) -> Validation:
    """Errors of the model on the steps of ``data``, cell by cell and summed up.

    A cell's measured time is the median of its repetitions; ``covered`` says whether it lies in the
    90 % prediction interval of such a median. Best counts are compared for every n that was
    measured with several GPU counts; regret is the time lost by following the forecast. Steps are
    of the selection, or of fields of one, and as those that the model was fitted to, where the data
    have such.

    Raises:
        InputError: there are no steps to compare with.
    """
    data = dataset_of(data)
    wanted = replace(selection, **choice)
    samples: dict[tuple[float, int], list[float]] = defaultdict(list)
    rounding: dict[tuple[float, int], float] = defaultdict(float)
    visits: dict[tuple[float, int], int] = defaultdict(int)
    steps = alike(data.select(wanted).steps, model.selection, data.name)
    require_plausible(steps, data.name)
    for step in steps:
        key = (step.n, step.gpus)
        samples[key].extend(step.seconds)
        visits[key] += 1
        rounding[key] = max(rounding[key], (step.uncertainty or 0.0) ** 2 / 3)
    if not samples:
        about = {**model.selection.chosen, **wanted.chosen}
        kind = ("path", "schedule", "kernel", "program", "case")
        named = ", ".join(f"{name} {about[name]!r}" for name in kind if name in about)
        raise InputError(f"there are no steps of {named}", file=data.name)
    keys = sorted(samples)
    found = model.forecasts([float(n) for n, _ in keys], [float(gpus) for _, gpus in keys])
    counts = [len(samples[key]) for key in keys]
    low, high = model.cell_intervals(
        found, counts, np.array([rounding[key] for key in keys]), [visits[key] for key in keys]
    )
    cells: list[Cell] = []
    for i, key in enumerate(keys):
        measured = float(np.median(samples[key]))
        cells.append(
            {
                "n": key[0],
                "gpus": key[1],
                "measured": measured,
                "predicted": float(found.seconds[i]),
                "relative_error": float(found.seconds[i] / measured - 1),
                "covered": bool(low[i] <= measured <= high[i]),
                "repetitions": len(samples[key]),
                "extrapolated": bool(found.extrapolated[i]),
            }
        )
    return {"model": model.name, "cells": cells, **summarize(cells)}


def score(cells: list[Cell], trained: Callable[[float, int], bool]) -> Score:
    """Errors and coverage of the cells that were not trained on; hits and regret of best counts.

    A count is chosen for every n of which a cell was left out, among all its counts: who asks for
    the best has the forecasts of those fitted as well.
    """
    left_out = [cell for cell in cells if not trained(cell["n"], cell["gpus"])]
    sizes = {cell["n"] for cell in left_out}
    choices = [cell for cell in cells if cell["n"] in sizes]
    return {"cells": left_out, **summarize(left_out, choices)}


def summarize(cells: list[Cell], choices: list[Cell] | None = None) -> Summary:
    """Errors and coverage of ``cells``; hits and regret of the best count among ``choices``.

    ``choices`` are the cells themselves if not given. Cells that do not say whether they are
    ``covered`` have no coverage (None).
    """
    error = np.abs([cell["relative_error"] for cell in cells])
    regrets = _regrets(cells if choices is None else choices)
    covered = [cell["covered"] for cell in cells if "covered" in cell]
    return {
        "median_relative_error": float(np.median(error)),
        "p95_relative_error": float(np.percentile(error, 95)),
        "max_relative_error": float(error.max()),
        "best_hits": sum(regret == 0 for regret in regrets),
        "best_total": len(regrets),
        "mean_regret": float(np.mean(regrets)) if regrets else None,
        "max_regret": float(np.max(regrets)) if regrets else None,
        "coverage": float(np.mean(covered)) if covered else None,
    }


def _regrets(cells: list[Cell]) -> list[float]:
    """The time lost by following the forecast, for each n with several counts."""
    by_n: dict[float, list[Cell]] = defaultdict(list)
    for cell in cells:
        by_n[cell["n"]].append(cell)
    regrets = []
    for group in by_n.values():
        if len(group) > 1:
            chosen = min(group, key=lambda cell: cell["predicted"])
            best = min(cell["measured"] for cell in group)
            regrets.append(chosen["measured"] / best - 1)
    return regrets
