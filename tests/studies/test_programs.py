"""The study of other programs splits, fits and judges as it says: hand-made tables with answers."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import extra_p
from gpucast.data import bundled_files
from gpucast.errors import InputError
from programs import command, extrap_lines, rivals, series, study
from programs.extrap_lines import Question
from programs.page import page
from programs.series import (
    BUNDLED,
    Series,
    bundled,
    families,
    published,
    read,
    series_of,
    tuned_on,
)
from programs.splits import FOUR_TIMES, LARGER_SIZES, MOST_GPUS, Split, splits_of
from programs.summing import Sum

Array = NDArray[np.float64]


def grid(sizes: list[float], counts: list[float]) -> tuple[Array, Array]:
    n, gpus = np.meshgrid(np.array(sizes, float), np.array(counts, float), indexing="ij")
    return n.ravel(), gpus.ravel()


def left_out(splits: list[Split], n: Array, gpus: Array) -> dict[str, set[tuple[float, float]]]:
    return {
        s.kind: set(zip(n[s.left_out].tolist(), gpus[s.left_out].tolist(), strict=True))
        for s in splits
    }


# ------------------------------------------------------------------- splits ----


def test_four_sizes_on_up_to_sixteen_gpus_are_split_in_all_three_ways() -> None:
    n, gpus = grid([10, 20, 30, 40], [1, 4, 8, 16])
    assert left_out(splits_of(n, gpus), n, gpus) == {
        MOST_GPUS: {(a, 16) for a in (10, 20, 30, 40)},
        FOUR_TIMES: {(a, N) for a in (10, 20, 30, 40) for N in (8, 16)},
        LARGER_SIZES: {(a, N) for a in (30, 40) for N in (1, 4, 8, 16)},
    }


def test_two_splits_that_leave_the_same_cells_out_are_one() -> None:
    n, gpus = grid([10, 20], [1, 4, 16])
    assert set(left_out(splits_of(n, gpus), n, gpus)) == {MOST_GPUS}


def test_a_quarter_of_the_largest_count_is_trained_on() -> None:
    n, gpus = grid([10], [1, 2, 4, 8, 16])
    assert left_out(splits_of(n, gpus), n, gpus) == {
        MOST_GPUS: {(10, 16)},
        FOUR_TIMES: {(10, 8), (10, 16)},
    }


def test_counts_must_span_a_factor_of_sixteen_for_a_quarter() -> None:
    n, gpus = grid([10], [1, 2, 4, 8, 15])
    assert set(left_out(splits_of(n, gpus), n, gpus)) == {MOST_GPUS}


def test_of_five_sizes_the_middle_one_is_trained_on() -> None:
    n, gpus = grid([10, 20, 30, 40, 50], [1])
    assert left_out(splits_of(n, gpus), n, gpus) == {LARGER_SIZES: {(40, 1), (50, 1)}}


def test_three_sizes_are_too_few_and_so_are_two_trained_cells() -> None:
    n, gpus = grid([10, 20, 30], [1])
    assert splits_of(n, gpus) == []
    n, gpus = grid([10], [1, 2, 4])
    assert splits_of(n, gpus) == []


@given(
    st.lists(
        st.tuples(st.integers(1, 10**9), st.integers(1, 70000)),
        min_size=1,
        max_size=30,
        unique=True,
    )
)
def test_every_split_trains_on_three_cells_and_leaves_one_out(
    cells: list[tuple[int, int]],
) -> None:
    n, gpus = (np.array(column, float) for column in zip(*cells, strict=True))
    for split in splits_of(n, gpus):
        assert split.trained.sum() >= 3
        assert split.left_out.any()
        if split.kind == LARGER_SIZES:
            assert n[split.trained].max() < n[split.left_out].min()
        else:
            assert gpus[split.trained].max() < gpus[split.left_out].min()


# ------------------------------------------------------------------- rivals ----


def law(n: Array, gpus: Array) -> Array:
    """T1 = 2 us a unit of n, sigma = 0.03, kappa = 0.0004."""
    return 2e-6 * n * (1 + 0.03 * (gpus - 1) + 4e-4 * gpus * (gpus - 1)) / gpus


def amdahl(n: Array, gpus: Array) -> Array:
    """3 us a unit of n, of which 7 % are serial."""
    return 3e-6 * n * (0.07 + 0.93 / gpus)


def plain(n: Array, gpus: Array) -> Array:
    return 2e-4 + 5e-8 * n / gpus


@pytest.mark.parametrize(
    ("method", "truth"),
    [(rivals.amdahl, amdahl), (rivals.universal, law), (rivals.plain, plain)],
)
@pytest.mark.parametrize("sizes", [[1e5], [1e4, 1e5, 1e6]])
def test_a_law_forecasts_what_it_made(
    method: rivals.Method, truth: Callable[[Array, Array], Array], sizes: list[float]
) -> None:
    n, gpus = grid(sizes, [1, 2, 4, 8])
    ahead = grid([1e5, 4e6], [1, 16, 64])
    found = method(n, gpus, truth(n, gpus), *ahead)
    # The fits are of log time, to 1e-12 of the cost; coefficients are good to its root.
    np.testing.assert_allclose(found, truth(*ahead), rtol=1e-4)


def test_what_one_gpu_cannot_show_is_forecast_not_to_be() -> None:
    n, gpus = grid([1e4, 2e4, 4e4], [1])
    found = rivals.universal(n, gpus, 1e-6 * n, *grid([1e4], [8]))
    assert found == pytest.approx([1e-6 * 1e4 / 8])


# ------------------------------------------------------------------- tables ----


def table(folder: Path) -> Path:
    rows = ["program,case,machine,n,gpus,seconds,notes"]
    for n, gpus in zip(*grid([1e6, 2e6, 4e6, 8e6], [1, 2, 4, 16]), strict=True):
        seconds = float(plain(n, gpus))
        rows += [f"code,box,host,{n:g},{gpus:g},{seconds},", f"code,ball,host,{n:g},{gpus:g},1,"]
    file = folder / "made.csv"
    file.write_text("\n".join([*rows, f"code,box,host,1e6,1,{9.0},"]) + "\n")
    return file


def test_a_table_is_a_series_a_case_and_repeats_are_medians(tmp_path: Path) -> None:
    box, ball = series_of(read(table(tmp_path)), "made")
    assert (box.name, ball.name) == ("made: box", "made: ball")
    assert box.n.size == box.gpus.size == 16
    assert box.seconds[0] == pytest.approx((plain(*grid([1e6], [1]))[0] + 9) / 2)
    assert ball.seconds.tolist() == [1] * 16


def test_a_split_trains_on_its_cells_and_no_others(tmp_path: Path) -> None:
    box, _ = series_of(read(table(tmp_path)), "made")
    (split,) = [s for s in splits_of(box.n, box.gpus) if s.kind == MOST_GPUS]
    assert {step.gpus for step in box.trained_on(split).steps} == {1, 2, 4}


@pytest.mark.parametrize("file", sorted(series.TABLES.glob("*.csv")), ids=lambda file: file.stem)
def test_the_figures_of_a_table_are_those_of_its_rows(file: Path) -> None:
    with file.open(newline="") as text:
        rows = list(csv.DictReader(text))
    told = sorted((float(r["n"]), int(r["gpus"]), float(r["seconds"])) for r in rows)
    steps = [step for each in series_of(read(file), file.stem) for step in each.data.steps]
    assert sorted((s.n, s.gpus, t) for s in steps for t in s.seconds) == told
    assert min(t for _, _, t in told) > 0
    assert all(row["notes"] for row in rows)


def test_every_table_is_described_with_its_source_and_family() -> None:
    text = (series.TABLES / "README.md").read_text()
    described = {line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")}
    tables = {file.stem for file in series.TABLES.glob("*.csv")}
    assert tables == described - {"table"}
    assert families().keys() == tables | set(BUNDLED)
    assert families()["quick-dft"] == families()["dftfe-mo-summit-strong"] == "qchem"
    assert all(re.fullmatch("[a-z]+", family) for family in families().values())


def test_the_bundled_series_are_those_of_bundled_datasets() -> None:
    assert set(BUNDLED) <= set(bundled_files())
    assert {each.table for each in bundled()} == set(BUNDLED)


def test_every_reason_is_of_a_series() -> None:
    names = [each.name for each in (*bundled(), *published())]
    text = (Path(series.__file__).parent / "reasons.toml").read_text()
    for reason in tomllib.loads(text)["reasons"]:
        words = reason["series"].split(" & ")
        assert any(all(word in name for word in words) for name in names), words
        assert reason.get("split", MOST_GPUS) in (MOST_GPUS, FOUR_TIMES, LARGER_SIZES)


def test_tables_of_which_no_prior_was_chosen_are_named() -> None:
    assert tuned_on("lammps-kokkos-lj-alps-strong")
    assert not tuned_on("quick-dft")
    assert not tuned_on("hecbiosim")


# ----------------------------------------------------------------- the whole ----


@pytest.fixture
def _no_extrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra_p, "PYTHON", tmp_path / "no-python")


def right(series: Series, split: Split) -> study.Forecast:
    return series.seconds, 0.9 * series.seconds, 1.1 * series.seconds


@pytest.mark.usefixtures("_no_extrap")
def test_a_right_forecast_reaches_all_that_can_be_reached(tmp_path: Path) -> None:
    every = list(series_of(read(table(tmp_path)), "quick-made"))
    rows = study.cells(every, lambda done, total: None, right)
    found = study.splits(rows)
    assert set(found[study.GPUCAST]) == {0}
    assert found[study.EXTRA_P].isna().all()
    numbers = tmp_path / "numbers.csv"
    numbers.write_text(rows.to_csv(index=False))
    command.main(["-o", str(tmp_path / "page.md"), "--from-cells", str(numbers)])
    text = (tmp_path / "page.md").read_text()
    assert "median error of the typical split is **0 %**" in text
    assert (tmp_path / "images" / "page.png").exists()
    assert "0 splits have a median error above 10 %" in text
    assert "[page.csv](page.csv)" in text
    with open(tmp_path / "page.csv", encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    # N = 16 is all that is above a quarter, so that the second split is the first.
    names = list(zip(found.series, found.split, strict=True))
    assert [(row["series"], row["split"]) for row in written] == names
    assert sum(row["series"] == "quick-made: box" for row in written) == 2
    assert {(row["median"], row["why"], row["Extra-P"]) for row in written} == {("0", "", "")}


@pytest.mark.usefixtures("_no_extrap")
def test_a_method_that_says_nothing_of_a_cell_left_out_has_no_error(tmp_path: Path) -> None:
    def of_one_gpu(series: Series, split: Split) -> study.Forecast:
        seconds, low, high = right(series, split)
        return np.where(series.gpus > 1, np.nan, seconds), low, high

    box, _ = series_of(read(table(tmp_path)), "quick-made")
    found = study.splits(study.cells([box], lambda done, total: None, of_one_gpu))
    assert found[study.GPUCAST].isna().all()
    assert Sum(found).medians().tolist() == [np.inf] * len(found)


@pytest.mark.usefixtures("_no_extrap")
def test_a_refusal_is_reported_and_counts_as_infinitely_wrong(tmp_path: Path) -> None:
    def refused(series: Series, split: Split) -> study.Forecast:
        raise InputError("no")

    box, ball = series_of(read(table(tmp_path)), "quick-made")
    quiet = lambda done, total: None  # noqa: E731
    rows = pd.concat([study.cells([box], quiet, refused), study.cells([ball], quiet, right)])
    found = study.splits(rows)
    both = Sum(found)
    assert both.small() == (found.series == ball.name).mean()
    assert both.coverage == 1
    text = page(found, "make it", "x.png", "x.csv")
    assert "Refused: quick-made: box (most GPUs): no;" in text


def test_extra_p_gets_lines_of_one_size_or_of_one_share() -> None:
    n, gpus = np.array([10.0, 20, 40, 40]), np.array([1.0, 2, 4, 8])
    question = Question(n, gpus, n / gpus, np.array([True, True, True, False]))
    lines = [(line.parameters, line.points, cells) for line, cells in question.lines("gpus")]
    # n/N = 10 is weak scaling; n = 40 has one trained cell, which is no line.
    assert lines == [(["gpus"], [[1.0], [2.0], [4.0]], [0, 1, 2])]
    assert [cells for _, cells in question.lines("n and gpus")] == [[0, 1, 2, 3]]


@pytest.mark.slow
def test_extra_p_finds_a_constant() -> None:
    if not extra_p.available():
        pytest.skip("no .venv-extrap with Extra-P 4.2.5 in this checkout")
    n, gpus = grid([10], [1, 2, 4, 8, 16, 32])
    trained = gpus < 32
    (found,) = extrap_lines.forecasts([Question(n, gpus, np.full(6, 3.0), trained)])
    assert found["gpus, no negative exponents"] == pytest.approx([3.0] * 6)
