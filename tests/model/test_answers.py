"""What models of any program answer: rates, best counts beside measured cells, draws."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import gpucast as gc
from gpucast.data import reconstructed_files
from gpucast.errors import InputError
from gpucast.fitting.fit import fit_own
from gpucast.model import rates
from gpucast.model.asked import outer
from gpucast.model.fitted import Model
from gpucast.model.intervals import Array
from gpucast.model.joint import TOLERANCE, between
from gpucast.model.values import TimedCells
from made_data import whole
from other_programs import COUNTS, SIZES, cutoff, fitted, md, records


@pytest.fixture(scope="module")
def own() -> Model:
    return gc.fit(whole(), replicates=60)


# ---- rates ----


def test_a_thousand_steps_of_two_femtoseconds_a_second_are_173_nanoseconds_a_day() -> None:
    # 1000 steps/s x 2e-15 s x 86400 s = 172.8e-9 s
    assert rates.ns_per_day(2e-15, 1e-3) == pytest.approx(172.8)
    assert np.isnan(rates.ns_per_day(None, 1e-3))


def test_efficiency_is_against_the_fewest_gpus_asked_about() -> None:
    model = md()
    forecasts = model.forecasts(*outer([96_000, 409_000], [2, 4]))
    two, four = forecasts.seconds.reshape(2, 2).T
    shares = rates.efficiency(model, forecasts).reshape(2, 2)
    assert shares[:, 0] == pytest.approx(1)
    assert shares[:, 1] == pytest.approx(2 * two / (4 * four))


def test_the_efficiency_of_one_count_alone_is_against_the_fewest_measured() -> None:
    model = md()
    forecasts = model.forecasts([96_000], [4])
    one = model.forecasts([96_000], [1]).seconds
    assert rates.efficiency(model, forecasts) == pytest.approx(one / (4 * forecasts.seconds))


def test_a_frame_of_forecasts_has_rates_and_measured_times_and_no_parts() -> None:
    frame = md().forecast([96_000, 5e5], [1, 4])
    assert {"t_gpu", "t_cpu", "t_com"}.isdisjoint(frame.columns)
    assert frame.steps_per_second.to_numpy() == pytest.approx(1 / frame.seconds)
    assert frame.ns_per_day.to_numpy() == pytest.approx(2e-15 * 86400 / frame.seconds * 1e9)
    assert frame.measured.notna().tolist() == [True, True, False, False]
    assert frame.measured[1] == pytest.approx(cutoff(96_000, 4), rel=0.02)


# ---- GPU counts to choose from ----


def test_usual_counts_of_a_program_on_many_gpus_are_doublings_and_those_measured() -> None:
    seconds = [8, 24, 48, 96]
    model = fitted(records(sizes=[1e6, 1e7], counts=seconds))
    assert model.usual_counts == [8, 16, 24, 32, 48, 64, 96]
    assert md().usual_counts == [1, 2, 3, 4]
    assert fitted(records(counts=[2])).usual_counts == list(range(1, 9))


def test_only_a_best_count_that_is_extrapolated_itself_is_marked() -> None:
    small, large = md().best_counts([24_000, 409_000], [1, 2, 4, 64])
    assert (small["gpus"], small["extrapolated"]) == (1, False)
    assert large["extrapolated"] is (large["gpus"] == 64)


def test_thousands_of_counts_are_judged_by_few_forecasts(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.arange(1.0, 10_001)
    n = np.array([24_000.0, 3e6])
    model = fitted(records(counts=[1, 2, 4, 1000]))
    exact = model.seconds(*outer(n, counts)).reshape(n.size, counts.size)
    asked = []
    seconds = Model.seconds

    def watched(self: Model, n: Array, gpus: Array) -> Array:
        asked.append(n.size)
        return seconds(self, n, gpus)

    monkeypatch.setattr(Model, "seconds", watched)
    answers = model.best_counts(n, counts)
    assert sum(asked) < 0.1 * n.size * counts.size
    known = model.measured(*outer(n, counts)).reshape(exact.shape)
    for at, best in enumerate(answers):
        times = np.where(np.isnan(known[at]), exact[at], known[at])
        assert best["seconds"] == pytest.approx(times.min(), rel=2 * TOLERANCE)
        assert times[best["gpus"] - 1] <= times.min() * (1 + 4 * TOLERANCE)
        close = times[np.array(best["within_2_percent"]) - 1] / times.min()
        assert close.max() < 1.02 + 4 * TOLERANCE
        assert len(best["within_2_percent"]) == pytest.approx(
            np.sum(times <= 1.02 * times.min()), rel=0.15
        )
        assert 0 <= best["probability"] <= 1
    assert model.best_shares(n, counts).sum(axis=1) == pytest.approx(1)


@settings(deadline=None)
@example(powers=[1, 1, -3], size=1426)
@given(
    st.lists(st.floats(min_value=-3, max_value=3), min_size=3, max_size=3),
    st.integers(min_value=2, max_value=5000),
)
def test_curves_are_drawn_from_few_points(powers: list[float], size: int) -> None:
    """Sums of powers, as step times are sums of terms."""
    points = np.log(np.arange(1.0, size + 1))
    asked = []

    def curve(at: Array) -> Array:
        asked.append(at.size)
        return np.asarray(np.log(sum(np.exp(power * at) for power in powers)))

    exact = points < np.log(5)
    drawn = between(curve, points, exact)
    few = sum(asked)
    assert drawn == pytest.approx(curve(points), abs=TOLERANCE)
    assert drawn[exact] == pytest.approx(curve(points[exact]), abs=1e-12)
    assert few <= min(size, 200)


# ---- measured cells win ----


@given(st.lists(st.floats(-2, 2), min_size=len(SIZES) * 3, max_size=len(SIZES) * 3))
def test_the_best_count_of_a_measured_size_is_the_one_measured_fastest(
    factors: list[float],
) -> None:
    """This holds for any table of times, however unlike a program's."""
    cells = md().scaling.cells
    seconds = (cells.seconds * np.exp(factors)).tolist()
    own = replace(md().scaling, cells=replace(cells, seconds=seconds))
    model = replace(md(), scaling=own)
    medians = dict(zip(zip(cells.n, cells.gpus, strict=True), seconds, strict=True))
    for best in model.best_counts(SIZES, COUNTS):
        times = {gpus: medians[best["n"], gpus] for gpus in COUNTS}
        assert times[best["gpus"]] == min(times.values())
        assert best["seconds"] == pytest.approx(min(times.values()))
        assert 0 <= best["probability"] <= 1


def test_a_model_of_our_own_programs_does_not_contradict_its_cells_either(own: Model) -> None:
    n = 64_000.0
    free = own.best_counts([n], [1, 2, 4])[0]
    assert free["gpus"] == 4
    cells = TimedCells(n=[n, n, n], gpus=[1, 2, 4], seconds=[1.0, 2.0, 3.0])
    model = replace(own, cells=cells)
    best = model.best_counts([n], [1, 2, 4])[0]
    assert (best["gpus"], best["seconds"]) == (1, 1.0)
    assert best["probability"] == 1
    assert best["within_2_percent"] == [1]
    assert best["measured"]
    assert not free["measured"]


def test_where_one_cell_of_a_size_refutes_the_model_all_its_measured_cells_are_believed(
    own: Model,
) -> None:
    """Else a time that was measured is compared with one that measurements speak against."""
    n, other = 64_000.0, 8_000.0
    one, two, four = own.forecasts([n, n, n], [1, 2, 4]).seconds
    inside = own.forecasts([other], [2]).seconds[0] * 1.0001
    cells = TimedCells(n=[n, n, other], gpus=[1, 2, 2], seconds=[one * 1.001, 2 * two, inside])
    model = replace(own, cells=cells)
    size, count = np.full(3, n), np.array([1.0, 2, 4])
    off = np.sqrt((np.log(1.001) ** 2 + np.log(2) ** 2) / 2)
    assert model.refuted(np.array([n, other, 1e3])) == pytest.approx([off, 0, 0])
    assert model.trusted(size, count) == pytest.approx([one * 1.001, 2 * two, four])
    assert model.trusted(np.array([other]), np.array([2.0])) == pytest.approx(inside / 1.0001)


def test_what_measurements_refute_is_no_surer_of_counts_that_nobody_timed(own: Model) -> None:
    """One and two GPUs took as long; of four the model is as far off as it was of two, so that the
    share of normal deviations above the gain is left to the others."""
    n = 64_000.0
    one, two, four = own.forecasts([n, n, n], [1, 2, 4]).seconds
    cells = TimedCells(n=[n, n], gpus=[1, 2], seconds=[one, one])
    model = replace(own, cells=cells)
    assert own.best_counts([n], [1, 2, 4])[0]["probability"] > 0.99
    best = model.best_counts([n], [1, 2, 4])[0]
    assert best["gpus"] == 4
    gain = np.log(one / four) / (np.log(one / two) / np.sqrt(2))
    assert best["probability"] == pytest.approx(ndtr(gain), abs=0.06)


def test_the_cells_of_a_fit_are_the_medians_of_its_steps_and_are_kept(
    own: Model, tmp_path: Path
) -> None:
    own.save(tmp_path / "own.json")
    again = gc.load_model(tmp_path / "own.json")
    steps = whole().steps
    n, gpus = (np.array([getattr(step, name) for step in steps]) for name in ("n", "gpus"))
    medians = [np.median(step.seconds) for step in steps]
    assert again.measured(n, gpus) == pytest.approx(medians)
    assert np.isnan(again.measured(n + 1, gpus)).all()


def test_a_model_file_without_cells_is_read_and_answers_as_before(
    own: Model, tmp_path: Path
) -> None:
    own.save(tmp_path / "own.json")
    content = json.loads((tmp_path / "own.json").read_text())
    del content["cells"]
    (tmp_path / "old.json").write_text(json.dumps(content))
    old = gc.load_model(tmp_path / "old.json")
    assert old.timed is None
    best = old.best_counts([64_000.0], range(1, 9))[0]
    times = old.forecasts(*outer([64_000.0], range(1, 9))).seconds
    assert best["gpus"] == 1 + int(np.argmin(times))


# ---- draws ----


def test_draws_of_many_cells_are_as_wide_as_those_of_each() -> None:
    model = md()
    n, gpus = outer(np.geomspace(24_000, 1e7, 90), np.arange(1.0, 17.0))
    many = np.log(model.draws(n, gpus, 200))
    some = np.arange(5, n.size, 97)
    few = np.log(model.draws(n[some], gpus[some], 200))
    middle = np.median(many, axis=0)[some] - np.log(model.seconds(n[some], gpus[some]))
    # Beyond the counts measured a break makes times longer, and none shorter.
    within = gpus[some] <= model.domain.gpus[1]
    assert np.max(np.abs(middle[within])) < 0.03
    assert np.min(middle) > -0.03
    # Standard deviations of 200 heavy-tailed draws repeat within some 20 %.
    wide, narrow = np.std(many, axis=0)[some], np.std(few, axis=0)
    assert np.all(wide < 2 * narrow + 0.002)
    assert np.all(narrow < 2 * wide + 0.002)


def test_draws_repeat() -> None:
    n, gpus = outer([5e4, 2e6], [1.0, 8.0])
    assert np.array_equal(md().draws(n, gpus, 50), md().draws(n, gpus, 50))


# ---- what is of our own programs alone ----


def test_a_fit_of_our_own_terms_refuses_steps_without_a_schedule() -> None:
    data = records()
    with pytest.raises(InputError, match="known by its step times alone"):
        fit_own(data, gc.StepSelection())


# ---- other processes ----


def test_models_of_every_kind_go_to_another_process_after_they_were_asked(own: Model) -> None:
    """Figures are drawn by several processes, and models go to pools of them."""
    of_one_form = gc.fit(whole(), model="paper", replicates=20)
    for here in (own, of_one_form, md(), *map(gc.load_model, reconstructed_files())):
        sizes, counts = [20_000, 96_000], [1, 2]
        here.refuted(np.array(here.timed.n if here.timed else sizes, dtype=np.float64))
        expected = here.forecast(sizes, counts)
        there = pickle.loads(pickle.dumps(here))
        assert type(there) is type(here)
        assert there.forecast(sizes, counts).equals(expected)
        assert there.to_json() == here.to_json()
