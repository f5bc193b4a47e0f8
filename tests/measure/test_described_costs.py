"""What visits of a program cost, before and after some were made."""

from __future__ import annotations

import pytest

from gpucast.data.selection import StepSelection
from gpucast.measure.costs import VisitCosts
from gpucast.measure.design.cells import Cell

SERIES = StepSelection(program="toy")
CELLS = [Cell(SERIES, n, gpus) for n in (1000, 2000, 4000, 1_000_000) for gpus in (1, 2)]


def step(cell: Cell) -> float:
    return 1e-6 * cell.n / cell.gpus


def took(cell: Cell) -> float:
    """Half a second for start and end, and a hundred steps."""
    return 0.5 + 100 * step(cell)


def test_two_cells_tell_what_a_visit_takes_beside_its_steps() -> None:
    costs = VisitCosts(by_gpu=True)
    visited = []
    while (cell := costs.to_know(CELLS)) is not None:
        visited.append(cell)
        costs.learn(cell, took(cell), step(cell))
    assert visited[0] == Cell(SERIES, 1000, 1)
    # Four times the work of the least that was not visited, and no more.
    assert visited[1:] == [Cell(SERIES, 4000, 2)]
    quickest = took(visited[0])
    for cell in CELLS:
        assert costs(cell) == pytest.approx(max(quickest, took(cell)) * cell.gpus)


def test_where_there_is_one_cell_nothing_more_can_be_known() -> None:
    costs = VisitCosts(by_gpu=False)
    costs.learn(CELLS[0], 1.0, 0.1)
    assert costs.to_know(CELLS[:1]) is None
    assert costs(CELLS[0]) == 1.0
