"""Programs of calls as JSON Lines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gpucast.errors import InputError
from gpucast.replay import CallProgram, Operation, program_of
from gpucast.replay.calls import lines_of, read_calls, write_calls
from gpucast.traces import find_steps
from made_traces import MadeTrace


def program() -> CallProgram:
    made = MadeTrace()
    for _ in range(12):
        made.host(5e-6)
        made.copy(4096, "h2d", blocking=False, memory="pinned", stream=20)
        made.record(1, stream=20)
        made.stream_waits(1, stream=21)
        made.launch("kernel", seconds=30e-6, stream=21)
        made.copy(8, "d2h")
    trace = made.trace()
    return program_of(trace, find_steps(trace))


def test_a_call_is_a_line() -> None:
    head, *calls = (json.loads(line) for line in lines_of(program()))
    assert head["schema"] == "gpucast.calls/1"
    assert head["steps"] * 5 == len(calls)
    copy = next(each for each in calls if each["bytes"] == 4096)
    assert copy["operation"] == "copy"
    assert (copy["direction"], copy["memory"], copy["blocking"]) == ("h2d", "pinned", False)
    assert copy["busy"] == pytest.approx(4096 / 10e9, abs=1e-9)
    launch = next(each for each in calls if each["operation"] == "launch")
    assert (launch["name"], launch["busy"]) == ("cudaLaunchKernel", pytest.approx(30e-6))


def test_events_are_used_again() -> None:
    head, *calls = (json.loads(line) for line in lines_of(program()))
    assert head["events"] == 1
    assert {each["event"] for each in calls if each["operation"] == "record"} == {0}


def test_what_was_written_is_simulated_as_before(tmp_path: Path) -> None:
    before = program()
    write_calls(before, tmp_path / "step.jsonl")
    after = read_calls(tmp_path / "step.jsonl")
    assert np.array_equal(after.recording, before.recording)
    assert np.array_equal(after.operation, before.operation)
    for name in ("begin", "end"):
        assert getattr(after.simulate(), name) == pytest.approx(
            getattr(before.simulate(), name), abs=1e-8
        )


@pytest.mark.parametrize(
    ("line", "key", "value", "said"),
    [
        (2, "operation", "fly", r"calls.jsonl:2: operation: 'fly'; known are launch, copy"),
        (2, "gap", -1, r"calls.jsonl:2: gap: "),
        (3, "stream", 99, r"calls.jsonl:3: stream: 99: there are"),
        (2, "thread", "first", r"calls.jsonl:2: thread: "),
        (1, "schema", "gpucast.calls/9", r"calls.jsonl:1: schema: is 'gpucast.calls/9'"),
    ],
)
def test_what_is_wrong_is_told(
    tmp_path: Path, line: int, key: str, value: object, said: str
) -> None:
    lines = [json.loads(each) for each in lines_of(program())]
    lines[line - 1][key] = value
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    with pytest.raises(InputError, match=said):
        read_calls(path)


@pytest.mark.parametrize("text", ["", "{}\n", "no json\n", "[1]\n"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=r"calls.jsonl"):
        read_calls(path)


def test_waits_that_are_left_out_hold_nobody() -> None:
    whole = program()
    few = whole.only(whole.operation != Operation.record)
    assert (few.recording == -1).all()
    assert few.steps == whole.steps
    assert few.gap.sum() == pytest.approx(whole.gap.sum())
