"""Repetitions that lie much farther apart than others of the program."""

from __future__ import annotations

import math

import pytest

from gpucast.data.repetitions import disagreeing, own_deviation

AGREEING = {"a": [1.0, 1.02], "b": [2.0, 1.99], "c": [4.0, 4.06]}


def test_a_decimal_point_in_the_wrong_place_is_seen() -> None:
    assert disagreeing({**AGREEING, "d": [0.9, 9.0]}) == ["d"]
    assert disagreeing({**AGREEING, "d": [0.9, 0.91, 9.0]}) == ["d"]
    assert disagreeing(AGREEING) == []


def test_two_of_four_cells_may_be_wrong() -> None:
    cells = {"a": [1.0, 1.02], "b": [2.0, 1.99], "c": [0.4, 4.0], "d": [9.0, 0.9]}
    assert disagreeing({**cells, "e": [3.0, 3.01]}) == ["c", "d"]


def test_what_scatters_everywhere_is_no_mistake() -> None:
    # All cells differ by half: 10 standard deviations are a factor of 1.5 ** (10 / .95).
    wide = {"a": [1.0, 1.5], "b": [2.0, 3.0], "c": [6.0, 4.0]}
    assert disagreeing({**wide, "d": [1.0, 10.0]}) == []


def test_less_than_half_as_long_again_misleads_nobody() -> None:
    assert disagreeing({**AGREEING, "d": [1.0, 1.49]}) == []
    assert disagreeing({**AGREEING, "d": [1.0, 1.51]}) == ["d"]
    assert disagreeing({"a": [1.0], "d": [1.0, 1.51]}) == ["d"]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([5.0], 0.0),
        ([1.0, 10.0], 1.4826 * math.log(10) / 2),  # each is half as far from their median
        ([1.0, 1.0, 10.0], 0.0),
        ([1.0, 1.0, 10.0, 10.0], 1.4826 * math.log(10) / 2),
        ([1.0, 2.0, 8.0], 1.4826 * math.log(2)),  # distances: ln 2, 0, ln 4
    ],
)
def test_how_well_a_cell_is_known_by_itself(samples: list[float], expected: float) -> None:
    assert own_deviation(samples) == pytest.approx(expected)
