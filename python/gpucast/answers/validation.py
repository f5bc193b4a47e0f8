"""Hold a model against measurements that it was not fitted to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NotRequired, TypedDict, Unpack

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.loading import Source, dataset_of
from gpucast.data.selection import ANY, SelectionArguments, StepSelection, alike, only
from gpucast.data.steps import samples_of
from gpucast.errors import InputError
from gpucast.fitting.selection import require_plausible
from gpucast.model.fitted import Model
from gpucast.model.intervals import Interval, interval_named
from gpucast.model.kinds import of_its_machine
from gpucast.util.units import percent

IMPROBABLE = 0.01
"""A forecast is refuted where chance leaves so few cells within their 90 % interval less often."""


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
    """Errors of the forecasts of many cells; None where nothing is known."""

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
    """A summary with its cells, the name of the model, and which interval was meant to hold."""

    model: str
    interval: str


def validate(
    model: Model,
    data: Dataset | Source,
    selection: StepSelection = ANY,
    interval: str = Interval.now,
    **choice: Unpack[SelectionArguments],
) -> Validation:
    """Errors of the model on the steps of ``data``, cell by cell and summed up.

    A cell's measured time is the median of its repetitions; ``covered`` says whether it lies in the
    90 % prediction interval of such a median, measured as ``interval`` says: now, later on the
    machine that was fitted, or on another machine of the kind. Best counts are compared for every n
    that was measured with several GPU counts; regret is the time lost by following the forecast.
    Steps are
    of the selection, or of fields of one, and as those that the model was fitted to, where the data
    have such; of machines, on the one that it forecasts, or its kind of GPUs.

    Raises:
        InputError: there are no steps to compare with, or those of several machines.
    """
    data, interval = dataset_of(data), interval_named(interval)
    wanted = replace(selection, **choice)
    steps = alike(data.select(wanted).steps, model.selection, data.name)
    if wanted.machine is None:
        steps = of_its_machine(model, data, steps)
        only(steps, "machine", data.name)
    require_plausible(steps, data.name)
    samples = samples_of(steps)
    if not samples:
        about = {**model.selection.chosen, **wanted.chosen}
        kind = ("path", "schedule", "kernel", "program", "case")
        named = ", ".join(f"{name} {about[name]!r}" for name in kind if name in about)
        raise InputError(f"there are no steps of {named}", file=data.name)
    n, gpus = zip(*samples, strict=True)
    forecasts = model.forecasts(n, gpus, interval)
    cell_samples = list(samples.values())
    counts = [len(cell.seconds) for cell in cell_samples]
    rounding = np.array([cell.rounding for cell in cell_samples])
    visits = [cell.visits for cell in cell_samples]
    low, high = model.cell_intervals(forecasts, counts, rounding, visits)
    medians = np.array([np.median(cell.seconds) for cell in cell_samples])
    columns = {
        "n": n,
        "gpus": gpus,
        "measured": medians.tolist(),
        "predicted": forecasts.seconds.tolist(),
        "relative_error": (forecasts.seconds / medians - 1).tolist(),
        "covered": ((low <= medians) & (medians <= high)).tolist(),
        "repetitions": counts,
        "extrapolated": forecasts.extrapolated.tolist(),
    }
    cells: list[Cell] = [
        dict(zip(columns, row, strict=True))  # type: ignore[misc]
        for row in zip(*columns.values(), strict=True)
    ]
    known = {"model": model.name, "interval": str(interval)}
    return {**known, "cells": cells, **summarize(cells)}  # type: ignore[typeddict-item]


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
            regrets.append(chosen["measured"] / min(cell["measured"] for cell in group) - 1)
    return regrets


def refuted(cells: Sequence[Cell], measured: str) -> str | None:
    """How far measured cells are from a forecast where too few lie within their 90 % interval.

    Args:
        cells: measured and forecast.
        measured: the name of the data.

    Returns:
        One line; None where as many lie within as chance explains, or there are no cells.
    """
    from scipy.special import bdtr

    covered = sum(cell["covered"] for cell in cells)
    if not cells or bdtr(covered, len(cells), 0.9) >= IMPROBABLE:
        return None
    errors = summarize(list(cells))
    return (
        f"{covered} of {len(cells)} cells measured in {measured} lie within their 90 % interval; "
        f"they are missed by {percent(errors['median_relative_error'])} in the median, by "
        f"{percent(errors['max_relative_error'])} at most"
    )
