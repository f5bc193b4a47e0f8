"""The order of cells, without any program."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gpucast.data.selection import StepSelection
from gpucast.design.cells import Cell, Choice, Timing, all_series, full, grid
from gpucast.measure.rounds import CheapestFirst, Costs, Designed

CELLS = grid("native", 4, Choice(schedules=("star-serial",), kernels=("claret",)))
ONE, OTHER = (
    StepSelection(schedule="star-serial", kernel="claret", memory="pageable"),
    StepSelection(schedule="star-serial", kernel="claret", memory="pinned"),
)


def costs(timing: Timing | None = None) -> Costs:
    return Costs("native", timing or Timing())


def designed(of: Costs, visits: Counter[Cell] | None = None, **more: int) -> Designed:
    return Designed(CELLS, of, {}, lambda: 0.0, visits=visits or Counter(), **more)


def all_rounds(
    strategy: CheapestFirst | Designed,
    seconds: float,
    of: Costs,
    visits: Counter[Cell] | None = None,
    most: int = 1,
) -> list[Cell]:
    """Every visit that is made until the time is over; ``visits``: where they are counted."""
    left, measured = list(CELLS), []
    visits = Counter() if visits is None else visits
    while left and seconds > 0:
        batch = strategy.next_round(left, seconds)
        if not batch:
            break
        for cell in batch:
            visits[cell] += 1
            if visits[cell] >= most:
                left.remove(cell)
            measured.append(cell)
            seconds -= of(cell)
    return measured


def test_without_a_budget_all_cells_come_the_cheapest_first() -> None:
    of = costs()
    measured = all_rounds(CheapestFirst(of, lambda: 0.0), float("inf"), of)
    assert sorted(measured) == sorted(CELLS)
    assert [of(cell) for cell in measured] == sorted(of(cell) for cell in CELLS)


def test_each_series_starts_with_cells_spread_over_the_grid() -> None:
    of = costs(Timing.of_budget(300))
    first = all_rounds(designed(of), 300, of)[:12]
    for series in (ONE, OTHER):
        own = [(cell.n, cell.gpus) for cell in first if cell.series == series]
        assert len(own) == 6
        sizes, counts = {n for n, _ in own}, {gpus for _, gpus in own}
        assert min(sizes) <= 512
        assert max(sizes) >= 175616
        assert min(counts) == 1
        assert max(counts) >= 3


def test_a_budget_of_less_than_the_grid_visits_no_cell_twice() -> None:
    of, visits = costs(Timing.of_budget(60)), Counter[Cell]()
    whole = sum(of(cell) for cell in CELLS)
    all_rounds(designed(of, visits, most=6), whole / 3, of, visits, most=6)
    assert set(visits.values()) == {1}
    assert 0.25 * whole < sum(of(cell) for cell in visits) <= whole / 3


def test_one_cell_of_the_start_design_fills_every_multiprocessor() -> None:
    own = [cell for cell in CELLS if cell.series == ONE]
    filled = full(own, sms=132)
    assert filled is not None
    # claret has 256 threads a block: 4 * 132 * 256 particles.
    assert (filled.n, filled.gpus) == (175616, 1)
    assert full(own, sms=10_000) == Cell(ONE, 287496, 1)
    assert full(own, sms=0) is None
    of = costs(Timing.of_budget(600))
    first = all_rounds(designed(of, sms=132), 600, of)[:14]
    assert {Cell(ONE, 175616, 1), Cell(OTHER, 175616, 1)} <= set(first)


def test_with_time_for_four_passes_the_start_design_is_visited_in_each() -> None:
    of, visits = costs(Timing.of_budget(180)), Counter[Cell]()
    strategy = designed(of, visits, most=6, sms=132)
    budget = 4.5 * sum(of(cell) for cell in CELLS)
    made = all_rounds(strategy, budget, of, visits, most=6)
    often = {cell: count for cell, count in visits.items() if count >= 4}
    assert len(often) >= 14
    for cell in [Cell(ONE, 175616, 1), Cell(ONE, 216, 1)]:
        at = [i for i, each in enumerate(made) if each == cell]
        assert len(at) >= 4
        assert sum(np.diff(at) > len(made) / 20) >= 3


def test_a_cell_that_costs_more_than_is_left_is_not_begun() -> None:
    of = costs()
    measured = all_rounds(designed(of), 10, of)
    assert measured
    assert sum(of(cell) for cell in measured) <= 10
    assert designed(of).next_round(CELLS, 0.01) == []


def test_what_a_series_takes_is_learnt() -> None:
    of = costs()
    cell = Cell(ONE, 64000, 1)
    before, other = of.step(cell), of.step(Cell(OTHER, 64000, 1))
    of.learn(Cell(ONE, 8000, 2), 10 * of.step(Cell(ONE, 8000, 2)))
    assert of.step(cell) == pytest.approx(10 * before)
    assert of.step(Cell(OTHER, 64000, 1)) == other


def test_remote_gpus_have_no_allgather_and_only_star_serial_a_choice_of_memory() -> None:
    assert StepSelection(schedule="allgather", kernel="tuned", memory="pinned") in all_series(
        "native", Choice()
    )
    assert "allgather" not in {series.schedule for series in all_series("remote", Choice())}
    assert {s.memory for s in all_series("native", Choice()) if s.schedule != "star-serial"} == {
        "pinned"
    }
    assert {s.memory for s in all_series("host", Choice()) if s.schedule == "star-serial"} == {
        "pageable"
    }


def test_a_host_of_many_cores_gets_some_counts_and_all() -> None:
    counts = {cell.gpus for cell in grid("host", 48, Choice())}
    assert counts == {1, 2, 3, 4, 8, 16, 32, 48}
    assert {cell.gpus for cell in grid("native", 3, Choice(gpus=(2, 8)))} == {2}
