"""The accuracy page judges rightly: made steps with known answers."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import forecasts
from forecasting import answers, floor, outcome, questions, rivals, scores
from forecasting.questions import GPUS, RANDOM, SIZES
from gpucast.answers.remote_cost import break_even
from gpucast.data import jsonl, thinning
from gpucast.data.dataset import Dataset
from gpucast.data.steps import data_of, groups_of, names_of
from lab.forecasters.scores import Score
from made_data import (
    NATIVE,
    VIRTUALIZED,
    Array,
    dataset,
    launch,
    machine,
    microbenchmarks,
    steps,
)

Seconds = Callable[[Array, Array], Array]

# Few samples and replicates: what is true is known, and noise is small.
REPLICATES = 40
FAST = ["--samples", "5", "--replicates", str(REPLICATES), "--jobs", "2"]
QUIET = {"sigma": 1e-3, "repeats": 5}
THREADS = {"max_threads_per_sm": 1536}  # k at most 8: fewer to try


def native(seconds: Seconds = NATIVE.seconds, **how: Any) -> list[dict[str, Any]]:
    rng = np.random.default_rng(5)
    return [
        *steps(seconds, rng, memory="pinned", **QUIET, **how),
        *microbenchmarks(NATIVE, rng, sigma=1e-3),
    ]


def over_network() -> list[dict[str, Any]]:
    rng = np.random.default_rng(6)
    return [
        *steps(VIRTUALIZED.seconds, rng, path="remote", memory="pinned", **QUIET),
        *microbenchmarks(VIRTUALIZED, rng, sigma=1e-3, path="remote"),
    ]


def made(*records: dict[str, Any]) -> Dataset:
    return dataset([machine(2304, **THREADS), *records])


def slow_on_four(n: Array, gpus: Array) -> Array:
    return NATIVE.seconds(n, gpus) * np.where(gpus == 4, 1.25, 1.0)


@pytest.fixture(autouse=True)
def _no_extrap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Extra-P takes seconds and is not always there."""
    monkeypatch.setattr(rivals, "OF_SAMPLES", ())


# --- what is left out ------------------------------------------------------------------------

GRID = [(n, gpus) for n in (1000, 8000, 64000, 125000) for gpus in (1, 2, 3, 4)]


def test_splits_train_on_half_the_gpus_small_sizes_and_a_random_share() -> None:
    trained = questions.held_out(GRID)
    assert {gpus for _, gpus in trained[GPUS]} == {1, 2}
    assert {n for n, _ in trained[GPUS]} == {1000, 8000, 64000, 125000}
    assert {n for n, _ in trained[SIZES]} == {1000, 8000, 64000}
    assert len(trained[RANDOM]) == 13
    assert trained == questions.held_out(GRID[::-1])


def test_a_split_that_leaves_nothing_out_is_none() -> None:
    small_on_one = [(n, 1) for n in range(1000, 64001, 9000)]
    assert set(questions.held_out(small_on_one)) == {RANDOM}


def test_thinned_records_keep_their_median_and_spread() -> None:
    samples = np.random.default_rng(0).lognormal(size=501).tolist()
    data = made(launch(1, samples))
    (thin,) = thinning.thinned(data, 15).launches
    assert len(thin.seconds) == 15
    assert np.median(thin.seconds) == np.median(samples)
    assert np.std(np.log(thin.seconds)) == pytest.approx(1.0, abs=0.1)


def test_a_cell_is_measured_by_the_median_of_its_visits() -> None:
    """Not of its samples: a visit with many of them counts once."""
    visits = [[1.0] * 90, [2.0] * 3, [3.0] * 3]
    steps_of_one = [
        {"kind": "step", "machine": "m", "path": "native", "schedule": "star-serial",
         "kernel": "claret", "n": 1000, "gpus": 1, "block": 128, "seconds": seconds}
        for seconds in visits
    ]  # fmt: skip
    cells = questions.cells_of(made(*steps_of_one).steps)
    assert cells.measured.tolist() == [2.0]
    assert cells.visits.tolist() == [3]
    assert cells.samples.tolist() == [96]


# --- groups ----------------------------------------------------------------------------------


def test_groups_are_told_apart_and_named() -> None:
    rng = np.random.default_rng(0)
    records = [
        record
        for how in (
            {"memory": "pinned"},
            {"memory": "pageable"},
            {"memory": "pinned", "block": 128},
            {"memory": "pinned", "block": 256},
            {"path": "remote"},
        )
        for record in steps(NATIVE.seconds, rng, n=[1000], gpus=[1], **how)
    ]
    data = made(*records)
    groups = groups_of(data)
    assert len(groups) == 5
    names = list(names_of(groups).values())
    assert names[1] == "native, star-serial, claret, pageable"
    assert names[2:4] == [
        "native, star-serial, claret, pinned, block 128",
        "native, star-serial, claret, pinned, block 256",
    ]
    assert names[4] == "remote, star-serial, claret"
    assert [step.memory for step in data_of(data, groups[1]).steps] == ["pageable"]


# --- scores ----------------------------------------------------------------------------------


def rows(forecast: list[float], trained: list[bool]) -> pd.DataFrame:
    """Two sizes on one and two GPUs, measured at 1, 2, 4 and 3 s; intervals a tenth either way."""
    given = np.array(forecast)
    return pd.DataFrame(
        {"n": [1, 1, 2, 2], "gpus": [1, 2, 1, 2], "measured": [1.0, 2.0, 4.0, 3.0],
         "trained": trained, "gpucast": given, "low": given / 1.1, "high": given * 1.1}
    )  # fmt: skip


def test_a_group_is_scored_by_its_left_out_cells() -> None:
    score = scores.of_forecaster(rows([9.0, 2.1, 4.0, 4.5], [True, False, True, False]), "gpucast")
    assert score.cells == 2
    assert score.median == pytest.approx((0.05 + 0.5) / 2)
    assert score.coverage == 0.5
    assert score.half_width == pytest.approx(0.1)


def test_best_counts_are_chosen_among_trained_cells_too() -> None:
    score = scores.of_forecaster(rows([9.0, 2.1, 4.0, 4.5], [True, False, True, False]), "gpucast")
    assert (score.hits, score.total) == (0, 2)
    assert score.regret == pytest.approx((1.0 + 1 / 3) / 2)
    all_known = scores.of_forecaster(
        rows([1.0, 2.0, 4.0, 3.0], [True, True, True, False]), "gpucast"
    )
    assert (all_known.hits, all_known.total, all_known.regret) == (1, 1, 0.0)


def test_no_forecast_is_as_bad_as_can_be() -> None:
    nothing = rows([np.nan] * 4, [True, False, True, False])
    score = scores.of_forecaster(nothing, "gpucast")
    assert (score.median, score.p95, score.coverage) == (np.inf, np.inf, 0.0)
    assert (score.hits, score.total, score.regret) == (0, 2, None)


def test_groups_are_summed_by_the_typical_one_and_pooled_cells() -> None:
    two = pd.DataFrame(
        [vars(Score(10, 0.1, 0.2, 0.5, 0.1, 1, 2, 0.0)),
         vars(Score(30, 0.3, 0.4, 1.0, 0.3, 3, 3, 0.1))]
    )  # fmt: skip
    score = scores.over_groups(two)
    assert vars(score) == pytest.approx(vars(Score(40, 0.2, 0.3, 0.875, 0.2, 4, 5, 0.05)))


def test_the_prototypes_table_sums_to_its_published_figures() -> None:
    known = pd.read_csv(outcome.PROTOTYPES, comment="#")
    sums = {split: scores.over_groups(part) for split, part in known.groupby("split")}
    assert (sums[GPUS].cells, sums[GPUS].hits, sums[GPUS].total) == (508, 225, 257)
    assert sums[GPUS].median == pytest.approx(0.0274, abs=1e-4)
    assert sums[SIZES].coverage == pytest.approx(0.87, abs=0.005)
    assert sums[RANDOM].p95 == pytest.approx(0.045, abs=6e-4)


def test_the_floor_is_the_noise_of_the_mean_of_the_visits() -> None:
    """For V normal visits with standard deviation s, |mean| has the median 0.674 s / sqrt(V)."""
    rng = np.random.default_rng(1)
    cells = [rng.normal(0.0, 0.05, 4) for _ in range(2000)]
    off = floor.deviations(cells)
    assert off.std() == pytest.approx(0.05, rel=0.03)  # of 8,000 draws
    drawn = np.abs(rng.choice(off, (floor.DRAWS, 4)).mean(axis=1))
    assert np.median(drawn) == pytest.approx(0.6745 * 0.05 / 2, rel=0.1)


# --- forecasts of a truth that is known -------------------------------------------------------


def forecast(posed: Iterator[questions.Question]) -> pd.DataFrame:
    rows = pd.concat([answers.answered(question, REPLICATES) for question in posed])
    return rows.assign(error=(rows.gpucast / rows.measured - 1).abs())


@pytest.mark.slow
def test_the_truth_is_forecast_by_all_who_know_its_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "LARGEST_N", 32000)  # made n end at 64,000
    measured = questions.Measured(made(*native()), 5)
    ((name, group),) = measured.groups.items()
    forecasts = forecast(questions.left_out(measured)).merge(
        rivals.rivals_of(measured, name, group), on=answers.KEY
    )
    assert set(forecasts.split) == set(questions.HELD_OUT)
    assert forecasts.extrap.isna().all()
    for who in ("gpucast", "scipy"):
        score = scores.over_groups(scores.table(forecasts, [who]))
        assert score.median < 0.005
        assert score.p95 < 0.02
        assert score.hits == score.total > 0


@pytest.mark.slow
def test_what_is_left_out_changes_no_forecast() -> None:
    """Times on three and four GPUs ten times too long: the same forecasts, other errors."""

    def wrong(n: Array, gpus: Array) -> Array:
        return NATIVE.seconds(n, gpus) * np.where(gpus > 2, 10.0, 1.0)

    right, off = (
        forecast(one for one in questions.left_out(questions.Measured(made(*native(s)), 5))
                 if one.held[0].split == GPUS)
        for s in (NATIVE.seconds, wrong)
    )  # fmt: skip
    assert right.gpucast.tolist() == off.gpucast.tolist()
    assert right[~right.trained].error.median() < 0.01
    assert off[~off.trained].error.median() == pytest.approx(0.9, abs=0.01)


@pytest.mark.slow
def test_remote_steps_are_forecast_from_native_ones() -> None:
    measured = questions.Measured(made(*native(), *over_network()), 5)
    forecasts = forecast(questions.over_other_paths(measured, "native"))
    assert set(forecasts.group) == {"remote, star-serial, claret, pinned"}
    assert set(forecasts.split) == {questions.WITHOUT_SKELETONS}
    assert forecasts.error.median() < 0.01


@pytest.mark.slow
def test_another_machine_is_forecast_from_all_of_the_first() -> None:
    """The machine with eight GPUs takes twice as long on four and fewer."""

    def slow_at_home(n: Array, gpus: Array) -> Array:
        return NATIVE.seconds(n, gpus) * np.where(gpus > 4, 1.0, 2.0)

    of_four = [{**record, "machine": "four"} for record in native()]
    first = questions.Measured(dataset([machine(2304, "four", **THREADS), *of_four]), 5)
    eight = questions.Measured(made(*native(slow_at_home, gpus=range(1, 9))), 5)
    forecasts = forecast(questions.on_another_machine(first, eight))
    judged = forecasts[~forecasts.trained]
    same, more = (
        judged[judged.split == split] for split in (questions.ANOTHER_MACHINE, questions.MORE_GPUS)
    )
    assert set(same.gpus) == {1, 2, 3, 4}
    assert same.error.to_numpy() == pytest.approx(0.5, abs=0.02)
    assert set(more.gpus) == {5, 6, 7, 8}
    assert more.error.max() < 0.03


# --- break-even ------------------------------------------------------------------------------


def test_break_even_is_where_the_extra_falls_below_a_tenth_for_good() -> None:
    n = np.array([1000.0, 10000.0, 100000.0])
    assert break_even(n, np.array([0.5, 0.2, 0.0])) == pytest.approx(10000 * 10**0.5)
    assert break_even(n, np.array([0.0, 0.2, 0.0])) == pytest.approx(10000 * 10**0.5)
    assert break_even(n, np.array([0.09, 0.05, 0.0])) == 1000
    assert break_even(n, np.array([0.5, 0.0, 0.1])) is None


# --- the command -----------------------------------------------------------------------------


def run(tmp_path: Path, data: Dataset, name: str, *options: str) -> tuple[int, str]:
    file = tmp_path / f"{name}.jsonl"
    file.write_text(jsonl.to_text(data._all()))
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir(exist_ok=True)
    status = forecasts.main([str(file), "-o", str(page), *FAST, *options])
    return status, page.read_text()


@pytest.mark.slow
def test_a_missed_target_is_marked_and_ends_with_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four GPUs take 1.25 times as long as the others let expect, in data of the targets' name."""
    status, page = run(tmp_path, made(*native(slow_on_four)), "h200-x4-mixed")
    assert status == 1
    assert "missed: h200-x4-mixed, more GPUs: p95" in capsys.readouterr().out
    assert "**20." in page
    assert (tmp_path / "docs" / "images" / "accuracy.png").read_bytes().startswith(b"\x89PNG")
    assert "(images/accuracy.png)" in page
    tables = tmp_path / "docs" / "results" / "page"
    cells = pd.read_csv(tables / "h200-x4-mixed.csv")
    of_four = cells[(cells.split == GPUS) & (cells.gpus == 4)]
    assert (of_four.gpucast / of_four.measured - 1).to_numpy() == pytest.approx(-0.2, abs=0.03)
    groups = pd.read_csv(tables / "groups.csv")
    assert set(groups.forecaster) == {"floor", "gpucast", "prototype"}
    own = groups[(groups.split == GPUS) & (groups.forecaster == "gpucast")]
    assert own.p95.tolist() == pytest.approx([0.2], abs=0.02)


@pytest.mark.slow
def test_what_others_said_is_kept(tmp_path: Path) -> None:
    data = made(*native(n=[1000, 4000, 16000, 64000, 128000]))
    status, page = run(tmp_path, data, "made", "--rivals")
    assert status == 0  # there are no targets for such data
    assert "paper's form, scipy" in page
    table = tmp_path / "docs" / "results" / "page" / "made.csv"
    kept = pd.read_csv(table).scipy
    assert kept.notna().all()
    again = run(tmp_path, data, "made")[1]
    assert "paper's form, scipy" in again
    assert pd.read_csv(table).scipy.tolist() == kept.tolist()


@pytest.mark.slow
def test_only_the_groups_asked_for_are_reported(tmp_path: Path) -> None:
    data = made(*native(), *over_network())
    page = run(tmp_path, data, "made", "--only", "remote")[1]
    cells = pd.read_csv(tmp_path / "docs" / "results" / "page" / "made.csv")
    assert set(cells.group) == {"remote, star-serial, claret, pinned"}
    assert "Other paths" not in page


def test_no_such_group_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "made.jsonl"
    file.write_text(jsonl.to_text(made(*native())._all()))
    page = tmp_path / "page.md"
    assert forecasts.main([str(file), "-o", str(page), "--only", "moon"]) == 2
    assert "no steps of moon; there are: native" in capsys.readouterr().err
    assert not page.exists()
