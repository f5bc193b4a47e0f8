"""Cells with a wrong repetition out of two, compared with the truth behind the data."""

import numpy as np
import pandas as pd
import pytest

import gpucast as gc
from gpucast.answers.caveats import caveats
from gpucast.util.remarks import Cell, Kind, in_order

SIZES = (100_000, 400_000, 1_600_000, 6_400_000)
COUNTS = (1, 2, 4, 8)
CELL = (1_600_000, 4)


def truth(n: float, gpus: int) -> float:
    """Start-up, work, halo and a reduction."""
    per = n / gpus
    return 0.2e-3 + 5e-9 * per + (0.1e-3 + 0.09e-6 * per ** (2 / 3) if gpus > 1 else 0)


def table(wrong: float, repeats: int = 2) -> pd.DataFrame:
    """Repetitions with noise of 1 %; the last of one cell is ``wrong`` times as long."""
    random = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "n": n,
            "gpus": gpus,
            "seconds": truth(n, gpus)
            * random.normal(1, 0.01)
            * (wrong if (n, gpus, run) == (*CELL, repeats - 1) else 1),
        }
        for n in SIZES
        for gpus in COUNTS
        for run in range(repeats)
    )


@pytest.mark.parametrize("wrong", [10.0, 0.1])
def test_one_of_two_repetitions_may_be_a_mistake(wrong: float) -> None:
    model = gc.fit(table(wrong))
    forecast = model.forecasts([CELL[0]], [CELL[1]])
    expected = truth(*CELL)
    # The mean of both, or of their logarithms, is off by a factor of 3 and more.
    assert abs(forecast.seconds[0] / expected - 1) < 0.05
    assert forecast.low[0] < expected < forecast.high[0]
    measured = model.measured(np.array([CELL[0]]), np.array([CELL[1]]))[0]
    assert abs(measured / expected - 1) < 0.05
    worst = in_order(model.remarks)[0]
    assert (worst.kind, worst.cell) == (Kind.DISPUTED, Cell(*CELL))
    first = worst.text
    assert first.startswith("repetitions of n = 1600000 on 4 GPUs took ")
    assert "far more apart than those of other cells" in first
    assert "counts" in first
    assert "neither is near" not in first


def test_forecasts_of_a_disputed_cell_say_so_and_are_wider() -> None:
    at = np.array([CELL[0]]), np.array([CELL[1]])
    sound, disputed = gc.fit(table(1.0)), gc.fit(table(10.0))
    caveat = "repetitions of n = 1600000 on 4 GPUs disagree: its forecast is by the other cells"
    assert caveats(disputed, *at)[0] == caveat
    assert caveat not in caveats(disputed, np.array([100_000]), np.array([1]))
    assert not any("repetitions" in text for text in [*sound.warnings, *caveats(sound, *at)])

    def width(model: gc.Model) -> float:
        forecast = model.forecasts(*at)
        return float(np.log(forecast.high[0] / forecast.low[0]))

    assert width(disputed) > width(sound)


def test_the_median_of_three_counts_where_two_agree() -> None:
    model = gc.fit(table(10.0, repeats=3))
    at = np.array([CELL[0]]), np.array([CELL[1]])
    assert abs(model.measured(*at)[0] / truth(*CELL) - 1) < 0.05
    (warning,) = model.warnings
    assert warning.startswith(
        "1 of 48 samples (n = 1600000, N = 4) are far off the others of their "
    )
    assert not any("disagree" in text for text in caveats(model, *at))


def test_with_too_few_other_cells_nothing_is_chosen() -> None:
    rows = [(1000, 1, 1.0), (1000, 1, 1.01), (1000, 2, 0.6), (1000, 2, 6.0)]
    model = gc.fit(pd.DataFrame(rows, columns=["n", "gpus", "seconds"]))
    assert any("that cell is hardly known; measure it again" in w for w in model.warnings)


@pytest.mark.parametrize("factor", [1000.0, 1e-3])
@pytest.mark.parametrize("at", [[5], [2, 6, 10, 14]])
def test_a_table_of_two_units_is_refused(factor: float, at: list[int]) -> None:
    cells = table(wrong=1, repeats=1)
    cells.loc[at, "seconds"] *= factor
    what = "1,000 times" if factor > 1 else "a thousandth of"
    with pytest.raises(
        gc.InputError, match=rf"n = .* on .* GPU.* took about {what} what .*one unit"
    ):
        gc.fit(cells)


@pytest.mark.parametrize("factor", [1000.0, 1e-3])
def test_a_gpu_count_in_another_unit_is_refused(factor: float) -> None:
    cells = table(wrong=1, repeats=1)
    cells.loc[cells.gpus == 8, "seconds"] *= factor
    what = "1,000 times" if factor > 1 else "a thousandth of"
    with pytest.raises(gc.InputError, match=f"all steps on 8 GPUs took about {what} those on 4"):
        gc.fit(cells)


def test_work_that_outgrows_its_launch_is_no_other_unit() -> None:
    """A product of matrices: launches alone up to n = 512, then 1.1e12 operations."""
    sizes = np.array([32, 64, 128, 256, 512, 8192])
    seconds = 1e-5 + 2.0 * sizes**3 / 5e13
    cells = pd.DataFrame({"n": sizes, "gpus": 1, "seconds": seconds})
    gc.fit(pd.concat([cells, cells.assign(gpus=2, seconds=1e-5 + (seconds - 1e-5) / 2)]))


@pytest.mark.parametrize("wrong", [20.0, 0.05])
def test_a_cell_that_is_merely_wrong_is_not_taken_for_another_unit(wrong: float) -> None:
    assert Kind.UNLIKE in {remark.kind for remark in gc.fit(table(wrong, repeats=1)).remarks}


@pytest.mark.parametrize("repeats", [1, 2])
def test_cells_timed_once_do_not_tell_the_noise_and_it_is_said(repeats: int) -> None:
    kinds = [remark.kind for remark in gc.fit(table(wrong=1, repeats=repeats)).remarks]
    assert (Kind.ONE_REPETITION in kinds) == (repeats == 1)
