"""Chooses between scaling forms and our own programs' terms for a program without a schedule.

Our own programs' terms describe work that grows as n^2: all pairs, divided in blocks, with
positions sent to every GPU. Another program of this kind gains from these terms. Other kinds of
programs are not considered, since their work does not grow as n^2.
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

# Least weight of forms with growth n^2 in the forecast.
_LIKELY = 0.5

# With more than this number of sizes, the largest ones are held out, a share of all sizes.
_FEWEST_SIZES = 3
_LARGEST_SIZES = 0.3

# Relative held-out errors below this count as equal.
_SAME = 0.003

# The schedule that is assumed: the paper's.
_SCHEDULE = "star-serial"


def nearer(problem: Problem, scaling: Model, fit_terms: Callable[[Problem, bool], Model]) -> Model:
    """Return the scaling model or that of our own programs' terms, whichever forecasts the held-out
    largest GPU count and sizes better. ``fit_terms`` fits the terms, with bootstrap replicates or
    without.
    """
    if not _is_of_all_pairs(scaling) or scaling.lone_gpus is not None:
        return scaling  # our terms would imply a dependence on N that was not measured
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
    # The schedule was an assumption: the program's steps state none.
    by_terms_in_full.data = replace(by_terms_in_full.data, schedule=problem.schedule)
    return by_terms_in_full


def _is_of_all_pairs(scaling: Model) -> bool:
    components = [] if scaling.scaling is None else scaling.scaling.components
    return sum(part.weight for part in components if part.growth == "n^2") >= _LIKELY


def _folds(steps: list[Step]) -> list[tuple[list[Step], list[Step]]]:
    """Return pairs of training and held-out steps, for the largest GPU count and for the largest
    n."""
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
    """Return logarithms of the relative errors in the cells of steps."""
    medians = medians_of(steps)
    n, gpus = (np.array(column, dtype=np.float64) for column in zip(*medians, strict=True))
    measured = np.array(list(medians.values()))
    error = np.abs(np.log(model.seconds(n, gpus) / measured))
    return np.log(error + _SAME).tolist()  # type: ignore[no-any-return]
