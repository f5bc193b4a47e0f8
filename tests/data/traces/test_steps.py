"""Steps detected in traces whose steps are known."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import Run, assert_refused
from gpucast.data.traces import ProcessSteps, Trace, find_steps, perfetto, phases
from gpucast.data.traces.steps import NO_KIND, among
from gpucast.data.traces.summary import summarize
from gpucast.data.traces.tables import frame
from gpucast.errors import InputError
from made_traces import LATENCY, WAKE, MadeTrace
from phased_traces import Made, phased, recorded

US = 1e-6


@dataclass(frozen=True)
class Built:
    """A made-up program: its trace, and the calls whose returns end steps."""

    trace: Trace = field(repr=False)
    ends: list[int]


kernels = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(1, 200)), min_size=1, max_size=8)


@st.composite
def programs(draw: st.DrawFn) -> Built:
    """Warm-up, and steps that end with reading a scalar, sometimes after additional work."""
    made = MadeTrace()
    for kernel, length in draw(kernels):
        made.launch(f"warm-up {kernel}", seconds=length * US)
        made.call(draw(st.sampled_from(["cudaMalloc", "cudaFree", "cudaStreamCreate"])))
    step = draw(kernels)
    often = draw(st.integers(5, 12))
    more = draw(kernels)[: len(step)] if draw(st.booleans()) else []
    # If rare work takes longer than everything else, its period is the step.
    longest = max(1, 2 * sum(length for _, length in step) // max(1, len(more)))
    more = [(kernel, min(length, longest)) for kernel, length in more]
    noise = draw(st.integers(7, 30))
    ends = []
    for at in range(draw(st.integers(12, 40))):
        for kernel, length in step:
            made.launch(kernel, seconds=length * US)
        if more and at % often == 0:
            for kernel, length in more:
                made.launch(f"more {kernel}", seconds=length * US)
        if at % noise == noise - 1:
            made.call("cudaMalloc")
        made.host(draw(st.integers(0, 50)) * US)
        ends.append(made.copy(8, "d2h"))
    return Built(made.trace(), ends)


def returns(trace: Trace, correlations: list[int]) -> list[int]:
    """When calls returned, ns."""
    calls = trace.processes[0].calls.set_index("correlation")["end_ns"]
    return [int(calls[correlation]) for correlation in correlations]


@settings(max_examples=60, deadline=None)
@given(programs())
def test_found_steps_end_where_those_built_end(built: Built) -> None:
    steps = find_steps(built.trace).main
    # The beginning of the first step cannot always be distinguished from warm-up.
    assert len(built.ends) - 1 <= steps.count <= len(built.ends)
    assert steps.begins_ns[1:].tolist() == returns(built.trace, built.ends)[-steps.count :]
    assert steps.kept.sum() >= 0.5 * len(built.ends)
    assert not (steps.kind == NO_KIND).any()


@settings(max_examples=600, deadline=None)
@given(programs())
def test_a_step_holds_its_calls_and_their_work(built: Built) -> None:
    process, steps = built.trace.processes[0], find_steps(built.trace).main
    step_of = dict(zip(process.calls["correlation"], steps.call_step, strict=True))
    ends = built.ends[-steps.count :]
    assert [step_of[correlation] for correlation in ends] == list(range(steps.count))
    asked = [step_of[correlation] for correlation in process.work["correlation"]]
    assert steps.work_step.tolist() == asked
    assert steps.calls.sum() == np.count_nonzero(steps.call_step >= 0)


def one_step(made: MadeTrace) -> None:
    """Two kernels and a scalar."""
    made.launch("a", seconds=20 * US)
    made.launch("b", seconds=30 * US)
    made.copy(8, "d2h")


def repeated(step: Callable[[MadeTrace], None], times: int, before: int = 0) -> MadeTrace:
    """A program of steps after some warm-up."""
    made = MadeTrace()
    for _ in range(before):
        made.call("cudaMalloc", cost=50 * US)
    for _ in range(times):
        step(made)
    return made


def found(made: MadeTrace, range_name: str | None = None) -> ProcessSteps:
    """The steps of the only process."""
    return find_steps(made.trace(), range_name).main


def test_a_step_takes_what_it_takes_by_hand() -> None:
    steps = found(repeated(one_step, 10))
    # The copy takes 8 B / 10 GB/s and ends behind both kernels.
    by_hand = LATENCY + 20 * US + 30 * US + 0.8e-9 + WAKE
    assert steps.count == 10
    assert steps.seconds == pytest.approx(np.full(10, by_hand), abs=3e-9)
    assert steps.how == "3 calls that repeat, ends where cudaMemcpy waits"


def test_five_steps_are_enough_and_four_are_not() -> None:
    assert found(repeated(one_step, 5)).count == 5
    with pytest.raises(InputError, match="no repeating step: fewer than 5 repeats"):
        found(repeated(one_step, 4))


def test_many_equal_kernels_and_one_wait_are_one_step() -> None:
    def step(made: MadeTrace) -> None:
        for _ in range(200):
            made.launch("tiny", seconds=1 * US)
        made.wait_stream()

    steps = found(repeated(step, 10))
    assert (steps.count, steps.calls.tolist()) == (10, [201] * 10)


def test_waits_of_one_kind_within_a_step_do_not_end_it() -> None:
    def step(made: MadeTrace) -> None:
        for kernel, length in (("x", 5), ("y", 90), ("z", 5)):
            made.launch(kernel, seconds=length * US)
            made.launch(f"{kernel}2", seconds=length * US)
            made.copy(8, "d2h")

    made = repeated(step, 12)
    steps = found(made)
    assert steps.kept.sum() >= 11
    assert np.median(steps.calls) == 9
    # It is cut after the longest wait, which is for y.
    names = [made.process().name_of(number) for number in made.process().work["name"]]
    first = next(at for at, step in enumerate(steps.work_step) if step == 3)
    assert names[first] == "z"


def test_a_step_that_never_waits_is_found_by_its_calls() -> None:
    def step(made: MadeTrace) -> None:
        for kernel in "abcab":
            made.launch(kernel, seconds=10 * US)
        made.host(40 * US)

    steps = found(repeated(step, 20, before=3))
    assert np.median(steps.calls) == 5
    assert steps.kept.sum() >= 18
    assert "cut at a pause" in steps.how


def test_how_often_a_loop_polls_does_not_matter() -> None:
    random = np.random.default_rng(3)

    def step(made: MadeTrace) -> None:
        made.launch("a", seconds=30 * US)
        made.record(1)
        for _ in range(int(random.integers(1, 40))):
            made.call("cudaEventQuery", cost=1 * US)

    steps = found(repeated(step, 20))
    assert steps.count >= 19
    assert (steps.kind[1:] == 0).all()


def test_every_tenth_step_that_does_more_is_a_kind_of_its_own() -> None:
    made = MadeTrace()
    for at in range(60):
        made.launch("a", seconds=20 * US)
        made.launch("b", seconds=20 * US)
        if at % 10 == 5:
            made.launch("energy", seconds=50 * US)
        made.copy(8, "d2h")
    steps = found(made)
    assert np.flatnonzero(steps.kind == 1).tolist() == [5, 15, 25, 35, 45, 55]
    assert steps.kept[1:].all()


def test_first_slow_steps_and_interrupted_ones_are_left_out() -> None:
    made = MadeTrace()
    for at in range(40):
        made.host((200 - 40 * at if at < 5 else 0) * US)
        if at == 20:
            made.host(0.01)
        one_step(made)
    steps = found(made)
    assert steps.count == 40
    assert not steps.kept[:4].any()
    assert not steps.kept[20]
    assert steps.kept.sum() >= 33


def test_the_thread_that_drives_the_gpu_gives_the_steps() -> None:
    made = MadeTrace()
    for at in range(20):
        one_step(made)
        made.at_least(made.now(0), thread=1)
        for _ in range(1 + at % 3):
            made.launch("preview", seconds=1 * US, thread=1, stream=13)
    steps = found(made)
    assert steps.thread == 0
    assert steps.count == 20
    # Work of the other thread belongs to the step at its time.
    assert set(steps.calls[1:-1]) == {4, 5, 6}


def test_steps_of_ranges_begin_where_the_ranges_begin() -> None:
    made = MadeTrace()
    for number in range(8):
        with made.range(f"step {number}"):
            one_step(made)
        with made.range("other"):
            made.host(10 * US)
    steps = found(made, "step")
    starts = made.process().ranges["start_ns"].to_numpy()[::2]
    # Nothing after the last step shows where it would end.
    assert steps.begins_ns.tolist() == starts.tolist()
    assert steps.how == "range 'step *', 7 times"


@pytest.mark.parametrize("nested", [False, True])
def test_ranges_that_follow_one_another_are_all_steps_but_those_within(nested: bool) -> None:
    made = MadeTrace()
    for _ in range(6):
        with made.range("step"):
            with made.range("step") if nested else nullcontext():
                one_step(made)
            one_step(made)
    assert found(made, "step").count == 6


def test_a_range_that_is_not_there_is_answered_with_those_that_are(
    tmp_path: Path, run: Run
) -> None:
    made = MadeTrace()
    for _ in range(6):
        with made.range("iteration"):
            one_step(made)
    path = made.write(tmp_path / "T")
    assert_refused(run("trace", "show", path, "--range", "step"), "'iteration' (6)")
    bare = repeated(one_step, 6).write(tmp_path / "bare")
    assert_refused(run("trace", "show", bare, "--range", "step"), "has no NVTX ranges")


def test_a_program_that_never_does_the_same_is_refused_in_one_line(
    tmp_path: Path, run: Run
) -> None:
    made = MadeTrace()
    random = np.random.default_rng(5)
    for at in range(200):
        for _ in range(int(random.integers(1, 9))):
            made.launch(f"k{random.integers(0, 500)}", seconds=20 * US)
        made.copy(2 ** (at % 23), "d2h")
    path = made.write(tmp_path / "T")
    words = ("no repeating step", "--range NAME", "--range kernel:NAME", "--range 'kernel:k")
    assert_refused(run("trace", "show", path), str(path), *words)


def only_once(made: MadeTrace) -> None:
    """Work that takes long and never repeats."""
    for number in range(300):
        made.launch(f"only once {number}", seconds=1e-3)
    made.wait_device()


def test_repeats_before_much_else_are_no_steps() -> None:
    made = repeated(one_step, 6)
    only_once(made)
    with pytest.raises(InputError, match="no repeating step"):
        found(made)


def test_what_comes_before_the_steps_is_warm_up(tmp_path: Path, run: Run) -> None:
    made = MadeTrace()
    only_once(made)
    for _ in range(8):
        one_step(made)
    assert found(made).count == 8
    _, _, message = run("trace", "show", made.write(tmp_path / "T"))
    assert "100 % of the GPUs' time in the trace is not in steps" in message


def test_a_trace_without_gpu_work_says_so() -> None:
    made = MadeTrace()
    for _ in range(10):
        made.call("cudaGetDeviceCount")
    with pytest.raises(InputError, match="no GPU did any work"):
        found(made)


def test_each_process_has_its_steps_and_idle_ones_none() -> None:
    idle = MadeTrace()
    idle.call("cudaGetDeviceCount")
    trace = idle.trace(repeated(one_step, 9), repeated(one_step, 7))
    steps = find_steps(trace)
    assert [process.process for process in steps.processes] == [1, 2]
    assert [process.count for process in steps.processes] == [9, 7]


def test_a_graph_is_one_call_and_all_its_work() -> None:
    def step(made: MadeTrace) -> None:
        made.graph([("a", 5 * US), ("b", 6 * US), ("c", 7 * US)])
        made.wait_stream()

    steps = found(repeated(step, 8))
    assert np.bincount(steps.work_step).tolist() == [3] * 8
    assert steps.calls.tolist() == [2] * 8


def test_streams_taken_in_turn_do_not_make_steps_longer() -> None:
    made = MadeTrace()
    for at in range(20):
        stream = 13 + at % 4
        made.copy(1000, "h2d", memory="pinned", blocking=False, stream=stream)
        made.launch("a", seconds=20 * US, stream=stream)
        made.wait_stream(stream)
    assert np.median(found(made).calls) == 3


def test_a_second_wait_now_and_then_makes_no_step_of_its_own() -> None:
    made = MadeTrace()
    for at in range(60):
        for kernel in "abcdef":
            made.launch(kernel, seconds=20 * US)
        made.copy(4, "d2h", blocking=False, waits=False)
        made.wait_stream()
        if at % 10 == 5:
            made.copy(4, "d2h", blocking=False, waits=False)
            made.wait_stream()
    steps = found(made)
    assert steps.count == 60
    # Calls after a wait belong to the next step.
    assert np.flatnonzero(steps.kind == 1).tolist() == [6, 16, 26, 36, 46, 56]


def test_bytes_that_follow_the_data_do_not_hide_the_steps() -> None:
    made = MadeTrace()
    random = np.random.default_rng(2)
    for _ in range(40):
        made.launch("pack", seconds=10 * US)
        made.copy(int(random.integers(900, 1100)), "d2h")
        made.copy(int(random.integers(900, 1100)), "h2d")
        made.launch("force", seconds=100 * US)
        made.wait_stream()
    steps = found(made)
    assert steps.count >= 39
    assert np.median(steps.calls) == 5


def test_iterations_of_a_solver_are_the_steps_whatever_their_number() -> None:
    made = MadeTrace()
    random = np.random.default_rng(2)
    iterations = 0
    for _ in range(20):
        made.launch("right-hand side", seconds=50 * US)
        for _ in range(int(random.integers(20, 31))):
            iterations += 1
            made.launch("spmv", seconds=20 * US)
            made.launch("dot", seconds=4 * US)
            made.copy(8, "d2h")
            made.launch("axpy", seconds=5 * US)
    assert iterations - 1 <= found(made).count <= iterations


operations = st.lists(
    st.tuples(
        st.sampled_from(["launch", "d2h", "h2d", "wait", "poll", "call", "set", "device 1"]),
        st.integers(0, 3),
        st.integers(0, 1),
    ),
    max_size=8,
)


def ask(made: MadeTrace, what: str, number: int, thread: int) -> None:
    """One operation of a random program."""
    if what == "launch":
        made.launch(f"k{number}", seconds=number * 7 * US, thread=thread)
    elif what in ("d2h", "h2d"):
        made.copy(4**number, what, blocking=number > 1, thread=thread)
    elif what == "wait":
        made.wait_stream(thread=thread)
    elif what == "poll":
        made.call("cudaEventQuery", thread=thread)
    elif what == "set":
        made.set(64, thread=thread)
    elif what == "device 1":
        made.launch("other", seconds=5 * US, device=1, thread=thread)
    else:
        made.call(f"call{number}", thread=thread)


@settings(max_examples=150, deadline=None)
@given(operations, operations, st.integers(0, 12), operations, st.sampled_from([0, 3, 7]))
def test_whatever_a_program_does_it_is_summed_up_or_refused(
    before: list[tuple[str, int, int]],
    step: list[tuple[str, int, int]],
    times: int,
    after: list[tuple[str, int, int]],
    unrecorded: int,
) -> None:
    made = MadeTrace()
    for operation in [*before, *step * times, *after]:
        ask(made, *operation)
    process = made.process()
    if unrecorded:  # rows that the recorder lost
        keep = process.calls["correlation"] % unrecorded != 0
        process = replace(process, calls=process.calls[keep].reset_index(drop=True))
    trace = replace(made.trace(), processes=(process,))
    try:
        steps = find_steps(trace).main
    except InputError:
        return
    summary = summarize(process, steps)
    assert summary.steps.found == steps.count >= 5
    assert (np.diff(steps.begins_ns) >= 0).all()
    whole = summary.host.waiting + summary.host.calls + summary.host.outside
    assert whole == pytest.approx(summary.steps.mean, abs=1e-12)
    assert perfetto.content(trace, find_steps(trace))


# -- work outside of steps, and steps that users name ---------------------------------------------


def test_steps_that_are_timed_now_and_then_are_steps_like_others() -> None:
    """The mini-app times ten of its steps and then makes 63: these are 73, not one."""

    def step(made: MadeTrace, *, timed: bool) -> None:
        for number, asked in enumerate(("h2d", "kernel", "d2h")):
            if timed:
                made.call("cudaEventRecord")
            if asked == "kernel":
                made.launch(asked, seconds=5 * US)
            else:
                made.copy(16000 - 4000 * number, asked)
        if timed:
            made.wait_stream()
            made.call("cudaEventElapsedTime")

    made = MadeTrace()
    for _ in range(6):
        for at in range(73):
            step(made, timed=at < 10)
    steps = found(made)
    assert steps.count in (6 * 73 - 1, 6 * 73)
    assert np.median(steps.calls) == 3


def test_a_part_that_launches_nothing_is_no_step_of_a_program_that_does() -> None:
    """Copies to two GPUs and back, each waited for: three of four parts are only a copy."""

    def step(made: MadeTrace) -> None:
        for device in (0, 1):
            made.copy(4096, "h2d", device=device)
        for device in (0, 1):
            made.launch("kernel", seconds=5 * US, device=device)
        for device in (0, 1):
            made.copy(4096, "d2h", device=device)

    trace = repeated(step, 60).trace()
    (process,) = trace.processes
    # Only the names of most calls are known.
    begin, middle, end = (process.calls["start_ns"].iloc[at] for at in (0, 180, -1))
    table = frame("phases", {"start_ns": [begin, middle], "end_ns": [middle, end], "full": [1, 0]})
    steps = find_steps(replace(trace, processes=(recorded(process, table),))).main
    assert np.median(steps.calls) == 6


def test_names_of_ranges_that_differ_by_a_number_are_one() -> None:
    made = MadeTrace()
    for at in range(12):
        with made.range(f"step {at}"):
            one_step(made)
    for name in ("step 7", "step", "step *", "step 99"):
        steps = found(made, name)
        assert steps.count == 12
        assert steps.how == "range 'step *', 12 times"
    with pytest.raises(InputError, match=r"no two ranges of that name; there are 'step \*' \(12\)"):
        found(made, "stop")


def test_ranges_of_the_very_name_are_not_those_of_another_number() -> None:
    made = MadeTrace()
    for _ in range(8):
        for layer in (1, 2):
            with made.range(f"layer {layer}"):
                one_step(made)
    assert found(made, "layer 2").count == 7
    assert found(made, "layer").count == 16


def test_a_step_may_be_from_one_launch_of_a_kernel_to_the_next() -> None:
    """Eight iterations and a restart; the iterations repeat."""

    def solve(made: MadeTrace) -> None:
        made.launch("restart", seconds=5 * US)
        for _ in range(8):
            made.launch("apply", seconds=20 * US)
            made.copy(8, "d2h")

    made = repeated(solve, 10)
    assert found(made).count > 70
    steps = found(made, "kernel:restart")
    assert steps.count == 9
    assert np.unique(steps.calls).tolist() == [17]
    assert steps.how == "from one launch of restart to the next, 9 times"
    with pytest.raises(InputError, match=r"launched twice; there are 'apply' \(80\)"):
        found(made, "kernel:none")


def test_steps_that_a_kernel_begins_count_whatever_they_do() -> None:
    """Solves with different numbers of iterations, so that each is of its own kind."""
    made = MadeTrace()
    for iterations in (7, 16, 3, 11, 5, 14, 9, 4, 12, 6):
        made.launch("restart", seconds=5 * US)
        for _ in range(iterations):
            made.launch("apply", seconds=20 * US)
            made.copy(8, "d2h")
    steps = found(made, "kernel:restart")
    assert steps.kept[steps.kind == NO_KIND].any()
    assert steps.kept[3:].all()  # what comes before may be warm-up


def test_a_kernel_begins_steps_in_light_phases_too() -> None:
    def solve(made: MadeTrace, cost: float) -> None:
        made.set(8, cost=cost)
        made.launch("restart", seconds=5 * US, cost=cost)
        for _ in range(4):
            made.launch("apply", seconds=20 * US, cost=cost)
            made.copy(8, "d2h", cost=cost)

    trace = phased(solve, [Made(phases.FULL, 20, 6 * US), Made(phases.LIGHT, 20)])
    steps = find_steps(trace, "kernel:restart").main
    for phase in (phases.FULL, phases.LIGHT):
        own = steps.kept & (steps.phase == phase)
        assert own.sum() >= 15
        assert set(steps.calls[own]) == {10}


def test_calls_of_other_threads_are_told_apart() -> None:
    def step(made: MadeTrace) -> None:
        one_step(made)
        for _ in range(2):
            made.at_least(made.now(), thread=1)
            made.call("cudaGetDevice", thread=1)
        made.host(20 * US)

    steps = found(repeated(step, 10))
    how = "3 calls of one thread (2 of others beside them) that repeat, ends where cudaMemcpy waits"
    assert steps.how == how


def test_rows_of_no_step_or_behind_the_last_are_among_none() -> None:
    step = np.array([-1, 0, 1, 2, 3])
    assert among(step, np.array([True, False, True])).tolist() == [False, True, False, True, False]
