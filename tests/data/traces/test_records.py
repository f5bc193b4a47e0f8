"""Traces as step records: parts of hand-made schedules, and facts from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpucast as gc
from command_line import Run, assert_refused, only_json
from gpucast.data.selection import in_part
from gpucast.data.traces.parts import StepParts
from gpucast.data.traces.records import TRACES, Observed, observed
from gpucast.data.traces.trace import RunDescription, Trace
from gpucast.data.traces.writing import write
from gpucast.fitting.cells import parts_of as fitted_parts
from made_traces import COST, LATENCY, WAKE, MadeTrace

US = 1e-6
STEPS = 30


def said(made: MadeTrace, command: Sequence[str] = ()) -> Trace:
    trace = made.trace()
    run = RunDescription(source="cupti", command=["./made", *command], machine=trace.run.machine)
    return replace(trace, run=run)


def of(made: MadeTrace) -> Observed:
    return observed(made.trace())


def serial(host: float, kernel: float, copy: float) -> MadeTrace:
    """The host computes, a kernel runs, and its result is copied back, one after another."""
    made = MadeTrace()
    for _ in range(STEPS):
        made.host(host)
        made.launch("kernel", seconds=kernel)
        made.wait_stream()
        made.copy(8, "d2h", seconds=copy)
    return made


def test_parts_of_a_schedule_computed_by_hand() -> None:
    """The kernel begins ``LATENCY`` after its launch, which takes ``COST``; its wait returns
    ``WAKE`` after its end; then the copy, likewise."""
    host, kernel, copy = 20 * US, 50 * US, 10 * US
    parts = of(serial(host, kernel, copy)).parts
    assert parts.gpu == pytest.approx(kernel)
    assert parts.cpu == pytest.approx(host, abs=1e-9)
    assert parts.com == pytest.approx(LATENCY + WAKE + LATENCY + copy + WAKE, abs=1e-9)


def test_what_kernels_hide_is_theirs() -> None:
    made = MadeTrace()
    for _ in range(STEPS):
        made.launch("kernel", seconds=100 * US, stream=20)
        made.copy(2**20, "h2d", memory="pinned", blocking=False, stream=21, seconds=30 * US)
        made.host(40 * US)
        made.wait_stream(20)
    parts = of(made).parts
    # The host's 40 us and the copy do not overlap the kernel.
    assert parts.gpu == pytest.approx(100 * US)
    assert parts.cpu == pytest.approx(0, abs=1e-9)
    assert parts.com == pytest.approx(LATENCY + WAKE, abs=1e-9)


def test_kernels_of_several_gpus_count_once() -> None:
    made = MadeTrace()
    for _ in range(STEPS):
        for device in range(2):
            made.launch("kernel", seconds=100 * US, device=device, stream=20 + device)
        for device in range(2):
            made.wait_stream(20 + device, device=device)
    observation = of(made)
    assert observation.gpus == 2
    # The second begins when its launch is over, ``COST`` later.
    assert observation.parts.gpu == pytest.approx(100 * US + COST, abs=1e-9)
    assert observation.work.launches == pytest.approx(2)
    assert observation.work.waits == pytest.approx(2)


@settings(deadline=None, max_examples=25)
@given(
    host=st.floats(1e-5, 1e-3), kernel=st.floats(1e-5, 1e-3), copy=st.floats(1e-5, 1e-3),
)  # fmt: skip
def test_parts_add_up_to_the_step(host: float, kernel: float, copy: float) -> None:
    observation = of(serial(host, kernel, copy))
    assert observation.parts.seconds == pytest.approx(
        host + kernel + copy + 2 * (LATENCY + WAKE), rel=1e-3
    )


@given(
    gpu=st.floats(0, 1), cpu=st.floats(0, 1), com=st.floats(0, 1), factor=st.floats(0.3, 1),
)  # fmt: skip
def test_a_shorter_step_loses_host_time_first(
    gpu: float, cpu: float, com: float, factor: float
) -> None:
    parts = StepParts(gpu, cpu, com)
    if parts.seconds < 1e-3:
        return
    alone = parts.lasting(factor * parts.seconds)
    assert alone.seconds == pytest.approx(factor * parts.seconds)
    assert alone.gpu >= factor * gpu - 1e-9
    if cpu > 1e-6:
        assert alone.com * cpu == pytest.approx(alone.cpu * com, abs=1e-9)


def test_a_trace_becomes_a_record_of_what_its_command_line_says(tmp_path: Path) -> None:
    made = serial(20 * US, 50 * US, 10 * US)
    path = tmp_path / "T"
    write(said(made, ["--n", "4096", "--case", "pinned"]), path)
    (step,) = gc.load(str(path), others=(TRACES,)).steps
    assert (step.n, step.gpus, step.program, step.case) == (4096, 1, "made", "pinned")
    assert step.path == "native"
    assert step.bytes is not None
    assert (step.bytes.h2d, step.bytes.d2h) == (0, 8)
    (measured,) = [fitted_parts([step])]
    assert measured is not None
    assert measured.t_gpu == pytest.approx([50 * US])
    assert measured.t_cpu == pytest.approx([20 * US], abs=1e-9)
    # Everything was recorded all the time, which a record must state.
    assert step.caveat is not None


def test_a_trace_that_does_not_say_its_size_needs_the_users_word(run: Run, tmp_path: Path) -> None:
    made, to = serial(20 * US, 50 * US, 10 * US), tmp_path / "data.jsonl"
    path = made.write(tmp_path / "run-n512.trace")
    assert_refused(run("import", path, "-o", to), "run-n512.trace: -n: its command line has no --n")
    assert not to.exists()
    assert run("import", path, "-n", "64", "-o", to)[0] == 0
    assert [step.n for step in gc.load(str(to)).steps] == [64]
    assert run("import", path, "--from-name", "n(?P<n>[0-9]+)", "-o", to, "--force")[0] == 0
    assert [step.n for step in gc.load(str(to)).steps] == [512]


def test_what_was_understood_is_said(run: Run, tmp_path: Path) -> None:
    path, to = tmp_path / "T", tmp_path / "data.jsonl"
    write(said(serial(20 * US, 50 * US, 10 * US), ["--n=4096"]), path)
    status, out, _ = run("import", path, "-o", to)
    assert status == 0
    assert "1 size, 4096; 1 GPU" in out
    assert "T_gpu 50 us, T_cpu 20 us, T_com 16 us; 1 launches, 1 copies, 2 waits" in out


def test_launched_kernels_without_a_record_leave_the_parts_open(tmp_path: Path, run: Run) -> None:
    made = serial(20 * US, 50 * US, 10 * US)
    trace = said(made, ["--n", "8"])
    (process,) = trace.processes
    copies = process.work[process.work["kind"] == 1].reset_index(drop=True)
    write(replace(trace, processes=(replace(process, work=copies),)), tmp_path / "T")
    status, _, err = run("import", tmp_path / "T", "-o", tmp_path / "data.jsonl")
    assert status == 0
    assert "kernels were launched but none was recorded" in err
    (step,) = gc.load(str(tmp_path / "data.jsonl")).steps
    assert step.phases is None


def test_traces_of_several_sizes_are_fitted_as_they_are(run: Run, tmp_path: Path) -> None:
    files = []
    for n in (1000, 4000, 16000, 64000):
        for gpus in (1, 2):
            made = MadeTrace()
            for _ in range(STEPS):
                made.host(20 * US)
                for device in range(gpus):
                    made.launch(
                        "kernel", seconds=n / gpus * 1e-8, device=device, stream=20 + device
                    )
                for device in range(gpus):
                    made.wait_stream(20 + device, device=device)
            files.append(tmp_path / f"n{n}-gpus{gpus}")
            write(said(made, ["--n", str(n)]), files[-1])
    model = tmp_path / "model.json"
    status, out, err = run("fit", *files, "-o", model, "--json")
    assert status == 0, err
    assert only_json(out)["scaling"]["parts"]["t_cpu"] == pytest.approx([20 * US] * 8, rel=0.2)
    loaded = gc.load_model(model)
    assert loaded.scaling is not None
    step = loaded.forecasts([32000], [2])
    assert step.seconds[0] == pytest.approx(160e-6 + 20e-6, rel=0.1)
    assert step.t_gpu[0] == pytest.approx(160e-6, rel=0.15)


def test_programs_are_spelled_as_in_datasets_and_found_in_either_spelling() -> None:
    trace = replace(
        MadeTrace(program="./halo_exchange").trace(),
        run=RunDescription(
            source="cupti", command=["./halo_exchange"], machine=said(MadeTrace()).run.machine
        ),
    )
    assert trace.program == "halo-exchange"
    for part in ("halo_exchange", "halo-exchange", "HALO_"):
        assert in_part(part, ["halo-exchange", "pipeline"]) == ["halo-exchange"]
    assert in_part("halo-exchange", ["halo_exchange"]) == ["halo_exchange"]
