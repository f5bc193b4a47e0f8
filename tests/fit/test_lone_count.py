"""Steps of one GPU count: what they determine, and the remarks on other counts."""

import numpy as np
import pandas
import pytest

import gpucast as gc
from gpucast import _core
from gpucast.model.lone_count import PUBLISHED, drawn, factor, name_with, variance


@pytest.mark.parametrize(
    ("form", "gpus", "name"),
    [
        ("work + start + shell + several + reduction, work ~ n^p", 1, "work + start, work ~ n^p"),
        ("work + start + halo, hidden in part", 1, "work + start"),
        ("work + filling + ring, filled slowly", 1, "work + filling, filled slowly"),
        # Surfaces grow with n on two GPUs, too; a constant is a constant.
        ("work + start + shell + several + ring, hidden", 2, "work + start + shell, hidden"),
        ("work + start + several", None, "work + start + several"),
        ("several", 1, "several"),
    ],
)
def test_terms_that_one_count_does_not_tell_are_left_out(
    form: str, gpus: int | None, name: str
) -> None:
    assert name_with(form, gpus) == name


@pytest.mark.parametrize("term", list(_core.SCALING_TERMS))
def test_of_one_gpu_those_are_left_that_are_something_there(term: str) -> None:
    shape = _core.scaling_shape(term, 1000.0, 1.0)
    assert name_with(f"start + {term}", 1) == (f"start + {term}" if shape > 0 else "start")


@pytest.mark.parametrize("machine", ["expanse-a100", "expanse-v100"])
def test_intervals_of_other_counts_hold_what_was_measured_there(machine: str) -> None:
    case = {"program": "QUICK 25.03", "case": "B3LYP/6-31G** SCF+gradient"}
    steps = gc.load("quick-dft").select(machine=machine, **case).steps
    table = pandas.DataFrame(
        [(step.n, step.gpus, np.median(step.seconds)) for step in steps],
        columns=["n", "gpus", "seconds"],
    )
    on_one, on_two = table[table.gpus == 1], table[table.gpus == 2]
    model = gc.fit(gc.read(on_one, columns={"seconds": "seconds:s"}))
    forecasts = model.forecasts(on_two.n.to_numpy(), on_two.gpus.to_numpy())
    assert len(on_two) == 4
    assert (forecasts.low <= on_two.seconds).all()
    assert (on_two.seconds <= forecasts.high).all()
    assert forecasts.extrapolated.all()


@pytest.fixture(scope="module")
def on_four() -> gc.Model:
    """A fit to steps on 4 GPUs: 1 us an element and 10 ms."""
    sizes = np.array([1e4, 3e4, 1e5])
    return gc.fit(
        gc.read(pandas.DataFrame({"n": sizes, "gpus": 4, "seconds": 1e-6 * sizes + 0.01}))
    )


def test_other_counts_are_no_faster_than_divided_and_no_surer_the_further(
    on_four: gc.Model,
) -> None:
    counts = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    at = on_four.forecasts(np.full(5, 3e4), counts)
    divided = 4 / counts
    assert (at.low[3:] >= at.low[2] * divided[3:]).all()
    assert (at.high[:2] <= at.high[2] * divided[:2]).all()
    width = np.log(at.high / at.low)
    assert width[0] > width[1] > width[2]
    assert width[2] < width[3] < width[4]
    # Draws agree: their median is the forecast, and no draw beats division.
    draws = on_four.draws(at.n, counts, 2000)
    assert np.log(np.median(draws, axis=0) / at.seconds) == pytest.approx(0, abs=0.05)
    assert (draws[:, 3] >= draws[:, 2] / 2 * (1 - 1e-6)).all()


def test_a_cell_of_another_count_has_the_interval_of_its_forecast(on_four: gc.Model) -> None:
    """It had the timed count."""
    at = on_four.forecasts(np.full(5, 3e4), np.array([1.0, 2.0, 4.0, 8.0, 16.0]))
    low, high = on_four.cell_intervals(at, [1] * 5, np.zeros(5))
    assert low == pytest.approx(at.low)
    assert high == pytest.approx(at.high)


def test_the_most_gpus_are_the_fastest_as_often_as_in_published_series(on_four: gc.Model) -> None:
    for reach in (2, 3, 4):
        [best] = on_four.best_counts([3e4], [4 * 2**k for k in range(reach)])
        assert best["gpus"] == 4 * 2 ** (reach - 1)
        # 0.92, 0.92 and 0.91 of the series; 400 draws tell 0.015.
        assert best["probability"] == pytest.approx(0.92, abs=0.04)


def test_draws_have_the_variance_that_intervals_have() -> None:
    counts = np.array([1.0, 3.0, 4.0, 5.0, 8.0, 64.0])
    logs = np.log(drawn(counts, 4, PUBLISHED, 20_000, 1) / factor(counts, 4, PUBLISHED))
    sd = np.sqrt(variance(counts, 4, PUBLISHED))
    # No draw is shorter than divided, or with fewer GPUs longer: the other half is as wide as said.
    for at, side in ((0, 0.05), (1, 0.05), (3, 0.95), (4, 0.95), (5, 0.95)):
        end = np.sign(side - 0.5) * 1.645 * sd[at]
        assert np.quantile(logs[:, at], side) == pytest.approx(end, rel=0.05)
    assert (logs[:, 2] == 0).all()
