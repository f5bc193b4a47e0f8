"""Programs of calls as JSON Lines."""

import json
from pathlib import Path

import pytest

from gpucast.data.traces import find_steps
from gpucast.paths.traced import CallProgram, Operation, program_of
from gpucast.paths.traced.call_file import lines_of, write_calls
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
    copy = next(call for call in calls if call["bytes"] == 4096)
    assert copy["operation"] == "copy"
    assert (copy["direction"], copy["memory"], copy["blocking"]) == ("h2d", "pinned", False)
    assert copy["busy"] == pytest.approx(4096 / 10e9, abs=1e-9)
    launch = next(call for call in calls if call["operation"] == "launch")
    assert (launch["name"], launch["busy"]) == ("cudaLaunchKernel", pytest.approx(30e-6))


def test_events_are_used_again() -> None:
    head, *calls = (json.loads(line) for line in lines_of(program()))
    assert head["events"] == 1
    assert {call["event"] for call in calls if call["operation"] == "record"} == {0}


def test_the_lines_of_a_file_are_those_of_the_program(tmp_path: Path) -> None:
    made = program()
    write_calls(made, tmp_path / "step.jsonl")
    assert (tmp_path / "step.jsonl").read_text().splitlines() == list(lines_of(made))
    _, *calls = map(json.loads, lines_of(made))
    assert [call["gap"] for call in calls] == pytest.approx(made.gap.tolist(), abs=1e-10)
    assert [call["cost"] for call in calls] == pytest.approx(made.cost.tolist(), abs=1e-10)


def test_waits_that_are_left_out_hold_nobody() -> None:
    whole = program()
    few = whole.only(whole.operation != Operation.record)
    assert (few.recording == -1).all()
    assert few.steps == whole.steps
    assert few.gap.sum() == pytest.approx(whole.gap.sum())
