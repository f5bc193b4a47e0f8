"""The native step is one number for all commands that use it, checked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpucast.data.traces import Trace, find_steps, phases
from gpucast.data.traces.native_step import native_steps
from gpucast.data.traces.reading import read
from gpucast.data.traces.records import observed
from gpucast.data.traces.summary import summarize
from gpucast.paths.traced.from_trace import program_of
from gpucast.paths.traced.timeline import native_seconds
from made_traces import COST, MadeTrace
from phased_traces import Made, phased

US = 1e-6
BUNDLED = Path(__file__).parents[3] / "data" / "measured" / "h200-traces"


def step(made: MadeTrace, cost: float) -> None:
    """Four launches and a scalar; 20 us of host work, and the time of recording between calls."""
    for _ in range(4):
        made.launch("kernel", seconds=1 * US, cost=cost)
        made.host(0.2 * US)
    made.copy(8, "d2h", cost=cost)
    made.host(20 * US)


def made(*kinds: Made) -> Trace:
    return phased(step, kinds)


def native(trace: Trace) -> float:
    return native_steps(trace.processes[0], find_steps(trace).main).median


def test_without_light_phases_it_is_the_median_as_recorded() -> None:
    trace = made(Made(phases.FULL, 40, 6 * US))
    steps = find_steps(trace).main
    native = native_steps(trace.processes[0], steps)
    assert not native.alone
    assert native.median == pytest.approx(np.median(steps.seconds[steps.kept]))


def test_light_steps_tell_it_less_what_noting_calls_takes() -> None:
    trace = made(Made(phases.FULL, 40, 6 * US), Made(phases.LIGHT, 40))
    process, steps = trace.processes[0], find_steps(trace).main
    light = np.median(steps.seconds[steps.kept & (steps.phase == phases.LIGHT)])
    calls = process.calls
    own = (calls["name"].map(process.names) == "cudaMemcpy").to_numpy()
    waited = float((calls["end_ns"] - calls["start_ns"])[own].to_numpy()[-20:].mean()) / 1e9
    noted = 0.2 * US * (1 + 4 * (1 - waited / light))
    assert native(trace) == pytest.approx(light - noted, rel=1e-3)


def test_what_was_measured_without_a_recorder_is_it() -> None:
    trace = made(Made(phases.FULL, 40, 6 * US), Made(phases.LIGHT, 40))
    native = native_steps(trace.processes[0], find_steps(trace).main, 12 * US)
    assert (native.alone, native.median) == (True, 12 * US)


def test_full_steps_count_where_they_are_shorter() -> None:
    trace = made(Made(phases.FULL, 40), Made(phases.LIGHT, 40, 4 * COST))
    native = native_steps(trace.processes[0], find_steps(trace).main)
    assert not native.alone


@pytest.mark.parametrize(
    "name", ["pageable_copies-n16384-gpus1", "graph-n50-gpus1", "many_kernels-n20-gpus1"]
)
def test_all_that_state_it_state_one_number(name: str) -> None:
    trace = read(BUNDLED / f"{name}.zip")
    process, steps = trace.processes[0], find_steps(trace).main
    expected = native_steps(process, steps).median
    assert summarize(process, steps).steps.light_seconds == expected
    assert observed(trace).parts.seconds == pytest.approx(expected)
    assert np.median(observed(trace).seconds) == pytest.approx(expected, rel=2e-3)
    program = program_of(trace, steps)
    assert native_seconds(program) == pytest.approx(expected)
