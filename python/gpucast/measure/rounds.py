"""Which cells are visited next, a few seconds of measuring at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gpucast.data.selection import StepSelection
from gpucast.measure.design.cells import Cell
from gpucast.measure.design.spreading import START, in_turn
from gpucast.measure.until import Until

SECONDS = 4.0
"""Seconds of measuring between two fits."""

FIT_SECONDS = 0.2
"""Seconds of fitting that are allowed for each visit."""


def cheapest_round(
    cells: Sequence[Cell], costs: Callable[[Cell], float], fit_seconds: float
) -> list[Cell]:
    """The cheapest cells, for the time of a round: an interruption then loses little.

    ``fit_seconds``: how long the fits after the last round took.
    """
    return up_to(_round_seconds(fit_seconds), sorted(cells, key=costs), costs)


def spread_round(
    cells: Sequence[Cell],
    left: float,
    costs: Callable[[Cell], float],
    visits: Mapping[Cell, int],
    until: Mapping[StepSelection, Until],
    fit_seconds: float,
) -> list[Cell]:
    """The next cells of a pass in an order that is spread over all cells (``design.spreading``).

    Where questions are asked, after six cells of a series the visits that narrow its answers most
    for their time, by its last fit.

    Args:
        left: what may be spent, in the unit of ``costs``.
        visits: how many each cell has had.
        until: questions to each series; empty: none is asked.
        fit_seconds: as ``cheapest_round``.
    """
    least = max(1, round(fit_seconds / FIT_SECONDS))
    affordable = [cell for cell in cells if costs(cell) <= left]
    ordered = _by_questions(affordable, visits, until) if until else in_turn(affordable, visits)
    return up_to(min(_round_seconds(fit_seconds), left), ordered, costs, least)


def _by_questions(
    cells: Sequence[Cell], visits: Mapping[Cell, int], until: Mapping[StepSelection, Until]
) -> list[Cell]:
    """First cells of series whose fits do not say yet what to visit, then what the plans say."""
    first: list[Cell] = []
    ranked: list[tuple[float, Cell]] = []
    for series, asked in until.items():
        own = {cell for cell in cells if cell.series == series}
        if asked.plan is not None:
            planned = zip(asked.plan.gains, asked.plan.order, strict=True)
            ranked += [(gain, cell) for gain, cell in planned if cell in own]
        elif not asked.reached:
            first += in_turn(own, visits)[:START]
    ranked.sort(key=lambda item: -item[0])
    # A cell that a plan would visit several times is visited once, and then fitted.
    return list(dict.fromkeys([*first, *(cell for _, cell in ranked)]))


def _round_seconds(fit_seconds: float) -> float:
    """Fits may take a fifth of the time."""
    return max(SECONDS, 4 * fit_seconds)


def up_to(
    seconds: float, cells: Sequence[Cell], costs: Callable[[Cell], float], least: int = 1
) -> list[Cell]:
    """The first cells that together take no longer than ``seconds``; ``least`` of them anyway."""
    chosen: list[Cell] = []
    spent = 0.0
    for cell in cells:
        spent += costs(cell)
        if len(chosen) >= least and spent > seconds:
            break
        chosen.append(cell)
    return chosen
