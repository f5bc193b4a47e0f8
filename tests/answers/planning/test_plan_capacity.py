"""How many jobs fit: against exhaustive search on small cases."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucast as gc
from gpucast.answers.planning import schedule
from gpucast.answers.planning.option_table import OptionTable, make
from gpucast.answers.planning.reading import of_values
from gpucast.answers.planning.schedule import Schedule
from gpucast.model.intervals import Interval
from planning_samples import hosts_plan, job, machine, models, only_native, values


@dataclass(frozen=True)
class Case:
    """A mix of jobs: seconds of each on each GPU count of each machine, copies, limits, prices of a
    GPU second on each machine (0 if not given)."""

    seconds: list[list[list[float]]]
    gpus: list[int]
    counts: list[int]
    limits: list[float]
    prices: tuple[float, ...] = ()

    @property
    def table(self) -> OptionTable:
        sizes = np.cumsum([0, *self.gpus])
        seconds = np.array([[t for on in row for t in on] for row in self.seconds])
        machine = np.repeat(np.arange(len(self.gpus)), self.gpus)
        gpus = np.concatenate([np.arange(1.0, have + 1) for have in self.gpus])
        return cast(
            "OptionTable",
            SimpleNamespace(
                machine=machine,
                gpus=gpus,
                held=gpus,
                minimum=np.zeros(gpus.size),
                price=gpus * np.array(self.prices or [0.0] * len(self.gpus))[machine],
                rate=gpus * np.array(self.prices or [0.0] * len(self.gpus))[machine],
                slices=tuple(slice(a, b) for a, b in itertools.pairwise(sizes)),
                seconds=seconds,
                limit=np.repeat([[row] for row in self.limits], seconds.shape[1], axis=1),
                is_rate=np.zeros(len(self.limits), dtype=bool),
                allowed=np.isfinite(seconds),
                quantile=lambda _: seconds,
            ),
        )

    def outcomes(self) -> list[tuple[float, ...]]:
        """Ends of the copies under every order, with every machine and GPU count for each."""
        copies = [i for i, count in enumerate(self.counts) for _ in range(count)]
        options = [(m, n) for m, have in enumerate(self.gpus) for n in range(1, have + 1)]
        outcomes = set()
        for order in set(itertools.permutations(copies)):
            for chosen in itertools.product(options, repeat=len(copies)):
                free = [[0.0] * have for have in self.gpus]
                ends = []
                for copy, (m, n) in zip(order, chosen, strict=True):
                    free[m].sort()
                    end = free[m][n - 1] + self.seconds[copy][m][n - 1]
                    free[m][:n] = [end] * n
                    ends.append(end)
                outcomes.add(tuple(ends))
        return list(outcomes)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    gpus = draw(st.lists(st.integers(1, 2), min_size=1, max_size=2))
    kinds = draw(st.integers(1, 3))
    counts = [draw(st.integers(1, 2)) if kinds < 3 else 1 for _ in range(kinds)]
    seconds = [
        [[float(draw(st.integers(1, 20))) for _ in range(have)] for have in gpus]
        for _ in range(kinds)
    ]
    limits = [draw(st.sampled_from([math.inf, 10.0, 30.0])) for _ in range(kinds)]
    return Case(seconds, gpus, counts, limits)


def check_schedule(case: Case, placed: Schedule) -> None:
    """Assert that no GPU does two things at once, and that all copies are done or counted."""
    assert len(placed.tasks) + placed.left_out == sum(case.counts)
    table = case.table
    held: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for task in placed.tasks:
        assert task.slots.size == table.gpus[task.option]
        assert task.end == pytest.approx(task.start + table.seconds[task.job, task.option])
        for slot in task.slots:
            held.setdefault((int(table.machine[task.option]), int(slot)), []).append(
                (task.start, task.end)
            )
    for (m, slot), times in held.items():
        assert slot < case.gpus[m]
        for before, after in itertools.pairwise(sorted(times)):
            assert before[1] <= after[0]
    late = sum(task.end > case.limits[task.job] for task in placed.tasks)
    assert late == placed.late


@settings(max_examples=30, deadline=None)
@given(cases())
def test_no_schedule_takes_twice_the_shortest_of_an_exhaustive_search(case: Case) -> None:
    counts = np.array(case.counts)
    placed = schedule.best(case.table, counts, case.gpus, None, 0.9)
    check_schedule(case, placed)
    assert not placed.left_out
    best = min(max(ends) for ends in case.outcomes())
    relaxed = [math.inf] * len(case.limits)
    free = Case(case.seconds, case.gpus, case.counts, relaxed)
    ours = schedule.best(free.table, counts, case.gpus, None, 0.9).makespan
    assert best * (1 - 1e-9) <= ours <= 2 * best


@settings(max_examples=30, deadline=None)
@given(cases(), st.integers(1, 40))
def test_no_more_copies_are_done_than_an_exhaustive_search_does(case: Case, window: int) -> None:
    counts = np.array(case.counts)
    placed = schedule.best(case.table, counts, case.gpus, float(window), 0.9)
    check_schedule(case, placed)
    assert placed.makespan <= window
    most = max(sum(end <= window for end in ends) for ends in case.outcomes())
    assert len(placed.tasks) <= most
    assert len(placed.tasks) >= most / 2


FAST, SLOW = [6.0, 3.0], [8.0, 5.0]
"""Seconds on 1 and 2 GPUs: a copy on a fast machine, GPUs at 3 a second, costs 18 on either count;
on a slow one, at 1 a second, 8 on one GPU and 10 on two."""


@pytest.mark.parametrize(
    ("count", "limit", "window", "cost", "makespan"),
    [
        (1, math.inf, 20.0, 8.0, 8.0),  # slow x 1
        (1, 5.0, None, 10.0, 5.0),  # slow x 2, by a deadline or by the window
        (1, math.inf, 5.0, 10.0, 5.0),
        (1, 3.5, None, 18.0, 3.0),  # only fast x 2 is in time
        (1, math.inf, None, 18.0, 3.0),  # without a deadline: the shortest
        (4, 16.0, None, 32.0, 16.0),  # slow x 1, two after two
        (3, 8.0, None, 34.0, 8.0),  # two on slow x 1; fast x 1, or x 2, for the third
        (1, 2.0, None, 18.0, 3.0),  # late, but as early as possible
    ],
)
def test_of_schedules_in_time_the_cheapest_is_taken(
    count: int, limit: float, window: float | None, cost: float, makespan: float
) -> None:
    case = Case([[FAST, SLOW]], [2, 2], [count], [limit], (3.0, 1.0))
    placed = schedule.best(case.table, np.array([count]), case.gpus, window, 0.9)
    check_schedule(case, placed)
    assert placed.cost == pytest.approx(cost)
    assert placed.makespan <= makespan
    if count < 3:
        assert placed.makespan == pytest.approx(makespan)


def test_of_schedules_as_short_the_cheapest_is_taken() -> None:
    """Two machines of one speed: the first is dearer."""
    for prices, best in (((2.0, 1.0), 1), ((1.0, 2.0), 0), ((1.0, 1.0), 0), ((0.0, 0.0), 0)):
        case = Case([[FAST, FAST]], [2, 2], [1], [math.inf], prices)
        placed = schedule.best(case.table, np.array([1]), case.gpus, None, 0.9)
        (task,) = placed.tasks
        assert (case.table.machine[task.option], task.end) == (best, 3.0)
        assert placed.cost == 6.0 * prices[best]


@pytest.mark.parametrize(
    ("budget", "cost", "makespan"),
    [
        (20.0, 18.0, 3.0),  # fast x 2
        (18.0, 18.0, 3.0),
        (17.9, 10.0, 5.0),  # slow x 2
        (9.0, 8.0, 8.0),  # slow x 1
        (7.0, 8.0, 8.0),  # nothing is that cheap: the cheapest
    ],
)
def test_of_schedules_that_keep_a_budget_the_shortest_is_taken(
    budget: float, cost: float, makespan: float
) -> None:
    case = Case([[FAST, SLOW]], [2, 2], [1], [math.inf], (3.0, 1.0))
    placed = schedule.best(case.table, np.array([1]), case.gpus, None, 0.9, budget)
    assert (placed.cost, placed.makespan) == pytest.approx((cost, makespan))


def test_without_prices_a_deadline_leaves_the_shortest_schedule() -> None:
    case = Case([[FAST, SLOW]], [2, 2], [1], [100.0])
    assert schedule.best(case.table, np.array([1]), case.gpus, None, 0.9).makespan == 3.0


def test_a_job_gets_no_machine_that_it_may_not_run_on_though_that_alone_is_in_time() -> None:
    case = Case([[[math.inf, math.inf], SLOW]], [2, 2], [1], [4.0], (3.0, 1.0))
    table = case.table
    table.seconds[0, :2] = FAST  # fast enough, but not allowed
    placed = schedule.best(table, np.array([1]), case.gpus, None, 0.9)
    assert [int(table.machine[task.option]) for task in placed.tasks] == [1]


@settings(max_examples=30, deadline=None)
@given(cases(), st.lists(st.sampled_from([0.0, 1.0, 3.0]), min_size=2, max_size=2))
def test_prices_cost_no_copy_its_time(case: Case, prices: list[float]) -> None:
    """As many copies are done, and as many in time, as without prices, at no higher cost."""
    counts, priced = np.array(case.counts), tuple(prices[: len(case.gpus)])
    dear = Case(case.seconds, case.gpus, case.counts, case.limits, priced)
    for window in (12.0, None):
        free = schedule.best(case.table, counts, case.gpus, window, 0.9)
        placed = schedule.best(dear.table, counts, dear.gpus, window, 0.9)
        check_schedule(dear, placed)
        cost = sum(dear.table.price[t.option] * (t.end - t.start) for t in placed.tasks)
        assert placed.cost == pytest.approx(cost)
        assert (placed.left_out, placed.late) <= (free.left_out, free.late)
        if window is not None and (placed.left_out, placed.late) == (free.left_out, free.late):
            others = sum(dear.table.price[t.option] * (t.end - t.start) for t in free.tasks)
            assert placed.cost <= others * (1 + 1e-9)


def test_copies_alone_are_those_of_a_plain_count() -> None:
    content = gc.plan(values(window="1h"), models()).content
    for given_job, answered in zip(values()["jobs"], content["capacity"]["jobs"], strict=True):
        for name, have, setup in (("native", 5, 0.0), ("remote", 4, 60.0)):
            best = 0
            frame = models()[name].forecast(given_job["n"], range(1, have + 1))
            for row in frame.itertuples():
                if frame.seconds[0] / (row.gpus * row.seconds) < given_job.get("efficiency", 0):
                    continue
                seconds = setup + given_job["steps"] * row.seconds
                best = max(best, (have // row.gpus) * math.floor(3600 / seconds))
            if name not in given_job.get("machines", [name]):
                best = 0
            (mine,) = [
                on_machine for on_machine in answered["machines"] if on_machine["machine"] == name
            ]
            assert mine["copies"] == best
            assert mine["copies_sure"] <= best
        assert answered["copies"] == sum(
            on_machine["copies"] for on_machine in answered["machines"]
        )


def test_what_fits_exactly_fits() -> None:
    step = float(only_native()["native"].forecasts([8000], [1]).seconds[0])
    plan = {"machines": [machine(gpus=1)], "jobs": [job(steps=100)], "window": 700 * step}
    (answered,) = gc.plan(plan, only_native()).content["capacity"]["jobs"]
    assert answered["copies"] == 7
    assert answered["copies_sure"] < 7


def test_a_mix_that_fits_is_done_and_its_probability_is_that_of_its_longest_chain() -> None:
    step = float(only_native()["native"].forecasts([8000], [1]).seconds[0])
    alone: dict[str, Any] = {"machines": [machine(gpus=1)], "jobs": [job(steps=1000, count=3)]}
    sure = gc.plan({**alone, "window": 3600 * step}, only_native()).content["mix"]
    chance = {**alone, "probability": 0.5, "window": 3001 * step}
    even = gc.plan(chance, only_native()).content["mix"]
    none = gc.plan({**alone, "window": 2500 * step}, only_native()).content["mix"]
    assert (sure["done"], sure["share"]) == (3, 1.0)
    assert sure["makespan"] == pytest.approx(3000 * step)
    assert sure["probability"] == 1.0
    assert 0.1 < even["probability"] < 0.9
    assert none["done"] == 2
    assert sure["cost"] == pytest.approx(3000 * step * 2.0 / 3600)
    assert [task["start"] for task in sure["schedule"]] == pytest.approx(
        [0, 1000 * step, 2000 * step]
    )


def test_a_schedule_keeps_the_probability_that_a_plan_asks_for() -> None:
    """Three copies one after another are done in time with 90 % where the time that each takes at
    most with 90 % says so, and not before; all three are wrong together."""
    model = only_native()["native"]
    forecasts = model.forecasts([8000], [1], Interval.later)
    alone: dict[str, Any] = {"machines": [machine(gpus=1)], "jobs": [job(steps=1000, count=3)]}
    sure = float(make(of_values(alone, only_native())).quantile(0.9)[0, 0]) / 1000
    for window, done in ((3000 * sure * 0.99, 2), (3000 * sure * 1.01, 3)):
        mix = gc.plan({**alone, "window": window}, only_native()).content["mix"]
        assert mix["done"] == done
        assert mix["probability"] > 0.85
        assert mix["makespan"] == pytest.approx(done * 1000 * float(forecasts.seconds[0]))
    job_in_time = job(steps=1000, count=3, deadline=3000 * sure * 0.99)
    late = gc.plan({"machines": alone["machines"], "jobs": [job_in_time]}, only_native())
    assert late.content["mix"]["late"] == 1
    assert late.content["mix"]["makespan"] < 3000 * sure * 0.99


def test_the_fewest_gpus_that_are_enough_are_found() -> None:
    """Ten runs of one GPU each, within the time of two and a half: four in a row on no GPU, so that
    five GPUs do two each, and four do not."""
    step = float(only_native()["native"].forecasts([8000], [1]).seconds[0])
    jobs = [job(steps=1000, count=10)]
    plan = {"jobs": jobs, "window": 2500 * step}

    def content_with(gpus: object) -> dict[str, Any]:
        box = machine(gpus=gpus, gpu_counts=[1])
        return gc.plan({**plan, "machines": [box]}, only_native()).content

    for asked, enough, done in (("2-9", 5, 10), ("5-5", 5, 10), ("6-9", 6, 10), ("1-4", None, 8)):
        content = content_with(asked)
        assert content["purchase"]["gpus"] == enough
        assert content["mix"]["done"] == done
        assert content["machines"][0]["gpus"] == (enough or 4)
    assert content_with(4)["purchase"] is None
    assert content_with(4)["mix"]["done"] == 8


def test_the_hosts_are_bought_with_which_all_costs_least() -> None:
    plan, on_two, on_four = hosts_plan(7.0)
    content = gc.plan(plan, only_native()).content
    assert (content["purchase"]["gpus"], content["purchase"]["fewest"]) == (6, 4)
    assert content["mix"]["cost"] == pytest.approx(7.0 * 3 * on_two)
    assert content["purchase"]["fewest_cost"] == pytest.approx(7.0 * 2 * (on_two + on_four))
    assert content["machines"][0]["gpus"] == 6
    free = gc.plan(hosts_plan(0.0)[0], only_native()).content
    assert (free["purchase"]["gpus"], free["purchase"]["fewest"]) == (4, 4)


@pytest.mark.parametrize(("gpus", "bought"), [("3-9", 6), ("5-5", 5), ("4-5", 4), ("1-3", None)])
def test_whole_hosts_are_bought_where_the_range_has_any(gpus: str, bought: int | None) -> None:
    plan = hosts_plan(7.0, gpus)[0]
    plan["machines"][0]["gpu_counts"] = [n for n in (2, 4) if n <= int(gpus[-1])]
    purchase = gc.plan(plan, only_native()).content["purchase"]
    assert purchase["gpus"] == bought
    if bought is None:
        assert purchase["fewest"] is purchase["fewest_cost"] is None


def test_a_speed_counts_from_the_start_of_a_job_and_a_deadline_from_that_of_the_window() -> None:
    step = float(only_native()["native"].forecasts([8000], [1]).seconds[0])
    one = {"machines": [machine(gpus=1)]}
    timed = {"jobs": [job(steps=1000, count=2, deadline=1500 * step)]}
    speed = 2e-15 * 86400 / (1.5 * step) / 1e-9
    paced = {"jobs": [job(steps=1000, count=2, ns_per_day=speed, timestep_fs=2.0)]}
    assert gc.plan({**one, **timed}, only_native()).content["mix"]["late"] == 1
    assert gc.plan({**one, **paced}, only_native()).content["mix"]["late"] == 0


def test_a_window_in_which_nothing_fits_does_nothing() -> None:
    plan = {"machines": [machine()], "jobs": [job(deadline="1s")], "window": "2s"}
    content = gc.plan(plan, only_native()).content
    mix = content["mix"]
    assert (mix["done"], mix["share"], mix["schedule"]) == (0, 0, [])
    assert mix["probability"] is None
    assert content["capacity"]["jobs"][0]["copies"] == 0
    (answered,) = content["jobs"]
    assert answered["meets_deadline"] is False
    assert answered["advised"]["probability_in_time"] < 1e-6
