"""The accuracy report judges rightly: made steps with known answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import extra_p
import forecasts
from forecasting import remote, results, splits, studies
from gpucast.data import jsonl, thinning
from gpucast.data.dataset import Dataset
from gpucast.data.selection import StepSelection
from gpucast.data.steps import data_of, groups_of, names_of
from gpucast.errors import InputError
from gpucast.forecast.remote_cost import break_even
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

pytestmark = pytest.mark.slow

Seconds = Callable[[Array, Array], Array]

# Few samples and replicates: what is true is known, and noise is small.
SETTINGS = studies.Settings(samples=5, replicates=40, seeds=1, largest_n=32000)
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


@pytest.fixture(scope="module", autouse=True)
def _no_extrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Extra-P takes seconds and is not always there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extra_p, "PYTHON", tmp_path_factory.mktemp("extrap") / "no-python")
        yield


def study_of(data: Dataset) -> dict[StepSelection, studies.Study]:
    subjects = [studies.subject(data, each, SETTINGS) for each in groups_of(data)]
    return studies.run(subjects, 2, lambda done, total: None)


@pytest.fixture(scope="module")
def two_paths() -> tuple[Dataset, dict[StepSelection, studies.Study]]:
    data = made(*native(), *over_network())
    return data, study_of(data)


# --- what is left out ------------------------------------------------------------------------

GRID = [(n, gpus) for n in (1000, 8000, 64000, 125000) for gpus in (1, 2, 3, 4)]


def test_half_of_the_gpus_are_trained_on() -> None:
    (split,) = splits.by_gpus(GRID)
    assert {gpus for _, gpus in split.trained} == {1, 2}
    assert {n for n, _ in split.trained} == {1000, 8000, 64000, 125000}
    assert splits.by_gpus([(n, 1) for n, _ in GRID]) == []


def test_larger_sizes_are_left_out_where_there_are_any() -> None:
    (split,) = splits.by_size(GRID, 64000)
    assert {n for n, _ in split.trained} == {1000, 8000, 64000}
    assert splits.by_size(GRID, 125000) == []


def test_random_cells_are_a_share_and_differ_by_seed() -> None:
    first, second = splits.at_random(GRID, "random", 0.75, 2)
    assert len(first.trained) == len(second.trained) == 12
    assert first.trained != second.trained
    assert first == splits.at_random(GRID, "random", 0.75, 1)[0]


def test_what_is_left_out_changes_no_forecast() -> None:
    """Times on three and four GPUs ten times too long: the same forecasts, other errors."""

    def wrong(n: Array, gpus: Array) -> Array:
        return NATIVE.seconds(n, gpus) * np.where(gpus > 2, 10.0, 1.0)

    answers = []
    for seconds in (NATIVE.seconds, wrong):
        data = made(*native(seconds))
        one = studies.subject(data, groups_of(data)[0], SETTINGS)
        answers.append(studies._held_out(one, splits.by_gpus(list(one.measured))[0]))
    right, off = ({(c["n"], c["gpus"]): c["predicted"] for c in a.cells} for a in answers)
    assert right == off
    assert {gpus for _, gpus in right} == {3, 4}
    assert answers[0].median_relative_error < 0.01
    assert answers[1].median_relative_error == pytest.approx(0.9, abs=0.01)


def test_thinned_records_keep_their_median_and_spread() -> None:
    samples = np.random.default_rng(0).lognormal(size=501).tolist()
    data = made(launch(1, samples))
    (thin,) = thinning.thinned(data, 15).launches
    assert len(thin.seconds) == 15
    assert np.median(thin.seconds) == np.median(samples)
    assert np.std(np.log(thin.seconds)) == pytest.approx(1.0, abs=0.1)


# --- more GPUs than another machine has --------------------------------------------------------


def of_four(**how: Any) -> Dataset:
    """Measured before, on a machine of another name."""
    records = [{**each, "machine": "four"} for each in native(**how)]
    return dataset([machine(2304, "four", **THREADS), *records])


def slow_at_home(n: Array, gpus: Array) -> Array:
    """The machine with eight GPUs takes twice as long on four and fewer."""
    return NATIVE.seconds(n, gpus) * np.where(gpus > 4, 1.0, 2.0)


def test_an_earlier_dataset_alone_forecasts_the_counts_it_has_not() -> None:
    eight = made(*native(slow_at_home, gpus=range(1, 9)))
    (group,) = groups_of(eight)
    one = studies.subject(eight, group, SETTINGS, of_four())
    (split,) = (each for each in one.splits if each.kind == "gpus")
    for forecast in (studies._held_out(one, split), studies._scipy(one, split)):
        assert {cell["gpus"] for cell in forecast.cells} == {5, 6, 7, 8}
        assert forecast.p95_relative_error < 0.02
    trained = one.trained(split).steps
    assert {step.machine for step in trained} == {"four"}
    assert {step.gpus for step in trained} == {1, 2, 3, 4}
    (sizes,) = (each for each in one.splits if each.kind == "sizes")
    assert {step.machine for step in one.trained(sizes).steps} == {"m"}


def test_an_earlier_dataset_has_the_same_steps_on_fewer_gpus() -> None:
    eight = made(*native(gpus=range(1, 9)))
    (group,) = groups_of(eight)
    with pytest.raises(InputError, match="has as many GPUs as made"):
        studies.subject(eight, group, SETTINGS, of_four(gpus=range(1, 9)))
    with pytest.raises(InputError, match="has no steps of native, star-serial, claret, pinned"):
        studies.subject(eight, group, SETTINGS, made(*over_network()))


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
    found = groups_of(data)
    assert len(found) == 5
    names = list(names_of(found).values())
    assert names[1] == "native, star-serial, claret, pageable"
    assert names[2:4] == [
        "native, star-serial, claret, pinned, block 128",
        "native, star-serial, claret, pinned, block 256",
    ]
    assert names[4] == "remote, star-serial, claret"
    assert [step.memory for step in data_of(data, found[1]).steps] == ["pageable"]


# --- forecasts of a truth that is known -------------------------------------------------------


def test_the_truth_is_forecast_by_all_who_know_its_form(
    two_paths: tuple[Dataset, dict[StepSelection, studies.Study]],
) -> None:
    for study in two_paths[1].values():
        for kind in ("gpus", "sizes", "random"):
            of_kind = study.results[kind]
            assert set(of_kind) == {"gpucast", "paper", "scipy"}
            for result in of_kind.values():
                assert result.median_relative_error < 0.005
                assert result.p95_relative_error < 0.02
                assert result.best_hits == result.best_total > 0
        own = study.results["gpus"]["gpucast"]
        assert {cell["gpus"] for cell in own.cells} == {3, 4}
        assert study.results["gpus"]["scipy"].coverage is None


def test_remote_steps_are_forecast_from_native_ones(
    two_paths: tuple[Dataset, dict[StepSelection, studies.Study]],
) -> None:
    data, study = two_paths
    ((group, found),) = remote.what_ifs(data, data, study, "native").items()
    assert group.path == "remote"
    assert found.median_relative_error < 0.01
    assert [row.gpus for row in found.break_even] == [1, 2, 3, 4]
    for row in found.break_even:
        assert (row.measured is None) == (row.forecast is None)
        if row.measured:
            assert row.relative_error == pytest.approx(0, abs=0.05)
    assert all(results.judge("what_if", found).values())


def test_a_bias_is_found() -> None:
    """Four GPUs take 1.25 times as long as the trained ones let expect: forecasts are 20 % low."""
    data = made(*native(slow_on_four))
    (study,) = study_of(data).values()
    result = study.results["gpus"]["gpucast"]
    of_four = [c["relative_error"] for c in result.cells if c["gpus"] == 4]
    assert of_four == pytest.approx([-0.2] * len(of_four), abs=0.02)
    of_three = [c["relative_error"] for c in result.cells if c["gpus"] == 3]
    assert max(map(abs, of_three)) < 0.02
    verdict = results.judge("gpus", result)
    assert not verdict["p95"]
    assert not verdict["median"]


# --- break-even ------------------------------------------------------------------------------


def test_break_even_is_where_the_extra_falls_below_a_tenth_for_good() -> None:
    n = np.array([1000.0, 10000.0, 100000.0])
    assert break_even(n, np.array([0.5, 0.2, 0.0])) == pytest.approx(10000 * 10**0.5)
    assert break_even(n, np.array([0.0, 0.2, 0.0])) == pytest.approx(10000 * 10**0.5)
    assert break_even(n, np.array([0.09, 0.05, 0.0])) == 1000
    assert break_even(n, np.array([0.5, 0.0, 0.1])) is None


# --- the command -----------------------------------------------------------------------------

FAST = [
    "--samples",
    "5",
    "--replicates",
    "40",
    "--seeds",
    "1",
    "--largest-n",
    "32000",
    "--jobs",
    "2",
]


def test_the_page_says_what_was_trained_on(tmp_path: Path) -> None:
    before = tmp_path / "four.jsonl"
    before.write_text(jsonl.to_text(of_four()._all()))
    eight = made(*native(n=[1000, 4000, 16000, 64000], gpus=range(1, 9)))
    _, page, numbers = run(tmp_path, eight, "--train", str(before))
    assert f"Trained on {numbers['about']['earlier']} alone; held against N = 5, 6, 7, 8." in page
    assert "four.jsonl" in numbers["about"]["earlier"]
    (found,) = numbers["held_out"]["gpus"].values()
    verdict = numbers["targets"]["gpus"].popitem()[1]
    assert {key for key, reached in verdict.items() if not reached} <= {"coverage"}
    assert {cell["gpus"] for cell in found["gpucast"]["cells"]} == {5, 6, 7, 8}


def run(tmp_path: Path, data: Dataset, *options: str) -> tuple[int, str, dict[str, Any]]:
    file = tmp_path / "made.jsonl"
    file.write_text(jsonl.to_text(data._all()))
    page, numbers = tmp_path / "docs" / "page.md", tmp_path / "numbers.json"
    page.parent.mkdir()
    status = forecasts.main([str(file), "-o", str(page), "--json", str(numbers), *FAST, *options])
    return status, page.read_text(), json.loads(numbers.read_text())


def test_a_missed_target_is_marked_and_ends_with_status_1(tmp_path: Path) -> None:
    status, page, numbers = run(tmp_path, made(*native(slow_on_four)))
    assert status == 1
    name = "native, star-serial, claret, pinned"
    assert numbers["targets"]["gpus"][name]["p95"] is False
    assert numbers["held_out"]["gpus"][name]["gpucast"]["max_relative_error"] > 0.15
    assert f"| {name} | " in page
    assert "missed: median" in page
    for heading in range(1, 7):
        assert f"\n## {heading}. " in page
    for picture in ("forecasts-measured.png", "forecasts-error.png"):
        assert f"(images/{picture})" in page
        assert (tmp_path / "docs" / "images" / picture).read_bytes().startswith(b"\x89PNG")


def test_only_the_groups_asked_for_are_reported(tmp_path: Path) -> None:
    data = made(*native(), *over_network())
    _, page, numbers = run(tmp_path, data, "--only", "remote")
    assert list(numbers["cells"]) == ["remote, star-serial, claret, pinned"]
    assert numbers["what_if"] == {}
    assert "No steps were measured over two paths" in page


def test_no_such_group_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "made.jsonl"
    file.write_text(jsonl.to_text(made(*native())._all()))
    page = tmp_path / "page.md"
    assert forecasts.main([str(file), "-o", str(page), "--only", "moon"]) == 2
    assert "no steps of moon; there are: native" in capsys.readouterr().err
    assert not page.exists()
