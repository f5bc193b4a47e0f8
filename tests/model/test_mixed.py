"""Forecasts of a mixture: its file, its intervals, its draws."""

import copy
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t as student

import gpucast as gc
from gpucast import _core
from gpucast.fitting.mixture import content, fit_mixture, forms, visits_of
from gpucast.fitting.selection import problem_of
from gpucast.model.asked import outer
from gpucast.model.averaged_parts import AveragedParts
from gpucast.model.fitted import Model
from gpucast.model.intervals import Interval
from gpucast.model.joint import joint_draws, nodes_of, shuffled
from gpucast.model.mixtures import MixtureForm, PartsMixture
from gpucast.model.one_form import OneForm
from made_data import whole

Array = NDArray[np.float64]

T90 = float(student.ppf(0.95, 8))
"""Forecasts are of Student's t with 8 degrees of freedom, scaled alike wherever they are made."""


def scale() -> float:
    """By how much t is scaled: of a forecast that a large variance dominates."""
    forecasts = one_form().forecast(N[:1], GPUS[:1], common=np.ones(1))
    return float(np.log(forecasts.mean_high / forecasts.seconds)[0] / (T90 * forecasts.spread[0]))


N = np.array([3000.0, 64000.0, 3e5])
GPUS = np.array([2.0, 4.0, 8.0])


@cache
def model() -> Model:
    return gc.fit(whole(), replicates=20)


def mixture() -> PartsMixture:
    mixed_parts = model().mixture
    assert mixed_parts is not None
    return mixed_parts


def one() -> MixtureForm:
    return replace(mixture().forms[0], weight=1.0)


@cache
def one_form() -> AveragedParts:
    """The mixture of the heaviest form alone, whose intervals can be worked by hand."""
    return AveragedParts(replace(model(), mixture=replace(mixture(), forms=[one()])))


@cache
def mixed() -> AveragedParts:
    """Without what may come beyond the counts that were measured."""
    return AveragedParts(replace(model(), observations=None))


def log_width(high: Array, middle: Array) -> Array:
    return np.asarray(np.log(high / middle))


# ---- intervals by hand ----


def test_a_form_is_known_to_its_spread_times_the_quantile_of_t() -> None:
    forecasts = one_form().forecast(N, GPUS)
    assert 0.9 < scale() <= 1
    quantile = T90 * scale()
    assert log_width(forecasts.mean_high, forecasts.seconds) == pytest.approx(
        quantile * forecasts.spread
    )
    assert log_width(forecasts.seconds, forecasts.mean_low) == pytest.approx(
        quantile * forecasts.spread
    )
    # A measurement has its visit's noise, too.
    assert (forecasts.high > forecasts.mean_high).all()


def test_what_is_common_and_what_is_rounded_add_as_variances() -> None:
    one, more = one_form(), np.full(3, 0.01)
    plain = log_width(one.forecast(N, GPUS).high, one.forecast(N, GPUS).seconds)
    for other in (one.forecast(N, GPUS, common=more), one.forecast(N, GPUS, variance=more)):
        width = log_width(other.high, other.seconds)
        assert width**2 - plain**2 == pytest.approx((T90 * scale()) ** 2 * more)
    # Rounding of a measured time is no part of the expected one.
    rounded, common = one.forecast(N, GPUS, variance=more), one.forecast(N, GPUS, common=more)
    assert rounded.mean_high == pytest.approx(one.forecast(N, GPUS).mean_high)
    assert (common.mean_high > rounded.mean_high).all()


def test_the_noise_of_visits_divides_by_visits() -> None:
    one = one_form()

    def noise(visits: float) -> Array:
        forecasts = one.forecast(N, GPUS, visits=np.full(3, visits))
        whole = log_width(forecasts.high, forecasts.seconds) ** 2
        return np.asarray(whole - log_width(forecasts.mean_high, forecasts.seconds) ** 2)

    assert (noise(1) > 0).all()
    assert noise(4) == pytest.approx(noise(1) / 4)
    assert noise(100) == pytest.approx(noise(1) / 100)


def test_parts_are_those_of_the_form_and_add_up() -> None:
    for forecasts in (one_form().forecast(N, GPUS), mixed().forecast(N, GPUS)):
        assert forecasts.parts.sum(axis=1) == pytest.approx(forecasts.seconds)
        assert (forecasts.parts > 0).all()


def test_a_cell_measured_in_more_visits_is_expected_in_a_narrower_interval() -> None:
    forecasts = model().forecasts(N, GPUS)
    zero = np.zeros(3)
    widths = []
    for visits in (1, 2, 6):
        low, high = model().cell_intervals(forecasts, [5] * 3, zero, [visits] * 3)
        widths.append(np.log(high / low))
        assert ((low < forecasts.seconds) & (forecasts.seconds < high)).all()
    assert (widths[0] > widths[1]).all()
    assert (widths[1] > widths[2]).all()
    low, high = model().cell_intervals(forecasts, [5] * 3, zero)
    assert np.log(high / low) == pytest.approx(widths[0])


def test_the_sampling_error_of_a_cells_own_median_is_in_its_interval() -> None:
    """By hand: a form's interval of t, the variance of medians of samples added to its noise."""
    alone = replace(model(), mixture=replace(mixture(), forms=[one()]))
    forecasts = alone.forecasts(N, GPUS)
    of_visit = float(np.median(mixture().visits.variance))
    assert of_visit > 1e-4  # 3 % noise, five samples a visit
    zero = np.zeros(3)

    def variance(repetitions: int) -> Array:
        low, high = alone.cell_intervals(forecasts, [repetitions] * 3, zero)
        return np.square(np.log(high / low) / (2 * T90 * scale()))

    high = one_form().forecast(N, GPUS).high
    without = np.square(log_width(high, forecasts.seconds) / (T90 * scale()))
    assert variance(5) - without == pytest.approx([of_visit] * 3)
    # A median of many normal values has pi / 2 of their mean's variance.
    single = of_visit / _core.median_variance(5)
    assert variance(1) - without == pytest.approx([single] * 3)
    assert variance(2000) - without == pytest.approx([np.pi / 2 * single / 2000] * 3, rel=1e-2)
    assert np.log(forecasts.high / forecasts.low) / (2 * T90 * scale()) == pytest.approx(
        np.sqrt(variance(5))
    )


# ---- draws ----


def test_draws_lie_below_and_above_the_ends_of_the_mean_as_often_as_these_say() -> None:
    count = 4000
    drawn = mixed().draws(N, GPUS, np.ones((count, 3)))
    forecasts = mixed().forecast(N, GPUS)
    # Four standard errors of a share of 5 %.
    slack = 4 * np.sqrt(0.05 * 0.95 / count)
    assert np.mean(drawn < forecasts.mean_low, axis=0) == pytest.approx([0.05] * 3, abs=slack)
    assert np.mean(drawn > forecasts.mean_high, axis=0) == pytest.approx([0.05] * 3, abs=slack)


def test_draws_repeat_and_go_together() -> None:
    assert np.array_equal(model().draws(N, GPUS, 50), model().draws(N, GPUS, 50))
    # What is not a cell's alone goes with its neighbours.
    n, gpus = np.array([3e5, 3.01e5, 1e3]), np.array([2.0, 2.0, 2.0])
    drawn = np.log(mixed().draws(n, gpus, np.ones((2000, 3))))
    near, far = np.corrcoef(drawn.T)[0, 1:]
    assert near > 0.7
    assert abs(far) < near / 2


def test_draws_of_many_cells_are_as_wide_and_as_high_as_those_of_each() -> None:
    n, gpus = outer(np.geomspace(800, 3e5, 45), np.arange(1.0, 17.0))
    assert n.size > 600
    many = np.log(mixed().draws(n, gpus, np.ones((400, 3))))
    some = np.arange(5, n.size, 61)
    few = np.log(mixed().draws(n[some], gpus[some], np.ones((400, 3))))
    # Medians of 400 draws are known to some 6 % of their spread, standard deviations to 4 %;
    # between points of the grid draws are interpolated and a little narrower.
    spread = np.std(few, axis=0)
    off = np.median(many, axis=0)[some] - np.median(few, axis=0)
    assert np.max(np.abs(off) / spread) < 0.5
    assert np.std(many, axis=0)[some] == pytest.approx(spread, rel=0.35)


def test_interpolated_draws_are_exact_where_draws_are_powers() -> None:
    """A draw times e^a n^b N^c: its logarithm is straight between points of any grid."""
    rng = np.random.default_rng(0)
    coefficients = rng.standard_normal((30, 3)) * 0.1

    def seconds(n: Array, gpus: Array) -> Array:
        return np.asarray(1e-9 * n**1.5 / gpus + 1e-5 * gpus)

    def drawn(n: Array, gpus: Array) -> Array:
        logs = np.column_stack([np.ones(n.size), np.log(n), np.log(gpus)])
        return np.asarray(seconds(n, gpus) * np.exp(coefficients @ logs.T))

    n, gpus = outer(np.geomspace(100, 1e6, 60), np.arange(1.0, 41.0))
    assert joint_draws(drawn, seconds, n, gpus) == pytest.approx(drawn(n, gpus), rel=1e-9)


def test_few_cells_are_drawn_as_they_are() -> None:
    asked = []

    def drawn(n: Array, gpus: Array) -> Array:
        asked.append(n.size)
        return np.ones((3, n.size))

    joint_draws(drawn, lambda n, _: np.ones(n.size), *outer(np.arange(1.0, 31), [1.0, 2.0]))
    assert asked == [60]


def test_a_grid_has_the_ends_and_no_more_points_than_asked_for() -> None:
    assert np.exp(nodes_of(np.array([4.0, 1.0, 4.0, 2.0]), 5)) == pytest.approx([1, 2, 4])
    many = np.exp(nodes_of(np.arange(1.0, 1001), 24))
    assert (many.size, many[0], many[-1]) == (24, pytest.approx(1), pytest.approx(1000))
    # One value needs a second point, so that there is something to interpolate between.
    assert np.exp(nodes_of(np.array([8.0, 8.0]), 24)) == pytest.approx([8, 8 * np.e])


def test_shuffled_draws_keep_their_rows() -> None:
    draws = np.arange(60.0).reshape(20, 3)
    other = shuffled(draws, 7)
    assert not np.array_equal(draws, other)
    assert np.array_equal(other[np.argsort(other[:, 0])], draws)


def test_probabilities_of_best_counts_are_those_of_draws() -> None:
    counts = np.array([1.0, 2.0, 4.0, 8.0])
    shares = model().best_shares(np.array([1e3, 2e4]), counts)
    assert shares.sum(axis=1) == pytest.approx(1)
    drawn = mixed().draws(*outer([2e4], counts), np.ones((2000, 3)))
    fastest = np.bincount(np.argmin(drawn, axis=1), minlength=4) / 2000
    # 400 draws, four standard errors.
    assert shares[1] == pytest.approx(fastest, abs=4 * np.sqrt(0.25 / 400))


# ---- the model file ----


def test_a_mixture_forecasts_from_its_file_what_the_fit_forecast(tmp_path: Path) -> None:
    problem = problem_of(whole())
    mixed_parts = fit_mixture(problem, forms(problem, None))
    n, gpus = outer([500, 8000, 1e6], [1, 4, 16])
    ones, zero = np.ones(n.size), np.zeros(n.size)
    mine = mixed_parts.forecast(n, gpus, ones, zero, zero)
    kept = AveragedParts(replace(model(), mixture=content(mixed_parts, visits_of(problem))))
    again = kept.forecast(n, gpus)
    assert again.seconds == pytest.approx(mine[0], rel=1e-9)
    assert again.mean_low == pytest.approx(mine[3], rel=1e-9)
    assert again.spread == pytest.approx(mine[5], rel=1e-6)


def test_a_saved_model_answers_the_same(tmp_path: Path) -> None:
    model().save(tmp_path / "m.json")
    again = gc.load_model(tmp_path / "m.json")
    assert (again.content, again.integers) == (model().content, model().integers)
    n, gpus = outer([500, 8000, 1e6], [1, 4, 16])
    for interval in Interval:
        mine, theirs = (one.forecasts(n, gpus, interval) for one in (model(), again))
        for part in ("seconds", "low", "high", "mean_low", "mean_high", "t_gpu", "t_com"):
            assert getattr(theirs, part) == pytest.approx(getattr(mine, part), rel=1e-12)
    assert np.array_equal(again.draws(n, gpus, 20), model().draws(n, gpus, 20))
    for mine, theirs in zip(
        *(one.best_counts([8000.0, 1e5], [1, 2, 4]) for one in (model(), again)), strict=True
    ):
        assert {**theirs, "model": mine["model"]} == mine


def test_a_named_model_has_no_mixture_and_its_file_says_none() -> None:
    named = gc.fit(whole(), model="paper", replicates=0)
    assert named.own_program
    assert named.mixture is None
    assert isinstance(named.engine, OneForm)
    assert "mixture" not in json.loads(named.to_json())


def damaged(tmp_path: Path, value: Any, *keys: str | int) -> Path:
    changed = copy.deepcopy(json.loads(model().to_json()))
    at: Any = changed["mixture"]
    for key in keys[:-1]:
        at = at[key]
    at[keys[-1]] = value
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(changed))
    return path


@pytest.mark.parametrize(
    ("value", "keys", "said"),
    [
        ([], ("forms",), "as many entries"),
        ([], ("n",), "as many entries"),
        ([], ("visits", "cpu"), "as many entries"),
        ([0.0], ("forms", 0, "z"), "another number of parameters"),
        ([0.0], ("forms", 0, "median"), "another number of parameters"),
        ([1.0], ("forms", 0, "sd"), "another number of parameters"),
        (0, ("forms", 0, "sd", 0), "mixture.forms[0].sd[0]: must be"),
        ([0.0], ("forms", 0, "amplitudes"), "differ in length"),
        (0, ("forms", 0, "weight"), "mixture.forms[0].weight: must be"),
        ("waves", ("forms", 0, "terms", "gpu"), "'waves'"),
        ("mpi", ("forms", 0, "terms", "com"), "another number of parameters"),
        (0, ("forms", 0, "integer"), "mixture.forms[0].integer: must be"),
        (99, ("visits", "cell", 0), "visits are of its cells"),
        (1, ("visits", "cell", 0), "each cell has one"),
        (0, ("visits", "seconds", 0), "mixture.visits.seconds[0]: must be"),
        (-1, ("kernel", 0), "mixture.kernel[0]: must be"),
        (0, ("gpus", 0), "mixture.gpus[0]: must be"),
        (-1, ("forms", 0, "kernel", 0), "mixture.forms[0].kernel[0]: must be"),
    ],
)
def test_a_damaged_mixture_is_refused_in_a_line(
    tmp_path: Path, value: Any, keys: tuple[str | int, ...], said: str
) -> None:
    with pytest.raises(gc.InputError) as caught:
        gc.load_model(damaged(tmp_path, value, *keys))
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "bad.json"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        (1e5, ("forms", 0, "z", 0)),
        (1e-300, ("forms", 0, "sd", 0)),
        (1e4, ("forms", 0, "amplitudes", 0)),
    ],
)
def test_numbers_of_no_fit_are_refused_in_a_line(
    tmp_path: Path, value: float, keys: tuple[str | int, ...]
) -> None:
    with pytest.raises(gc.InputError, match="is a damaged model file: ") as caught:
        gc.load_model(damaged(tmp_path, value, *keys))
    assert "\n" not in str(caught.value)
