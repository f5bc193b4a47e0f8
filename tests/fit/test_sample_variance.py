"""Variances of samples, each record's moderated by all others'."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucast.fitting.sample_variance import moderated, sample_variances


def records(sd: np.ndarray, count: int, seed: int) -> list[list[float]]:
    noise = np.random.default_rng(seed).standard_normal((sd.size, count))
    return np.exp(sd[:, np.newaxis] * noise).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("count", [5, 9, 20])
def test_records_that_scatter_alike_have_nearly_one_variance(count: int) -> None:
    of = 400
    found = sample_variances(records(np.full(of, 0.03), count, count), 1e-12)
    freedom = 0.37 * (count - 1)
    # A mean of logarithms of chi^2 is off by its scatter over the root of the records, by 3 % where
    # the distribution is only nearly that.
    off = 0.03 + 4 * np.sqrt(2 / freedom + 2 / freedom**2) / np.sqrt(of)
    assert np.exp(np.mean(np.log(found))) == pytest.approx(0.03**2, rel=off)
    assert np.std(np.log(found)) < 0.2


def test_records_that_scatter_far_more_than_others_keep_their_variance() -> None:
    sd = np.where(np.arange(40) < 20, 0.003, 0.3)
    found = sample_variances(records(sd, 30, 1), 1e-12)
    assert found[:20].max() < found[20:].min() / 100
    assert np.median(np.sqrt(found[:20])) == pytest.approx(0.003, rel=0.3)
    assert np.median(np.sqrt(found[20:])) == pytest.approx(0.3, rel=0.3)


def test_a_few_disturbed_samples_leave_variances_alone() -> None:
    quiet = records(np.full(60, 0.02), 9, 2)
    disturbed = [[*each[:-1], 3 * each[-1]] for each in quiet]
    ratio = sample_variances(disturbed, 1e-12) / sample_variances(quiet, 1e-12)
    assert ((ratio > 0.7) & (ratio < 2)).all()


@given(st.lists(st.floats(1e-6, 1e2), min_size=4, max_size=30), st.floats(0.5, 20))
def test_moderated_variances_lie_in_order_and_keep_their_unit(
    variances: list[float], freedom: float
) -> None:
    given_ = np.array(variances)
    found = moderated(given_, np.full(given_.size, freedom))
    order = np.argsort(given_)
    assert (np.diff(found[order]) >= -1e-9 * found[order][:-1]).all()
    assert np.all((found > 0) & np.isfinite(found))
    scaled = moderated(100 * given_, np.full(given_.size, freedom))
    assert scaled == pytest.approx(100 * found, rel=1e-6)


def test_variances_drawn_as_assumed_are_estimated_better_than_each_alone() -> None:
    """The prior's parameters are found again: moderation shrinks the error of logarithms."""
    rng = np.random.default_rng(3)
    of_all, freedom, count = 6.0, 2.0, 2000
    true = 4.0 * of_all / rng.chisquare(of_all, count)
    seen = true * rng.chisquare(freedom, count) / freedom
    found = moderated(seen, np.full(count, freedom))
    best = (of_all * 4.0 + freedom * seen) / (of_all + freedom)
    assert found == pytest.approx(best, rel=0.25)
    error = np.mean(np.log(found / true) ** 2)
    assert error < 0.25 * np.mean(np.log(seen / true) ** 2)


def test_a_single_sample_says_nothing() -> None:
    assert sample_variances([[0.1], [0.2], [0.3, 0.33]], 1e-6)[:2].tolist() == [1e-6, 1e-6]
