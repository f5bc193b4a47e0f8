"""Deviations from a form, between and beyond the cells where they were measured."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from gpucast.model.residual_process import (
    LENGTH_GPUS,
    LENGTH_N,
    LENGTH_WAIT,
    USUAL,
    ResidualProcess,
    learnt_amplitudes,
)

AMPLITUDES = (0.1, 0.06)
PRIOR = AMPLITUDES[0] ** 2 + AMPLITUDES[1] ** 2

cells = st.lists(
    st.tuples(
        st.integers(100, 1_000_000),
        st.integers(1, 8),
        st.floats(1e-6, 1e-2),
        st.floats(-0.5, 0.5),
        st.floats(1e-4, 0.1),
    ),
    min_size=1,
    max_size=12,
)


def covariance(n: np.ndarray, gpus: np.ndarray, wait: np.ndarray) -> np.ndarray:
    """As the module's docstring has it, cell by cell."""
    result = np.empty((n.size, n.size))
    for i in range(n.size):
        for j in range(n.size):
            along_n = np.exp(-abs(np.log(n[i] / n[j])) / LENGTH_N)
            along_gpus = np.exp(-abs(np.log(gpus[i] / gpus[j])) / LENGTH_GPUS)
            along_wait = np.exp(-abs(np.log(wait[i] / wait[j])) / LENGTH_WAIT)
            result[i, j] = (
                along_n * along_wait * (AMPLITUDES[0] ** 2 + AMPLITUDES[1] ** 2 * along_gpus)
            )
    return result


def process(rows: list[tuple[int, int, float, float, float]]) -> ResidualProcess:
    n, gpus, wait, deviation, variance = np.array(rows, dtype=float).reshape(-1, 5).T
    return ResidualProcess(n, gpus, wait, deviation, variance, AMPLITUDES)


@given(cells)
def test_it_is_the_normal_distribution_given_what_was_measured(
    rows: list[tuple[int, int, float, float, float]],
) -> None:
    """The density of a new cell beside the measured ones, over theirs, is its own given theirs."""
    n, gpus, wait, deviation, variance = np.array(rows, dtype=float).T
    new = np.append(n, 5000.0), np.append(gpus, 3.0), np.append(wait, wait.mean())
    whole = covariance(*new) + np.diag(np.append(variance, 0.0))
    mean, spread = process(rows).at(*(column[-1:] for column in new))
    points = mean[0] + np.sqrt(spread[0]) * np.array([-1.0, 0.0, 1.5])
    joint = [
        multivariate_normal.logpdf(np.append(deviation, x), cov=whole)
        - multivariate_normal.logpdf(deviation, cov=whole[:-1, :-1])
        for x in points
    ]
    own = multivariate_normal.logpdf(points, mean[0], spread[0])
    assert np.allclose(joint, own, atol=1e-6)


@given(cells, st.integers(100, 1_000_000), st.integers(1, 8))
def test_more_measurements_never_widen(
    rows: list[tuple[int, int, float, float, float]], n: int, gpus: int
) -> None:
    # Beyond all that was measured a wait counts as the nearest: one that both have measured.
    at = np.array([float(n)]), np.array([float(gpus)]), np.array([rows[0][2]])
    rows = [rows[0], *rows]
    _, with_all = process(rows).at(*at)
    _, with_fewer = process(rows[:-1]).at(*at)
    assert with_all[0] <= with_fewer[0] * (1 + 1e-9) + 1e-12
    assert with_fewer[0] <= PRIOR * (1 + 1e-12)


@given(cells)
def test_far_away_it_is_what_it_was_before_any_measurement(
    rows: list[tuple[int, int, float, float, float]],
) -> None:
    mean, variance = process(rows).at(np.array([1e17]), np.array([1.0]), np.array([1e-4]))
    # e^(-ln(1e11) / 1.5) of the deviations at the nearest n is left.
    assert abs(mean[0]) < 1e-6
    assert variance[0] == pytest.approx(PRIOR, rel=1e-6)


def test_it_passes_through_what_was_measured_without_noise() -> None:
    rows = [
        (1000, 1, 1e-5, 0.2, 1e-12), (1000, 2, 1e-5, -0.1, 1e-12), (1000, 1, 1e-3, 0.4, 1e-12),
        (64000, 1, 1e-5, 0.05, 1e-12),
    ]  # fmt: skip
    n, gpus, wait, deviation, _ = np.array(rows).T
    mean, variance = process(rows).at(n, gpus, wait)
    assert mean == pytest.approx(deviation, abs=1e-9)
    assert np.all(variance < 1e-9)


@given(cells)
def test_cells_together_are_as_each_alone(rows: list[tuple[int, int, float, float, float]]) -> None:
    at = np.array([[500.0, 500.0, 70000.0], [1.0, 4.0, 2.0], [1e-5, 1e-4, 1.0]])
    for known in (rows, []):
        mean, variance = process(known).at(*at)
        of_all, together = process(known).together(*at)
        assert of_all == pytest.approx(mean)
        assert np.diag(together) == pytest.approx(variance, abs=1e-12)
        assert np.linalg.eigvalsh(together).min() > -1e-12


def test_amplitudes_follow_what_deviates() -> None:
    n, gpus = (axis.ravel() for axis in np.meshgrid(np.geomspace(256, 262144, 11), [1.0, 2.0]))
    noise, wait = np.full(n.size, 0.02**2), np.full(n.size, 1e-5)
    quiet = learnt_amplitudes(n, gpus, wait, np.zeros(n.size), noise)
    assert max(quiet) < 0.5 * USUAL
    alike = np.where(np.log2(n) % 4 < 2, 0.3, -0.3)
    along_n, along_gpus = learnt_amplitudes(n, gpus, wait, alike, noise)
    assert along_n > 1.5 * USUAL
    assert along_gpus < USUAL
    apart = np.where(gpus == 1, alike, -alike)
    assert learnt_amplitudes(n, gpus, wait, apart, noise)[1] > 1.5 * USUAL


def test_a_wait_beyond_what_was_measured_counts_as_the_nearest() -> None:
    known = process([(1000, 1, 1e-5, 0.1, 1e-4), (1000, 1, 1e-3, 0.4, 1e-4)])
    one, n = np.ones(2), np.full(2, 1000.0)
    mean, variance = known.at(n, one, np.array([1e-3, 1.0]))
    assert mean[0] == mean[1] > 0.3
    assert variance[0] == variance[1]
