"""The benchmark of forecasters splits, asks and judges as it says: made tables with answers."""

import csv
import re
import sys
import tomllib
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpucast.data import bundled_files
from gpucast.errors import InputError
from lab.forecasters import command, scores, series, study
from lab.forecasters.asking import Rival, answers, rival_at
from lab.forecasters.page import by, page, ranking
from lab.forecasters.rivals import EXTRAP, RIVALS, WAYS, ideal, laws
from lab.forecasters.series import (
    BUNDLED,
    bundled,
    families,
    published,
    read,
    series_of,
    tuned_on,
)
from lab.forecasters.splits import FOUR_TIMES, LARGER_SIZES, MOST_GPUS, splits_of

Array = NDArray[np.float64]
HERE = Path(sys.executable)


def grid(sizes: list[float], counts: list[float]) -> tuple[Array, Array]:
    n, gpus = np.meshgrid(np.array(sizes, float), np.array(counts, float), indexing="ij")
    return n.ravel(), gpus.ravel()


# ------------------------------------------------------------------- splits ----


@pytest.mark.parametrize(
    ("sizes", "counts", "left_out"),
    [
        pytest.param(
            [10, 20, 30, 40], [1, 4, 8, 16],
            {MOST_GPUS: ([10, 20, 30, 40], [16]), FOUR_TIMES: ([10, 20, 30, 40], [8, 16]),
             LARGER_SIZES: ([30, 40], [1, 4, 8, 16])},
            id="all three ways",
        ),
        pytest.param([10, 20], [1, 4, 16], {MOST_GPUS: ([10, 20], [16])}, id="the same cells once"),
        pytest.param(
            [10], [1, 2, 4, 8, 16], {MOST_GPUS: ([10], [16]), FOUR_TIMES: ([10], [8, 16])},
            id="a quarter of the largest count is trained on",
        ),
        pytest.param([10], [1, 2, 4, 8, 15], {MOST_GPUS: ([10], [15])}, id="less than sixteenfold"),
        pytest.param([10, 20, 30, 40, 50], [1], {LARGER_SIZES: ([40, 50], [1])}, id="five sizes"),
        pytest.param([10, 20, 30], [1], {}, id="three sizes are too few"),
        pytest.param([10], [1, 2, 4], {}, id="two trained cells are too few"),
    ],
)  # fmt: skip
def test_splits_leave_out(
    sizes: list[float], counts: list[float], left_out: dict[str, tuple[list[float], list[float]]]
) -> None:
    n, gpus = grid(sizes, counts)
    assert {
        split.kind: set(zip(n[split.left_out].tolist(), gpus[split.left_out].tolist(), strict=True))
        for split in splits_of(n, gpus)
    } == {kind: set(product(*cells)) for kind, cells in left_out.items()}


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


def cells(n: Array, gpus: Array, **columns: Array) -> pd.DataFrame:
    return pd.DataFrame({"n": n, "gpus": gpus, **columns})


def law(n: Array, gpus: Array) -> Array:
    """T1 = 2 us a unit of n, sigma = 0.03, kappa = 0.0004."""
    return 2e-6 * n * (1 + 0.03 * (gpus - 1) + 4e-4 * gpus * (gpus - 1)) / gpus


def amdahl(n: Array, gpus: Array) -> Array:
    """3 us a unit of n, of which 7 % are serial."""
    return 3e-6 * n * (0.07 + 0.93 / gpus)


def plain(n: Array, gpus: Array) -> Array:
    return 2e-4 + 5e-8 * n / gpus


def ring(n: Array, gpus: Array) -> Array:
    return plain(n, gpus) + 3e-3 * (gpus - 1) / gpus


Forecast = Callable[[pd.DataFrame, pd.DataFrame], pd.DataFrame]
Seconds = Callable[[Array, Array], Array]


@pytest.mark.parametrize(
    ("method", "truth", "sizes"),
    [
        (laws.amdahl, amdahl, [1e5]),
        (laws.amdahl, amdahl, [1e4, 1e5, 1e6]),
        (laws.universal, law, [1e5]),
        (laws.universal, law, [1e4, 1e5, 1e6]),
        (laws.plain, plain, [1e5]),
        (laws.plain, plain, [1e4, 1e5, 1e6]),
        (laws.ring, ring, [1e4, 1e5, 1e6]),  # one size cannot tell b from c
    ],
)
def test_a_law_forecasts_what_it_made(method: Forecast, truth: Seconds, sizes: list[float]) -> None:
    n, gpus = grid(sizes, [1, 2, 4, 8])
    ahead = grid([1e5, 4e6], [1, 16, 64])
    result = method(cells(n, gpus, seconds=truth(n, gpus)), cells(*ahead))
    # The fits are of log time, to 1e-12 of the cost; coefficients are good to its root.
    np.testing.assert_allclose(result.seconds, truth(*ahead), rtol=1e-4)


def test_what_one_gpu_cannot_show_is_forecast_not_to_be() -> None:
    n, gpus = grid([1e4, 2e4, 4e4], [1])
    result = laws.universal(cells(n, gpus, seconds=1e-6 * n), cells(*grid([1e4], [8])))
    assert result.seconds.to_list() == pytest.approx([1e-6 * 1e4 / 8])


def test_a_law_takes_the_median_of_what_was_timed_again() -> None:
    measured = cells(np.full(4, 8.0), np.array([1.0, 1, 1, 2]), seconds=np.array([4.0, 90, 4, 2]))
    result = laws.plain(measured, cells(*grid([8], [4])))
    assert result.seconds.to_list() == pytest.approx([1.0])


def test_ideal_scaling_shares_out_the_time_on_the_most_gpus() -> None:
    n, gpus = np.array([10.0, 10, 100, 100]), np.array([1.0, 4, 4, 4])
    measured = cells(n, gpus, seconds=np.array([9.0, 4, 20, 30]))
    result = ideal.forecast(measured, cells(np.array([10.0, 40, 300]), np.array([8.0, 4, 2])))
    # 40 is nearer to 100 than to 10 as a ratio; two times of a cell are one, their median.
    assert result.seconds.to_list() == pytest.approx([2.0, 25 * 0.4, 25 * 6])


def by_name(name: str) -> Rival:
    return next(rival for rival in RIVALS if rival.name == name)


def test_gpucast_answers_by_its_own_fit_with_intervals() -> None:
    n, gpus = grid([1e5, 1e6], [1, 2, 4, 8])
    asked = cells(*grid([1e6], [16]))
    (result,) = answers(by_name("gpucast"), [(cells(n, gpus, seconds=plain(n, gpus)), asked)])
    assert result.low[0] < result.seconds[0] < result.high[0]
    assert result.seconds[0] == pytest.approx(plain(*grid([1e6], [16]))[0], rel=0.2)
    assert result.elapsed[0] > 0


needs_extrap = pytest.mark.skipif(not EXTRAP.exists(), reason="no .venv-extrap in this checkout")


@pytest.mark.slow
@needs_extrap
def test_extra_p_finds_a_constant_and_says_nothing_without_a_line() -> None:
    n, gpus = grid([10], [1, 2, 4, 8, 16])
    question = (cells(n, gpus, seconds=np.full(5, 3.0)), cells(*grid([10, 20], [32])))
    (line,) = answers(by_name("Extra-P, gpus, no negative exponents"), [question])
    np.testing.assert_allclose(line.seconds, [3.0, np.nan])
    (stated,) = answers(by_name("Extra-P"), [question])
    np.testing.assert_allclose(stated.seconds, [3.0, 3.0])


@pytest.mark.slow
@needs_extrap
def test_extra_p_gets_lines_of_one_size_or_of_one_share() -> None:
    """n/N = 10 is weak scaling, in which times grow with N; n = 80 has one cell, no line."""
    n, gpus = np.array([10.0, 20, 40, 80, 160]), np.array([1.0, 2, 4, 8, 16])
    question = (cells(n, gpus, seconds=2 * gpus), cells(np.array([320.0, 80]), np.array([32.0, 9])))
    (result,) = answers(by_name("Extra-P, gpus, no negative exponents"), [question])
    np.testing.assert_allclose(result.seconds, [64.0, np.nan])


@pytest.mark.slow
@needs_extrap
def test_a_gaussian_process_continues_a_power_law_and_widens() -> None:
    n, gpus = grid([1e5, 1e6], [1, 2, 4, 8])
    measured = cells(n, gpus, seconds=1e-6 * n / gpus**0.9)
    asked = cells(*grid([1e6], [8, 64]))
    (result,) = answers(by_name("Gaussian process"), [(measured, asked)])
    np.testing.assert_allclose(result.seconds, 1 / asked.gpus**0.9, rtol=0.02)
    near, far = np.log(result.high / result.low)
    assert 0 < near < far


# --------------------------------------------------------------- from outside ----

STRANGER = """
import os, helper

def forecast(measured, asked):
    print("on stdout")
    if asked.n[0] == 2: raise ValueError("no twos")
    if asked.n[0] == 3: os._exit(7)
    if asked.n[0] == 4: return asked[:0].assign(seconds=[])
    return asked.assign(seconds=helper.factor * measured.seconds.max())

def sure(measured, asked, wide=2):
    return {"seconds": [5] * len(asked), "low": [5 / wide] * len(asked), "high": [10] * len(asked)}
"""


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("factor = 3\n")
    (tmp_path / "my_rival.py").write_text(STRANGER)
    return tmp_path / "my_rival.py"


def asked_about(n: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    return cells(*grid([n], [1, 2]), seconds=np.array([4.0, 2])), cells(*grid([n], [4, 8]))


def test_a_rival_that_fails_or_dies_has_no_forecast_and_goes_on(stranger: Path) -> None:
    questions = [asked_about(n) for n in (1, 2, 3, 4, 1)]
    result = answers(rival_at(str(stranger), HERE), questions)
    assert [answer.refused[0] for answer in result] == [
        "",
        "ValueError: no twos",
        "the rival's process ended with status 7",
        "ValueError: 0 rows for 2 cells",
        "",
    ]
    np.testing.assert_array_equal(result[4].seconds, [12, 12])
    assert all(answer.seconds.isna().all() for answer in result[1:4])
    assert all(answer.low.isna().all() for answer in result)


def test_a_rival_is_any_function_with_its_options(stranger: Path) -> None:
    other = rival_at(f"{stranger}:sure", HERE)
    (result,) = answers(Rival("sure", other.file, "sure", {"wide": 5}), [asked_about(1)])
    assert (*result.seconds, *result.low, *result.high) == (5, 5, 1, 1, 10, 10)
    (none,) = answers(rival_at(f"{stranger}:absent", HERE), [asked_about(1)])
    assert "absent" in none.refused[0]
    with pytest.raises(InputError, match="no such file"):
        rival_at("nobody.py:forecast", HERE)


# ------------------------------------------------------------------- scores ----


def test_an_interval_score_takes_width_and_twenty_times_what_lies_outside() -> None:
    judged = pd.DataFrame({"measured": [1.0, 1, 1], "low": [0.5, 2, 0.25], "high": [2.0, 4, 0.5]})
    assert scores.interval_scores(judged).to_list() == pytest.approx(
        [np.log(4), np.log(2) + 20 * np.log(2), np.log(2) + 20 * np.log(2)]
    )


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
    box, ball = series_of(read(table(tmp_path)), "made", False)
    assert (box.name, ball.name) == ("made: box", "made: ball")
    assert (len(box.samples), len(box.cells)) == (17, 16)
    assert box.cells.measured[0] == pytest.approx((plain(*grid([1e6], [1]))[0] + 9) / 2)
    assert ball.cells.measured.tolist() == [1] * 16


def test_a_split_trains_on_its_cells_and_no_others(tmp_path: Path) -> None:
    box, _ = series_of(read(table(tmp_path)), "made", False)
    (split,) = [s for _, s in study.tasks_of([box]) if s.kind == MOST_GPUS]
    measured, asked = box.question(split)
    assert ({*measured.gpus}, {*asked.gpus}) == ({1, 2, 4}, {1, 2, 4, 16})
    assert (list(measured), list(asked)) == (["n", "gpus", "seconds"], ["n", "gpus"])
    assert len(measured) == 13  # both times of the cell that was timed again


@pytest.mark.parametrize("file", sorted(series.TABLES.glob("*.csv")), ids=lambda file: file.stem)
def test_the_figures_of_a_table_are_those_of_its_rows(file: Path) -> None:
    with file.open(newline="") as text:
        rows = list(csv.DictReader(text))
    told = sorted((float(r["n"]), int(r["gpus"]), float(r["seconds"])) for r in rows)
    judged = pd.concat([one.samples for one in series_of(read(file), file.stem, False)])
    assert sorted(judged.itertuples(index=False, name=None)) == told
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
    assert {one.table for one in bundled()} == set(BUNDLED)


def test_every_reason_is_of_a_series() -> None:
    names = [one.name for one in (*bundled(), *published())]
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


RIGHT = """
def forecast(measured, asked, off=1.0, sure=True):
    box = measured.seconds.std() > 0
    seconds = off * (2e-4 + 5e-8 * asked.n / asked.gpus if box else 1.0 + 0 * asked.n)
    ends = {"low": 0.9 * seconds, "high": 1.1 * seconds} if sure else {}
    return asked.assign(seconds=seconds, **ends)
"""
"""Knows the truth of both series of ``table``."""

EXTRA_P_4 = Rival(WAYS[0].name, Path("right.py"), options={"off": 0.96, "sure": False})


def judged(folder: Path, *rivals: Rival) -> pd.DataFrame:
    """Cells of the made table by rivals that know more or less."""
    (folder / "right.py").write_text(RIGHT)
    (folder / "tables").mkdir(exist_ok=True)
    tasks = study.tasks_of([*published(table(folder / "tables").parent)])
    there = [Rival(r.name, folder / r.file, r.function, r.options) for r in rivals]
    return study.cells(tasks, there, lambda done, total: None)


def right(name: str, **options: object) -> Rival:
    return Rival(name, Path("right.py"), options=options)


def test_forecasters_are_ranked_by_known_errors_and_one_that_fails_is_last(tmp_path: Path) -> None:
    rows = judged(
        tmp_path, right("nobody", no="such option"), right("ten off", off=1.1, sure=False),
        EXTRA_P_4, right("gpucast"),
    )  # fmt: skip
    result = study.splits(rows, {})
    header, lines = ranking(result)
    # Two splits of each series: N = 16 is all that is above a quarter.
    assert [dict(zip(header, line, strict=True)) for line in lines] == [
        dict(zip(header, line, strict=True))
        for line in (
            ["gpucast", "4 of 4", "0 %", "100 %", "0 of 4", "0 of 4", "100 %", "0.201"],
            [study.EXTRA_P, "4 of 4", "4.0 %", "100 %", "4 of 4", "0 of 4", "-", "-"],
            [WAYS[0].name, "4 of 4", "4.0 %", "100 %", "4 of 4", "0 of 4", "-", "-"],
            ["ten off", "4 of 4", "10 %", "0 %", "4 of 4", "4 of 4", "-", "-"],
            ["nobody", "0 of 4", "-", "0 %", "0 of 0", "0 of 0", "-", "-"],
        )
    ]
    assert not result.tuned.any()


def test_a_right_forecast_reaches_all_that_can_be_reached(tmp_path: Path) -> None:
    rows = judged(tmp_path, right("gpucast"))
    result = study.splits(rows, {})
    assert result["median"].to_list() == pytest.approx([0] * 4, abs=1e-15)
    assert result.extra_p.isna().all()
    numbers = tmp_path / "numbers.csv"
    numbers.write_text(rows.to_csv(index=False))
    command.main(["-o", str(tmp_path / "page.md"), "--from-cells", str(numbers)])
    text = (tmp_path / "page.md").read_text()
    assert "median error of the typical split is **0 %**" in text.replace("0.00 %", "0 %")
    assert (tmp_path / "images" / "page.png").exists()
    assert "0 splits have a median error above 10 %" in text
    assert "[page.csv](page.csv)" in text
    with open(tmp_path / "page.csv", encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    names = list(zip(result.series, result.split, strict=True))
    assert [(row["series"], row["split"]) for row in written] == names
    assert {row["why"] for row in written} == {""}


def test_a_stranger_is_ranked_on_tables_of_ones_own(
    tmp_path: Path, stranger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = tmp_path / "numbers.csv"
    numbers.write_text(judged(tmp_path, right("gpucast"), EXTRA_P_4).to_csv(index=False))
    of_folder = ["--from-cells", str(numbers), "--tables", str(tmp_path / "tables")]
    command.main([*of_folder, str(stranger), "--cells", str(numbers)])
    command.main([*of_folder, str(stranger), f"{stranger}:absent"])
    told = capsys.readouterr()
    assert f"{stranger}:absent: no forecast of 4 splits: AttributeError" in told.err
    ranked = [line.split("  ")[0] for line in told.out.splitlines()]
    first, second = ranked[2:6], ranked[9:14]
    assert first == ["gpucast", study.EXTRA_P, WAYS[0].name, str(stranger)]
    assert second == [*first, f"{stranger}:absent"]
    assert command.main(["--tables", str(tmp_path / "nowhere")]) == 2
    assert "nowhere: no CSV table" in capsys.readouterr().err


def test_a_method_that_says_nothing_of_a_cell_left_out_has_no_error(tmp_path: Path) -> None:
    rows = judged(tmp_path, right("gpucast"))
    rows.loc[rows.gpus > 1, "seconds"] = np.nan
    result = study.splits(rows, {})
    assert result["median"].isna().all()
    assert by("gpucast", result).medians.tolist() == [np.inf] * len(result)


def test_a_refusal_is_reported_and_counts_as_infinitely_wrong(tmp_path: Path) -> None:
    rows = judged(tmp_path, right("gpucast"))
    refused = rows.series == "made: box"
    rows.loc[refused, ["seconds", "low", "high"]] = np.nan
    rows.loc[refused, "refused"] = "no"
    result = study.splits(rows, {})
    both = by("gpucast", result)
    assert both.small == (result.series == "made: ball").mean()
    assert both.coverage == 1
    text = page(result, "make it", "x.png", "x.csv")
    assert "Refused: made: box (most GPUs): no;" in text
