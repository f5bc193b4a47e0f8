"""Which cells tell most: by hand where all is normal, and against made truths."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import pi

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import gpucast
import made_data
from gpucast.data import dataset, jsonl
from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.design.next_cells import Ask, next_cells
from gpucast.design.optimal import Fastest, Known, Sure, order, start_design
from gpucast.model.forecaster import Forecaster
from synthetic import TRUTHS, Truth, noisy

Array = NDArray[np.float64]

SIZES = [216, 512, 1000, 1728, 4096, 8000, 13824, 32768, 64000]
GRID = [(n, gpus) for n in SIZES for gpus in (1, 2, 3, 4)]


def known(cells: Array, asked: Array, means: list[float] | None = None) -> Known:
    """Draws with exactly this joint covariance: rows of ``cells`` and ``asked`` are coefficients of
    independent standard normal quantities."""
    root = np.vstack([cells, asked])
    rng = np.random.default_rng(1)
    z = rng.normal(size=(2000, root.shape[1]))
    z -= z.mean(axis=0)
    z = z @ np.linalg.inv(np.linalg.cholesky(z.T @ z / len(z))).T
    draws = z @ root.T
    asked_draws = draws[:, len(cells) :] + np.array(means or np.zeros(len(asked)))
    # Medians of the draws, about which they are clipped, do not matter here.
    return Known(draws[:, : len(cells)], asked_draws)


def test_a_visit_takes_the_square_of_the_covariance_over_its_own_variance() -> None:
    """Asked q = a, cells a + b and b: K_qc = 1 and 0; sd of the cell 1, of its noise 1."""
    a, b = np.array([0.1, 0.0]), np.array([0.0, 0.1])
    found = order(
        known(np.array([a + b, b]), np.array([a])),
        Sure(np.ones(1)),
        np.full(2, 0.1),
        np.ones(2),
        count=1,
    )
    assert found.cells == [0]
    # 0.01^2 / (0.02 + 0.01)
    assert found.gains[0] == pytest.approx(0.01**2 / 0.03)
    assert found.open == pytest.approx([0.1, np.sqrt(0.01 - 0.01**2 / 0.03)])


def test_a_second_cell_is_worth_more_where_it_explains_the_first() -> None:
    """Without noise a + b and b together say what a is."""
    a, b = np.array([0.1, 0.0]), np.array([0.0, 0.1])
    found = order(
        known(np.array([a + b, b]), np.array([a])),
        Sure(np.ones(1)),
        np.full(2, 1e-6),
        np.ones(2),
        count=2,
    )
    assert found.cells == [0, 1]
    assert found.gains == pytest.approx([0.005, 0.005], rel=1e-3)
    assert found.open[-1] == pytest.approx(0, abs=1e-5)


def test_a_cell_that_costs_less_may_come_before_one_that_tells_more() -> None:
    roots = np.diag([0.02, 0.014])
    found = order(
        known(roots, roots), Sure(np.ones(2)), np.full(2, 0.01), np.array([10.0, 1.0]), count=1
    )
    assert found.cells == [1]


def test_visits_of_a_cell_average_its_noise() -> None:
    one = np.array([[0.1]])
    found = order(known(one, one), Sure(np.ones(1)), np.full(1, 0.1), np.ones(1), most=[4], count=9)
    assert found.cells == [0] * 4
    # 1 / (1 / 0.01 + visits / 0.01)
    assert found.open == pytest.approx([0.1 / np.sqrt(1 + visits) for visits in range(5)])


def test_a_budget_is_kept_but_for_a_first_cell() -> None:
    roots = np.diag([1.0, 0.1, 0.1])
    asked, seconds = known(roots, roots), np.array([50.0, 1.0, 1.0])
    noise = np.full(3, 0.1)
    within = order(asked, Sure(np.array([0.0, 1, 1])), noise, seconds, budget=2)
    assert set(within.cells) == {1, 2}
    assert len(order(asked, Sure(np.ones(3)), noise, seconds, budget=0.5).cells) == 1


def test_what_is_left_is_the_conditional_covariance() -> None:
    rng = np.random.default_rng(3)
    roots = rng.normal(size=(6, 6)) / 10
    of = known(roots, roots)
    found = order(of, Sure(np.ones(6)), np.full(6, 0.1), np.ones(6), count=3)
    K = of.covariance[:6, :6]
    expected = np.linalg.inv(
        np.linalg.inv(K) + np.diag([100.0 if j in found.cells else 0.0 for j in range(6)])
    )
    assert found.open[-1] == pytest.approx(np.sqrt(np.trace(expected) / 6), rel=1e-6)


def test_choosing_between_two_counts_that_seem_alike_gains_what_one_expects_of_the_better() -> None:
    """Their difference is d, known to 0.1; seen without noise the better is shorter by |d|/2 on
    average: 0.1 / sqrt(2 pi)."""
    d = np.array([[0.1, 0.0]])
    of = known(d, np.array([[0.1, 0.0], [0.0, 1e-9]]))
    goal = Fastest([np.array([0, 1])], of.asked)
    found = order(of, goal, np.full(1, 1e-6), np.ones(1), count=1)
    assert found.gains[0] == pytest.approx(0.1 / np.sqrt(2 * pi), rel=0.02)
    assert found.open[0] == pytest.approx(0.1 / np.sqrt(2 * pi), rel=0.05)


def test_what_all_counts_share_tells_nothing_of_the_best() -> None:
    shared, own = np.array([0.3, 0.0]), np.array([0.0, 0.05])
    of = known(np.array([shared, own]), np.array([shared, shared + own]))
    goal = Fastest([np.array([0, 1])], of.asked)
    assert order(of, goal, np.full(2, 0.01), np.ones(2), count=1).cells == [1]


def test_where_no_visit_turns_the_choice_the_closest_rival_is_looked_at() -> None:
    roots = 0.001 * np.eye(3)
    of = known(roots, roots, [0.0, 0.5, 5.0])
    goal = Fastest([np.arange(3)], of.asked)
    found = order(of, goal, np.full(3, 0.001), np.ones(3), count=2)
    assert set(found.cells) == {0, 1}


@given(st.lists(st.floats(-0.3, 0.3), min_size=3, max_size=3), st.integers(0, 99))
def test_no_visit_is_worth_less_than_nothing(means: list[float], seed: int) -> None:
    roots = np.random.default_rng(seed).normal(size=(3, 3)) / 10
    of = known(roots, roots, means)
    found = order(of, Fastest([np.arange(3)], of.asked), np.full(3, 0.05), np.ones(3), count=3)
    assert min(found.gains) >= 0
    assert min(found.open) >= 0


def test_the_start_design_takes_opposite_corners_and_leaves_no_large_gap() -> None:
    chosen = [GRID[j] for j in start_design(GRID, 4)]
    assert chosen[:2] == [(216, 1), (64000, 4)]
    sizes = np.sort([n for n, _ in chosen])
    assert np.diff(np.log(sizes)).max() < 0.5 * np.log(64000 / 216)
    assert {gpus for _, gpus in chosen[2:]} == {1, 4}


def test_the_start_design_goes_on_from_cells_that_are_there() -> None:
    assert start_design(GRID, 2, done=[0, 1]) == []
    assert start_design([], 4) == []
    assert len(start_design(GRID[:2], 6)) == 2


def made(truth: Truth, seed: int) -> Dataset:
    """Three visits of eight steps of every cell; 0.5 % noise, and as much from cell to cell. No
    transfers."""
    rng = np.random.default_rng(seed)
    records = [made_data.machine(truth.c)]
    for n, gpus in GRID:
        cell = noisy(truth.seconds(np.array([n]), np.array([gpus])), rng, 0.005)
        for _ in range(3):
            steps = noisy(np.full(8, cell[0]), rng, 0.005)
            records.append(made_data.step(n, gpus, list(steps), memory="pageable"))
    return dataset.from_records("made", [jsonl.record(record) for record in records])


def fit_to(data: Dataset, cells: set[tuple[float, int]]) -> Forecaster:
    records = [
        each for each in data.records if not isinstance(each, Step) or (each.n, each.gpus) in cells
    ]
    return gpucast.fit(replace(data, records=records), replicates=0)


def test_a_models_own_draws_say_what_to_visit_for_each_kind_of_question() -> None:
    data = made(TRUTHS["native"], 1)
    model = fit_to(data, {(n, gpus) for n, gpus in GRID if n <= 8000 and gpus <= 2})
    asks = [
        Ask.forecasts([64000], [4]),
        Ask.best_count([64000], [1, 2, 3, 4]),
        Ask.cost([32768, 64000], [4, 4], [1e6, 2e6]),
    ]
    for ask in asks:
        found = next_cells(model, ask, GRID, count=4, most=[3] * len(GRID))
        assert found is not None
        assert sum(each.visits for each in found.cells) == 4
        assert found.after <= found.before
    alone, sums = (next_cells(model, ask, GRID[:20], count=4) for ask in asks[::2])
    assert alone is not None
    assert sums is not None
    assert max(gpus for gpus in Counter(each.gpus for each in alone.cells)) >= 3
    assert next_cells(model, asks[0], []) is None


def p95_error(data: Dataset, truth: Truth, chosen: set[tuple[float, int]]) -> float:
    """Errors of forecasts of the whole grid, against the truth."""
    n, gpus = np.array(GRID, dtype=float).T
    error = np.abs(fit_to(data, chosen).forecasts(n, gpus).seconds / truth.seconds(n, gpus) - 1)
    return float(np.percentile(error, 95))


def designed(data: Dataset, count: int) -> set[tuple[float, int]]:
    """A start design and what tells most about the whole grid, a cell after the other."""
    ask = Ask.forecasts(*np.array(GRID, dtype=float).T)
    chosen = {GRID[j] for j in start_design(GRID)}
    while len(chosen) < count:
        open_ = [cell for cell in GRID if cell not in chosen]
        model = fit_to(data, chosen)
        found = next_cells(model, ask, open_, costs=np.ones(len(open_)), count=1)
        assert found is not None
        chosen |= {(each.n, each.gpus) for each in found.cells}
    return chosen


@pytest.mark.slow
@pytest.mark.parametrize("name", ["native", "virtualized"])
def test_a_third_of_the_cells_forecasts_nearly_as_all_do(name: str) -> None:
    """At most twice as wrong (p95), as where noise is all that is wrong and a quarter of the data
    is there; and half as wrong as as many random cells, which now and then miss what matters."""
    truth = TRUTHS[name]
    count = len(GRID) // 3
    all_, chosen, random = [], [], []
    for seed in range(6):
        data = made(truth, seed)
        rng = np.random.default_rng(seed)
        all_.append(p95_error(data, truth, set(GRID)))
        chosen.append(p95_error(data, truth, designed(data, count)))
        for _ in range(4):
            picked = {GRID[j] for j in rng.permutation(len(GRID))[:count]}
            random.append(p95_error(data, truth, picked))
    assert np.median(chosen) <= 2 * np.median(all_)
    assert np.mean(chosen) <= 0.5 * np.mean(random)
    assert np.median(chosen) < np.median(random)


def test_a_start_design_by_cost_is_spread_and_cheaper_than_one_by_distance() -> None:
    costs = np.array([float(gpus) for _, gpus in GRID])
    by_cost = start_design(GRID, 6, costs=costs)
    by_distance = start_design(GRID, 6)
    assert len(set(by_cost)) == 6
    assert costs[by_cost].sum() < costs[by_distance].sum()
    chosen = [GRID[i] for i in by_cost]
    assert max(n for n, _ in chosen) >= 16 * min(n for n, _ in chosen)
    assert len({gpus for _, gpus in chosen}) > 1


def test_a_start_design_by_cost_goes_on_from_what_was_measured() -> None:
    costs = np.ones(len(GRID))
    whole = start_design(GRID, 8, costs=costs)
    assert start_design(GRID, 8, whole[:3], costs) == whole[3:]
    dear = costs.copy()
    dear[whole[0]] = 1e6
    assert whole[0] not in start_design(GRID, 8, costs=dear)
