"""Whether a program that states nothing of itself is better described by the terms of our own.

Work that grows as n^2 is what our own programs' terms are about: all pairs, shared out in blocks,
with positions sent to every GPU. A program like them that was not ours gains from these terms; one
of another kind does not, and does not get here, since its work does not grow so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gpucast.data.records import Step
from gpucast.data.steps import medians_of
from gpucast.errors import InputError
from gpucast.fitting.problem import Problem
from gpucast.fitting.scaling import fit_scaling
from gpucast.model.fitted import Model

# Share of the forecast that forms of such work need.
_LIKELY = 0.5

# Where there are more sizes than the first, the second's share of them, the largest, is left out.
_FEWEST_SIZES = 3
_LARGEST_SIZES = 0.3

# Relative; held-out errors below it count as equal.
_SAME = 0.003

# The schedule of a program that does not state one: the paper's.
_SCHEDULE = "star-serial"


def nearer(problem: Problem, scaling: Model, fit_terms: Callable[[Problem, bool], Model]) -> Model:
    """The scaling model or the terms of our own programs, whichever forecasts the largest GPU
    count and the largest sizes measured better.

    ``fit_terms`` fits the terms, in full or for one answer.
    """
    if not _is_of_all_pairs(scaling) or scaling.lone_gpus is not None:
        return scaling  # terms of ours would say how time changes with N, which nobody timed
    paper = replace(problem, selection=replace(problem.selection, schedule=_SCHEDULE))
    by_terms: list[float] = []
    by_scaling: list[float] = []
    for trained, left_out in _folds(problem.steps):
        try:
            terms = fit_terms(replace(paper, steps=trained, remarks=[], notes=[]), False)
            by_terms += _errors(terms, left_out)
        except InputError:
            return scaling
        without = fit_scaling(replace(problem, steps=trained, remarks=[]), look_ahead=False)
        by_scaling += _errors(without, left_out)
    if not by_terms or np.mean(by_terms) >= np.mean(by_scaling):
        return scaling
    by_terms_in_full = fit_terms(paper, True)
    # The schedule was ours to assume: steps of the program state none.
    by_terms_in_full.data = replace(by_terms_in_full.data, schedule=problem.schedule)
    return by_terms_in_full


def _is_of_all_pairs(scaling: Model) -> bool:
    components = [] if scaling.scaling is None else scaling.scaling.components
    return sum(part.weight for part in components if part.growth == "n^2") >= _LIKELY


def _folds(steps: list[Step]) -> list[tuple[list[Step], list[Step]]]:
    """Steps to train on, and those to forecast: of the largest GPU count, and of the largest n."""
    sizes = sorted({step.n for step in steps})
    counts = sorted({step.gpus for step in steps})
    folds = []
    if len(counts) > 1:
        folds.append(_parted(steps, lambda step: step.gpus < counts[-1]))
    if len(sizes) > _FEWEST_SIZES:
        largest = sizes[-max(1, round(_LARGEST_SIZES * len(sizes)))]
        folds.append(_parted(steps, lambda step: step.n < largest))
    return folds


def _parted(steps: list[Step], keep: Callable[[Step], bool]) -> tuple[list[Step], list[Step]]:
    return [step for step in steps if keep(step)], [step for step in steps if not keep(step)]


def _errors(model: Model, steps: list[Step]) -> list[float]:
    """Logarithms of the relative errors of the cells that steps are of."""
    medians = medians_of(steps)
    n, gpus = (np.array(column, dtype=np.float64) for column in zip(*medians, strict=True))
    measured = np.array(list(medians.values()))
    error = np.abs(np.log(model.seconds(n, gpus) / measured))
    return np.log(error + _SAME).tolist()  # type: ignore[no-any-return]
