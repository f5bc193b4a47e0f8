"""What another path costs beside a first one."""

from __future__ import annotations

import numpy as np
import pytest

from gpucast.answers.remote_cost import Beside
from gpucast.data import dataset, jsonl
from gpucast.data.steps import medians_of
from made_data import machine, step

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
    data = dataset.from_records("made", [jsonl.record(line) for line in lines])
    assert medians_of(data.steps) == {(64, 1): 2.0}
