"""Jobs of a plan that may share a GPU."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import gpucast as gc
from gpucast.errors import InputError
from gpucast.model.fitted import Model
from gpucast.model.sharing import shared_forecasts
from planning_samples import job, machine
from simulated_gpu import Program, dataset_of

N = 10_000


@cache
def model() -> Model:
    """A program that needs the GPU for a fifth of a step: several runs gain much by sharing it."""
    programs = {float(n): Program(n * 1e-8, 4e-4) for n in (N, 4 * N, 20 * N)}
    return gc.fit(dataset_of(programs, (1, 2)))


def planned(**of_job: Any) -> dict[str, Any]:
    values = {
        "machines": [machine(gpus=2, price_per_host_hour=1.0, gpus_per_host=2)],
        "jobs": [job(n=N, steps=3_600_000, **of_job)],
    }
    return gc.plan(values, {"native": model()}).content


def test_instances_cost_their_share_and_take_as_long_as_forecast() -> None:
    answer = planned(count=8, instances=[2, 4])["jobs"][0]
    cheapest = answer["cheapest"]
    assert (cheapest["gpus"], cheapest["instances"]) == (1, 4)
    seconds = float(shared_forecasts(model(), [N], [4]).seconds[0])
    assert cheapest["step_seconds"] == pytest.approx(seconds, rel=0.05)
    # A fourth of a GPU and of the host that it would pay for.
    assert cheapest["cost"] == pytest.approx((2.0 + 1.0) / 4 * cheapest["seconds"] / 3600)
    assert cheapest["efficiency"] == pytest.approx(
        float(shared_forecasts(model(), [N], [4]).speedup[0]), rel=0.05
    )
    assert answer["fastest"]["instances"] == 1


def test_all_of_them_are_done_sooner_where_they_share() -> None:
    apart, together = planned(count=8)["mix"], planned(count=8, instances=[4])["mix"]
    assert together["makespan"] < apart["makespan"] / 1.3
    assert {task["instances"] for task in together["schedule"]} == {4}
    # Two GPUs of four parts: all eight start at once.
    assert {task["start"] for task in together["schedule"]} == {0.0}


def test_nobody_shares_a_gpu_with_more_than_it_holds() -> None:
    """Instances of three kinds of jobs, and whole GPUs between them."""
    values = {
        "window": "3d",
        "machines": [machine(gpus=2)],
        "jobs": [
            job("halves", n=N, steps=9_000_000, count=5, instances=[2]),
            job("thirds", n=N, steps=7_000_000, count=7, instances=[3]),
            job("whole", n=20 * N, steps=3_000_000, count=3),
        ],
    }
    content = gc.plan(values, {"native": model()}).content
    tasks = content["mix"]["schedule"]
    assert len(tasks) == 15
    moments = sorted({task["start"] for task in tasks})
    for moment in moments:
        now = [t for t in tasks if t["start"] <= moment < t["end"] * (1 - 1e-12)]
        assert sum(t["gpus"] / t["instances"] for t in now) <= 2 + 1e-9
    assert content["capacity"]["jobs"][1]["copies"] > 0


def test_without_instances_nothing_is_shared() -> None:
    answer = planned(count=8)
    options = [answer["jobs"][0][kind] for kind in ("fastest", "cheapest", "advised")]
    assert all(option["instances"] == 1 for option in options)


def test_shares_are_refused_where_they_mean_nothing() -> None:
    with pytest.raises(InputError, match="there are only 3 simulations"):
        planned(count=3, instances=[4])
    with pytest.raises(InputError, match="no common multiple up to 1000"):
        planned(count=100, instances=[97, 89])
    programs = {float(n): Program(n * 1e-8, 4e-4) for n in (N, 4 * N)}
    alone = gc.fit(dataset_of(programs, (1,)))
    values = {"machines": [machine()], "jobs": [job(n=N, count=2, instances=[2])]}
    with pytest.raises(InputError, match="has no measurements of several instances on one GPU"):
        gc.plan(values, {"native": alone})


def test_probabilities_take_what_sharing_leaves_open() -> None:
    answer = planned(count=8, instances=[4], deadline="75m")["jobs"][0]
    (shared,) = [option for option in answer["front"] if option["instances"] == 4]
    (one,) = [o for o in answer["front"] if (o["gpus"], o["instances"]) == (1, 1)]
    width = [np.log(option["high"] / option["low"]) for option in (shared, one)]
    assert width[0] > width[1]
