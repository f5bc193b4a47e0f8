"""What to measure next: the cells that tell most about the forecasts for the time they take."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.limits import LARGEST_N
from gpucast.design.cells import GPU_SIZES, KERNELS, SCHEDULES, Timing
from gpucast.design.ensembles import REPLICATES, Fitted
from gpucast.design.optimal import left, order
from gpucast.errors import InputError
from gpucast.model.fitted import Model
from gpucast.model.forecaster import grain_of
from gpucast.util import JsonObject

COUNT = 5
"""Cells that are named."""

EVERY_COUNT = 128
"""Up to so many GPUs every count is considered."""

BEYOND = 4.0
"""Sizes up to so many times the largest measured one are considered."""


def next_cells(
    model: Model, measured: Sequence[tuple[float, int]], machine_gpus: int, data: Dataset
) -> JsonObject | None:
    """The next cells (n, GPU count) to measure, the one that tells most per second first.

    Args:
        model: fitted to the measured cells.
        measured: cells (n, GPU count).
        machine_gpus: how many GPUs the machine has; 0 where not known.
        data: where the measured cells come from.

    Returns:
        ``cells`` [{n, gpus, seconds, uncertainty, cost}] (uncertainty: relative standard deviation
        of the forecast; cost: seconds of measuring), ``before`` and ``after`` (the same over all
        cells considered, root mean square, without and with them), ``considered`` (how many) and
        ``commands``; None where nothing is left to measure or the model says nothing about it.
    """
    cells = _cells(measured, machine_gpus)
    known = set(measured)
    open_ = [i for i, cell in enumerate(cells) if cell not in known]
    if not open_:
        return None
    try:
        lean = replace(
            model, replicates=model.replicates[:REPLICATES], integers=model.integers[:REPLICATES]
        )
        ensemble = Fitted(lean).ensemble(cells)
    except InputError:  # a GPU count whose communication the data cannot know
        return None
    K = ensemble.covariance(cells, [i for i, cell in enumerate(cells) if cell in known])
    seconds = np.exp(ensemble.center)
    costs = np.array([Timing().cell_seconds(float(each)) for each in seconds])
    chosen = [j for j, _ in order(K, ensemble.noise, costs, count=COUNT, among=open_)]
    after = left(K, ensemble.noise, chosen)
    spread = np.sqrt(np.maximum(np.diag(K), 0))
    return {
        "cells": [
            {
                "n": cells[j][0],
                "gpus": cells[j][1],
                "seconds": float(seconds[j]),
                "uncertainty": float(spread[j]),
                "cost": float(costs[j]),
            }
            for j in chosen
        ],
        "before": float(np.sqrt(np.mean(spread**2))),
        "after": float(np.sqrt(np.mean(np.maximum(np.diag(after), 0)))),
        "considered": len(cells),
        "commands": _commands(model, [cells[j] for j in chosen], data),
    }


def _cells(measured: Sequence[tuple[float, int]], machine_gpus: int) -> list[tuple[float, int]]:
    """Measured sizes, the usual ones, and some beyond, on all GPUs of the machine."""
    least, largest = min(n for n, _ in measured), max(n for n, _ in measured)
    whole = grain_of(least, largest) == 1
    wanted = (largest * factor for factor in (BEYOND**0.5, BEYOND))
    beyond = (round(n) if whole else n for n in wanted if n <= LARGEST_N)
    usual = (n for n in GPU_SIZES if least < n < largest)
    sizes = sorted({*(n for n, _ in measured), *usual, *beyond})
    most = max(machine_gpus, *(gpus for _, gpus in measured))
    counts: Iterable[int] = range(1, most + 1)
    if most > EVERY_COUNT:
        powers = {1 << power for power in range(most.bit_length())}
        counts = sorted({*powers, *(gpus for _, gpus in measured)})
    return [(n, gpus) for n in sizes for gpus in counts]


def _commands(model: Model, cells: Sequence[tuple[float, int]], data: Dataset) -> list[str]:
    """``gpucast measure`` for the cells, a line a GPU count; none for programs it cannot run."""
    about = model.data
    if about.schedule not in SCHEDULES or about.kernel not in KERNELS or about.what_if:
        return []
    path = about.path
    reached = path if path in ("host", "native") else f"{path}=HOST:PORT"
    output = data.name if data.name.endswith(".jsonl") else "more.jsonl"
    lines = []
    for gpus in sorted({gpus for _, gpus in cells}):
        sizes = ",".join(str(n) for n in sorted(n for n, count in cells if count == gpus))
        words = [
            *("gpucast", "measure", "--paths", reached, "--schedules", about.schedule),
            *("--kernels", about.kernel, "-n", sizes, "--gpus", str(gpus)),
            *("--no-transfers", "-o", output),
        ]
        lines.append(shlex.join(words))
    return lines
