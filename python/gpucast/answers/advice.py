"""What to measure next: the cells that reduce the uncertainty of an answer most for their time."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

import numpy as np

from gpucast.data.dataset import Dataset
from gpucast.data.workload import LARGEST_N
from gpucast.errors import InputError
from gpucast.measure.design.cells import GPU_SIZES, KERNELS, SCHEDULES, spread_over
from gpucast.measure.design.next_cells import Advice, Ask
from gpucast.measure.design.next_cells import next_cells as proposed
from gpucast.measure.design.questions import SOME
from gpucast.model.asked import grain_of
from gpucast.model.fitted import Model
from gpucast.util import JsonObject
from gpucast.util.units import number, percent

COUNT = 5
"""Number of cells in an advice."""

EVERY_COUNT = 128
"""All GPU counts up to this one are considered."""

BEYOND = 4.0
"""Sizes up to this many times the largest measured one are considered."""

NAMED = 3
"""Number of cells in a line of text."""

_NO_COST = 5e-4
"""A smaller mean loss by a wrong best count, relative, would be printed as 0.0 %."""


def next_cells(
    model: Model, measured: Sequence[tuple[float, int]], machine_gpus: int, data: Dataset
) -> JsonObject | None:
    """Return the next cells (n, GPU count) to measure so that all forecasts become more certain.

    Args:
        model: fitted to the measured cells.
        measured: cells (n, GPU count).
        machine_gpus: number of GPUs of the machine; 0 if not known.
        data: the dataset of the measured cells.

    Returns:
        ``cells`` [{n, gpus, seconds, uncertainty, cost}] (uncertainty: relative standard deviation
        of the forecast; cost: seconds of the measurement, None for programs that gpucast does not
            run),
        ``before`` and ``after`` (half-width of the 90 % interval of the expected time, root
        mean square over all cells considered, without and with them), ``considered`` (their number)
            and ``commands``; None if no cell is left to measure or the model has no information
            about it.
    """
    cells = _cells(model, measured, machine_gpus)
    n, gpus = np.array(cells, dtype=np.float64).T
    advice = _advice(model, Ask.forecasts(n, gpus), cells, set(measured), COUNT)
    if advice is None:
        return None
    ours = _is_ours(model)
    names = ("n", "gpus", "seconds", "uncertainty")
    return {
        "cells": [
            {name: getattr(cell, name) for name in names} | {"cost": cell.cost if ours else None}
            for cell in advice.cells
        ],
        "before": advice.before,
        "after": advice.after,
        "considered": len(cells),
        "commands": _commands(model, [(cell.n, cell.gpus) for cell in advice.cells], data),
    }


def for_question(model: Model, ask: Ask, *, count: int = NAMED) -> Advice | None:
    """Return the cells to measure so that the answer to a question becomes more certain.

    No measured cell is named, a cell of the question only if no other one helps, and none if a
    wrong best count loses nothing. None if the model does not hold its measured cells.
    """
    if model.timed is None:
        return None
    if ask.counts == 1:
        return Advice([], [], [], [0.0])
    cells = near(model, ask.n.tolist(), ask.gpus.astype(int).tolist())
    asked = set(zip(ask.n.tolist(), ask.gpus.astype(int).tolist(), strict=True))
    advice = _advice(model, ask, cells, asked, count)
    if advice is None or percent(advice.before) == percent(advice.after):
        advice = _advice(model, ask, cells, set(), count)
    if advice is not None and ask.counts and advice.before < _NO_COST:
        return Advice([], [], [], [advice.before])
    return advice


def near(model: Model, n: Sequence[float], gpus: Sequence[int]) -> list[tuple[float, int]]:
    """Return unmeasured cells that are informative about these sizes and counts, on no more GPUs.

    Their sizes are these, the nearest measured ones, and the midpoints if these lie beyond the
    measured ones; their counts are the measured ones, powers of two, and these. If all of them were
    measured, the midpoints to the next sizes are taken, or half the size.
    """
    assert model.timed is not None
    measured = set(zip(map(float, model.timed.n), model.timed.gpus, strict=True))
    known = sorted({size for size, _ in measured})
    grain = grain_of(*known)
    some = sorted({float(size) for size in n})
    asked = [some[i] for i in spread_over([(size, 1) for size in some], SOME)]
    sizes, between = set(asked), set()
    for size in asked:
        beside = {*[k for k in known if k < size][-1:], *[k for k in known if k > size][:1]}
        half = {float(f"{(size * other) ** 0.5:.2g}") for other in beside or {size / 4}}
        sizes |= beside | (half if len(beside) == 1 and size not in known else set())
        between |= half
    some_counts = sorted(set(gpus))
    counts = {some_counts[i] for i in spread_over([(1.0, count) for count in some_counts], SOME)}
    counts |= {1 << power for power in range(max(gpus).bit_length())}
    counts |= {count for _, count in measured if count <= max(gpus)}
    for every in (sizes, between):
        whole = {max(round(size), 1) if grain == 1 else size for size in every}
        cells = [(float(size), count) for size in sorted(whole) for count in sorted(counts)]
        if open_ := [cell for cell in cells if cell not in measured]:
            return open_
    return []


def in_words(ask: Ask, advice: Advice) -> str:
    """Say in a line what to measure and how the answer would change."""
    if ask.counts == 1:
        return f"nothing needs measuring: of N = {ask.gpus[0]:g} alone there is no best count"
    if not advice.cells:
        return "nothing needs measuring: the best count is as good as certain"
    cells = ", ".join(f"(n = {number(cell.n)}, N = {cell.gpus})" for cell in advice.cells)
    if percent(advice.before) == percent(advice.after):
        return f"no few cells make this surer; {cells} tell most"
    change = f"{percent(advice.before)} to {percent(advice.after)}"
    if ask.counts:
        return f"measure {cells} next: what a wrong best count loses falls from {change}"
    return f"measure {cells} next: the 90 % interval of the expected time shrinks from ± {change}"


def _advice(
    model: Model,
    ask: Ask,
    cells: Sequence[tuple[float, int]],
    known: set[tuple[float, int]],
    count: int,
) -> Advice | None:
    open_ = [cell for cell in cells if cell not in known]
    # The times of runs of other programs are not known: all count the same.
    costs = None if _is_ours(model) else np.ones(len(open_))
    try:
        return proposed(model, ask, open_, costs=costs, count=count)
    except InputError:  # a GPU count whose communication the data do not determine
        return None


def _is_ours(model: Model) -> bool:
    return model.data.schedule in SCHEDULES and model.data.kernel in KERNELS


def _cells(
    model: Model, measured: Sequence[tuple[float, int]], machine_gpus: int
) -> list[tuple[float, int]]:
    """Measured sizes and some larger ones; for our own programs also usual sizes between, on all
    counts of the machine; for other programs on common counts."""
    least, largest = min(n for n, _ in measured), max(n for n, _ in measured)
    ours = _is_ours(model)
    whole = grain_of(least, largest) == 1
    wanted = (largest * factor for factor in (BEYOND**0.5, BEYOND))
    beyond = (round(n) if whole else n for n in wanted if n <= LARGEST_N)
    usual = (n for n in GPU_SIZES if ours and least < n < largest)
    sizes = sorted({*(n for n, _ in measured), *usual, *beyond})
    most = max(machine_gpus, *(gpus for _, gpus in measured))
    counts: Iterable[int] = range(1, most + 1)
    if most > EVERY_COUNT or not ours:
        powers = {1 << power for power in range(most.bit_length())}
        counts = sorted({*powers, *(gpus for _, gpus in measured), most})
    return [(n, gpus) for n in sizes for gpus in counts]


def _commands(model: Model, cells: Sequence[tuple[float, int]], data: Dataset) -> list[str]:
    """``gpucast measure`` commands for the cells, one for each GPU count; none for other
    programs."""
    about = model.data
    if not _is_ours(model) or about.what_if:
        return []
    path = about.path
    reached = path if path in ("host", "native") else f"{path}=HOST:PORT"
    output = data.name if data.name.endswith(".jsonl") else "more.jsonl"
    lines = []
    for gpus in sorted({gpus for _, gpus in cells}):
        sizes = ",".join(str(n) for n in sorted(n for n, count in cells if count == gpus))
        words = [
            *("gpucast", "measure", "--paths", reached, "--schedules", str(about.schedule)),
            *("--kernels", str(about.kernel), "-n", sizes, "--gpus", str(gpus)),
            *("--no-transfers", "-o", output),
        ]
        lines.append(shlex.join(words))
    return lines
