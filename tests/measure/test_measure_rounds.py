"""The order of cells, without any program."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucast.data.selection import StepSelection
from gpucast.measure.design.cells import Cell, Choice, Timing, all_series, grid, in_turn
from gpucast.measure.visits import OwnCosts, cheapest_round, spread_round

Rounds = Callable[[Sequence[Cell], float], list[Cell]]
"""The cells of the next round, from the remaining cells and seconds."""

CELLS = grid("native", 4, Choice(schedules=("star-serial",), kernels=("claret",)))
ONE, OTHER = (
    StepSelection(schedule="star-serial", kernel="claret", memory="pageable"),
    StepSelection(schedule="star-serial", kernel="claret", memory="pinned"),
)


def costs(timing: Timing | None = None) -> OwnCosts:
    return OwnCosts("native", timing or Timing())


def passes(of: OwnCosts, visits: Counter[Cell]) -> Rounds:
    return lambda cells, left: spread_round(cells, left, of, visits, {}, fit_seconds=0.0)


def all_rounds(
    next_round: Rounds,
    seconds: float,
    of: OwnCosts,
    visits: Counter[Cell] | None = None,
    most: int = 1,
) -> list[Cell]:
    """All visits until the time is over; ``visits``: where they are counted."""
    left, measured = list(CELLS), []
    visits = Counter() if visits is None else visits
    while left and seconds > 0:
        batch = next_round(left, seconds)
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
    times = costs()
    measured = all_rounds(
        lambda cells, left: cheapest_round(cells, times, 0.0), float("inf"), times
    )
    assert sorted(measured) == sorted(CELLS)
    assert [times(cell) for cell in measured] == sorted(times(cell) for cell in CELLS)


@given(st.integers(4, 80), st.integers(0, 5))
def test_any_first_part_of_a_pass_is_spread_over_the_cells(part: int, visit: int) -> None:
    """No gap between the sorted cells is much longer than with even spacing."""
    visits = dict.fromkeys(CELLS, visit)
    ordered = sorted(CELLS)
    at = sorted(ordered.index(cell) for cell in in_turn(CELLS, visits)[:part])
    gaps = np.diff([-1, *at, len(CELLS)])
    assert gaps.max() <= 3 * len(CELLS) / part + 1


def test_the_first_cells_are_of_all_series_small_and_large_on_few_and_many_gpus() -> None:
    first = in_turn(CELLS, {})[:12]
    for series in (ONE, OTHER):
        own = [cell for cell in first if cell.series == series]
        assert len(own) >= 5
        assert max(cell.n for cell in own) >= 100 * min(cell.n for cell in own)
        assert len({cell.gpus for cell in own}) >= 3


def test_each_pass_has_an_order_of_its_own_which_is_the_same_in_each_start() -> None:
    first, second = (in_turn(CELLS, dict.fromkeys(CELLS, visit)) for visit in (0, 1))
    assert first != second
    assert sorted(first) == sorted(second) == sorted(CELLS)
    assert in_turn(reversed(CELLS), {}) == first
    # Cells without a visit come first.
    behind = in_turn(CELLS, dict.fromkeys(CELLS[:3], 1))
    assert set(behind[-3:]) == set(CELLS[:3])


def test_no_cell_is_visited_twice_before_all_were_once() -> None:
    times, visits = costs(Timing.of_budget(60)), Counter[Cell]()
    whole = sum(times(cell) for cell in CELLS)
    made = all_rounds(passes(times, visits), 2.5 * whole, times, visits, most=6)
    assert set(made[: len(CELLS)]) == set(CELLS)
    assert set(visits.values()) <= {2, 3}

    visits.clear()
    made = all_rounds(passes(times, visits), whole / 3, times, visits, most=6)
    assert set(visits.values()) == {1}
    assert 0.25 * whole < sum(map(times, made)) <= whole / 3


def test_a_cell_that_takes_longer_than_is_left_is_not_begun() -> None:
    times, visits = costs(), Counter[Cell]()
    measured = all_rounds(passes(times, visits), 10, times)
    assert measured
    assert sum(times(cell) for cell in measured) <= 10
    assert passes(times, visits)(CELLS, 0.01) == []


def test_what_a_series_takes_is_learnt() -> None:
    times = costs()
    cell = Cell(ONE, 64000, 1)
    before, other = times.step(cell), times.step(Cell(OTHER, 64000, 1))
    times.learn(Cell(ONE, 8000, 2), 1.0, 10 * times.step(Cell(ONE, 8000, 2)))
    assert times.step(cell) == pytest.approx(10 * before)
    assert times.step(Cell(OTHER, 64000, 1)) == other


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
