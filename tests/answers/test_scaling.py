"""Strong and weak scaling, the sensible count, and hours, against numbers worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gpucast as gc
from gpucast.answers import scaling
from gpucast.answers.proposal import Asked, proposal_of
from other_programs import COUNTS, SIZES, md

N = SIZES[-1]
HOUR = 3600.0


def rows(sweep: scaling.Sweep) -> dict[int, dict[str, Any]]:
    return {row["gpus"]: row for row in sweep.rows(None)}


def test_efficiency_and_speed_up_of_measured_times_are_those_of_the_definition() -> None:
    model = md()
    cells = model.scaling.cells
    known = {(n, gpus): s for n, gpus, s in zip(cells.n, cells.gpus, cells.seconds, strict=True)}
    one, four = known[N, 1], known[N, 4]
    row = rows(scaling.strong(model, N, COUNTS))[4]
    assert row["measured"] == four
    assert row["measured_speed_up"] == pytest.approx(one / four)
    assert row["measured_efficiency"] == pytest.approx(one / (4 * four))


def test_forecast_rows_are_those_of_the_data_frame() -> None:
    counts = [1, 2, 4, 8, 16]
    frame = md().forecast([N], counts)
    own = scaling.strong(md(), N, counts).rows(None)
    for name in ("seconds", "low", "high", "steps_per_second", "ns_per_day", "efficiency"):
        assert frame[name].to_numpy() == pytest.approx([row[name] for row in own], rel=1e-12), name


def test_weak_scaling_keeps_the_size_of_a_gpu_and_compares_times() -> None:
    sweep = scaling.weak(md(), 24_000, [1, 4, 16])
    assert sweep.n.tolist() == [24_000, 96_000, 384_000]
    seconds = sweep.forecasts.seconds
    own = rows(sweep)
    assert own[4]["efficiency"] == pytest.approx(seconds[0] / seconds[1])
    assert own[4]["speed_up"] == pytest.approx(4 * seconds[0] / seconds[1])
    # Both cells were measured.
    known = own[1]["measured"], own[4]["measured"]
    assert own[4]["measured_efficiency"] == pytest.approx(known[0] / known[1])


def test_the_usual_weak_scaling_is_what_was_measured_on_most_counts() -> None:
    # 24,000 on 1 and 96,000 on 4 GPUs are the only sizes per GPU that were measured twice.
    sweep = scaling.weak(md())
    assert sweep.n[0] / sweep.gpus[0] == 24_000


@pytest.mark.parametrize("threshold", [0.3, 0.7, 0.95, 1.0])
def test_the_sensible_count_is_the_most_that_is_efficient_enough(threshold: float) -> None:
    counts = list(range(1, 17))
    frame = md().forecast([N], counts).set_index("gpus")
    answer = scaling.sensible_count(md(), N, counts, threshold)
    assert answer["gpus"] == frame.index[frame.efficiency >= threshold - 1e-12].max()
    assert answer["efficiency"] == pytest.approx(frame.efficiency[answer["gpus"]])
    assert answer["fastest"] == frame.seconds.idxmin()
    assert answer["cheapest"] == (frame.index * frame.seconds).idxmin()


def test_its_probability_is_a_share_of_the_models_draws() -> None:
    model = md()
    answer = scaling.sensible_count(model, N, range(1, 17), 0.6)
    times = model.draws(np.full(2, float(N)), np.array([1.0, answer["gpus"]]), model.draw_count)
    efficient = times[:, 0] / (answer["gpus"] * times[:, 1]) >= 0.6
    # Draws of two cells differ from those of sixteen.
    assert answer["probability"] == pytest.approx(efficient.mean(), abs=0.12)
    assert scaling.sensible_count(model, N, [1, 2], 1.0)["probability"] == 1.0
    surer = scaling.sensible_count(model, N, range(1, 17), 0.6)["sure_gpus"]
    assert surer is not None
    assert surer <= answer["gpus"]


@pytest.mark.parametrize(
    ("probability", "words"),
    [(0.9, ""), (0.551, ""), (0.55, "as likely as not"), (0.45, "as likely as not"),
     (0.44, "less likely than not"), (None, "")],
)  # fmt: skip
def test_a_count_that_may_as_well_not_be_efficient_is_said_to_be_so(
    probability: float | None, words: str
) -> None:
    one = scaling.sensible_count(md(), N, range(1, 17))
    one |= {"probability": probability, "sure_gpus": 4}
    hedge = scaling.hedged(one)
    assert (words in hedge and "with 90 % it is 4 GPUs" in hedge) if words else hedge == ""


def test_hours_of_a_batch_of_each_gpu_are_those_of_work_that_grows() -> None:
    asked = Asked(n=[1e5], size_of="gpu", at=4, work=1e9, runs=2, efficiency=0.3)
    content = proposal_of(md(), asked).content
    job = content["jobs"][0]
    seconds = float(md().forecast(4e5, 4).seconds[0])
    assert (job["n"], job["steps"]) == (1e5, 2500)
    assert job["gpu_hours"] == pytest.approx(2 * 2500 * 4 * seconds / HOUR)
    assert content["weak"]["per_gpu"] == 1e5
    (one,) = content["sensible"]
    reference, gpus = content["weak"]["reference_gpus"], one["gpus"]
    assert gpus > reference
    first, last = (
        float(md().forecast(1e5 * count, count).seconds[0]) for count in (reference, gpus)
    )
    assert one["efficiency"] == pytest.approx(first / last)
    (beside,) = content["strong"]
    assert sum(row["measured"] is not None for row in beside["rows"]) > 1
    with pytest.raises(gc.InputError, match="one size"):
        Asked(n=[1e5, 2e5], size_of="gpu")


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.5, math.nan])
def test_a_threshold_that_is_no_share_is_refused(threshold: float) -> None:
    with pytest.raises(gc.InputError, match="no share"):
        scaling.sensible_count(md(), N, [1, 2], threshold)


def test_whole_nodes_are_chosen_from_where_jobs_take_them() -> None:
    content = proposal_of(md(), Asked(n=[N], gpus_per_node=3)).content
    assert {job["gpus"] % 3 for job in content["jobs"]} == {0}
    assert all(job["nodes"] == job["gpus"] / 3 for job in content["jobs"])
    assert [row["nodes"] for row in content["strong"][0]["rows"] if row["gpus"] == 4] == [2]


def test_a_size_that_nobody_measured_stands_beside_one_that_was() -> None:
    content = proposal_of(md(), Asked(n=[2e6])).content
    measured, asked = content["strong"]
    assert (measured["n"], asked["n"]) == (N, 2_000_000)
    assert any(row["measured"] for row in measured["rows"])
    assert {job["n"] for job in content["jobs"]} == {2_000_000}


def test_hours_are_runs_times_steps_times_gpus_times_the_time_of_a_step() -> None:
    asked = Asked(n=[N], at=4, gpus_per_node=4, runs=7, steps=1e9, reserve=0.25)
    job = proposal_of(md(), asked).content["jobs"][0]
    seconds = float(md().forecast(N, 4).seconds[0])
    hours = 7 * 1e9 * 4 * seconds / HOUR
    assert job["gpu_hours"] == pytest.approx(hours)
    assert job["node_hours"] == pytest.approx(hours / 4)
    assert job["gpu_hours_with_reserve"] == pytest.approx(1.25 * hours)
    assert job["node_hours_with_reserve"] == pytest.approx(1.25 * hours / 4)


def test_hours_and_their_interval_are_those_of_a_plan() -> None:
    job = proposal_of(md(), Asked(n=[N], at=4, steps=1e8)).content["jobs"][0]
    machine = {"name": "m", "gpus": 4, "gpu_counts": [4]}
    values = {"machines": [machine], "jobs": [{"name": "j", "n": N, "steps": 10**8}]}
    option = gc.plan(values, {"m": md()}).content["jobs"][0]["fastest"]
    # A plan uses measured times, a proposal shows forecasts.
    of_plan = [option[key] / option["seconds"] for key in ("low", "high")]
    best, ends = job["gpu_hours"], [job["gpu_hours_low"], job["gpu_hours_high"]]
    assert [end / best for end in ends] == pytest.approx(of_plan, rel=0.02)
    assert best == pytest.approx(option["gpu_hours"], rel=0.02)


def test_runs_are_cut_into_jobs_that_the_queue_lets_end() -> None:
    step = float(md().forecast(N, 4).seconds[0])
    # A hundred hours in jobs of 24, whose first four pass before a step: five of 20 and one.
    asked = Asked(
        n=[N], at=4, steps=round(100 * HOUR / step), queue_limit=24 * HOUR, setup=HOUR, reserve=0
    )
    job = proposal_of(md(), asked).content["jobs"][0]
    assert job["jobs_per_run"] == 5
    assert job["run_seconds"] == pytest.approx(105 * HOUR)
    assert job["gpu_hours"] == pytest.approx(4 * 105)
    assert job["gpu_hours_with_reserve"] == pytest.approx(4 * 105)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"reserve": 10.0}, "reserve: 10 is no share"),
        ({"queue_limit": 60.0, "setup": 60.0}, "queue_limit: leaves no time"),
        ({"runs": 0}, "runs: 0 is no number"),
        ({"steps": math.nan}, "steps: nan is no number"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(gc.InputError, match=words):
        Asked(**wrong)
