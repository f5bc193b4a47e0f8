"""Light phases that hold only calls in which the host may wait: what they tell of steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpucast.cli.trace_text import notes
from gpucast.traces import find_steps, phases, read
from gpucast.traces.step_making import ENOUGH_LIGHT
from gpucast.traces.steps import ProcessSteps
from gpucast.traces.summary import summarize
from gpucast.traces.trace import Trace
from gpucast.traces.writing import write
from made_traces import MadeTrace
from phased_traces import Made, Step, phased

US = 1e-6
FULL_COST, COST = 4 * US, 3 * US


def some(kind: int, steps: int = 40) -> list[Made]:
    return [Made(phases.FULL, steps, FULL_COST), Made(kind, 3 * steps, COST)]


def launches_and_a_copy(made: MadeTrace, cost: float) -> None:
    made.host(10 * US)
    for _ in range(8):
        made.launch("kernel", seconds=US, cost=cost)
    made.copy(8, "d2h")


def two_waits(made: MadeTrace, cost: float) -> None:
    made.launch("a", seconds=30 * US, cost=cost)
    made.copy(8, "d2h")
    made.launch("b", seconds=10 * US, cost=cost)
    made.launch("b", seconds=10 * US, cost=cost)
    made.copy(16, "d2h")


def a_wait_every_tenth_launch(made: MadeTrace, cost: float) -> None:
    for _ in range(10):
        made.host(5 * US)
        made.launch("kernel", seconds=US, cost=cost)
    made.wait_stream()


def never_waits(made: MadeTrace, cost: float) -> None:
    made.host(20 * US)
    made.launch("a", seconds=US, cost=cost)
    made.launch("b", seconds=US, cost=cost)


def polls(made: MadeTrace, cost: float) -> None:
    made.launch("kernel", seconds=20 * US, cost=cost)
    made.record(1, cost=cost)
    made.call("cudaEventQuery", cost=US)
    made.at_least(made.now() + 25 * US)
    made.call("cudaEventQuery", cost=US)


def light_of(trace: Trace, range_name: str | None = None) -> NDArray[np.float64]:
    steps = find_steps(trace, range_name).main
    light = steps.kept & (steps.phase == phases.LIGHT) & (steps.kind == 0)
    return np.asarray(steps.seconds[light])


def kept(steps: ProcessSteps, phase: int) -> int:
    return int(np.count_nonzero(steps.kept & (steps.phase == phase)))


@pytest.mark.parametrize("step", [launches_and_a_copy, two_waits, a_wait_every_tenth_launch, polls])
def test_waits_alone_tell_the_steps_that_all_calls_tell(step: Step) -> None:
    every, alone = (light_of(phased(step, some(kind))) for kind in (phases.LIGHT, phases.WAITS))
    assert alone.size >= every.size - 3
    assert np.median(alone) == pytest.approx(np.median(every), rel=1e-3)


def test_full_phases_tell_what_a_step_is() -> None:
    steps = find_steps(phased(two_waits, some(phases.WAITS))).main
    full = steps.kept & (steps.phase == phases.FULL)
    assert set(steps.calls[full]) == {5}
    assert set(steps.calls[steps.kept & (steps.phase == phases.LIGHT)]) == {2}
    assert kept(steps, phases.FULL) >= 36


def test_steps_that_never_wait_are_those_of_full_phases_and_it_is_said() -> None:
    trace = phased(never_waits, some(phases.WAITS))
    (steps,) = find_steps(trace).processes
    assert kept(steps, phases.FULL) >= 36
    assert kept(steps, phases.LIGHT) == 0
    summary = summarize(trace.processes[0], steps)
    assert summary.steps.light_seconds is None
    assert any("light phases do not tell" in line for line in notes(trace, [summary]))


def test_words_that_hold_one_another_tell_nothing() -> None:
    """Steps of one wait and steps of two, which wait for more, in no order."""
    random = np.random.default_rng(1)

    def step(made: MadeTrace, cost: float) -> None:
        made.launch("kernel", seconds=50 * US, cost=cost)
        made.wait_stream()
        if random.random() < 0.45:
            for _ in range(30):
                made.launch("more", seconds=5 * US, cost=cost)
            made.wait_stream()

    steps = find_steps(phased(step, some(phases.WAITS, 200))).main
    light = steps.seconds[steps.kept & (steps.phase == phases.LIGHT)]
    full = steps.seconds[steps.kept & (steps.phase == phases.FULL) & (steps.kind == 0)]
    if light.size:
        assert np.median(light) == pytest.approx(np.median(full), rel=0.1)


def test_ranges_are_steps_of_a_kind_by_their_waits() -> None:
    def step(made: MadeTrace, cost: float) -> None:
        with made.range("step"):
            two_waits(made, cost)

    every, alone = (
        light_of(phased(step, some(kind)), "step") for kind in (phases.LIGHT, phases.WAITS)
    )
    assert alone.size >= every.size - 3
    assert np.median(alone) == pytest.approx(np.median(every), rel=1e-3)


@pytest.mark.parametrize("kind", [phases.LIGHT, phases.WAITS])
def test_the_first_light_phase_that_has_enough_counts(kind: int) -> None:
    made = [
        Made(phases.FULL, 30, FULL_COST),
        Made(kind, ENOUGH_LIGHT // 2, COST),
        Made(phases.FULL, 30, FULL_COST),
        Made(kind, 3 * ENOUGH_LIGHT, COST),
        Made(phases.FULL, 30, FULL_COST),
        Made(kind, 5 * ENOUGH_LIGHT, 2 * COST),
    ]
    found = light_of(phased(launches_and_a_copy, made))
    assert 2 * ENOUGH_LIGHT < found.size <= 3 * ENOUGH_LIGHT
    assert found.max() < 10 * US + 9 * FULL_COST + 2 * US


def test_work_of_a_number_that_several_calls_bear_is_nobodys(tmp_path: Path) -> None:
    trace = phased(launches_and_a_copy, [*some(phases.WAITS), Made(phases.FULL, 40, FULL_COST)])
    (process,) = trace.processes
    last = int(process.phases["start_ns"].iloc[-1])
    calls = process.calls.copy()
    stuck = calls["start_ns"] >= last
    number = calls.loc[stuck, "correlation"].iloc[0]
    work = process.work.copy()
    work.loc[work["correlation"].isin(calls.loc[stuck, "correlation"]), "correlation"] = number
    calls.loc[stuck, "correlation"] = number
    write(replace(trace, processes=(replace(process, calls=calls, work=work),)), tmp_path / "T")
    again = read(tmp_path / "T")
    (found,) = again.processes
    assert found.unnumbered == stuck.sum()
    assert found.phases["full"].tolist() == [phases.FULL, phases.WAITS, phases.LACKING]
    (steps,) = find_steps(again).processes
    assert kept(steps, phases.FULL) >= 36
    assert kept(steps, phases.LIGHT) >= 110
    assert not steps.kept[steps.begins_ns[:-1] >= last].any()


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.sampled_from(["launch", "set", "copy", "device", "stream"]), min_size=1, max_size=12
    ).filter(lambda calls: {"copy", "device", "stream"} & set(calls) and "launch" in calls)
)
def test_steps_of_any_calls_take_as_long_told_by_waits(calls: list[str]) -> None:
    def step(made: MadeTrace, cost: float) -> None:
        made.host(7 * US)
        for each in calls:
            if each == "launch":
                made.launch("kernel", seconds=5 * US, cost=cost)
            elif each == "set":
                made.set(64, cost=cost)
            elif each == "copy":
                made.copy(8, "d2h")
            elif each == "device":
                made.wait_device()
            else:
                made.wait_stream()

    every, alone = (
        np.median(light_of(phased(step, some(kind)))) for kind in (phases.LIGHT, phases.WAITS)
    )
    assert alone == pytest.approx(every, rel=0.02)
