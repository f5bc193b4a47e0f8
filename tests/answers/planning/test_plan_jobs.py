"""Jobs in tokens, samples and epochs; budgets; hosts; bought and rented GPUs."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import gpucast as gc
from gpucast.answers.planning.option_table import make
from gpucast.answers.planning.reading import of_values
from gpucast.answers.planning.tenure import stretch
from gpucast.errors import InputError
from gpucast.model.intervals import Interval
from planning_samples import machine, models, native, remote

Content = dict[str, Any]


def planned(machines: list[Content], jobs: list[Content], **other: Any) -> Content:
    names = [machine["name"] for machine in machines]
    chosen = {name: model for name, model in models().items() if name in names}
    return gc.plan({"machines": machines, "jobs": jobs, **other}, chosen).content


def only_option(machine: Content, gpus: int, **job: Any) -> Content:
    """The row of one job on one GPU count."""
    plan = planned([{**machine, "gpu_counts": [gpus]}], [{"name": "a", "n": 2048, **job}])
    option: Content = plan["jobs"][0]["fastest"]
    return option


def step(n: float, gpus: float) -> float:
    return float(native().forecasts([n], [gpus]).seconds[0])


LENGTHS = [
    # length, steps at n = 2048, units of each of n
    ({"steps": 1000}, 1000, None),
    ({"samples": 204_800}, 100, 1),
    ({"samples": 204_801}, 101, 1),
    ({"epochs": 3, "epoch": 204_800}, 300, 1),
    ({"tokens": 2048e6, "sequence": 1000}, 1000, 1000),
]


@pytest.mark.parametrize(("length", "steps", "each"), LENGTHS)
def test_a_job_is_as_long_as_its_tokens_samples_or_epochs(
    length: Content, steps: int, each: int | None
) -> None:
    option = only_option(machine(), 2, **length)
    assert option["steps"] == steps
    assert option["seconds"] == pytest.approx(steps * step(2048, 2))
    assert option["gpu_hours"] == pytest.approx(2 * option["seconds"] / 3600)
    if each is None:
        assert option["units_per_second"] is option["cost_per_million"] is None
        return
    units = 2048 * each
    assert option["units_per_second"] == pytest.approx(units / step(2048, 2))
    cost = 2 * 2.0 * step(2048, 2) / 3600 / (units / 1e6)
    assert option["cost_per_million"] == pytest.approx(cost)


@pytest.mark.parametrize("gpus", [1, 2, 4])
def test_a_batch_of_each_gpu_grows_with_their_count(gpus: int) -> None:
    option = only_option(machine(), gpus, samples=2048 * 100, size_of="gpu")
    n = 2048 * gpus
    assert (option["n"], option["steps"]) == (n, 100 / gpus)
    assert option["step_seconds"] == pytest.approx(step(n, gpus))
    assert option["efficiency"] == pytest.approx(step(2048, 1) / step(n, gpus))


def test_jobs_of_both_kinds_stand_beside_one_another() -> None:
    jobs = [
        {"name": "grows", "n": 2048, "samples": 1e6, "size_of": "gpu"},
        {"name": "fixed", "n": 4096, "steps": 1000},
    ]
    together = planned([machine()], jobs)["jobs"]
    for job, answer in zip(jobs, together, strict=True):
        (alone,) = planned([machine()], [job])["jobs"]
        for one, other in zip(alone["front"], answer["front"], strict=True):
            assert one["seconds"] == pytest.approx(other["seconds"])
            assert one["n"] == other["n"]


@pytest.mark.parametrize(
    ("length", "operations"),
    [
        ({"steps": 10}, 1e12),
        ({"samples": 1e6}, 2048e12),
        ({"tokens": 1e9, "sequence": 10}, 20480e12),
    ],
)
def test_the_share_of_the_peak_is_of_the_operations_that_are_stated(
    length: Content, operations: float
) -> None:
    option = only_option(machine(peak_flops=1e15), 4, flops=1e12, **length)
    assert option["peak_efficiency"] == pytest.approx(operations / (step(2048, 4) * 4 * 1e15))


def test_the_fastest_under_a_budget() -> None:
    job = {"name": "a", "n": 64000, "steps": 1_000_000}
    (free,) = planned([machine()], [job], interval="now")["jobs"]
    costs = sorted(option["cost"] for option in free["front"])
    budget = (costs[-1] + costs[-2]) / 2
    (kept,) = planned([machine()], [{**job, "budget": budget}], interval="now")["jobs"]
    assert kept["fastest"]["seconds"] > free["fastest"]["seconds"]
    assert kept["fastest"]["cost"] == pytest.approx(costs[-2])
    assert free["over_budget"] is None
    assert kept["over_budget"]["seconds"] == pytest.approx(free["fastest"]["seconds"])
    message = r"nothing keeps it with 90 %; ([\d.]+) would be enough"
    with pytest.raises(InputError, match=message) as refused:
        planned([machine()], [{**job, "budget": costs[0] / 2}])
    enough = re.search(message, str(refused.value))
    assert enough is not None
    planned([machine()], [{**job, "budget": float(enough[1])}])


def test_what_is_no_more_likely_to_be_in_time_is_not_named_before_what_is_faster() -> None:
    """A deadline that nothing meets: all options are equally likely, the first is the slowest."""
    job = {"name": "a", "n": 64000, "steps": 1_000_000, "deadline": 1.0}
    (late,) = planned([machine()], [job])["jobs"]
    assert late["advised"]["probability_in_time"] == 0
    assert late["advised"]["seconds"] == late["fastest"]["seconds"]


def test_a_job_is_of_one_step_at_least_and_of_no_more_than_can_be_counted() -> None:
    (short,) = planned([machine()], [{"name": "a", "n": 2048, "samples": 0.3}])["jobs"]
    assert short["steps"] == 1
    with pytest.raises(InputError, match=r"samples: are more than 1e\+18 steps"):
        planned([machine()], [{"name": "a", "n": 2048, "samples": 1e26}])


def test_steps_are_counted_with_the_time_step_that_a_model_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(type(native()), "timestep", 2e-15)
    assert only_option(machine(), 1, ns=2.0)["steps"] == 10**6
    with pytest.raises(InputError, match=r"ns: are more than 1e\+18 steps"):
        only_option(machine(), 1, ns=1e30)


def test_hosts_that_are_bought_are_whole() -> None:
    """9 GPUs at 8 a host are in two hosts."""
    bought = {**OWN, "price_per_gpu": 0.0, "price_per_host": 35_040.0 * 9 / 2}
    mine = {"name": "native", "gpus": 9, "gpus_per_host": 8, "bought": bought}
    option = only_option(mine, 1, steps=10**6)
    assert option["cost"] == pytest.approx(2.0 * option["gpu_hours"])


def test_whole_hosts_are_paid_and_held() -> None:
    paid = machine(gpus=8, gpus_per_host=4, whole_hosts=True)
    option = only_option(paid, 3, steps=3600)
    hours = 4 * step(2048, 3)
    assert option["gpu_hours"] == pytest.approx(hours)
    assert option["cost"] == pytest.approx(2.0 * hours)
    jobs = [{"name": "a", "n": 2048, "steps": 3600, "count": 3}]
    copies = planned([{**paid, "gpu_counts": [1]}], jobs)["mix"]["schedule"]
    assert sorted(copy["start"] > 0 for copy in copies) == [False, False, True]


def test_the_least_time_is_paid() -> None:
    option = only_option(machine(minimum="2h"), 2, steps=10)
    assert option["cost"] == pytest.approx(2 * 2.0 * 2)
    assert option["gpu_hours"] == pytest.approx(2 * 10 * step(2048, 2) / 3600)


@pytest.mark.parametrize(
    ("stated", "gpus", "steps", "an_hour"),
    [
        ({"gpus_per_host": 4, "price_per_host_hour": 1.5}, 5, 10**8, 5 * 2.0 + 2 * 1.5),
        ({"price_per_job_hour": 0.2}, 5, 10**8, 5 * 2.0 + 0.2),
        ({"gpus_per_host": 4, "whole_hosts": True, "price_per_host_hour": 1.0}, 2, 10**8, 9.0),
        # Less than an hour, including its start of two minutes: the least time of a whole host.
        ({"gpus_per_host": 4, "whole_hosts": True, "minimum": "1h", "setup": "2m"}, 2, 10, 8.0),
    ],
)
def test_what_a_job_pays_to_the_cent(
    stated: Content, gpus: int, steps: int, an_hour: float
) -> None:
    option = only_option(machine(gpus=8, **stated), gpus, steps=steps)
    hours = 1.0 if steps == 10 else steps * step(2048, gpus) / 3600
    assert option["cost"] == pytest.approx(an_hour * hours, abs=0.005)


def test_all_jobs_together_keep_a_budget_where_any_schedule_does() -> None:
    jobs = [{"name": "a", "n": 64000, "steps": 10**6, "count": 2}]
    free = planned([machine()], jobs)
    dear = free["mix"]["cost"]
    kept = planned([machine()], jobs, budget=0.9 * dear)
    assert kept["mix"]["cost"] <= 0.9 * dear == kept["budget"]
    assert kept["mix"]["makespan"] > free["mix"]["makespan"]
    with pytest.raises(InputError, match="budget: leave it out: a range of gpus asks for"):
        planned([machine(gpus="1-4")], [{**jobs[0], "deadline": "30d"}], budget=dear)
    with pytest.raises(InputError, match="budget: needs the prices of all machines"):
        planned([{"name": "native", "gpus": 4}], jobs, budget=1.0)


def test_hours_of_checkpoints_and_restarts() -> None:
    spot = {"interrupted_every": "8h", "checkpoint": 30.0, "restart": 120.0}
    option = only_option(machine(gpus_per_host=2, **spot), 4, steps=10**8)
    # Two hosts: twice as many interruptions.
    work = 1e8 * step(2048, 4)
    longer, checkpoints = stretch(4 * 3600.0, 30.0, 120.0, None, work)
    assert option["seconds"] == pytest.approx(longer * work)
    assert option["checkpoint_hours"] == pytest.approx(4 * checkpoints * work / 3600)
    lost = option["checkpoint_hours"] + option["restart_hours"]
    assert option["gpu_hours"] == pytest.approx(4 * work / 3600 + lost)
    assert option["cost"] == pytest.approx(2.0 * option["gpu_hours"])


def test_a_speed_asked_for_counts_interruptions_and_that_shown_does_not() -> None:
    spot = machine(gpus=1, interrupted_every="1h", checkpoint="5m", restart="10m")
    speed = 2e-6 * 86_400 / step(2048, 1)
    for share, kept in ((0.9, False), (0.1, True)):
        job = {"name": "a", "n": 2048, "steps": 10**10, "timestep_fs": 2.0}
        (answer,) = planned([spot], [{**job, "ns_per_day": share * speed}])["jobs"]
        assert answer["advised"]["ns_per_day"] == pytest.approx(speed)
        assert answer["meets_deadline"] is kept


OWN = {"price_per_gpu": 35_040.0, "lifetime_years": 4, "use": 0.5}


def own(**bought: Any) -> Content:
    return {"name": "native", "gpus": 4, "bought": {**OWN, **bought}}


def rented(price: float) -> Content:
    return {"name": "remote", "gpus": 4, "price_per_gpu_hour": price}


def test_buying_pays_from_what_the_same_jobs_cost_rented() -> None:
    jobs: list[Content] = [
        {"name": "a", "n": 8000, "steps": 10**6, "count": 3},
        {"name": "b", "n": 64000, "steps": 10**5},
    ]
    (answer,) = planned([own(), rented(2.0)], jobs)["buying"]
    hours = {"native": 0.0, "remote": 0.0}
    for job in jobs:
        for model in (native(), remote()):
            least = min(
                count * float(model.forecasts([job["n"]], [count]).seconds[0])
                for count in (1, 2, 3, 4)
            )
            hours[model.name] += job.get("count", 1) * job["steps"] * least / 3600
    rent = 2.0 * hours["remote"] / hours["native"]
    assert answer["cost_per_gpu_hour"] == pytest.approx(2.0)
    assert answer["rent_per_gpu_hour"] == pytest.approx(rent)
    assert answer["pays_from"] == pytest.approx(4 * 8760 * 1.0 / rent)
    assert answer["low"] <= answer["pays_from"] <= answer["high"]
    assert answer["gpu_hours_a_year"] == 4 * 8760 * 0.5


def test_hosts_are_shared_by_the_gpus_that_are_bought_not_by_the_most_of_a_range() -> None:
    """One host costs the same whether it has one GPU or four: the shortest job is the cheapest."""
    bought = {**OWN, "price_per_gpu": 0.0, "price_per_host": 35_040.0}
    machine = {"name": "native", "gpus_per_host": 8, "bought": bought}
    job = {"name": "a", "n": 64000, "steps": 10**6, "deadline": "30d"}
    fixed = {
        gpus: planned([{**machine, "gpus": gpus}], [job])["jobs"][0]["cheapest"]["cost"]
        for gpus in (1, 2, 3, 4)
    }
    purchase = planned([{**machine, "gpus": "1-4"}], [job])["purchase"]
    assert purchase["gpus"] == min(fixed, key=lambda gpus: (fixed[gpus], gpus)) == 4
    assert purchase["fewest_cost"] == pytest.approx(fixed[purchase["fewest"]])


@pytest.mark.parametrize(("price", "probability"), [(0.2, 0.0), (20.0, 1.0)])
def test_how_surely_buying_pays(price: float, probability: float) -> None:
    jobs = [{"name": "a", "n": 8000, "steps": 10**6}]
    (answer,) = planned([own(), rented(price)], jobs)["buying"]
    assert answer["probability"] == probability


def test_the_price_of_energy_may_be_that_of_the_plan() -> None:
    jobs = [{"name": "a", "n": 8000, "steps": 10**6}]
    machines = [own(power=1000.0), rented(2.0)]
    (answer,) = planned(machines, jobs, price_per_kwh=0.3)["buying"]
    assert answer["cost_per_gpu_hour"] == pytest.approx(2.3)


def test_buying_never_pays_where_energy_alone_is_dearer() -> None:
    jobs = [{"name": "a", "n": 8000, "steps": 10**6}]
    machines = [own(power=1000.0, price_per_kwh=0.5), rented(0.01)]
    (answer,) = planned(machines, jobs)["buying"]
    assert answer["pays_from"] is answer["high"] is None


def test_the_probability_that_buying_pays_is_the_share_of_draws_of_both_models_together() -> None:
    machines = [own(), rented(1.0)]
    jobs = [{"name": "a", "n": 8000, "steps": 10**6, "size_of": "gpu"}]
    plan = {"machines": machines, "jobs": jobs}
    draws = make(of_values(plan, models()))
    from_hours = []
    for replicate in range(draws.replicates):
        least = [
            min(
                gpus
                * times.of_replicate(replicate)[list(draws.sizes[0, :4]).index(8000 * gpus)][
                    gpus - 1
                ]
                for gpus in (1, 2, 3, 4)
            )
            for times in draws.times
        ]
        from_hours.append(4 * 8760 / (1.0 * least[1] / least[0]))
    (answer,) = planned(machines, jobs)["buying"]
    stated = 4 * 8760 * 0.5
    assert answer["probability"] == pytest.approx(np.mean(np.array(from_hours) <= stated))
    assert answer["low"] == pytest.approx(np.quantile(from_hours, 0.05), rel=0.05)


@pytest.mark.parametrize(
    ("machines", "job", "message"),
    [
        (
            [machine(currency="EUR"), machine("remote")],
            {},
            "USD beside EUR: convert, and state all prices in one currency",
        ),
        ([{**own(), "price_per_gpu_hour": 1.0}], {}, "leave it out: bought says what hours cost"),
        ([own(price_per_host=1.0)], {}, "price_per_host needs gpus_per_host"),
        ([own(idle_power=1.0)], {}, "idle_power is above power"),
        ([own(power=1.0)], {}, "power needs price_per_kwh"),
        ([machine(interrupted_every="8h")], {}, "needs checkpoint"),
        ([machine(checkpoint="1m")], {}, "checkpoint: needs interrupted_every or checkpoint_every"),
        ([machine(restart="1m")], {}, "restart: needs interrupted_every"),
        ([machine(like="x")], {}, "like: needs kind"),
        ([machine(peak_flops=1e-300)], {}, r"must be at least 1000000, got 1e-300"),
        ([own(use=1e-320)], {}, "use: must be at least 1e-06"),
        ([machine()], {"timestep_fs": 1e-320}, "must be at least 1e-30"),
        ([machine(gpus_per_host=3, whole_hosts=True)], {}, "4 GPUs are no hosts of 3"),
        ([machine(price_per_gpu_hour=0.0)], {"budget": 1.0}, "needs the prices of all machines"),
        ([machine()], {"samples": 1e6}, "either steps or samples, not both"),
        ([machine()], {"steps": None, "epochs": 2}, "needs epoch"),
        ([machine()], {"steps": None, "tokens": 1e9}, "missing; tokens needs it"),
        ([machine()], {"sequence": 10}, "needs tokens"),
    ],
)
def test_what_contradicts_itself_is_refused(
    machines: list[Content], job: Content, message: str
) -> None:
    plan = {"name": "a", "n": 8000, "steps": 10, **job}
    with pytest.raises(InputError, match=message):
        planned(machines, [{key: value for key, value in plan.items() if value is not None}])


def test_a_currency_that_all_machines_state_is_that_of_the_plan() -> None:
    content = planned([machine(currency="EUR")], [{"name": "a", "n": 8000, "steps": 10}])
    assert content["currency"] == "EUR"
    assert math.isfinite(content["mix"]["cost"])
    assert Interval(content["interval"]) is Interval.later
