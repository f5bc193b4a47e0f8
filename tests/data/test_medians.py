"""Medians and their order-statistics intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpucast.util.order_statistics import FEWEST_SAMPLES, median_of, outer_rank


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
    assert outer_rank(FEWEST_SAMPLES - 1) is None
    assert outer_rank(FEWEST_SAMPLES) == 0


def test_intervals_contain_the_true_median_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        found = median_of(list(np.exp(0.3 * rng.standard_normal(25))))
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 1 <= found.high
    assert 0.945 <= hits / 2000 <= 0.975  # 95.7 % by the binomial sum


def test_no_samples_have_no_median() -> None:
    with pytest.raises(ValueError, match="no samples"):
        median_of([])
