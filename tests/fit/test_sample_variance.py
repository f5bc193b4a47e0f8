"""Variances of samples, each record's moderated by all others'."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucast.fitting.sample_variance import moderated, sample_variances, undisturbed


def records(sd: np.ndarray, count: int, seed: int) -> list[list[float]]:
    noise = np.random.default_rng(seed).standard_normal((sd.size, count))
    return np.exp(sd[:, np.newaxis] * noise).tolist()


@pytest.mark.parametrize("count", [5, 9, 20])
def test_records_that_scatter_alike_have_nearly_one_variance(count: int) -> None:
    total = 400
    variances = sample_variances(records(np.full(total, 0.03), count, count), 1e-12)
    freedom = 0.37 * (count - 1)
    # A mean of logarithms of chi^2 is off by its scatter over the root of the records, by 3 % where
    # the distribution is only nearly that.
    off = 0.03 + 4 * np.sqrt(2 / freedom + 2 / freedom**2) / np.sqrt(total)
    assert np.exp(np.mean(np.log(variances))) == pytest.approx(0.03**2, rel=off)
    assert np.std(np.log(variances)) < 0.2


def test_records_that_scatter_far_more_than_others_keep_their_variance() -> None:
    sd = np.where(np.arange(40) < 20, 0.003, 0.3)
    variances = sample_variances(records(sd, 30, 1), 1e-12)
    assert variances[:20].max() < variances[20:].min() / 100
    assert np.median(np.sqrt(variances[:20])) == pytest.approx(0.003, rel=0.3)
    assert np.median(np.sqrt(variances[20:])) == pytest.approx(0.3, rel=0.3)


def test_a_few_disturbed_samples_leave_variances_alone() -> None:
    quiet = records(np.full(60, 0.02), 9, 2)
    disturbed = [[*record[:-1], 3 * record[-1]] for record in quiet]
    ratio = sample_variances(disturbed, 1e-12) / sample_variances(quiet, 1e-12)
    assert ((ratio > 0.7) & (ratio < 2)).all()


@pytest.mark.parametrize("count", [3, 4, 5, 20])
def test_normally_distributed_samples_are_nearly_all_kept(count: int) -> None:
    """As are records of one sample and of two, however far apart."""
    total = 500
    samples = [[1.0], [1.0, 9.0], *records(np.full(total, 0.03), count, count)]
    kept = undisturbed(samples)
    assert kept[:2] == samples[:2]
    assert sum(len(record) for record in kept[2:]) >= total * count * 0.998


@pytest.mark.parametrize("count", [3, 6, 20])
@pytest.mark.parametrize("factor", [1 / 3, 1.5, 12])
def test_a_disturbed_sample_of_every_record_is_left_out(count: int, factor: float) -> None:
    samples = [[factor * record[0], *record[1:]] for record in records(np.full(12, 0.01), count, 4)]
    assert undisturbed(samples) == [record[1:] for record in samples]


def test_records_that_are_noisy_as_a_whole_are_left_whole() -> None:
    samples = records(np.where(np.arange(12) < 8, 0.003, 0.1), 12, 5)
    assert undisturbed(samples)[8:] == samples[8:]


def test_samples_that_are_rounded_alike_are_left_as_they_are() -> None:
    samples = [[2.0, 2.0, 2.0], [1.0, 1.0, 1.1], [3.0, 3.0, 3.0, 3.0]]
    assert undisturbed(samples) == samples


@given(st.lists(st.lists(st.floats(1e-6, 1e2), min_size=1, max_size=8), min_size=1, max_size=8))
def test_at_least_half_of_a_record_is_kept(samples: list[list[float]]) -> None:
    kept = undisturbed(samples)
    assert all(2 * len(k) >= len(s) for k, s in zip(kept, samples, strict=True))
    assert all(set(k) <= set(s) for k, s in zip(kept, samples, strict=True))


@given(st.lists(st.floats(1e-6, 1e2), min_size=4, max_size=30), st.floats(0.5, 20))
def test_moderated_variances_lie_in_order_and_keep_their_unit(
    variances: list[float], freedom: float
) -> None:
    given_ = np.array(variances)
    shrunk = moderated(given_, np.full(given_.size, freedom))
    order = np.argsort(given_)
    assert (np.diff(shrunk[order]) >= -1e-9 * shrunk[order][:-1]).all()
    assert np.all((shrunk > 0) & np.isfinite(shrunk))
    scaled = moderated(100 * given_, np.full(given_.size, freedom))
    assert scaled == pytest.approx(100 * shrunk, rel=1e-6)


def test_variances_drawn_as_assumed_are_estimated_better_than_each_alone() -> None:
    """The prior's parameters are found again: moderation shrinks the error of logarithms."""
    rng = np.random.default_rng(3)
    of_all, freedom, count = 6.0, 2.0, 2000
    true = 4.0 * of_all / rng.chisquare(of_all, count)
    seen = true * rng.chisquare(freedom, count) / freedom
    variances = moderated(seen, np.full(count, freedom))
    best = (of_all * 4.0 + freedom * seen) / (of_all + freedom)
    assert variances == pytest.approx(best, rel=0.25)
    error = np.mean(np.log(variances / true) ** 2)
    assert error < 0.25 * np.mean(np.log(seen / true) ** 2)


def test_a_single_sample_says_nothing() -> None:
    assert sample_variances([[0.1], [0.2], [0.3, 0.33]], 1e-6)[:2].tolist() == [1e-6, 1e-6]
