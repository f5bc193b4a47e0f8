"""Two models side by side."""

from __future__ import annotations

import numpy as np
import pytest

import gpucast as gc
from gpucast.answers.remote_cost import Beside
from gpucast.data.steps import medians_of
from gpucast.model.fitted import Model
from made_data import NATIVE, VIRTUALIZED, dataset, machine, step, whole


@pytest.fixture(scope="module")
def models() -> tuple[Model, Model]:
    return gc.fit(whole(NATIVE), replicates=100), gc.fit(whole(VIRTUALIZED, 1), replicates=100)


def test_ratios_are_those_of_the_truths(models: tuple[Model, Model]) -> None:
    rows = gc.compare(*models, n=[1000, 64000], gpus=[1, 4])["ratio"]
    assert [(row["n"], row["gpus"]) for row in rows] == [
        (1000, 1), (1000, 4), (64000, 1), (64000, 4)
    ]  # fmt: skip
    for row in rows:
        cell = np.array([float(row["n"])]), np.array([float(row["gpus"])])
        truth = (VIRTUALIZED.seconds(*cell) / NATIVE.seconds(*cell))[0]
        assert row["ratio"] == pytest.approx(row["second"] / row["first"])
        assert row["ratio"] == pytest.approx(truth, rel=0.05)
        assert row["low"] < row["ratio"] < row["high"]
    # Small n wait for the network: native is faster there beyond doubt.
    assert rows[0]["probability_first_faster"] > 0.99


def test_the_other_order_gives_the_inverse(models: tuple[Model, Model]) -> None:
    one = gc.compare(*models, 8000, 2)["ratio"][0]
    other = gc.compare(*models[::-1], 8000, 2)["ratio"][0]
    assert other["ratio"] == pytest.approx(1 / one["ratio"])
    assert (other["low"], other["high"]) == pytest.approx((1 / one["high"], 1 / one["low"]))
    total = one["probability_first_faster"] + other["probability_first_faster"]
    assert total == pytest.approx(1)


def test_a_model_is_no_faster_than_itself(models: tuple[Model, Model]) -> None:
    row = gc.compare(models[0], models[0], 8000, 2)["ratio"][0]
    assert (row["ratio"], row["probability_first_faster"]) == (1, 0.5)


def test_the_best_counts_are_each_model_s_own(models: tuple[Model, Model]) -> None:
    (row,) = gc.compare(*models, 8000, range(1, 9))["best"]
    for model, key in zip(models, ("first", "second"), strict=True):
        best = model.best(8000).iloc[0]
        assert row[key]["gpus"] == best.gpus
        assert row[key]["seconds"] == best.seconds
    assert row["ratio"] == pytest.approx(row["second"]["seconds"] / row["first"]["seconds"])


def test_extrapolation_of_either_is_marked(models: tuple[Model, Model]) -> None:
    rows = gc.compare(*models, 8000, [4, 5])["ratio"]
    assert [row["extrapolated"] for row in rows] == [False, True]


# --- cells that were measured on two paths ---

TWO_PATHS = Beside(
    cells=[(100, 1), (100, 2), (1000, 1), (1000, 2)],
    first=np.array([1.0, 2.0, 10.0, 6.0]),
    second=np.array([1.5, 2.0, 10.5, 12.0]),
    forecasts=np.array([[3.0, 2.0, 10.5, 9.0], [2.5, 1.5, 10.0, 8.0], [3.5, 2.5, 11.0, 10.0]]),
    base=np.array([2.0, 1.0, 10.0, 6.0]),
)


def test_extra_is_measured_beside_measured_and_forecast_beside_forecast() -> None:
    assert TWO_PATHS.extra == pytest.approx([0.5, 0.0, 0.05, 1.0])
    assert TWO_PATHS.expected_extra == pytest.approx([0.5, 1.0, 0.05, 0.5])
    assert TWO_PATHS.error == pytest.approx([1.0, 0.0, 0.0, -0.25])


def test_cells_of_a_count_are_found_in_the_arrays() -> None:
    n, at = TWO_PATHS.of_gpus(2)
    assert n.tolist() == [100, 1000]
    assert TWO_PATHS.second[at].tolist() == [2.0, 12.0]


def test_visits_of_a_cell_share_one_median() -> None:
    lines = [machine(), step(64, 1, [1.0, 1.0, 2.0]), step(64, 1, [4.0, 4.0])]
    assert medians_of(dataset(lines).steps) == {(64, 1): 2.0}
