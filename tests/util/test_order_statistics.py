"""Medians of samples with their intervals, and repetitions that disagree."""

import math

import numpy as np
import pytest

from gpucast.util.order_statistics import disagreeing, median_of, outer_rank, own_deviation


def test_the_ranks_are_those_of_the_binomial_sum() -> None:
    for count in range(1, 80):
        rank = outer_rank(count)
        tails = [
            2 * sum(math.comb(count, i) for i in range(r + 1)) / 2**count for r in range(count)
        ]
        if rank is None:
            assert tails[0] > 0.05
        else:
            assert tails[rank] <= 0.05
            assert rank + 1 > (count - 1) // 2 or tails[rank + 1] > 0.05


def test_five_samples_have_no_interval_and_six_have_their_range() -> None:
    assert median_of([3.0, 1.0, 2.0, 5.0, 4.0]).low is None
    six = median_of([6.0, 1.0, 2.0, 5.0, 4.0, 3.0])
    assert (six.value, six.low, six.high) == (3.5, 1.0, 6.0)
    assert outer_rank(5) is None
    assert outer_rank(6) == 0


def test_intervals_contain_the_true_median_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        interval = median_of(list(np.exp(0.3 * rng.standard_normal(25))))
        hits += interval.low <= 1 <= interval.high
    assert 0.945 <= hits / 2000 <= 0.975  # 95.7 % by the binomial sum


def test_no_samples_have_no_median() -> None:
    with pytest.raises(ValueError, match="no samples"):
        median_of([])


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
