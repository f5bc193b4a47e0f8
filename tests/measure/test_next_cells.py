"""Which cells to measure next: by hand for normal distributions, and by a model's draws."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

import gpucast
import made_data
from gpucast.data import dataset, jsonl
from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.measure.design.next_cells import Advice, Ask, next_cells
from gpucast.model.fitted import Model
from gpucast.model.intervals import Z90
from synthetic import TRUTHS, Truth, noisy

Array = NDArray[np.float64]

SIZES = [216, 512, 1000, 1728, 4096, 8000, 13824, 32768, 64000]
GRID = [(n, gpus) for n in SIZES for gpus in (1, 2, 3, 4)]


@dataclass(frozen=True)
class Known:
    """A model of some cells (n, 1): log times are these sums of independent standard normal
    quantities, a row a cell, about their means; visits differ by ``noise``."""

    roots: Array
    noise: float = 0.1
    means: tuple[float, ...] = ()
    draw_count = 1
    weighed = True

    def draws(self, n: Array, gpus: Array, count: int) -> Array:
        """With exactly this covariance."""
        z = np.random.default_rng(1).normal(size=(count, self.roots.shape[1]))
        z -= z.mean(axis=0)
        z = z @ np.linalg.inv(np.linalg.cholesky(z.T @ z / count)).T
        logs = z @ self.roots.T + np.array(self.means or np.zeros(len(self.roots)))
        return np.exp(logs[:, self._at(n, gpus)])

    def forecasts(self, n: Array, gpus: Array) -> Any:
        width = np.exp(Z90 * np.sqrt((self.roots**2).sum(axis=1))[self._at(n, gpus)])
        beside = np.exp(Z90 * np.sqrt((self.roots**2).sum(axis=1) + self.noise**2))
        single = beside[self._at(n, gpus)]

        @dataclass
        class Forecasts:
            seconds = np.ones(len(n))
            low, high, mean_low, mean_high = 1 / single, single, 1 / width, width

        return Forecasts()

    def _at(self, n: Array, gpus: Array) -> NDArray[np.intp]:
        """The row of a cell: those of n = 10, 11, ... on one GPU, three further on another."""
        return np.asarray(n - 10 + 3 * (gpus - 1), dtype=np.intp)


def advised(model: Known, ask: Ask, cells: int, **more: Any) -> Advice:
    """Next cells among the first of a model; each takes a second unless ``more`` says otherwise."""
    more.setdefault("costs", np.ones(cells))
    candidates = [(10.0 + i, 1) for i in range(cells)]
    advice = next_cells(cast(Model, model), ask, candidates, **more)
    assert advice is not None
    return advice


def widths(deviations: list[float]) -> Any:
    """Half-widths of 90 % intervals of times whose logarithms have these standard deviations."""
    return pytest.approx(np.expm1(Z90 * np.array(deviations)), rel=1e-6)


A, B = np.array([0.1, 0.0]), np.array([0.0, 0.1])


def test_a_visit_takes_the_square_of_the_covariance_over_its_own_variance() -> None:
    """Asked q = a, cells a + b and b: K_qc = 0.01 and 0; variances 0.02 of the cell, 0.01 of its
    noise."""
    model = Known(np.array([A + B, B, A]))
    advice = advised(model, Ask.forecasts([12], [1]), 2, count=1)
    assert advice.order == [0]
    assert advice.gains[0] == pytest.approx(0.01**2 / 0.03 / 0.01)
    assert advice.open == widths([0.1, np.sqrt(0.01 - 0.01**2 / 0.03)])


def test_a_second_cell_is_worth_more_where_it_explains_the_first() -> None:
    """With hardly any noise, a + b and b together determine a."""
    model = Known(np.array([A + B, B, A]), noise=0)
    advice = advised(model, Ask.forecasts([12], [1]), 2, count=2)
    assert advice.order == [0, 1]
    assert advice.gains == pytest.approx([0.5, 0.5], rel=0.01)
    assert advice.open[-1] < 0.01


def test_a_cell_that_takes_less_may_come_before_one_that_tells_more() -> None:
    model = Known(np.diag([0.02, 0.014]), noise=0.01)
    asked = Ask.forecasts([10, 11], [1, 1])
    assert advised(model, asked, 2, count=1).order == [0]
    assert advised(model, asked, 2, count=1, costs=np.array([10.0, 1.0])).order == [1]


def test_visits_of_a_cell_average_its_noise() -> None:
    advice = advised(Known(np.array([[0.1]])), Ask.forecasts([10], [1]), 1, most=[4], count=9)
    assert advice.order == [0] * 4
    # 1 / (1 / 0.01 + visits / 0.01)
    assert advice.open == widths([0.1 / np.sqrt(1 + visits) for visits in range(5)])
    assert [(cell.visits, cell.cost) for cell in advice.cells] == [(4, 4.0)]


def test_what_is_left_is_the_conditional_covariance() -> None:
    roots = np.random.default_rng(3).normal(size=(6, 6)) / 10
    advice = advised(Known(roots), Ask.forecasts(range(10, 16), [1] * 6), 6, count=3)
    expected = np.linalg.inv(
        np.linalg.inv(roots @ roots.T)
        + np.diag([100.0 if j in advice.order else 0.0 for j in range(6)])
    )
    assert advice.after == widths([np.sqrt(np.trace(expected) / 6)])


def test_choosing_between_counts_that_seem_as_fast_gains_what_one_expects_of_the_better() -> None:
    """Log times on one and two GPUs differ by d, known to s = 0.1: by not knowing it one loses
    s / sqrt(2 pi); a visit with as much noise says half of the variance."""
    roots = np.zeros((7, 1))
    roots[[0, 3]] = 0.1
    model = Known(roots)
    asked = Ask.best_count([13], [1, 2])
    advice = advised(model, asked, 1, count=1)
    lost = 0.1 * norm.pdf(0)
    assert advice.before == pytest.approx(lost, rel=0.05)
    assert advice.after == pytest.approx(lost * (1 - np.sqrt(0.5)), rel=0.2)


def test_what_all_counts_share_tells_nothing_of_the_best() -> None:
    shared, own = np.array([0.3, 0.0]), np.array([0.0, 0.05])
    # n = 10: what is shared; 11: what is not; 12 on one GPU, and on two.
    roots = np.vstack([[shared, own, shared], np.zeros((2, 2)), [shared + own]])
    advice = advised(Known(roots, noise=0.01), Ask.best_count([12], [1, 2]), 2, count=1)
    assert advice.order == [1]


def test_rivals_that_are_rarely_the_fastest_are_looked_at_last() -> None:
    """The best of three counts of n = 10 is well known to be no slower than the third."""
    roots, means = np.zeros((23, 3)), np.zeros(23)
    roots[[0, 3, 6]] = roots[20:] = 0.1 * np.eye(3)
    means[[3, 6]] = 0.02, 5.0
    model = Known(roots, means=tuple(means))
    advice = next_cells(
        cast(Model, model), Ask.best_count([10], [1, 2, 3]),
        [(30.0, 1), (31.0, 1), (32.0, 1)], costs=np.ones(3), count=2,
    )  # fmt: skip
    assert set(advice.order) == {0, 1}


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


def fit_to(data: Dataset, cells: set[tuple[float, int]]) -> Model:
    records = [
        record
        for record in data.records
        if not isinstance(record, Step) or (record.n, record.gpus) in cells
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
        advice = next_cells(model, ask, GRID, count=4, most=[3] * len(GRID))
        assert sum(cell.visits for cell in advice.cells) == 4
        assert advice.after <= advice.before
    alone = next_cells(model, asks[0], GRID[:20], count=4)
    assert max(gpus for gpus in Counter(cell.gpus for cell in alone.cells)) >= 3
    assert next_cells(model, asks[0], []) is None
