"""The distribution of a step's time, compared with results by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucast.data.traces import find_steps
from gpucast.data.traces.parts import Union, skew_of
from gpucast.data.traces.summary import Summary, summarize
from gpucast.data.traces.work_names import demangled, short
from made_traces import COST, LATENCY, WAKE, MadeTrace

US = 1e-6
ROUNDED = 2e-9
"""Times are whole nanoseconds."""


def summary(made: MadeTrace, range_name: str | None = None) -> Summary:
    """The summary of the only process."""
    trace = made.trace()
    return summarize(trace.processes[0], find_steps(trace, range_name).main)


def scalar_read_back(times: int = 20) -> MadeTrace:
    """A kernel and a scalar, then 15 us of the host."""
    made = MadeTrace(bandwidth=8e6)  # 1 us for 8 bytes
    for _ in range(times):
        made.launch("void solver::dot<float>(float*)", seconds=40 * US)
        made.copy(8, "d2h")
        made.host(15 * US)
    return made


def test_host_and_gpu_add_up_to_the_step() -> None:
    result = summary(scalar_read_back())
    step = 15 * US + LATENCY + 40 * US + 1 * US + WAKE
    assert result.steps.seconds == pytest.approx(step, abs=ROUNDED)
    assert result.host.outside == pytest.approx(15 * US, abs=ROUNDED)
    assert result.host.calls == pytest.approx(COST, abs=ROUNDED)
    assert result.host.waiting == pytest.approx(step - 15 * US - COST, abs=ROUNDED)
    (gpu,) = result.gpus
    assert gpu.kernels == pytest.approx(40 * US, abs=ROUNDED)
    assert gpu.copies == pytest.approx(1 * US, abs=ROUNDED)
    assert gpu.both == 0
    assert gpu.kernels + gpu.copies + gpu.both + gpu.idle == pytest.approx(result.steps.mean)
    assert gpu.busy == pytest.approx(41 * US / step, rel=1e-3)


def test_work_is_named_and_counted() -> None:
    kernel, copy = summary(scalar_read_back()).work
    assert (kernel.kind, kernel.name, kernel.count) == ("kernel", "solver::dot", 1.0)
    assert (copy.kind, copy.name) == ("copy", "device to host, pageable")
    assert (copy.count, copy.bytes) == (1.0, 8.0)


def test_a_wait_says_for_what_and_behind_which_kernel() -> None:
    (wait,) = summary(scalar_read_back()).waits
    assert (wait.call, wait.what) == ("cudaMemcpy", "device to host, pageable")
    assert (wait.after, wait.count, wait.bytes) == ("solver::dot", 1.0, 8.0)
    assert wait.seconds == pytest.approx(LATENCY + 41 * US + WAKE - COST, abs=ROUNDED)


def test_copies_beside_kernels_count_as_both() -> None:
    made = MadeTrace(bandwidth=1e9)
    for _ in range(10):
        made.launch("a", seconds=100 * US, stream=13)
        made.copy(30_000, "h2d", memory="pinned", blocking=False, stream=14)
        made.wait_stream(13)
    (gpu,) = summary(made).gpus
    assert gpu.both == pytest.approx(30 * US, abs=ROUNDED)
    assert gpu.kernels == pytest.approx(70 * US, abs=ROUNDED)
    assert gpu.copies == pytest.approx(0, abs=ROUNDED)


def test_each_gpu_is_counted_for_itself() -> None:
    made = MadeTrace()
    for _ in range(10):
        made.launch("a", seconds=100 * US, device=0)
        made.launch("a", seconds=60 * US, device=1)
        made.wait_device(0)
    first, second = summary(made).gpus
    assert first.kernels == pytest.approx(100 * US, abs=ROUNDED)
    assert second.kernels == pytest.approx(60 * US, abs=ROUNDED)


def test_asynchronous_copies_of_pinned_memory_do_not_wait() -> None:
    made = MadeTrace()
    for _ in range(10):
        made.copy(64, "h2d", memory="pinned", blocking=False)
        made.copy(64, "d2d")
        made.launch("a", seconds=10 * US)
        made.wait_stream()
    assert [wait.call for wait in summary(made).waits] == ["cudaStreamSynchronize"]


def test_asynchronous_copies_of_pageable_memory_wait_where_they_return_late() -> None:
    made = MadeTrace()
    for _ in range(10):
        made.launch("a", seconds=50 * US)
        made.copy(64, "d2h", memory="pageable", blocking=False, waits=True)
        made.copy(10**6, "h2d", memory="pageable", blocking=False, waits=False)
        made.wait_stream()
    whats = {wait.what for wait in summary(made).waits}
    assert whats == {"device to host, pageable, async", "stream"}


def test_steps_that_do_more_are_told_with_their_distance() -> None:
    made = MadeTrace()
    for at in range(50):
        made.launch("a", seconds=20 * US)
        made.launch("b", seconds=20 * US)
        if at % 10 == 5:
            made.launch("energy", seconds=50 * US)
        made.copy(8, "d2h")
    (other,) = summary(made).steps.others
    assert (other.steps, other.every, other.calls) == (5, 10, 4)
    assert other.seconds == pytest.approx(summary(made).steps.seconds + 50 * US, abs=ROUNDED)


def test_the_clocks_of_a_made_trace_agree() -> None:
    skew = skew_of(scalar_read_back().process())
    assert skew.low == pytest.approx(-LATENCY, abs=ROUNDED)
    assert skew.high == pytest.approx(WAKE, abs=ROUNDED)
    assert skew.least == 0


@pytest.mark.parametrize("offset_us", [-9, 9])
def test_a_clock_that_is_off_is_bounded_from_both_sides(offset_us: int) -> None:
    process = scalar_read_back().process()
    for column in ("start_ns", "end_ns"):
        process.work[column] += offset_us * 1000
    skew = skew_of(process)
    assert skew.low is not None
    assert skew.high is not None
    assert skew.low <= -offset_us * US <= skew.high
    assert skew.least != 0


def test_waits_for_streams_bound_the_clock_as_well() -> None:
    made = MadeTrace()
    for _ in range(5):
        made.launch("a", seconds=10 * US, stream=13)
        made.wait_stream(13)
    assert skew_of(made.process()).high == pytest.approx(WAKE, abs=ROUNDED)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("_Z5saxpyifPKfPf", "saxpy"),
        ("saxpy", "saxpy"),
        ("void at::native::fill<int, (char)3>(int*)", "at::native::fill"),
        ("void (anonymous namespace)::foo<bar(int)>(x)", "foo"),
        ("bool operator>(int, int)", "bool operator>(int, int)"),
        ("_Zwrong", "_Zwrong"),
        ("k" * 60, "k" * 45 + "..."),
    ],
)
def test_kernels_are_named_as_people_call_them(name: str, said: str) -> None:
    assert short(name) == said


def test_a_mangled_name_is_written_out() -> None:
    assert demangled("_Z5saxpyifPKfPf") == "saxpy(int, float, float const*, float*)"


Intervals = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=12)


def union(pairs: list[tuple[int, int]]) -> Union:
    """The union of intervals given by start and length."""
    return Union.of([start for start, _ in pairs], [start + length for start, length in pairs])


def ticks(pairs: list[tuple[int, int]]) -> set[int]:
    """Every tick within."""
    return {tick for start, length in pairs for tick in range(start, start + length)}


@given(Intervals, Intervals)
def test_a_union_covers_the_ticks_of_its_intervals(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    both = union(one) | union(other)
    assert int((both.ends - both.starts).sum()) == len(ticks(one + other))
    assert np.all(both.starts[1:] > both.ends[:-1])


@given(Intervals, st.lists(st.integers(-5, 50), min_size=2, max_size=8))
def test_what_is_covered_within_bounds_is_counted_tick_by_tick(
    pairs: list[tuple[int, int]], bounds: list[int]
) -> None:
    edges = np.sort(np.array(bounds, np.int64))
    covered = union(pairs).within(edges[:-1], edges[1:])
    there = ticks(pairs)
    expected = [len(there & set(range(start, end))) for start, end in pairwise(edges.tolist())]
    assert covered.tolist() == expected
