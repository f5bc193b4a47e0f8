"""Intervals of times now, later and on another machine; updates by cells timed there."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import t as student

import gpucast as gc
from gpucast.errors import InputError
from gpucast.model.asked import outer
from gpucast.model.fitted import Model
from gpucast.model.intervals import (
    OF_PARTS,
    OF_TOTAL,
    Interval,
    common_variance,
    drawn,
    learnt,
    linear_update,
)
from made_data import dataset, machine, step, whole
from other_programs import md

Array = NDArray[np.float64]

CELLS = ((1000, 1), (8000, 4), (64000, 1))
Z90 = 1.6448536


@cache
def own() -> Model:
    return gc.fit(whole(), replicates=60)


MODELS = pytest.mark.parametrize("model", [own, md], ids=["own", "other program"])


def parts_of(model: Model, cells: Sequence[tuple[float, int]]) -> Array:
    forecasts = model.forecasts([n for n, _ in cells], [gpus for _, gpus in cells])
    return np.column_stack([forecasts.t_gpu, forecasts.t_cpu, forecasts.t_com])


def elsewhere(
    model: Model,
    factors: Sequence[float],
    cells: Sequence[tuple[float, int]] = CELLS,
    name: str = "other",
    **about: Any,
) -> gc.Dataset:
    """Cells timed on a machine whose T_gpu, T_cpu and T_com are so many times the model's."""
    times = parts_of(model, cells) @ np.array(factors)
    program = {} if model.own_program else {"schedule": None, "kernel": None}
    records = [
        step(n, gpus, [seconds] * 3, machine=name, **{**program, **about})
        for (n, gpus), seconds in zip(cells, times, strict=True)
    ]
    kept = [{key: value for key, value in row.items() if value is not None} for row in records]
    return dataset([machine(name=name), *kept], name="cells")


# ---- the arithmetic ----


def test_variance_is_the_sum_of_squares_of_shares_times_deviations() -> None:
    # Half of the time on GPUs, 30 % on the host, 20 % in communication, of one second and of two.
    parts = np.array([[0.5, 0.3, 0.2], [1.0, 0.6, 0.4]])
    later = (0.3 * 0.08) ** 2 + (0.2 * 0.06) ** 2
    assert common_variance(parts, OF_PARTS.later) == pytest.approx([later, later])
    machines = (0.5 * 0.003) ** 2 + (0.3 * 0.22) ** 2 + (0.2 * 0.10) ** 2
    t = (student.ppf(0.95, 2) / Z90) ** 2
    cell = (0.3 * 0.08) ** 2
    both = common_variance(parts, OF_PARTS.covariance(Interval.machine))
    assert both == pytest.approx([later + t * machines + cell] * 2)
    # In an interval that is two standard deviations wide, it takes less to be as wide as t's.
    wider = common_variance(parts, OF_PARTS.covariance(Interval.machine, t90=2.0))
    assert wider == pytest.approx([later + t * (Z90 / 2) ** 2 * machines + cell] * 2)
    assert not OF_PARTS.covariance(Interval.now).any()


@given(st.lists(st.floats(0.01, 1), min_size=3, max_size=3))
def test_a_factor_on_the_whole_does_not_depend_on_its_parts(parts: list[float]) -> None:
    variance = common_variance(np.array([parts]), OF_TOTAL.later)
    assert variance == pytest.approx([0.033**2])


def test_an_update_by_one_observation_is_the_weighted_mean() -> None:
    # Prior N(0, 0.04), one observation 0.3 of variance 0.01: mean 0.3 * 0.04 / 0.05.
    mean, covariance = linear_update(
        np.array([[0.04]]), np.array([[1.0]]), np.array([0.3]), np.array([0.01])
    )
    assert mean == pytest.approx([0.24])
    assert covariance == pytest.approx(np.array([[0.04 * 0.01 / 0.05]]))


def test_an_update_by_three_cells_is_that_of_normal_equations() -> None:
    prior = np.diag([0.003, 0.22, 0.10]) ** 2
    design = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.9, 0.08, 0.02]])
    deviations, noise = np.array([0.15, 0.05, 0.01]), np.array([1e-4, 4e-4, 1e-4])
    mean, covariance = linear_update(prior, design, deviations, noise)
    precision = np.linalg.inv(prior) + design.T @ np.diag(1 / noise) @ design
    assert covariance == pytest.approx(np.linalg.inv(precision), rel=1e-6)
    expected = np.linalg.solve(precision, design.T @ (deviations / noise))
    assert mean == pytest.approx(expected, rel=1e-6)


def test_the_mean_learnt_is_the_most_probable() -> None:
    """A minimizer that knows nothing of linear steps finds the same."""
    prior = np.diag([0.05, 0.22, 0.10]) ** 2
    parts = np.array([[2.0, 5.0, 3.0], [6.0, 3.0, 1.0], [9.0, 0.8, 0.2]])
    seconds = parts @ np.array([1.02, 1.4, 0.9])
    noise = np.array([1e-3, 1e-3, 1e-3])

    def cost(d: Array) -> float:
        off = np.log(seconds) - np.log(parts @ np.exp(d))
        return float(np.sum(off**2 / noise) + d @ np.linalg.solve(prior, d))

    best = minimize(cost, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13,
                                                                    "maxiter": 10_000})  # fmt: skip
    mean, _ = learnt(prior, parts, seconds, noise)
    # Gauss and Newton's iteration leaves out the curvature of ln T times what is left of a cell.
    assert mean == pytest.approx(best.x, abs=2e-3)
    assert cost(mean) <= 1.001 * best.fun


def test_factors_that_go_together_stay_together() -> None:
    parts = np.array([[2.0, 5.0, 3.0], [6.0, 3.0, 1.0]])
    mean, covariance = learnt(OF_TOTAL.machine, parts, 1.1 * parts.sum(axis=1), np.full(2, 1e-4))
    weight = 0.065**2 / (0.065**2 + 1e-4 / 2)
    assert mean == pytest.approx([weight * np.log(1.1)] * 3)
    assert covariance == pytest.approx(np.full((3, 3), 0.065**2 * (1 - weight)))


shares = st.lists(st.floats(0.01, 1), min_size=3, max_size=3).map(lambda s: np.array(s) / sum(s))
observations = st.lists(st.tuples(shares, st.floats(1e-6, 0.1)), min_size=1, max_size=6)


@given(observations, shares, st.sampled_from([OF_PARTS, OF_TOTAL]))
def test_more_cells_never_widen(
    cells: list[tuple[Array, float]], asked: Array, common: Any
) -> None:
    prior, before = common.prior(same_machine=False), np.inf
    for count in range(len(cells) + 1):
        design = np.array([share for share, _ in cells[:count]]).reshape(count, 3)
        noise = np.array([variance for _, variance in cells[:count]])
        _, covariance = linear_update(prior, design, np.zeros(count), noise)
        now = float(asked @ covariance @ asked)
        assert -1e-15 <= now <= before * (1 + 1e-9)
        before = now


def test_draws_have_the_covariance_asked_for() -> None:
    covariance = OF_PARTS.covariance(Interval.machine)
    logs = np.log(drawn(np.array([0.1, 0.2, 0.3]), covariance, 20_000, 1).parts)
    # Three standard errors of a mean and of a variance of so many.
    spread = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(logs.mean(axis=0) - [0.1, 0.2, 0.3]) < 3 * spread / np.sqrt(20_000))
    assert np.var(logs, axis=0) == pytest.approx(np.diag(covariance), rel=0.03)
    few, more = (drawn(np.zeros(3), covariance, count, 1).parts for count in (5, 9))
    assert np.array_equal(few, more[:5])


# ---- forecasts ----


@MODELS
def test_intervals_are_nested(model: Any) -> None:
    n, gpus = outer([500, 5e3, 5e4, 1e6], [1, 2, 4])
    now, later, there = (model().forecasts(n, gpus, interval) for interval in Interval)
    assert now.seconds == pytest.approx(
        model().seconds(n, gpus), rel=1e-12 if model is own else 1e-4
    )
    for narrow, wide in ((now, later), (later, there)):
        assert np.all(wide.low < narrow.low)
        assert np.all(wide.high > narrow.high)
        assert np.all(wide.mean_low < narrow.mean_low)
        assert np.all(wide.mean_high > narrow.mean_high)
        assert narrow.seconds == pytest.approx(wide.seconds, rel=1e-12)
    assert np.isfinite(there.high).all()
    assert (there.low > 0).all()


@MODELS
def test_now_is_what_is_asked_where_nobody_says_otherwise(model: Any) -> None:
    frame, now = model().forecast([8000], [1, 2]), model().forecast([8000], [1, 2], "now")
    assert frame.equals(now)
    assert not frame.equals(model().forecast([8000], [1, 2], "machine"))


def test_an_unknown_interval_is_refused() -> None:
    with pytest.raises(InputError, match="'tomorrow' is no interval; known are now, later"):
        own().forecast([8000], [1], "tomorrow")


def test_the_interval_of_another_machine_is_the_one_worked_by_hand() -> None:
    model = gc.fit(whole(), model="paper", replicates=60)
    assert model.own_program
    forecasts = model.forecasts([8000], [2], Interval.machine)
    by_name = model.forecasts([8000], [2], "machine")
    assert np.array_equal(by_name.high, forecasts.high)
    now = model.forecasts([8000], [2])
    shares = parts_of(model, [(8000, 2)])[0] / now.seconds[0]
    later = np.sum((shares * [0, 0.08, 0.06]) ** 2)
    t90 = model.noise.t90
    machines = np.sum((shares * [0.003, 0.22, 0.10]) ** 2) * (2.919986 / t90) ** 2
    noise = now.spread[0] ** 2 + model.noise.sample**2
    width = t90 * np.sqrt(noise + later + machines + (shares[1] * 0.08) ** 2)
    assert np.log(forecasts.high / forecasts.seconds) == pytest.approx([width], rel=1e-5)


@MODELS
def test_draws_spread_as_far_as_intervals_say(model: Any) -> None:
    fitted = model()
    n, gpus = np.array([8000.0]), np.array([2.0])
    ends = (Interval.now, Interval.machine)
    narrow, wide = (np.var(np.log(fitted.draws(n, gpus, 2000, interval))) for interval in ends)
    forecasts = fitted.forecasts(n, gpus)
    parts = np.column_stack([forecasts.t_gpu, forecasts.t_cpu, forecasts.t_com])
    # Draws are of normal distributions, whose 90 % are so many standard deviations wide.
    covariance = fitted.common_factors.covariance(Interval.machine, t90=Z90)
    # Six standard errors of a variance of 2000.
    common = common_variance(parts, covariance)[0]
    assert wide - narrow == pytest.approx(common, rel=6 * np.sqrt(2 / 2000))


def test_what_is_measured_elsewhere_is_covered_by_that_interval_alone() -> None:
    model = own()
    there = elsewhere(model, [1.0, 1.35, 1.15], [(n, g) for n in (2000, 4000) for g in (1, 2, 4)])
    covered = [gc.validate(model, there, interval=interval)["coverage"] for interval in Interval]
    assert covered == sorted(covered)
    assert covered[-1] == 1


# ---- updates ----


@MODELS
def test_cells_of_a_slower_machine_move_forecasts_towards_it(model: Any) -> None:
    fitted = model()
    cells = CELLS if fitted.own_program else ((24_000, 1), (409_000, 2), (1_067_000, 4))
    # GPUs of a kind are alike, as our own programs know; of others only the whole is known.
    factors = [1.0, 1.3, 1.3] if fitted.own_program else [1.1, 1.1, 1.1]
    data = elsewhere(fitted, factors, cells)
    updated = fitted.updated(data)
    n, gpus = np.array(cells, dtype=np.float64).T
    before, after = fitted.seconds(n, gpus), updated.seconds(n, gpus)
    assert np.all(after > before)
    # Those of one kind differ by some 0.3 %, which an update may lay to them.
    assert np.all(after < 1.01 * parts_of(fitted, cells) @ np.array(factors))
    # The median of a mixture moves a little with the noise that forecasts of measurements have.
    assert updated.forecasts(n, gpus).seconds == pytest.approx(after, rel=1e-3)
    assert updated.machine_factors.words == "updated by 3 cells of other"
    assert fitted.machine_factors is None


def test_a_machine_whose_host_is_slower_is_found_by_its_parts() -> None:
    model = own()
    cells = [(n, gpus) for n in (500, 1000, 2000, 8000, 64000) for gpus in (1, 2, 4)]
    updated = model.updated(elsewhere(model, [1.0, 1.3, 1.0], cells))
    gpu, cpu, com = np.exp(updated.log_factors)
    assert gpu == pytest.approx(1, abs=0.005)
    assert cpu > 1.05
    forecasts, before = updated.forecasts([2000], [1]), model.forecasts([2000], [1])
    assert forecasts.t_cpu == pytest.approx(cpu * before.t_cpu)
    assert forecasts.t_com == pytest.approx(com * before.t_com)


@MODELS
def test_an_update_narrows_the_interval_of_that_machine(model: Any) -> None:
    fitted = model()
    cells = CELLS if fitted.own_program else ((24_000, 1), (409_000, 2), (1_067_000, 4))
    n, gpus = outer([2e4, 2e5], [1, 2])
    widths = [fitted.forecasts(n, gpus, Interval.machine).common]
    for count in (1, 2, 3):
        updated = fitted.updated(elsewhere(fitted, [1, 1, 1], cells[:count]))
        widths.append(updated.forecasts(n, gpus).common)
        low, mid, high = (updated.forecasts(n, gpus, interval).high for interval in Interval)
        assert np.all(low < mid)
        assert np.all(mid < high)
    for more, fewer in zip(widths[1:], widths, strict=False):
        assert np.all(more < fewer)


def test_an_update_of_the_same_machine_is_by_what_changes_with_time() -> None:
    model = own()
    assert model.machine.id == "m"
    here, there = (
        model.updated(elsewhere(model, [1.0, 1.5, 1.5], name=name)) for name in ("m", "other")
    )
    assert 0 < here.log_factors[1] < there.log_factors[1]
    assert here.log_factors[0] == pytest.approx(0, abs=1e-12)
    assert np.trace(here.machine_factors.covariance) < 0.08**2 + 0.06**2


def test_tables_that_name_no_machine_are_not_taken_for_one_machine() -> None:
    model = replace(own(), machine=replace(own().machine, id="imported"))
    updated = model.updated(elsewhere(model, [1.0, 1.5, 1.0], name="imported"))
    named = own().updated(elsewhere(own(), [1.0, 1.5, 1.0]))
    assert updated.log_factors == pytest.approx(named.log_factors)
    assert updated.machine_factors.words == "updated by 3 cells of cells"


@MODELS
def test_an_updated_model_is_read_as_it_was_written(model: Any, tmp_path: Path) -> None:
    fitted = model()
    updated = fitted.updated(elsewhere(fitted, [1.02, 1.2, 1.1]))
    updated.save(tmp_path / "new.json")
    read = gc.load_model(tmp_path / "new.json")
    n, gpus = outer([3e4, 3e5], [1, 2, 4])
    for interval in Interval:
        first, second = (one.forecasts(n, gpus, interval) for one in (updated, read))
        # Files hold replicates to nine digits.
        assert first.high == pytest.approx(second.high, rel=1e-7)
        again = read.draws(n, gpus, 7, interval)
        assert updated.draws(n, gpus, 7, interval) == pytest.approx(again, rel=1e-7)
    assert "machine_factors" not in json.loads(fitted.to_json())


@MODELS
def test_an_updated_model_knows_the_cells_of_its_own_machine_alone(model: Any) -> None:
    fitted = model()
    updated = fitted.updated(elsewhere(fitted, [1, 1, 1], CELLS[:1]))
    known = updated.measured(np.array([1000.0, 24_000.0]), np.array([1.0, 1.0]))
    assert np.isfinite(known[0])
    assert np.isnan(known[1])


def test_best_counts_of_an_updated_model_are_by_its_own_times() -> None:
    model = own()
    updated = replace(model).updated(elsewhere(model, [1.0, 1.0, 1.4], [(500, 4), (2000, 4)]))
    for row in updated.best_counts([1000, 8000], [1, 2, 4]):
        times = updated.seconds(np.full(3, float(row["n"])), np.array([1.0, 2.0, 4.0]))
        assert row["seconds"] == pytest.approx(times.min())
        assert row["probability"] is not None


# ---- what is refused ----


def refused(model: Model, data: gc.Dataset) -> str:
    with pytest.raises(InputError) as error:
        model.updated(data)
    return str(error.value)


def test_steps_of_another_kind_are_refused() -> None:
    model = own()
    message = refused(model, elsewhere(model, [1, 1, 1], schedule="allgather"))
    assert "its steps are of schedule allgather, the model's of star-serial" in message
    message = refused(md(), elsewhere(md(), [1, 1, 1], program="other"))
    assert "its steps are of program other, the model's of md" in message
    message = refused(model, dataset([machine()], name="empty"))
    assert "no steps" in message


def test_steps_of_two_machines_are_refused_unless_one_is_chosen() -> None:
    model = own()
    both = dataset(
        [
            *(machine(name=name) for name in "ab"),
            *(step(1000, 1, [parts_of(model, [(1000, 1)]).sum()], machine=name) for name in "ab"),
        ]
    )
    assert "there are several: a, b; choose one with --machine" in refused(model, both)
    updated = model.updated(both, machine="b")
    assert updated.machine_factors.machine == "b"


def test_times_in_another_unit_are_refused() -> None:
    model = own()
    message = refused(model, elsewhere(model, [1e3, 1e3, 1e3]))
    assert "no machine of the same kind; is it the same program, in seconds?" in message


def test_a_model_is_updated_once() -> None:
    model = own()
    data = elsewhere(model, [1, 1.1, 1.1])
    assert "updated by 3 cells of other already" in refused(model.updated(data), data)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("means", [0.0, 0.0], "3 means"),
        ("means", [0.0, 0.0, 1e9], "means"),
        ("covariance", [[1.0, 0, 0], [0, 1.0, 0]], "3 x 3"),
        ("covariance", [[-1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], "covariance"),
        ("cells", {"n": [], "gpus": [], "seconds": []}, "one cell"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, key: str, value: Any, said: str) -> None:
    model = own()
    content = json.loads(model.updated(elsewhere(model, [1, 1.1, 1.1])).to_json())
    content["machine_factors"][key] = value
    (tmp_path / "bad.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=said):
        gc.load_model(tmp_path / "bad.json")


@pytest.mark.parametrize("factor", [0.3, 3.0])
@pytest.mark.parametrize("count", [1, 3])
def test_an_update_of_another_kind_of_gpu_says_so_and_covers_its_own_cells(
    factor: float, count: int
) -> None:
    fitted = md()
    cells = ((24_000, 1), (409_000, 2), (1_067_000, 4))[:count]
    data = elsewhere(fitted, [factor] * 3, cells)
    updated = fitted.updated(data)
    (warning,) = updated.warnings[len(fitted.warnings) :]
    assert "another kind of GPU" in warning
    n, gpus = map(list, zip(*cells, strict=True))
    forecasts = updated.forecasts(n, gpus)
    measured = parts_of(fitted, cells) @ np.full(3, factor)
    assert np.all((forecasts.low < measured) & (measured < forecasts.high))
    again = fitted.updated(elsewhere(fitted, [1.02] * 3, cells))
    assert again.warnings == fitted.warnings
