"""A model compared with measurements, with numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import gpucast as gc
from gpucast._core import median_variance
from gpucast.answers import validation
from gpucast.answers.validation import IMPROBABLE, Cell, refuted
from gpucast.model.content import Noise
from gpucast.model.fitted import Model
from made_data import NATIVE, dataset, machine, step, steps, steps_alone, whole


@pytest.fixture(scope="module")
def model() -> Model:
    return gc.fit(whole(), replicates=100)


def cells(model: Model, factors: dict[tuple[int, int], list[float]]) -> gc.Dataset:
    """Steps whose times are the model's own, times factors."""
    records = []
    for (n, gpus), times in factors.items():
        seconds = float(model.forecasts([n], [gpus]).seconds[0])
        records.append(step(n, gpus, [seconds * factor for factor in times]))
    return dataset([machine(), *records])


def test_errors_are_of_the_median_of_each_cell(model: Model) -> None:
    data = cells(model, {(1000, 1): [1.25, 1.0, 9.0], (2000, 1): [0.8], (4000, 1): [0.5, 1.5]})
    result = gc.validate(model, data)
    assert [(c["n"], c["gpus"], c["repetitions"]) for c in result["cells"]] == [
        (1000, 1, 3), (2000, 1, 1), (4000, 1, 2)
    ]  # fmt: skip
    # Forecast over measured, less one: 1/1.25 - 1, 1/0.8 - 1, 1/1 - 1.
    errors = [cell["relative_error"] for cell in result["cells"]]
    assert errors == pytest.approx([-0.2, 0.25, 0.0], abs=1e-12)
    assert result["median_relative_error"] == pytest.approx(0.2)
    assert result["max_relative_error"] == pytest.approx(0.25)
    assert result["p95_relative_error"] == pytest.approx(0.2 + 0.9 * 0.05)


def test_a_kind_of_gpu_is_held_against_steps_on_it_alone(model: Model) -> None:
    """Times of other GPUs in a table do not affect the forecast of its H100."""
    there = machine(name="h")
    there["gpus"][0]["name"] = "NVIDIA H100 80GB HBM3"
    moved = gc.what_if(model, kind="H100-SXM5", from_kind="A100-SXM4-80GB")
    own, other = (float(one.forecasts([64000], [1]).seconds[0]) for one in (model, moved))
    records = [step(64000, 1, [own]), step(64000, 1, [other], machine="h")]
    data = dataset([machine(), there, *records])
    for one, seconds in ((model, own), (moved, other)):
        (cell,) = gc.validate(one, data)["cells"]
        assert cell["measured"] == pytest.approx(seconds)
    for record in records:
        record["machine"] = f"not {record['machine']}"
    strangers = dataset([machine(name="not m"), machine(name="not h"), *records])
    with pytest.raises(gc.InputError, match="choose one with --machine"):
        gc.validate(model, strangers)


def test_hits_and_regret_of_the_best_count(model: Model) -> None:
    """The model's best of 1 and 2 GPUs is 2 for every n here. Where the measured times agree it is
    a hit; where one GPU was 1.25 times as fast, following the model loses 25 %."""
    n = [16000, 32000, 64000]
    assert list(model.best(n, [1, 2]).gpus) == [2, 2, 2]
    records = []
    for size, measured in zip(n, ([2.0, 1.0], [0.8, 1.0], [3.0, 1.0]), strict=True):
        records += [step(size, gpus, [t]) for gpus, t in zip((1, 2), measured, strict=True)]
    records.append(step(1000, 1, [1.0]))  # one count: nothing to choose
    result = gc.validate(model, dataset([machine(), *records]))
    assert (result["best_hits"], result["best_total"]) == (2, 3)
    assert result["mean_regret"] == pytest.approx(0.25 / 3)
    assert result["max_regret"] == pytest.approx(0.25)


def test_without_a_choice_there_is_no_regret(model: Model) -> None:
    result = gc.validate(model, cells(model, {(1000, 1): [1.0], (2000, 2): [1.0]}))
    assert (result["best_total"], result["mean_regret"], result["max_regret"]) == (0, None, None)


def test_covered_is_whether_the_median_lies_in_its_interval() -> None:
    """With no spread of parameters and no misfit the interval of a single time is t90 x noise."""
    model = gc.fit(whole(), model="paper", replicates=0)
    noise = Noise(sample=0.05, pure_error=0.05, between_cells=0.0, t90=2.0)
    plain = replace(model, replicates=np.empty((0, 7)), integers=[], noise=noise)
    edge = 2.0 * 0.05
    for log, inside in ((0.99 * edge, True), (1.01 * edge, False), (-0.99 * edge, True)):
        (cell,) = gc.validate(plain, cells(plain, {(1000, 1): [np.exp(log)]}))["cells"]
        assert cell["covered"] is inside
    # The median of five scatters less: sqrt(pi / (10 + pi - 2)) = 0.531 as much.
    for log, inside in ((0.52 * edge, True), (0.55 * edge, False)):
        (cell,) = gc.validate(plain, cells(plain, {(1000, 1): [np.exp(log)] * 5}))["cells"]
        assert cell["covered"] is inside


def test_fresh_measurements_are_covered_as_often_as_said(model: Model) -> None:
    rng = np.random.default_rng(9)
    counts = [1, 2, 3, 4, 6, 8]
    n = np.round(np.geomspace(1000, 256000, 25))
    fresh = dataset([machine(), *steps(NATIVE.seconds, rng, n=n, gpus=counts)])
    result = gc.validate(model, fresh)
    # Forecasts allow for deviations from the form; data made from it have none.
    assert 0.9 <= result["coverage"] <= 0.99
    assert result["coverage"] == np.mean([cell["covered"] for cell in result["cells"]])
    assert result["median_relative_error"] < 0.02
    assert result["best_total"] == 25


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 15])
def test_the_variance_of_a_median_is_that_of_simulated_ones(count: int) -> None:
    draws = np.random.default_rng(count).standard_normal((200_000, count))
    simulated = float(np.var(np.median(draws, axis=1)))
    # For two the median is the mean, variance 1/2; the formula is meant for odd counts.
    tolerance = 0.03 if count % 2 else 0.25
    assert median_variance(count) == pytest.approx(simulated, rel=tolerance)


def test_steps_of_the_model_s_own_path_are_taken_where_there_are_several(model: Model) -> None:
    rng = np.random.default_rng(0)
    both = dataset(
        [
            machine(),
            *steps(NATIVE.seconds, rng, n=[1000], gpus=[1]),
            *steps(NATIVE.seconds, rng, n=[2000, 4000], gpus=[1], path="remote"),
            *steps(NATIVE.seconds, rng, n=[2000, 4000], gpus=[1], path="other"),
        ]
    )
    assert [cell["n"] for cell in gc.validate(model, both)["cells"]] == [1000]
    remote = gc.validate(model, both, path="remote")["cells"]
    assert [cell["n"] for cell in remote] == [2000, 4000]


def test_the_data_s_only_path_is_taken_and_several_others_are_listed(model: Model) -> None:
    rng = np.random.default_rng(0)
    remote = steps(NATIVE.seconds, rng, n=[2000], gpus=[1], path="remote")
    other = steps(NATIVE.seconds, rng, n=[2000], gpus=[1], path="other")
    assert len(gc.validate(model, dataset([machine(), *remote]))["cells"]) == 1
    listed = r"several: remote, other; choose one with --path \(gpucast compare"
    with pytest.raises(gc.InputError, match=listed):
        gc.validate(model, dataset([machine(), *remote, *other]))


def test_nothing_to_compare_with_is_refused(model: Model) -> None:
    with pytest.raises(gc.InputError, match="no steps of path 'native'"):
        gc.validate(model, gc.load("p2p-copy"))
    with pytest.raises(gc.InputError, match="no records of 'moon'"):
        gc.validate(model, steps_alone(), path="moon")


def test_steps_are_of_the_kind_that_the_model_was_fitted_to() -> None:
    pinned = steps(NATIVE.seconds, np.random.default_rng(1), memory="pinned", graph=True)
    slow = steps(lambda n, g: 3 * NATIVE.seconds(n, g), np.random.default_rng(2), memory="pageable")
    both = dataset([machine(), *pinned, *slow])
    model = gc.fit(both, memory="pinned", replicates=0)
    assert gc.validate(model, both)["median_relative_error"] < 0.1
    other = gc.validate(model, both, memory="pageable")
    assert other["median_relative_error"] == pytest.approx(2 / 3, abs=0.1)
    # A model without the memory of its steps cannot choose.
    silent = replace(model, data=replace(model.data, memory=None))
    with pytest.raises(gc.InputError, match="memory: there are several: pinned, pageable"):
        gc.validate(silent, both)


def test_cells_that_were_left_out_are_judged_and_those_fitted_are_not() -> None:
    """A held-out cell, a hundred times too slow, does not disturb the fit; its error shows."""
    rng = np.random.default_rng(3)
    good = steps(NATIVE.seconds, rng, gpus=[1, 2, 3])
    bad = steps(lambda n, g: 100 * NATIVE.seconds(n, g), rng, n=[8000], gpus=[4])
    data = dataset([machine(), *good, *bad])
    fitted = gc.fit(data.where(lambda step: step.gpus <= 2), model="paper", replicates=0)
    assert fitted.content["domain"]["gpus"] == [1, 2]
    result = validation.score(gc.validate(fitted, data)["cells"], lambda n, gpus: gpus <= 2)
    errors = {(cell["n"], cell["gpus"]): cell["relative_error"] for cell in result["cells"]}
    assert {gpus for _, gpus in errors} == {3, 4}
    assert errors.pop((8000, 4)) == pytest.approx(-0.99, abs=0.005)
    assert max(map(abs, errors.values())) < 0.1


def test_a_best_count_is_chosen_among_all_counts_of_an_n_with_a_cell_left_out() -> None:
    def cell(n: int, gpus: int, measured: float, predicted: float) -> dict[str, object]:
        error = predicted / measured - 1
        return {
            "n": n, "gpus": gpus, "measured": measured, "predicted": predicted,
            "relative_error": error,
        }  # fmt: skip

    cells = [
        cell(1000, 1, 1.0, 1.0), cell(1000, 2, 2.0, 0.5),  # two GPUs chosen, one is best
        cell(2000, 1, 2.0, 2.0), cell(2000, 2, 1.0, 1.0),
        cell(4000, 1, 4.0, 1.0), cell(4000, 2, 2.0, 2.0),  # wrong as well, but all were fitted
    ]  # fmt: skip
    score = validation.score(cells, lambda n, gpus: gpus == 1 or n == 4000)
    assert [(c["n"], c["gpus"]) for c in score["cells"]] == [(1000, 2), (2000, 2)]
    assert (score["best_hits"], score["best_total"]) == (1, 2)
    assert score["max_regret"] == pytest.approx(1.0)
    assert score["max_relative_error"] == pytest.approx(0.75)
    assert score["coverage"] is None


def test_cells_refute_a_forecast_where_chance_does_not_explain_how_few_are_covered() -> None:
    for count in (5, 36):
        for covered in range(count + 1):
            cells = [
                Cell(
                    n=1, gpus=1, measured=1, predicted=1.2, relative_error=0.2, covered=i < covered
                )
                for i in range(count)
            ]
            chance = sum(
                math.comb(count, k) * 0.9**k * 0.1 ** (count - k) for k in range(covered + 1)
            )
            line = refuted(cells, "mine")
            assert (line is not None) == (chance < IMPROBABLE)
            if line is not None:
                assert line == (
                    f"{covered} of {count} cells measured in mine lie within their 90 % interval; "
                    "they are missed by 20.0 % in the median, by 20.0 % at most"
                )
    assert refuted([], "mine") is None
