"""What holds of every program on every path, whatever it asks for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpucast.paths.replay.program import (
    CallProgram,
    Direction,
    Engine,
    Memory,
    Messages,
    Operation,
)

TOLERANCE = 1e-12
ASYNCHRONOUS, SYNCHRONOUS = 1, 2


@dataclass(frozen=True)
class Call:
    operation: Operation
    stream: int = 0
    seconds: float = 0.0
    direction: Direction = Direction.none
    blocking: bool = False
    gap: float = 0.0
    cost: float = 2e-6
    share: float = 1.0


def program(calls: list[Call], streams: int = 3) -> CallProgram:
    """One thread, one device, non-blocking streams."""
    size = len(calls)
    works = [each.seconds > 0 for each in calls]
    engines = {Direction.h2d: Engine.h2d, Direction.d2h: Engine.d2h}

    def whole(values: list[int]) -> np.ndarray:
        return np.array(values, np.int64)

    return CallProgram(
        threads=1,
        devices=1,
        streams=np.array([[0] * streams, [2] * streams]),
        thread=np.zeros(size, np.int64),
        operation=whole([each.operation for each in calls]),
        direction=whole([each.direction for each in calls]),
        memory=whole([Memory.pinned if each.direction else Memory.none for each in calls]),
        blocking=whole([each.blocking for each in calls]),
        device=np.zeros(size, np.int64),
        stream=whole([each.stream for each in calls]),
        bytes=whole([4096 if each.direction else 0 for each in calls]),
        recording=np.full(size, -1),
        engine=whole(
            [
                int(engines.get(each.direction, Engine.compute)) if work else -1
                for each, work in zip(calls, works, strict=True)
            ]
        ),
        gap=np.array([each.gap for each in calls]),
        cost=np.array([each.cost for each in calls]),
        tail=np.full(size, 1e-6),
        latency=np.full(size, 3e-6),
        delay=np.zeros(size),
        seconds=np.array([each.seconds for each in calls]),
        share=np.array([each.share for each in calls]),
        switches=np.zeros(size, bool),
        step=np.zeros(size, np.int64),
        name=np.zeros(size, np.int64),
        names=("call",),
        bound_call=np.array([0, size]),
        bound_offset=np.zeros(2),
        recorded=np.zeros(1),
    )


def messages(of: CallProgram, transport: int = ASYNCHRONOUS, **seconds: float) -> Messages:
    usual = {
        "cost": 3e-6, "up": 0.2e-6, "flight": 2e-6, "serve": 2e-6, "answer": 1e-6, "down": 0.2e-6,
        "after": 0.5e-6, "lead": 0.0, "polls": 0.0,
    }  # fmt: skip
    rows = [np.full(len(of), value) for value in (usual | seconds).values()]
    return Messages(transport, np.array(rows))


def end(of: CallProgram, path: Messages | None = None) -> float:
    """When everything is done: the last call has returned, and the last work ended."""
    times = of.simulate(path)
    return float(max(times.end.max(), np.nanmax(times.work_done, initial=0.0)))


def makes(streams: int) -> st.SearchStrategy[list[Call]]:
    times = st.floats(1e-6, 80e-6)
    stream = st.integers(0, streams - 1)
    call = st.one_of(
        st.builds(
            Call, st.just(Operation.launch), stream, times, gap=st.floats(0, 20e-6),
            share=st.floats(0.05, 1),
        ),
        st.builds(
            Call, st.just(Operation.copy), stream, times, blocking=st.booleans(),
            direction=st.sampled_from([Direction.h2d, Direction.d2h]),
        ),
        st.builds(Call, st.just(Operation.sync_stream), stream),
        st.builds(Call, st.just(Operation.sync_device)),
        st.builds(Call, st.just(Operation.alloc)),
    )  # fmt: skip
    return st.lists(call, min_size=1, max_size=25)


several = settings(deadline=None, max_examples=150)


@several
@given(makes(3))
def test_sums_and_maxima_bound_the_end(calls: list[Call]) -> None:
    of = program(calls)
    host = of.gap.sum() + of.cost.sum()
    latest = of.gap + of.cost + of.tail + of.latency + of.seconds
    assert end(of) <= latest.sum() + TOLERANCE
    for engine in Engine:
        own = of.engine == engine
        work = of.seconds[own] * (of.share[own] if engine == Engine.compute else 1)
        assert end(of) >= work.sum() - TOLERANCE
    for stream in range(3):
        assert end(of) >= of.seconds[of.stream == stream].sum() - TOLERANCE
    # A call that waits does so beside its own cost.
    waits = np.isin(of.operation, (Operation.sync_stream, Operation.sync_device))
    own = (of.operation == Operation.copy) & (of.blocking != 0)
    assert end(of) >= host - of.cost[waits | own].sum() - TOLERANCE


@several
@given(makes(1), st.floats(0, 50e-6))
def test_more_latency_never_helps_a_program_of_one_stream(calls: list[Call], more: float) -> None:
    """With several streams it may: whoever comes first on a shared engine changes (Graham)."""
    of = program(calls, streams=1)
    for transport in (ASYNCHRONOUS, SYNCHRONOUS):
        near, far = (messages(of, transport, flight=each) for each in (2e-6, 2e-6 + more))
        assert end(of, far) >= end(of, near) - TOLERANCE


@several
@given(makes(1), st.sampled_from(["cost", "up", "serve", "answer", "down", "after"]))
def test_nothing_that_costs_more_helps_a_program_of_one_stream(
    calls: list[Call], what: str
) -> None:
    of = program(calls, streams=1)
    for transport in (ASYNCHRONOUS, SYNCHRONOUS):
        more = messages(of, transport, **{what: 10e-6})
        assert end(of, more) >= end(of, messages(of, transport)) - TOLERANCE


@several
@given(makes(1))
def test_waiting_for_every_call_is_never_faster(calls: list[Call]) -> None:
    of = program(calls, streams=1)
    asynchronous, synchronous = (messages(of, each) for each in (ASYNCHRONOUS, SYNCHRONOUS))
    assert end(of, synchronous) >= end(of, asynchronous) - TOLERANCE


@several
@given(makes(1))
def test_each_answer_costs_a_round_trip(calls: list[Call]) -> None:
    """With nothing else in the way: no gaps, no work, all calls answered."""
    of = program([Call(Operation.launch) for _ in calls])
    of = CallProgram(**{**vars(of), "gap": np.zeros(len(of))})
    path = messages(of, SYNCHRONOUS)
    assert end(of, path) == pytest.approx(len(of) * path.times[:, 0].sum() + len(of) * 2e-6)


@several
@given(makes(1))
def test_a_path_that_costs_nothing_is_not_slower_than_the_driver(calls: list[Call]) -> None:
    of = program(calls, streams=1)
    free = Messages(ASYNCHRONOUS, np.zeros((9, len(of))))
    assert end(of, free) <= end(of) + TOLERANCE


@several
@given(st.lists(st.floats(1e-6, 50e-6), min_size=2, max_size=10))
def test_streams_that_share_nothing_overlap(seconds: list[float]) -> None:
    """Kernels of small shares: each begins when it is asked for."""
    calls = [
        Call(Operation.launch, stream, each, share=0.01) for stream, each in enumerate(seconds)
    ]
    times = program(calls, streams=len(calls)).simulate()
    assert times.work == pytest.approx(2e-6 * np.arange(len(calls)) + 3e-6)
    assert times.work_done - times.work == pytest.approx(seconds)


@several
@given(st.lists(st.tuples(st.floats(0, 50e-6), st.floats(1e-6, 50e-6)), min_size=1, max_size=12))
def test_a_shared_device_is_never_idle_while_there_is_work(
    kernels: list[tuple[float, float]],
) -> None:
    """Kernels that ask for all of it, one a stream: together as long as one after another.

    Lindley's recursion, with no queue in which works could stand.
    """
    calls = [
        Call(Operation.launch, stream, seconds, gap=gap)
        for stream, (gap, seconds) in enumerate(kernels)
    ]
    of = program(calls, streams=len(calls))
    times = of.simulate()
    busy_until = 0.0
    for asked, seconds in zip(times.begin + 3e-6, of.seconds, strict=True):
        busy_until = max(busy_until, asked) + seconds
    assert np.nanmax(times.work_done) == pytest.approx(busy_until)


def test_a_million_calls_are_simulated_by_a_few_events_each() -> None:
    """All of a long program, in the order of its calls."""
    step = [Call(Operation.launch, 0, 1e-6) for _ in range(19)] + [Call(Operation.sync_stream)]
    of = program(step * 50_000)
    times = of.simulate()
    assert (np.diff(times.begin) > 0).all()
    steps = times.end[19::20]
    assert np.diff(steps) == pytest.approx(np.diff(steps)[0])
