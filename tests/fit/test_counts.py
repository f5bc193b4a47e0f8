"""The work of answers is counted; lab/benchmarks/ measures how long it takes on a machine.

Each count grows in the wrong way if work is done in the wrong place: a fit for each
row, a forecast for each job, a check for each record twice.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpucast as gc
from command_line import Run
from counting import Calls, python_calls
from gpucast import _core
from gpucast.answers.planning.option_table import make
from gpucast.answers.planning.plan import plan_request
from gpucast.answers.planning.reading import of_values, read
from gpucast.answers.planning.replicates import MOST_REPLICATES
from gpucast.data import jsonl
from gpucast.fitting import selection as problem
from gpucast.model.averaged_parts import AveragedParts
from gpucast.model.averaged_totals import AveragedTotals
from gpucast.model.fitted import Model
from gpucast.model.intervals import Array
from gpucast.show.report import curves
from gpucast.show.report.content import content
from made_data import NATIVE, machine, whole
from other_programs import md
from planning_samples import job
from planning_samples import machine as planned_machine
from planning_samples import models as planned_models
from report_pages import h200, h200_page, jumping

FITS = ("fit", "fit_components", "cross_validate", "find_breakpoints")
ANSWERS = ("forecast", "best_probability")


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Counts requests to the compiled module, and files of records that are read."""
    calls = Calls(monkeypatch)
    calls.watch(_core, *FITS, *ANSWERS)
    calls.watch(jsonl, "parse")
    return calls


def more(work: Callable[[int], Callable[[], object]], size: int) -> float:
    """Calls of Python functions per item, from the difference between n and 2 n items."""
    return (python_calls(work(2 * size)) - python_calls(work(size))) / size


def test_a_record_is_read_with_few_calls() -> None:
    line = jsonl.to_line(jsonl.record(machine())).encode() + b"\n"

    def reading(count: int) -> Callable[[], object]:
        return partial(jsonl.parse, line * count, "data.jsonl")

    assert more(reading, 500) <= 30


def test_a_fit_chooses_and_fits_once(core: Calls) -> None:
    calls = core.of(lambda: gc.fit(whole(NATIVE), replicates=30))
    assert calls["fit"] == 2  # the paper's k, then the parameters
    # All steps, those without the largest n, and those with fewer GPUs; the paper's form alone
    # where it is not among the rest.
    assert 3 <= calls["fit_components"] <= 4
    assert "cross_validate" not in calls


def test_a_named_model_is_fitted_once(core: Calls) -> None:
    calls = core.of(lambda: gc.fit(whole(NATIVE), model="paper", replicates=30))
    assert calls["fit"] == 1
    assert calls["cross_validate"] == 1
    assert "fit_components" not in calls


def test_samples_become_arrays_without_a_call_for_each() -> None:
    def arrays(repeats: int) -> Callable[[], object]:
        return problem.problem_of(whole(NATIVE, repeats=repeats)).observations

    assert python_calls(arrays(5)) == python_calls(arrays(50))


@pytest.mark.parametrize("of", ["auto", "paper"])
def test_a_million_forecasts_are_one(of: str) -> None:
    model = gc.fit(whole(NATIVE), model=of, replicates=30)

    def forecasts(count: int) -> Callable[[], object]:
        n = np.arange(1000.0, 1000.0 + count)
        return partial(model.forecasts, n, np.ones(count))

    assert python_calls(forecasts(10)) >= python_calls(forecasts(10_000))


def test_predict_reads_a_model_and_no_records(core: Calls, run: Run, tmp_path: Path) -> None:
    gc.fit(whole(NATIVE), replicates=30).save(tmp_path / "model.json")
    core.watch(AveragedParts, "forecast", "draws")

    def asked(sizes: str) -> dict[str, int]:
        words = ("predict", tmp_path / "model.json", "-n", sizes, "--gpus", "1-8")
        return core.of(partial(run, *words))

    few, many = asked("1000"), asked("1000,2000,4000,8000,16000")
    assert set(few) == set(many) == {"forecast", "draws"}
    # Draws are made size by size, with their times; forecasts all at once.
    assert many["draws"] == 5 * few["draws"]
    assert few["draws"] == 1
    assert many["forecast"] - few["forecast"] <= 3 * (many["draws"] - few["draws"])


def test_predict_of_a_named_model_reads_no_records(core: Calls, run: Run, tmp_path: Path) -> None:
    gc.fit(whole(NATIVE), model="paper", replicates=30).save(tmp_path / "model.json")
    # For all sizes with timed cells, there is one request whether these refute the model.
    for sizes, forecasts in (("1001", 2), ("1000", 3), ("1000,2000,4000,8000,16000", 3)):
        words = ("predict", tmp_path / "model.json", "-n", sizes, "--gpus", "1-8")
        assert core.of(partial(run, *words)) == {"forecast": forecasts, "best_probability": 1}


def test_a_report_of_more_counts_draws_no_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws were repeated for every choice of counts."""
    calls = Calls(monkeypatch)
    calls.watch(Model, "draws")

    def asked(most: int) -> dict[str, int]:
        return calls.of(partial(content, [md()], gpus=list(range(1, most + 1))))

    of_curves = {"draws": 14 - 10}  # of each, what is not exceeded with a plan's probability
    assert asked(14) == {call: asked(10)[call] + more for call, more in of_curves.items()}


def test_a_curve_without_jumps_is_evaluated_little_beyond_its_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was computed at three places between each pair, and at each of them repeatedly."""
    evaluate, cells = Model.seconds, []

    def counted(model: Model, n: Array, gpus: Array) -> Array:
        cells.append(n.size)
        return evaluate(model, n, gpus)

    monkeypatch.setattr(Model, "seconds", counted)
    sizes = np.geomspace(2e4, 4e6, 161)
    n, gpus = np.meshgrid(sizes, [1.0, 4, 16])
    none = np.zeros(n.size)
    totals = AveragedTotals(md())
    whole = totals.core.forecast(n.ravel(), gpus.ravel(), none, none)[0]
    assert np.array_equal(totals.core.medians(n.ravel(), gpus.ravel(), none), whole)
    cells.clear()
    drawn = curves.curve(md(), 4, sizes)
    tried = sum(cells)
    assert curves.largest_error(md(), [drawn]) < 2 * curves.TOLERANCE
    assert tried < sizes.size + 1.2 * curves._DRAWS_OF_SMOOTH


def test_curves_of_several_forms_ask_for_each_n_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends of segments were requested with each segment, and again with each pass."""
    model = gc.fit(whole(NATIVE), replicates=30)
    evaluate, asked = Model.seconds, []

    def counted(model: Model, n: Array, gpus: Array) -> Array:
        asked.extend(n.tolist())
        return evaluate(model, n, gpus)

    monkeypatch.setattr(Model, "seconds", counted)
    drawn = curves.curve(model, 2, np.geomspace(1000, 64000, 40).round())
    assert len(asked) == len(set(asked))
    asked.clear()
    curves.largest_error(model, [drawn])
    of_one = len(asked)
    asked.clear()
    curves.largest_error(model, [drawn] * 64)
    assert len(asked) < 10 * of_one


def test_draws_of_a_mixture_ask_for_no_shares_of_parts(core: Calls) -> None:
    model = gc.fit(whole(NATIVE), replicates=30)
    core.watch(AveragedParts, "forecast", "draws")
    sizes, counts = np.array([1000.0, 2000.0]), np.array([1.0, 2.0])
    assert core.of(lambda: model.draws(sizes, counts, 10)) == {"draws": 1}


def plan_values(jobs: int, **other: Any) -> dict[str, Any]:
    return {
        "machines": [planned_machine(gpus=8), planned_machine("remote", gpus=8)],
        "jobs": [job(f"j{k}", 1000 + 7 * k, deadline="2h") for k in range(jobs)],
        "window": "24h",
        **other,
    }


@pytest.mark.parametrize("other", [{}, {"iso_efficiency": 0.8, "break_even": 0.2}])
def test_a_plan_forecasts_all_jobs_at_once(core: Calls, other: dict[str, float]) -> None:
    """The core is asked as often for 40 jobs as for 20, and Python calls are few for each."""

    def planning(jobs: int) -> Callable[[], object]:
        return partial(plan_request, of_values(plan_values(jobs, **other), planned_models()))

    assert core.of(planning(20)) == core.of(planning(40))
    assert more(planning, 20) <= 400
    assert more(lambda jobs: partial(make, of_values(plan_values(jobs), planned_models())), 20) < 50


def test_a_plan_is_read_with_few_calls_for_each_job(core: Calls, tmp_path: Path) -> None:
    def reading(jobs: int) -> Callable[[], object]:
        path = tmp_path / f"{jobs}.yaml"
        lines = ["machines:", "  - {name: native, gpus: 8, price_per_gpu_hour: 2}", "jobs:"]
        lines += [f"  - {{name: j{k}, n: {1000 + k}, steps: 1e6}}" for k in range(jobs)]
        path.write_text("\n".join(lines))
        return partial(read, path, {"native": planned_models()["native"]})

    assert core.of(reading(20)) == core.of(reading(40))
    assert more(reading, 20) <= 400


def test_a_report_fits_nothing_and_forecasts_each_curve_in_few_calls(core: Calls) -> None:
    data, model = jumping()
    calls = core.of(lambda: content([model], data, gpus=[1, 2, 3, 4]))
    assert set(calls) <= set(ANSWERS)
    fewer = core.of(lambda: content([model], data, gpus=[1, 2]))
    # What is drawn of a GPU count is refined where it bends, all sizes of a pass at once. A draw of
    # a named form is a forecast.
    assert (calls["forecast"] - fewer["forecast"]) / 2 <= 60 + MOST_REPLICATES


def test_a_report_of_two_measured_paths_reads_the_dataset_once_and_is_small(
    core: Calls, tmp_path: Path
) -> None:
    for path in ("native", "remote"):
        h200(path)  # fitted before calls are counted
    calls = core.of(lambda: h200_page(tmp_path))
    assert not set(calls) & set(FITS)
    assert calls["parse"] == 1
    assert (tmp_path / "report.html").stat().st_size <= 6_000_000
