"""Whether calls are waited for, from launch records alone."""

from __future__ import annotations

from typing import get_args

import pytest

import gpucast as gc
from gpucast.data.records import Launch
from gpucast.data.vocabulary import Schedule
from gpucast.fitting.synchronous import terms_left, waits_for_calls
from made_data import dataset, launch, machine, step


def timed(method: str, seconds: float, **other: object) -> dict[str, object]:
    return launch(1, [seconds] * 3, method=method, **other)


def launches(*records: dict[str, object]) -> list[Launch]:
    return dataset([machine(), *records]).launches


@pytest.mark.parametrize(("submit", "waits"), [(2e-6, False), (4e-6, False), (5.4e-6, True)])
def test_a_path_waits_where_submitting_is_one_of_two_round_trips(
    submit: float, waits: bool
) -> None:
    assert waits_for_calls(launches(timed("submit", submit), timed("sync", 10e-6))) is waits


def test_without_both_ways_of_timing_nothing_is_said() -> None:
    assert waits_for_calls([]) is None
    assert waits_for_calls(launches(timed("submit", 5e-6))) is None
    assert waits_for_calls(launches(timed("sync", 5e-6), timed("gated", 2e-6))) is None


def test_only_launches_of_one_kind_are_compared() -> None:
    unlike = launches(timed("submit", 6e-6, arguments=16), timed("sync", 10e-6, arguments=0))
    assert waits_for_calls(unlike) is None
    first = launches(timed("submit", 6e-6, cold=True), timed("submit", 2e-6), timed("sync", 9e-6))
    assert waits_for_calls(first) is False


@pytest.mark.parametrize("name", ["h200-x2", "h200-x4", "h200-x4-mixed"])
def test_of_the_measured_paths_only_the_synchronous_one_waits(name: str) -> None:
    data = gc.load(name)
    found = {
        (each.machine, each.path): waits_for_calls(
            data.select(machine=each.machine, path=each.path).launches
        )
        for each in data.launches
    }
    assert len(found) >= 3
    assert found == {(machine, path): path == "remote-sync" for machine, path in found}


def test_nothing_hides_where_calls_are_waited_for() -> None:
    assert terms_left("star-serial", True) == ["star-serial"]
    assert terms_left("star-async", True) == ["star-async-turns"]


def test_nothing_goes_by_turns_where_they_are_not() -> None:
    assert "star-async-turns" not in terms_left("star-async", False)
    assert terms_left("star-async", False)[0] == "star-async"
    assert "star-serial-poll" in terms_left("star-serial", False)


@pytest.mark.parametrize("schedule", get_args(Schedule))
@pytest.mark.parametrize("waits", [None, False, True])
def test_every_schedule_keeps_a_term(schedule: str, waits: bool | None) -> None:
    left = terms_left(schedule, waits)
    assert left
    assert set(left) <= set(terms_left(schedule, None))


def test_a_fit_of_one_gpu_count_knows_that_gpus_take_turns() -> None:
    steps = [step(n, 1, [1e-4 * n / 1000] * 3, schedule="star-async") for n in (1000, 2000, 4000)]
    slow = [timed("submit", 5.4e-6), timed("sync", 10e-6)]
    quick = [timed("submit", 2e-6), timed("sync", 10e-6)]

    def by_turns(*launched: dict[str, object]) -> float:
        model = gc.fit(dataset([machine(), *steps, *launched]), replicates=0)
        return sum(each.weight for each in model.mixture.forms if each.terms.com.endswith("turns"))

    # One GPU count tells nothing of turns, so that odds of e^4 and of e^-8 stay what they are, but
    # for what the few steps say of launches.
    assert by_turns(*slow) > 0.9
    assert by_turns(*quick) < 0.01
    assert by_turns(*slow) > by_turns() > by_turns(*quick)
