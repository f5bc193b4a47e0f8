"""Which GPUs a job should get: against plain loops over forecasts and replicates."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import gpucast as gc
from gpucast import _core
from gpucast.answers.planning import option_table
from gpucast.answers.planning.jobs import compare
from gpucast.answers.planning.reading import of_values
from gpucast.answers.planning.replicates import step_times
from gpucast.model.fitted import Model
from gpucast.model.intervals import Z90, Interval
from planning_samples import (
    job,
    machine,
    mixed,
    models,
    native,
    only_native,
    remote,
    request,
    table,
    values,
    with_misfit,
)

LENGTHS = {"a": 1e6, "b": 1e6, "c": 3e4, "d": 1e6, "e": 1e4}


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    return gc.plan(values(), models()).content


def price(name: str, gpus: int) -> float:
    """The price of a second, in the form of `values`."""
    if name == "native":
        return (2.0 * gpus + 0.7 * math.ceil(gpus / 2)) / 3600
    return (0.9 * gpus + 0.1) / 3600


def every_option(job: dict[str, Any]) -> list[dict[str, Any]]:
    """All options of a job, computed by `Model.forecast` only."""
    result = []
    for name, most, setup in (("native", 5, 0.0), ("remote", 4, 60.0)):
        if name not in job.get("machines", ["native", "remote"]):
            continue
        frame = models()[name].forecast(job["n"], range(1, most + 1))
        for row in frame.itertuples():
            efficiency = frame.seconds[0] / (row.gpus * row.seconds)
            if efficiency >= job.get("efficiency", 0):
                seconds = setup + LENGTHS[job["name"]] * row.seconds
                result.append(
                    {
                        "machine": name,
                        "gpus": row.gpus,
                        "seconds": seconds,
                        "cost": price(name, row.gpus) * seconds,
                        "efficiency": efficiency,
                        "width": math.log(row.mean_high / row.seconds),
                        "extrapolated": row.extrapolated,
                        "setup": setup,
                    }
                )
    return result


@pytest.mark.parametrize("i", range(5))
def test_choices_are_those_of_a_plain_loop_over_forecasts(answer: dict[str, Any], i: int) -> None:
    given, answered = values()["jobs"][i], answer["jobs"][i]
    options = every_option(given)
    for kind, key in (("fastest", "seconds"), ("cheapest", "cost")):
        best = min(options, key=lambda option: option[key])
        assert (answered[kind]["machine"], answered[kind]["gpus"]) == (
            best["machine"],
            best["gpus"],
        )
        for name in ("seconds", "cost", "efficiency"):
            assert answered[kind][name] == pytest.approx(best[name], rel=1e-9)
        drawn = [drawn_seconds(given, best, r) for r in range(30)]
        assert answered[kind]["low"] == pytest.approx(np.quantile(drawn, 0.05), rel=1e-9)
        assert answered[kind]["high"] == pytest.approx(np.quantile(drawn, 0.95), rel=1e-9)
        assert answered[kind]["extrapolated"] == best["extrapolated"]


@pytest.mark.parametrize(("i", "limit"), [(0, 120.0), (1, 1800.0), (4, 86400.0)])
def test_the_advised_option_is_the_cheapest_that_is_sure_enough(
    answer: dict[str, Any], i: int, limit: float
) -> None:
    options = every_option(values()["jobs"][i])
    for option in options:
        margin = math.log((limit - option["setup"]) / (option["seconds"] - option["setup"]))
        option["in_time"] = 0.5 * (1 + math.erf(margin * Z90 / option["width"] / math.sqrt(2)))
    answered = answer["jobs"][i]
    sure = [option for option in options if option["in_time"] >= 0.9]
    best = (
        min(sure, key=lambda option: option["cost"])
        if sure
        else max(options, key=lambda option: option["in_time"])
    )
    assert answered["meets_deadline"] == bool(sure)
    assert answered["advised"]["probability_in_time"] == pytest.approx(best["in_time"], abs=1e-9)
    if sure:
        assert (answered["advised"]["machine"], answered["advised"]["gpus"]) == (
            best["machine"],
            best["gpus"],
        )
        least = min(option["cost"] for option in options)
        assert answered["deadline_cost"] == pytest.approx(best["cost"] - least)


@pytest.mark.parametrize("i", range(5))
def test_fronts_are_what_no_option_beats(answer: dict[str, Any], i: int) -> None:
    options = every_option(values()["jobs"][i])
    front = [
        (a["machine"], a["gpus"])
        for a in sorted(options, key=lambda option: option["seconds"])
        if not any(
            b["seconds"] <= a["seconds"] and b["cost"] <= a["cost"] and b is not a for b in options
        )
    ]
    assert [
        (on_front["machine"], on_front["gpus"]) for on_front in answer["jobs"][i]["front"]
    ] == front


def replicate_seconds(model: Model, r: int, n: float, gpus: float) -> float:
    core = model.core.with_integer(model.integers[r])
    none = np.empty((0, model.replicates.shape[1]))
    parts = _core.forecast(core, model.replicates[r], none, [], np.array([n]), np.array([gpus]))
    return float(parts[0][0] + parts[1][0] + parts[2][0])


@cache
def deviating() -> np.ndarray[Any, np.dtype[np.float64]]:
    return option_table._deviations(request(), 30, np.repeat([0, 1], [5, 4]))


def drawn_seconds(job: dict[str, Any], option: dict[str, Any], r: int) -> float:
    """The time of an option's run in a replicate, as far from the model as Student's t allows."""
    name, gpus = option["machine"], option["gpus"]
    step = (option["seconds"] - option["setup"]) / LENGTHS[job["name"]]
    ratio = replicate_seconds(models()[name], r, job["n"], gpus) / step
    own = deviating()[r, gpus - 1 + (5 if name == "remote" else 0)]
    wider = ratio ** (models()[name].noise.t90 / Z90)
    return float(option["setup"] + LENGTHS[job["name"]] * step * wider * own)


def test_probabilities_are_shares_of_the_replicates(answer: dict[str, Any]) -> None:
    made = option_table.make(request())
    assert answer["replicates"] == made.replicates == 30
    for i, asked in enumerate(values()["jobs"]):
        options = every_option(asked)
        fastest, cheapest, faster, cheaper = [], [], 0, 0
        for r in range(30):
            seconds, cost = [], []
            for option in options:
                seconds.append(drawn_seconds(asked, option, r))
                cost.append(seconds[-1] * price(option["machine"], option["gpus"]))
            fastest.append(seconds.index(min(seconds)))
            cheapest.append(cost.index(min(cost)))
            faster += least(seconds, options, "remote") < least(seconds, options, "native")
            cheaper += least(cost, options, "remote") < least(cost, options, "native")
        answered = answer["jobs"][i]
        for kind, won in (("fastest", fastest), ("cheapest", cheapest)):
            mine = next(
                j
                for j, option in enumerate(options)
                if (option["machine"], option["gpus"])
                == (answered[kind]["machine"], answered[kind]["gpus"])
            )
            assert answered[kind]["probability"] == pytest.approx(won.count(mine) / 30)
        if "machines" not in asked:
            assert answered["others"][0]["probability_faster"] == pytest.approx(faster / 30)
            assert answered["others"][0]["probability_cheaper"] == pytest.approx(cheaper / 30)
        else:
            assert answered["others"] == []


def least(values: list[float], options: list[dict[str, Any]], name: str) -> float:
    return min(
        (x for x, option in zip(values, options, strict=True) if option["machine"] == name),
        default=math.inf,
    )


def test_without_misfit_the_probability_is_that_of_predict() -> None:
    plan = gc.plan({"machines": [machine(gpus=8)], "jobs": [job()]}, {"native": exact()})
    fastest = plan.content["jobs"][0]["fastest"]
    (best,) = exact().best_counts([8000], list(range(1, 9)))
    assert (fastest["gpus"], fastest["probability"]) == (best["gpus"], best["probability"])


def exact() -> Model:
    return with_misfit(native(), 0.0)


def test_deviations_are_as_wide_as_measured_cells_deviate() -> None:
    many = request(machines=[machine(gpus=4000)], jobs=[job()])
    made = option_table._deviations(many, 30, np.zeros(4000, dtype=np.intp))
    noise = models()["native"].content["noise"]
    wanted = noise["between_cells"] * noise["t90"] / Z90
    assert np.log(made).std() == pytest.approx(wanted, rel=0.02)


def test_probability_in_time_is_the_share_of_replicates_in_time() -> None:
    """A limit between the twelfth and the thirteenth of 30 times is met in twelve."""
    jobs = request().jobs
    pairs = np.array([[1, 1], [1, 6]])
    drawn = np.sort(compare(option_table.make(request()), pairs).wanted_seconds, axis=0)
    for (_, option), times in zip(pairs, drawn.T, strict=True):
        within = replace(jobs[1], deadline=float(times[11] + times[12]) / 2)
        made = option_table.make(replace(request(), jobs=[jobs[0], within, *jobs[2:]]))
        assert made.meets[1, option] == pytest.approx(12 / 30)
        assert made.quantile(0.4)[1, option] == pytest.approx(within.deadline, rel=0.01)


def test_replicates_between_nodes_are_close_to_those_evaluated() -> None:
    n = np.unique(np.geomspace(1000, 200_000, 300).round())
    gpus = np.arange(1.0, 5.0)
    for model in (native(), remote()):
        exact_times = step_times(model, n, gpus, 20, 10**9, np.ones((20, 4)))
        near = step_times(model, n, gpus, 20, 25 * 20 * 4, np.ones((20, 4)))
        assert near.ratios.shape[1] < 30 < exact_times.ratios.shape[1] == n.size
        assert np.array_equal(near.seconds, exact_times.seconds)
        for r in range(20):
            off = near.of_replicate(r) / exact_times.of_replicate(r) - 1
            assert np.quantile(np.abs(off), 0.95) < 0.005


def test_one_size_and_many_give_the_same_answers() -> None:
    alone = gc.plan({**values(), "jobs": [values()["jobs"][2]]}, models()).content["jobs"][0]
    assert alone == gc.plan(values(), models()).content["jobs"][2]


def test_models_that_average_over_forms_are_planned_with_as_they_forecast() -> None:
    answer = gc.plan(values(), mixed()).content
    for asked, answered in zip(values()["jobs"], answer["jobs"], strict=True):
        frame = mixed()[answered["fastest"]["machine"]].forecast(
            asked["n"], answered["fastest"]["gpus"]
        )
        setup = 60.0 if answered["fastest"]["machine"] == "remote" else 0.0
        steps = LENGTHS[asked["name"]]
        assert answered["fastest"]["seconds"] == pytest.approx(
            setup + steps * frame.seconds[0], rel=0.03
        )
        assert (
            answered["fastest"]["low"]
            < answered["fastest"]["seconds"]
            < answered["fastest"]["high"]
        )


def test_deviations_that_a_mixture_draws_are_not_added_again() -> None:
    plan = {"interval": "now", "machines": [machine(gpus=4)], "jobs": [job(), job("b", n=100_000)]}
    model = mixed()["native"]
    made = option_table.make(of_values(plan, {"native": model}))
    for n, width in zip((8000, 100_000), widths(made), strict=True):
        frame = model.forecast(n, range(1, 5))
        # 400 draws determine a spread to 4 %; a mixture has another shape than a form.
        assert width == pytest.approx(
            np.log(frame.mean_high / frame.mean_low).to_numpy() / 2, rel=0.25
        )


def widths(made: option_table.OptionTable) -> Any:
    """Half-widths of 90 % intervals of log step times."""
    return np.log(made.high / made.low) / 2


def test_one_size_and_many_give_nearly_the_same_answers_by_draws() -> None:
    alone = gc.plan({**values(), "jobs": [values()["jobs"][2]]}, mixed()).content["jobs"][0]
    among = gc.plan(values(), mixed()).content["jobs"][2]
    for kind in ("fastest", "cheapest"):
        assert alone[kind]["gpus"] == among[kind]["gpus"]
        assert alone[kind]["seconds"] == pytest.approx(among[kind]["seconds"], rel=1e-9)
        # Shares of 400 draws, twice.
        off = alone[kind]["probability"] - among[kind]["probability"]
        assert abs(off) < 4 * math.sqrt(2 * 0.25 / 400)


def test_where_gpus_are_free_the_cheapest_is_the_fastest() -> None:
    free = {"machines": [machine(price_per_gpu_hour=0.0)], "jobs": [job()]}
    (answered,) = gc.plan(free, only_native()).content["jobs"]
    assert answered["cheapest"]["gpus"] == answered["fastest"]["gpus"]
    assert answered["cheapest"]["cost"] == 0


def test_gpus_without_a_price_are_not_the_cheapest_beside_priced_ones() -> None:
    """Owned GPUs are not free if the cost of their hours is not stated."""
    machines = [machine(price_per_gpu_hour=0.0), machine("remote", price_per_gpu_hour=0.9)]
    jobs = [job(n=8000, steps=1), job("b", n=64000, deadline="10d")]
    plan = gc.plan({"machines": machines, "jobs": jobs, "window": "20d"}, models())
    assert plan.content["unpriced"] == ["native"]
    answered = plan.content["jobs"][1]
    assert (answered["cheapest"], answered["deadline_cost"]) == (None, None)
    assert answered["others"][0]["extra_cost"] is None
    hours = {
        (name, gpus): gpus * 1e6 * float(model.forecasts([64000], [gpus]).seconds[0]) / 3600
        for name, model in models().items()
        for gpus in range(1, 5)
    }
    least = answered["fewest_gpu_hours"]
    assert least["gpu_hours"] == pytest.approx(min(hours.values()))
    for option in (*answered["front"], least, answered["fastest"], answered["advised"]):
        at = hours[option["machine"], option["gpus"]]
        assert option["gpu_hours"] == pytest.approx(at)
        paid = None if option["machine"] == "native" else pytest.approx(0.9 * at)
        assert option["cost"] == paid
    front = [option["gpu_hours"] for option in answered["front"]]
    assert front == sorted(front, reverse=True)
    assert "cheapest" not in set(plan.jobs.choice)


def test_a_price_of_each_machine_compares_costs() -> None:
    machines = [machine(price_per_gpu_hour=0.1), machine("remote", price_per_gpu_hour=0.9)]
    content = gc.plan({"machines": machines, "jobs": [job()]}, models()).content
    assert content["unpriced"] == []
    (answered,) = content["jobs"]
    assert answered["fewest_gpu_hours"] is None
    assert answered["cheapest"]["machine"] == "native"


def test_efficiency_relative_to_peak_is_that_of_one_gpu_times_parallel_efficiency() -> None:
    known = machine(peak_flops=4e12, flops_per_pair=50.0)
    (answered,) = gc.plan({"machines": [known], "jobs": [job()]}, only_native()).content["jobs"]
    one = float(models()["native"].forecasts([8000], [1]).seconds[0])
    at = answered["fastest"]
    assert at["peak_efficiency"] == pytest.approx(50 * 8000**2 / one / 4e12 * at["efficiency"])


def test_frames_have_a_row_for_each_choice_and_each_option_of_a_front() -> None:
    plan = gc.plan(values(), models())
    assert list(plan.jobs.choice[:3]) == ["fastest", "cheapest", "advised"]
    assert len(plan.jobs) == 15
    assert len(plan.fronts) == sum(len(planned["front"]) for planned in plan.content["jobs"])


def test_jobs_that_run_later_or_elsewhere_are_less_certain() -> None:
    """The variance of log time grows by that of the factors that all cells share."""
    wide = {key: table(interval=key) for key in ("now", "later", "machine")}
    model, n = models()["native"], [float(key["n"]) for key in values()["jobs"]]
    for column in range(5):
        gpus = [column + 1.0] * len(n)
        for narrow, wider in (("now", "later"), ("now", "machine")):
            forecasts = model.forecasts(n, gpus, Interval(wider))
            # 30 draws determine a spread to 13 %.
            grown = np.hypot(
                widths(wide[narrow])[:, column] / model.noise.t90, np.sqrt(forecasts.common)
            )
            assert widths(wide[wider])[:, column] == pytest.approx(
                model.noise.t90 * grown, rel=0.45
            )
    assert np.array_equal(wide["now"].step, wide["machine"].step)
