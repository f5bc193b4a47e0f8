"""Which visits are worth a job next, where a budget is shared out, and which go into one job.

A batch is chosen before the one before it has come home: visits that are queued count as made.
Batches are large, since each pays the queue: two have 40 % of the budget each at most, and the rest
confirms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from gpucast.design.cells import Cell
from gpucast.design.spreading import START, in_turn
from gpucast.measure.described.runs import Run
from gpucast.measure.described.slurm.options import RESERVE_SECONDS, Shape

T = TypeVar("T")

SHARE = 0.4
"""The share of the whole budget that one batch may take."""

SEED = START + 2
"""Cells of a batch before it is known what visits take, or what a fit says."""

_FILL = 0.8
"""The share of a job's time for visits that these are expected to take."""


def next_batch(
    open_: Sequence[Cell],
    queued: Sequence[Cell],
    visits: Mapping[Cell, int],
    costs: Callable[[Cell], float],
    *,
    left: float,
    whole: float,
    known: bool,
    asked: bool,
) -> list[Cell]:
    """Cells to visit once each, that together take no more than is left, or a batch's share.

    Args:
        open_: those that may be visited once more.
        queued: under way or in the queue, a cell for each visit.
        visits: that were made.
        costs: of a visit; ``known``: whether anything is known of them.
        left: of the budget, without what is queued; ``whole``: all of it.
        asked: whether a fit is to say what to visit, for which few cells are enough.

    Returns:
        None of them where nothing can be said before something queued comes home.
    """
    if queued and (asked or not known):
        return []
    ordered = in_turn(open_, Counter(visits) + Counter(queued))
    if not known:  # the cheapest begin
        return sorted(ordered[:SEED], key=lambda cell: cell.n / cell.gpus)
    affordable = [cell for cell in ordered if costs(cell) <= left]
    return _within(min(left, SHARE * whole), affordable[: SEED if asked else None], costs)


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


def _within(budget: float, cells: Sequence[Cell], costs: Callable[[Cell], float]) -> list[Cell]:
    chosen: list[Cell] = []
    spent = 0.0
    for cell in cells:
        spent += costs(cell)
        if chosen and spent > budget:
            break
        chosen.append(cell)
    return chosen
