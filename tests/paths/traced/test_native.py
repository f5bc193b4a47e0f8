"""A traced program, made again as it was recorded: its steps come out again.

The traces are made by a scheduler that knows nothing of the package (made_traces.py).
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpucast.data.traces import find_steps, phases
from gpucast.data.traces.trace import Trace
from gpucast.errors import InputError
from gpucast.paths.traced import CallProgram, Operation, program_of
from gpucast.paths.traced.timeline import natively, step_seconds, times_of
from made_traces import COST, LATENCY, WAKE, MadeTrace
from phased_traces import Made, phased

NANOSECOND = 1e-9
"""What times in traces are rounded to."""


def read_backs(made: MadeTrace) -> None:
    made.host(20e-6)
    made.copy(4096, "h2d")
    made.launch("kernel", seconds=100e-6)
    made.copy(8, "d2h")


def pipeline(made: MadeTrace) -> None:
    made.host(3e-6)
    for _ in range(20):
        made.launch("small", seconds=5e-6, stream=20, blocks=10)
    made.copy(100_000, "h2d", blocking=False, memory="pinned", stream=21)
    made.record(1, stream=21)
    made.stream_waits(1, stream=20)
    made.launch("large", seconds=50e-6, stream=20)
    made.copy(1000, "d2h", memory="pinned", blocking=False, stream=20)
    made.record(2, stream=20)
    made.wait_event(2)


def graph(made: MadeTrace) -> None:
    made.host(10e-6)
    made.graph([("a", 5e-6), ("b", 40e-6)], stream=20)
    made.set(1000, stream=20)
    made.wait_stream(20)


def two_streams(made: MadeTrace) -> None:
    made.launch("a", seconds=50e-6, stream=20, blocks=10)
    made.copy(1_000_000, "d2h", memory="pinned", blocking=False, stream=20)
    made.launch("b", seconds=30e-6, stream=21, blocks=10)
    made.copy(500_000, "h2d", memory="pinned", blocking=False, stream=21)
    made.wait_device()


Step = Callable[[MadeTrace], None]
EVERY = pytest.mark.parametrize("step", [read_backs, pipeline, graph, two_streams])


def traced(step: Step, count: int = 30) -> MadeTrace:
    made = MadeTrace()
    for _ in range(count):
        step(made)
    return made


def program_in(trace: Trace) -> CallProgram:
    return program_of(trace, find_steps(trace))


def steps_of(program: CallProgram) -> np.ndarray:
    """s of each step, from what its calls took."""
    return step_seconds(program, times_of(program, natively(program)))[:, 0]


def close(program: CallProgram) -> bool:
    return bool(np.allclose(steps_of(program), program.recorded, rtol=1e-6, atol=20 * NANOSECOND))


@EVERY
def test_calls_give_the_recorded_steps(step: Step) -> None:
    assert close(program_in(traced(step).trace()))


@EVERY
def test_the_clock_of_the_gpu_may_differ_from_the_hosts(step: Step) -> None:
    trace = traced(step).trace()
    moved = replace(trace, processes=tuple(
        replace(process, work=process.work.assign(
            start_ns=process.work["start_ns"] + shift, end_ns=process.work["end_ns"] + shift))
        for process, shift in zip(trace.processes, (-8000,), strict=True)
    ))  # fmt: skip
    program = program_of(moved, find_steps(trace))
    times = steps_of(program)
    # Moved by what is needed, not by what it was: steps stay within the difference.
    assert np.abs(times - program.recorded)[2:].max() < 2.5e-6


def test_waiting_is_taken_off_what_a_call_costs() -> None:
    program = program_in(traced(read_backs).trace())
    up = (program.operation == Operation.copy) & (program.bytes == 4096)
    down = (program.operation == Operation.copy) & (program.bytes == 8)
    # The copy up waits for nothing in its stream; the one down for the kernel and itself.
    assert program.cost[up] == pytest.approx(LATENCY + 4096 / 10e9 + WAKE, abs=2 * NANOSECOND)
    assert program.tail[down] == pytest.approx(WAKE, abs=2 * NANOSECOND)
    assert program.latency[program.operation == Operation.launch] == pytest.approx(LATENCY)
    assert program.gap[up] == pytest.approx(20e-6, abs=NANOSECOND)


def test_what_a_launch_costs_is_its_own_time() -> None:
    program = program_in(traced(pipeline).trace())
    assert program.cost[program.operation == Operation.launch] == pytest.approx(COST)


def test_queries_in_a_loop_are_one_wait() -> None:
    made = MadeTrace()
    for at in range(20):
        made.launch("kernel", seconds=50e-6, stream=20)
        made.record(1, stream=20)
        for _ in range(10 + at):
            made.call("cudaEventQuery", cost=2e-6)
        made.wait_event(1)
    program = program_in(made.trace())
    waits = np.isin(program.operation, (Operation.sync_event, Operation.sync_stream))
    assert np.count_nonzero(waits) == 2 * program.steps
    assert not (program.operation == Operation.query).any()


def test_what_recording_cost_is_taken_off() -> None:
    made = traced(lambda each: (read_backs(each), each.call("cudaGetDevice"))[0])
    trace = made.trace()
    program = program_in(trace)
    steps = float(np.median(program.recorded))
    untraced = replace(trace, run=replace(trace.run, seconds_untraced=steps - 2e-6))
    corrected = program_in(untraced)
    again = steps_of(corrected)
    assert np.median(again) == pytest.approx(steps - 2e-6, abs=0.3e-6)


def test_light_phases_tell_what_steps_and_calls_take_by_themselves() -> None:
    """Calls take 2 us longer where their work is recorded; a light phase has no work."""

    def step(made: MadeTrace, cost: float) -> None:
        with made.range("step"):
            made.host(30e-6)
            for _ in range(10):
                made.launch("kernel", seconds=1e-6, cost=cost)
            made.wait_stream()

    whole = phased(step, [Made(phases.FULL, 20, 5e-6), Made(phases.LIGHT, 20)])
    program = program_of(whole, find_steps(whole, "step"))
    launches = program.operation == Operation.launch
    # Shared out evenly over a step's calls and the gaps before them.
    assert np.median(program.cost[launches]) == pytest.approx(3e-6, rel=0.06)
    times = np.median(steps_of(program))
    assert times == pytest.approx(np.median(program.recorded), rel=0.02)
    assert np.median(program.recorded) == pytest.approx(30e-6 + 10 * 3e-6 + 3e-6, rel=0.05)


def test_few_steps_are_refused() -> None:
    trace = traced(read_backs, 30).trace()
    steps = find_steps(trace)
    kept = np.zeros(steps.main.count, bool)
    kept[:3] = True
    with pytest.raises(InputError, match="3 consecutive steps"):
        program_of(trace, replace(steps.main, kept=kept))


@settings(deadline=None, max_examples=20)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["launch", "h2d", "d2h", "wait", "record"]),
            st.integers(20, 22),
            st.floats(1e-6, 50e-6),
        ),
        min_size=2,
        max_size=8,
    ),
    st.floats(0, 30e-6),
)
def test_any_schedule_of_some_streams_is_found_again(
    calls: list[tuple[str, int, float]], host: float
) -> None:
    made = MadeTrace()
    for _ in range(14):
        made.host(host)
        for what, stream, seconds in calls:
            if what == "launch":
                made.launch("kernel", seconds=seconds, stream=stream, blocks=4)
            elif what == "wait":
                made.wait_stream(stream)
            elif what == "record":
                made.record(stream, stream=stream)
                made.stream_waits(stream, stream=20)
            else:
                made.copy(64, what, memory="pinned", blocking=False, seconds=seconds, stream=stream)
        made.launch("last", seconds=5e-6, stream=20, blocks=4)
        made.wait_device()
    trace = made.trace()
    program = program_in(trace)
    times = steps_of(program)
    assert np.median(times) == pytest.approx(np.median(program.recorded), rel=0.02)


def test_many_calls_in_light_phases_behind_full_ones_are_doubted() -> None:
    def step_of(launches: int) -> Callable[[MadeTrace, float], None]:
        def step(made: MadeTrace, cost: float) -> None:
            for _ in range(launches):
                made.launch("kernel", seconds=1e-6, cost=cost)
            made.copy(8, "d2h", cost=cost)

        return step

    full, light = Made(phases.FULL, 20, 5e-6), Made(phases.LIGHT, 20)
    message = "light phases come after full ones"
    for launches, made, doubted in (
        (150, (full, light), True), (150, (light, full), False), (15, (full, light), False),
    ):  # fmt: skip
        warnings = program_in(phased(step_of(launches), made)).warnings
        assert any(message in warning for warning in warnings) == doubted
