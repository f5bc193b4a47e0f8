"""The second run of ``gpucast trace``: the call that ends a step alone is recorded, and tells the
native step. Traces are made by schedulers that know nothing of the package; the run is over a
stand-in for CUPTI.
"""

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gpucast
from command_line import executable
from gpucast.data.traces import find_steps
from gpucast.data.traces.trace import Trace
from gpucast.measure.tracing.markers import Marker, marker_of, step_seconds
from made_traces import MadeTrace
from traced_programs import CUPTI, PROGRAM, Tracing, built

stand_ins = pytest.mark.skipif(
    not PROGRAM.exists(), reason="gpucast was built without the recorder's stand-ins"
)


def made(steps: int = 40, *, every: int = 1000, set_up: int = 3) -> Trace:
    """Steps of two launches, a stream's wait and two copies; every so many wait once more."""
    trace = MadeTrace()
    for _ in range(set_up):
        trace.copy(10**6, "h2d")
    for step in range(steps):
        trace.host(20e-6)
        trace.copy(4096, "h2d")
        trace.launch("kernel", seconds=100e-6)
        trace.launch("other", seconds=10e-6)
        trace.wait_stream(0)
        if step % every == every - 1:
            trace.wait_stream(0)
        trace.copy(8, "d2h")
    whole: Trace = trace.trace()
    return whole


def marker(trace: Trace) -> Marker | None:
    steps = find_steps(trace).main
    return marker_of(trace.processes[steps.process], steps)


def only(trace: Trace, name: str, spacing: float = 1.0) -> Trace:
    """What a second run records: one function's calls, at ``spacing`` times their distances."""
    (process,) = trace.processes
    names = process.calls["name"].map(process.name_of)
    calls = process.calls[names == name].copy()
    for column in ("start_ns", "end_ns"):
        calls[column] = (calls[column] * spacing).astype(np.int64)
    return replace(trace, processes=(replace(process, calls=calls),))


def test_the_marker_is_the_wait_that_each_step_makes_most_seldom() -> None:
    trace = made()
    chosen = marker(trace)
    assert (chosen.name, chosen.calls) == ("cudaStreamSynchronize", 1)


def test_a_call_that_some_steps_make_more_often_is_none() -> None:
    chosen = marker(made(every=10))
    assert (chosen.name, chosen.calls) == ("cudaMemcpy", 2)
    steps = find_steps(made(every=10)).main
    first = int(np.flatnonzero(steps.kept)[0])
    assert chosen.before == 3 + 2 * first


@pytest.mark.parametrize("every", [10, 1000])
def test_a_second_run_tells_the_step_whichever_call_ends_it(every: int) -> None:
    trace = made(every=every)
    chosen = marker(trace)
    usual = float(np.median(find_steps(trace).main.seconds))
    second = only(trace, chosen.name, spacing=0.8)
    assert step_seconds(second, chosen) == pytest.approx(0.8 * usual, rel=2e-3)


def test_too_few_calls_tell_nothing() -> None:
    trace = made()
    chosen = marker(trace)
    second = only(trace, chosen.name)
    process = second.processes[0]
    few = replace(second, processes=(replace(process, calls=process.calls[:4]),))
    assert step_seconds(few, chosen) is None


@stand_ins
def test_one_function_alone_is_recorded(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path, GPUCAST_TRACE_ONLY="cudaMemcpy")
    lines = [
        "runtime start=1000 end=1200 correlationId=1 threadId=5 cbid=1",
        "kernel start=1300 end=2000 correlationId=1 contextId=1 streamId=7 name=_Z4axpyPf",
        "runtime start=2000 end=2200 correlationId=2 threadId=5 cbid=2",
        "driver start=5000 end=5200 correlationId=3 threadId=5 cbid=1",
    ]
    tracing.end("init", *lines)
    assert tracing.trace.call_names() == ["cudaMemcpy"]
    assert tracing.trace.rows("work") == []


STEPS = ["init", "stamped 60"]
"""Lines of the stand-in: steps of 200 us, by their stamps."""


def traced(
    folder: Path, lines: list[str], *options: str, program: Path = PROGRAM
) -> subprocess.CompletedProcess[str]:
    """``gpucast trace`` of the stand-in, whose lines are a file."""
    given = folder / "lines"
    given.write_text("\n".join(lines) + "\n")
    environment = os.environ | {
        "GPUCAST_TRACE_LIB": str(built()),
        "GPUCAST_CUPTI": str(CUPTI),
        "PYTHONPATH": str(Path(gpucast.__file__).parents[1]),
    }
    command = [sys.executable, "-m", "gpucast.cli", "trace", "--full", *options]
    command += ["-o", str(folder / "t.trace"), "--", str(program)]
    with given.open() as stdin:
        return subprocess.run(
            command, stdin=stdin, env=environment, capture_output=True, text=True, check=False
        )


def untraced(folder: Path) -> float | None:
    with zipfile.ZipFile(folder / "t.trace") as archive:
        seconds: float | None = json.loads(archive.read("run.json")).get("seconds_untraced")
    return seconds


@stand_ins
@pytest.mark.parametrize(("options", "seconds"), [((), 200e-6), (("--once",), None)])
def test_a_program_is_run_again_with_the_same_input(
    tmp_path: Path, options: tuple[str, ...], seconds: float | None
) -> None:
    run = traced(tmp_path, [*STEPS, "say once more"], *options)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "once more\n"
    assert untraced(tmp_path) == (None if seconds is None else pytest.approx(seconds))
    assert ("a step takes 200 us" in run.stderr) is (seconds is not None)


@stand_ins
def test_a_second_run_that_fails_leaves_the_trace_as_it_is(tmp_path: Path) -> None:
    """As that of a program which does not overwrite its output."""
    there = tmp_path / "there"
    text = f"#!/bin/sh\n[ -e {there} ] && exit 3\ntouch {there}\nexec {PROGRAM}\n"
    program = executable(tmp_path / "program", text)
    run = traced(tmp_path, STEPS, program=program)
    assert run.returncode == 0, run.stderr
    assert "the second run, for the time of a step without recording, ended with status 3" in (
        run.stderr
    )
    assert untraced(tmp_path) is None
