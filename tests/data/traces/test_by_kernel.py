"""Steps that begin at a kernel, in light phases without names of kernels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpucast.data.traces import find_steps, phases, read
from gpucast.data.traces.steps import ENOUGH_LIGHT, ProcessSteps
from gpucast.data.traces.trace import Trace
from gpucast.data.traces.writing import write
from made_traces import MadeTrace
from phased_traces import Made, Step, phased

US = 1e-6
FULL_COST, COST = 4 * US, 3 * US


def some(steps: int = 40) -> list[Made]:
    return [Made(phases.FULL, steps, FULL_COST), Made(phases.LIGHT, 3 * steps, COST)]


def launches_and_a_copy(made: MadeTrace, cost: float) -> None:
    made.host(10 * US)
    made.launch("first", seconds=US, cost=cost)
    for _ in range(7):
        made.launch("kernel", seconds=US, cost=cost)
    made.copy(8, "d2h")


def two_waits(made: MadeTrace, cost: float) -> None:
    made.launch("first", seconds=30 * US, cost=cost)
    made.copy(8, "d2h")
    made.launch("b", seconds=10 * US, cost=cost)
    made.launch("b", seconds=10 * US, cost=cost)
    made.copy(16, "d2h")


def polls(made: MadeTrace, cost: float) -> None:
    made.launch("first", seconds=20 * US, cost=cost)
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


@pytest.mark.parametrize("step", [launches_and_a_copy, two_waits, polls])
def test_a_kernel_tells_the_light_steps_that_repetition_tells(step: Step) -> None:
    trace = phased(step, some())
    named, repeated = light_of(trace, "kernel:first"), light_of(trace)
    assert named.size >= repeated.size - 3
    assert np.median(named) == pytest.approx(np.median(repeated), rel=1e-3)


def test_words_that_hold_one_another_tell_nothing() -> None:
    """Steps with one wait and steps with two, which wait longer, in random order."""
    random = np.random.default_rng(1)

    def step(made: MadeTrace, cost: float) -> None:
        made.launch("first", seconds=50 * US, cost=cost)
        made.wait_stream()
        if random.random() < 0.45:
            for _ in range(30):
                made.launch("more", seconds=5 * US, cost=cost)
            made.wait_stream()

    steps = find_steps(phased(step, some(200)), "kernel:first").main
    light = steps.seconds[steps.kept & (steps.phase == phases.LIGHT)]
    full = steps.seconds[steps.kept & (steps.phase == phases.FULL) & (steps.kind == 0)]
    if light.size:
        assert np.median(light) == pytest.approx(np.median(full), rel=0.1)


@pytest.mark.parametrize("name", [None, "kernel:first"])
def test_the_first_light_phase_that_has_enough_counts(name: str | None) -> None:
    made = [
        Made(phases.FULL, 30, FULL_COST),
        Made(phases.LIGHT, ENOUGH_LIGHT // 2, COST),
        Made(phases.FULL, 30, FULL_COST),
        Made(phases.LIGHT, 3 * ENOUGH_LIGHT, COST),
        Made(phases.FULL, 30, FULL_COST),
        Made(phases.LIGHT, 5 * ENOUGH_LIGHT, 2 * COST),
    ]
    light = light_of(phased(launches_and_a_copy, made), name)
    assert 2 * ENOUGH_LIGHT < light.size <= 3 * ENOUGH_LIGHT
    assert light.max() < 10 * US + 9 * FULL_COST + 2 * US


def test_work_of_a_number_that_several_calls_bear_is_nobodys(tmp_path: Path) -> None:
    trace = phased(launches_and_a_copy, [*some(), Made(phases.FULL, 40, FULL_COST)])
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
    (checked,) = again.processes
    assert checked.unnumbered == stuck.sum()
    assert checked.phases["full"].tolist() == [phases.FULL, phases.LIGHT, phases.LACKING]
    (steps,) = find_steps(again).processes
    assert kept(steps, phases.FULL) >= 36
    assert kept(steps, phases.LIGHT) >= 110
    assert not steps.kept[steps.begins_ns[:-1] >= last].any()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["launch", "set", "copy", "device", "stream"]), max_size=12))
def test_steps_of_any_calls_take_as_long_in_light_phases(calls: list[str]) -> None:
    def step(made: MadeTrace, cost: float) -> None:
        made.host(7 * US)
        made.launch("first", seconds=5 * US, cost=cost)
        for call in calls:
            if call == "launch":
                made.launch("kernel", seconds=5 * US, cost=cost)
            elif call == "set":
                made.set(64, cost=cost)
            elif call == "copy":
                made.copy(8, "d2h")
            elif call == "device":
                made.wait_device()
            else:
                made.wait_stream()
        made.wait_device()

    one = MadeTrace()
    step(one, COST)
    begin = one.now()
    step(one, COST)
    light = light_of(phased(step, some()), "kernel:first")
    assert light.size >= 110
    assert np.median(light) == pytest.approx(one.now() - begin, rel=0.02)
