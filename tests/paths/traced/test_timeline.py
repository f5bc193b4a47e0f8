"""When calls return: schedules by hand, and what holds of every program on every path."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpucast.paths.traced.program import SWITCH, CallProgram, Direction, Engine, Memory, Operation
from gpucast.paths.traced.timeline import (
    Takes,
    Times,
    Waits,
    _behind_other,
    natively,
    step_seconds,
    times_of,
)

US = 1e-6
TOLERANCE = 1e-12
ASK, WAY, SERVE = 3 * US, 4 * US, 2 * US
LAUNCH, COPY, WAIT = Operation.launch, Operation.copy, Operation.sync_stream


@dataclass(frozen=True)
class Call:
    operation: Operation
    stream: int = 0
    seconds: float = 0.0
    direction: Direction = Direction.none
    blocking: bool = False
    gap: float = 0.0
    cost: float = 2 * US
    recording: int = -1
    device: int = 0
    thread: int = 0


def program(calls: list[Call], kinds: tuple[int, ...] = (2, 2, 2)) -> CallProgram:
    """Streams of these kinds on device 0, and one of device 1."""
    size = len(calls)
    engines = {Direction.h2d: Engine.h2d, Direction.d2h: Engine.d2h}

    def engine(call: Call) -> int:
        own = int(engines.get(call.direction, Engine.compute))
        return len(Engine) * call.device + own if call.seconds > 0 else -1

    whole: dict[str, list[int]] = {
        name: [int(getattr(call, name)) for call in calls]
        for name in [
            "operation",
            "direction",
            "blocking",
            "stream",
            "recording",
            "device",
            "thread",
        ]
    }
    whole["memory"] = [Memory.pinned if call.direction else Memory.none for call in calls]
    whole["bytes"] = [4096 if call.direction else 0 for call in calls]
    whole["engine"] = [engine(call) for call in calls]
    times = {name: [getattr(call, name) for call in calls] for name in ("gap", "cost", "seconds")}
    return CallProgram(
        threads=1 + max(call.thread for call in calls),
        devices=2,
        streams=np.array([[0] * len(kinds) + [1], [*kinds, 2]]),
        **{name: np.array(column, np.int64) for name, column in whole.items()},
        **{name: np.array(column, float) for name, column in times.items()},
        tail=np.full(size, US),
        latency=np.full(size, 3 * US),
        delay=np.zeros(size),
        step=np.zeros(size, np.int64),
        name=np.zeros(size, np.int64),
        work=np.zeros(size, np.int64),
        names=("call",),
        bound_call=np.array([0, size]),
        bound_offset=np.zeros(2),
        recorded=np.zeros(1),
    )


def messages(made: CallProgram, *, answered: bool = False, **seconds: Any) -> Takes:
    """Each message takes its host ``ASK``, ``WAY`` to its server and back, and that ``SERVE``."""
    waits = np.full(len(made), int(Waits.served if answered else Waits.nothing))
    waits[made.operation == Operation.alloc] = Waits.served
    own = (made.operation == COPY) & (made.direction == Direction.d2h) & (made.blocking != 0)
    waits[own | np.isin(made.operation, (WAIT, Operation.sync_device, Operation.sync_event))] = (
        Waits.done
    )
    usual: dict[str, Any] = {
        "ask": ASK, "there": WAY, "serve": SERVE, "up": 0.0, "down": 0.0, "back": WAY, "tail": US,
        "gap": made.gap[:, None], "latency": 3 * US, "delay": 0.0, "seconds": made.seconds[:, None],
    }  # fmt: skip
    given = {name: seconds.pop(name) for name in ("rests", "more") if name in seconds}
    columns = {
        name: np.broadcast_to(value, (len(made), np.shape(value)[-1] if np.ndim(value) else 1))
        for name, value in (usual | seconds).items()
    }
    return Takes(waits=waits, held=made.blocking != 0, **columns, **given)


def end(made: CallProgram, takes: Takes) -> np.ndarray:
    """When everything is done: the last call has returned, and the last work ended."""
    times = times_of(made, takes)
    return np.nanmax(np.vstack([times.end, times.work_done]), axis=0)


def natural(calls: list[Call], **how: Any) -> Times:
    made = program(calls, **how)
    return times_of(made, natively(made))


# ---- by hand ---------------------------------------------------------------------------------


def test_natively_work_begins_after_its_latency_and_a_wait_returns_after_it() -> None:
    times = natural([Call(LAUNCH, seconds=10 * US), Call(WAIT, gap=US)])
    assert times.work[0] == pytest.approx(3 * US)
    assert times.end[:, 0] == pytest.approx([2 * US, (3 + 10 + 1) * US])


def test_a_wait_that_finds_nothing_takes_its_own_time() -> None:
    assert natural([Call(WAIT)]).end[0] == pytest.approx(2 * US)


def test_a_blocking_copy_from_pageable_memory_waits_for_its_stream_first() -> None:
    made = program([Call(LAUNCH, seconds=50 * US), Call(COPY, 0, US, Direction.h2d, blocking=True)])
    pageable = CallProgram(**{**vars(made), "memory": np.full(2, int(Memory.pageable))})
    assert times_of(pageable, natively(pageable)).end[1] == pytest.approx((3 + 50 + 2) * US)
    # From pinned memory it returns when it is done.
    assert times_of(made, natively(made)).end[1] == pytest.approx((3 + 50 + 1 + 1) * US)


def test_a_stream_waits_for_an_event_of_another() -> None:
    times = natural([
        Call(LAUNCH, 0, 50 * US), Call(Operation.record, 0),
        Call(Operation.wait_stream_event, 1, recording=1), Call(LAUNCH, 1, 5 * US),
        Call(Operation.sync_event, recording=1),
    ])  # fmt: skip
    assert times.work[3] == pytest.approx(53 * US)
    assert times.end[4] == pytest.approx(54 * US)


def test_the_legacy_stream_waits_for_blocking_ones_alone() -> None:
    calls = [Call(LAUNCH, 0, 50 * US), Call(LAUNCH, 1, 30 * US), Call(LAUNCH, 2, US)]
    times = natural(calls, kinds=(2, 1, 3))
    assert times.work[2] == pytest.approx((2 + 3 + 30) * US)


def test_copies_of_two_streams_take_turns_and_kernels_do_not() -> None:
    copies = [Call(COPY, stream, 20 * US, Direction.h2d) for stream in (0, 1)]
    assert natural(copies).work[:, 0] == pytest.approx([3 * US, 23 * US])
    kernels = [Call(LAUNCH, stream, 20 * US) for stream in (0, 1)]
    assert natural(kernels).work[:, 0] == pytest.approx([3 * US, 5 * US])


def test_a_launch_and_its_wait_by_messages() -> None:
    """The wait is under way while the kernel runs; its answer is not."""
    made = program([Call(LAUNCH, seconds=50 * US), Call(WAIT)])
    times = times_of(made, messages(made))
    assert times.end[0] == pytest.approx(ASK)
    assert times.work[0] == pytest.approx(ASK + WAY + SERVE + 3 * US)
    assert times.end[1] == pytest.approx(ASK + WAY + SERVE + (3 + 50 + 1) * US + WAY)


def test_an_answered_call_takes_a_turn() -> None:
    made = program([Call(LAUNCH, seconds=US)] * 5)
    assert times_of(made, messages(made, answered=True)).end[:, 0] == pytest.approx(
        np.arange(1, 6) * (ASK + 2 * WAY + SERVE)
    )


def test_a_slow_server_holds_up_the_wait_behind_a_row() -> None:
    made = program([Call(LAUNCH, seconds=0.1 * US)] * 20 + [Call(WAIT)])
    slow = times_of(made, messages(made, serve=10 * US)).end[-1, 0]
    assert slow == pytest.approx(ASK + WAY + 21 * 10 * US + WAY)


def test_bytes_go_before_their_message_and_come_before_their_answer() -> None:
    made = program([
        Call(COPY, 0, US, Direction.h2d), Call(COPY, 0, US, Direction.d2h, blocking=True),
    ])  # fmt: skip
    bytes_up, bytes_down = np.array([[30 * US], [0.0]]), np.array([[0.0], [20 * US]])
    times = times_of(made, messages(made, up=bytes_up, down=bytes_down))
    assert times.end[0] == pytest.approx(ASK)  # from pinned memory: the host goes on
    assert times.work[0] == pytest.approx(ASK + 30 * US + WAY + SERVE + 3 * US)
    # Each copy takes 1 us, and the second is ready SERVE behind the first.
    done = times.work_done[1, 0]
    assert times.end[1] == pytest.approx(done + (20 + 1) * US + WAY)


def test_a_copy_takes_longer_the_longer_others_have_rested() -> None:
    """Up to 80 us after a rest of 1 ms, and half of that after half of it."""
    made = program([Call(COPY, 0, US, Direction.h2d, gap=gap) for gap in (2e-3, 500 * US, 0.0)])
    rests, more = (np.tile([0.0, end], (3, 1)) for end in (1e-3, 80 * US))
    takes = messages(made, up=np.full((3, 1), 10 * US), rests=rests, more=more)
    plain = messages(made, up=np.full((3, 1), 10 * US))
    times = times_of(made, takes)
    longer = (times.work - times_of(made, plain).work)[:, 0]
    assert longer[0] == pytest.approx(80 * US)
    # From when the first copy's bytes are there until the second is asked for.
    rest = times.begin[1, 0] + ASK - (times.work[0, 0] - WAY - SERVE - 3 * US)
    assert longer[1] == pytest.approx(80 * US * rest / 1e-3)


def test_bytes_of_both_directions_are_carried_by_one() -> None:
    """What comes while others go: the wait is over when both are through."""
    calls = [Call(COPY, 1, US, Direction.d2h)] + [Call(COPY, 0, US, Direction.h2d)] * 3 + [
        Call(WAIT, 1)
    ]  # fmt: skip
    made = program(calls)
    up = np.array([[0.0], [100 * US], [100 * US], [100 * US], [0.0]])
    down = np.array([[50 * US], [0.0], [0.0], [0.0], [0.0]])
    over = times_of(made, messages(made, up=up, down=down)).end[-1, 0]
    assert over == pytest.approx(ASK + 350 * US + 5 * SERVE + WAY, abs=2 * US)


def test_a_free_waits_for_its_device_at_the_server() -> None:
    calls = [
        Call(LAUNCH, seconds=50 * US),
        Call(Operation.free, blocking=True),
        Call(LAUNCH, 1, US),
    ]
    made = program(calls)
    assert times_of(made, messages(made)).work[2] > 50 * US


def test_two_devices_are_served_beside_one_another() -> None:
    one = program([Call(LAUNCH, 0, US)] * 10)
    two = program([Call(LAUNCH, 0, US), Call(LAUNCH, 3, US, device=1)] * 5)
    slow = 20 * US
    assert end(two, messages(two, serve=slow)) < 0.65 * end(one, messages(one, serve=slow))


def test_work_behind_another_engine_is_seen_by_ticks() -> None:
    """Ready long before: half a tick later in the mean; ready long after: at once."""
    tick = 8 * US
    ready, before = np.array([0.0, 0.0, 0.0]), np.array([1000.0, 1003.0, -100.0]) * US
    ends = _behind_other(ready, before, tick)
    assert ends[:2] - before[:2] == pytest.approx(tick / 2 + SWITCH)
    assert ends[2] == 0
    # By sampling f(D) = tick ceil(D / tick) - D over a tick.
    for behind in (-3.0, 0.5, 3.0, 6.0):
        at = (behind + np.linspace(-4, 4, 80_001)) * US
        mean = np.where(at > 0, tick * np.ceil(at / tick) - at, 0).mean()
        waited = _behind_other(np.zeros(1), np.array([behind * US]), tick)[0]
        switched = SWITCH * (behind + 4) / 8 if behind < 4 else SWITCH
        assert waited - max(behind * US, 0) - switched == pytest.approx(mean, abs=0.01 * US)


def test_variants_are_what_each_is_alone() -> None:
    made = program(
        [Call(LAUNCH, seconds=5 * US), Call(COPY, 0, US, Direction.d2h, blocking=True)] * 4
    )
    ways = np.array([1.0, 4.0, 9.0]) * US
    together = end(made, messages(made, there=ways, back=ways))
    alone = [end(made, messages(made, there=way, back=way))[0] for way in ways]
    assert together == pytest.approx(alone)


def test_steps_last_from_bound_to_bound() -> None:
    made = program([Call(LAUNCH, seconds=US, gap=10 * US)] * 4)
    bounds = CallProgram(**{**vars(made), "bound_call": np.array([1, 2, 3]),
                            "bound_offset": np.array([0.0, US, 0.0])})  # fmt: skip
    steps = step_seconds(bounds, times_of(bounds, natively(bounds)))[:, 0]
    assert steps == pytest.approx([11 * US, 13 * US])


# ---- of every program ------------------------------------------------------------------------


def makes(streams: int) -> st.SearchStrategy[list[Call]]:
    times = st.floats(US, 80 * US)
    stream = st.integers(0, streams - 1)
    call = st.one_of(
        st.builds(Call, st.just(LAUNCH), stream, times, gap=st.floats(0, 20 * US)),
        st.builds(
            Call, st.just(COPY), stream, times, blocking=st.booleans(),
            direction=st.sampled_from([Direction.h2d, Direction.d2h]),
        ),
        st.builds(Call, st.just(WAIT), stream),
        st.builds(Call, st.just(Operation.sync_device)),
        st.builds(Call, st.just(Operation.alloc)),
    )  # fmt: skip
    return st.lists(call, min_size=1, max_size=25)


several = settings(deadline=None, max_examples=150)


@several
@given(makes(3))
def test_sums_and_maxima_bound_the_end(calls: list[Call]) -> None:
    made = program(calls)
    done = end(made, natively(made))[0]
    latest = made.gap + made.cost + made.tail + made.latency + made.seconds
    assert done <= latest.sum() + TOLERANCE
    for engine in (Engine.h2d, Engine.d2h):
        assert done >= made.seconds[made.engine == engine].sum() - TOLERANCE
    for stream in range(3):
        assert done >= made.seconds[made.stream == stream].sum() - TOLERANCE
    waits = np.isin(made.operation, (WAIT, Operation.sync_device))
    own = (made.operation == COPY) & (made.blocking != 0)
    assert done >= made.gap.sum() + made.cost[~(waits | own)].sum() - TOLERANCE


@several
@given(
    makes(3), st.booleans(),
    st.sampled_from(["ask", "there", "serve", "up", "down", "back", "tail", "latency"]),
)  # fmt: skip
def test_nothing_that_takes_longer_helps(calls: list[Call], answered: bool, what: str) -> None:
    made = program(calls)
    more = messages(made, answered=answered, **{what: 10 * US})
    less = messages(made, answered=answered, **{what: 1 * US})
    assert end(made, more)[0] >= end(made, less)[0] - TOLERANCE


@several
@given(makes(3))
def test_waiting_for_every_call_is_never_faster(calls: list[Call]) -> None:
    made = program(calls)
    assert end(made, messages(made, answered=True))[0] >= end(made, messages(made))[0] - TOLERANCE


@several
@given(makes(2))
def test_threads_of_their_own_are_never_slower(calls: list[Call]) -> None:
    """Each stream by a thread and without the others' waits."""
    own = [call for call in calls if call.operation in (LAUNCH, WAIT)] or [Call(WAIT)]
    two = [Call(**{**vars(call), "thread": call.stream}) for call in own]
    one, both = program(own), program(two)
    assert end(both, natively(both))[0] <= end(one, natively(one))[0] + TOLERANCE
