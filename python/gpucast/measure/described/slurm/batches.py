"""Which visits are worth a job next, where a budget is shared out, and which go into one job.

A batch is chosen before the one before it has come home. In a linearised fit what a visit tells
does not depend on its outcome, so visits that are queued count as measured: the design is told of
them as visits that cost nothing, takes those first, and then knows what is left open.

Batches are large, since each pays the queue: a seed, which spreads over n and GPU counts, and a
refinement have 40 % of the budget at most, and the rest confirms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from gpucast.design.cells import Cell, pairs_of
from gpucast.design.next_cells import Ask, next_cells
from gpucast.design.optimal import START, start_design
from gpucast.design.thinning import spread_over
from gpucast.errors import InputError
from gpucast.measure.described.runs import Run
from gpucast.measure.described.slurm.options import RESERVE_SECONDS, Shape
from gpucast.measure.rounds import MOST_CELLS
from gpucast.model.forecaster import Forecaster

T = TypeVar("T")

SHARE = 0.4
"""Of the whole budget, that one batch may cost."""

_FILL = 0.8
"""Of the time that a job has for visits, by what these are expected to take."""

_NOTHING = 1e-6
"""Cost of what is queued, relative to the cheapest visit."""


def next_batch(
    cells: Sequence[Cell],
    open_: Sequence[Cell],
    queued: Sequence[Cell],
    visits: Mapping[Cell, int],
    costs: Callable[[Cell], float],
    model: Forecaster | None,
    *,
    left: float,
    whole: float,
    known: bool,
) -> list[Cell]:
    """Cells to visit once each, that together cost no more than is left, or a batch's share.

    Args:
        cells: all; ``open_``: those that may be visited once more.
        queued: under way or in the queue, a cell for each visit.
        visits: that were made.
        costs: of a visit; ``known``: whether anything is known of them.
        model: of what has been measured; None: too little for one.
        left: of the budget, without what is queued; ``whole``: all of it.

    Returns:
        None of them where nothing can be said before something queued comes home.
    """
    among = [cell for cell in open_ if not known or costs(cell) <= left]
    if not among:
        return []
    if model is None:
        return _seed(cells, among, queued, visits, costs, min(left, SHARE * whole), known)
    budget = min(left, SHARE * whole)
    found = _advised(cells, among, queued, costs, model, budget)
    if found is None:
        return [] if queued else _seed(cells, among, queued, visits, costs, budget, known)
    return found


def by_shape(runs: Iterable[Run]) -> list[list[Run]]:
    """Runs that one job may make, in their order: those that ask for the same."""
    shapes: dict[Shape, list[Run]] = {}
    for run in runs:
        shapes.setdefault(Shape.of(run), []).append(run)
    return list(shapes.values())


def within_limit(
    visits: Iterable[T], seconds: Callable[[T], float], limit: float
) -> Iterator[list[T]]:
    """As many visits together as a job's time limit lets end, at least one.

    ``seconds``: of a visit, 0 where nobody knows; ``limit``: of a job, in seconds.
    """
    most = _FILL * (limit - RESERVE_SECONDS)
    some: list[T] = []
    taken = 0.0
    for visit in visits:
        cost = seconds(visit)
        if some and taken + cost > most:
            yield some
            some, taken = [], 0.0
        some.append(visit)
        taken += cost
    if some:
        yield some


def _seed(
    cells: Sequence[Cell],
    among: Sequence[Cell],
    queued: Sequence[Cell],
    visits: Mapping[Cell, int],
    costs: Callable[[Cell], float],
    budget: float,
    known: bool,
) -> list[Cell]:
    """Spread over all cells; where nothing can be fitted to a seed, two more cells at a time."""
    taken = {cell for cell in cells if visits.get(cell, 0) > 0} | set(queued)
    fresh = [cell for cell in among if cell not in taken]
    if queued and len(taken) >= START:
        return []
    if not fresh:
        return [] if queued else list(among[:1])
    usable = [cell for cell in cells if cell in taken or cell in set(fresh)]
    done = [i for i, cell in enumerate(usable) if cell in taken]
    wanted = max(START + 2, len(done) + 2)
    chosen = [usable[i] for i in start_design(pairs_of(usable), wanted, done)]
    chosen = [cell for cell in chosen if cell not in taken]
    if not known:
        return sorted(chosen, key=lambda cell: cell.n / cell.gpus)
    return _within(budget, sorted(chosen, key=costs), costs)


def _advised(
    cells: Sequence[Cell],
    among: Sequence[Cell],
    queued: Sequence[Cell],
    costs: Callable[[Cell], float],
    model: Forecaster,
    budget: float,
) -> list[Cell] | None:
    among = [among[i] for i in spread_over(pairs_of(among), MOST_CELLS)]
    asked = [cells[i] for i in spread_over(pairs_of(cells), MOST_CELLS)]
    price = np.array([costs(cell) for cell in among])
    nothing = _NOTHING * float(price.min()) / max(1, len(queued))
    candidates = pairs_of([*queued, *among])
    ask = Ask.forecasts(*zip(*pairs_of(asked), strict=True))
    try:
        advice = next_cells(
            model, ask, candidates, count=None, budget=budget,
            costs=np.concatenate([np.full(len(queued), nothing), price]),
        )  # fmt: skip
    except InputError:  # a GPU count whose communication the data cannot know
        return None
    if advice is None:
        return None
    chosen = [among[i - len(queued)] for i in advice.order if i >= len(queued)]
    return list(dict.fromkeys(chosen)) or [min(among, key=costs)]


def _within(budget: float, cells: Sequence[Cell], costs: Callable[[Cell], float]) -> list[Cell]:
    chosen: list[Cell] = []
    spent = 0.0
    for cell in cells:
        spent += costs(cell)
        if chosen and spent > budget:
            break
        chosen.append(cell)
    return chosen
