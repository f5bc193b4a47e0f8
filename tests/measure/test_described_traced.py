"""``gpucast measure --program P --trace``, over a stand-in for CUPTI.

The stand-in for a CUDA program takes 200 us a step, 90 us of it in a kernel, the rest in a launch
and a copy that waits (trace/tests/fake/program.cpp).
"""

import sys
from pathlib import Path

import pytest

import gpucast as gc
from command_line import Run, answer_of, assert_refused, only_json
from described_programs import described, grid, visits
from gpucast.data import traces
from traced_programs import CUPTI, PROGRAM, built
from waiting import HANG

pytestmark = pytest.mark.skipif(
    not PROGRAM.exists(), reason="gpucast was built without the recorder's stand-ins"
)

CUDA = f"""\
import os, subprocess, sys, time
folder = os.environ.get("GPUCAST_TRACE")
if folder:
    over = os.path.abspath("over")
    lines = "init\\ncontext contextId=1 deviceId=0 nullStreamId=7\\nsteps " + over + "\\n"
    process = subprocess.Popen([{str(PROGRAM)!r}], stdin=subprocess.PIPE, text=True)
    process.stdin.write(lines)
    process.stdin.close()
    begin = time.monotonic()
    while not os.path.exists(folder + "/enough") and time.monotonic() - begin < {HANG}:
        time.sleep(0.01)
    open(over, "w").close()
    sys.exit(process.wait() or "the recorded run of a cell")
print("took 0.2 ms")
print("took 0.4 ms")
"""
"""A visit says 0.2 ms and 0.4 ms; where it is recorded, nothing, and fails where told to."""


@pytest.fixture(autouse=True)
def recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the build, with the stand-in for CUPTI."""
    monkeypatch.setenv("GPUCAST_TRACE_LIB", str(built()))
    monkeypatch.setenv("GPUCAST_CUPTI", str(CUPTI))


def cuda(folder: Path, *, fails: bool = False) -> Path:
    text = CUDA if fails else CUDA.replace('process.wait() or "the recorded run of a cell"', "0")
    (folder / "cuda.py").write_text(text)
    path = folder / "cuda.yaml"
    path.write_text(
        f"program: cuda\nunit: atoms\ncommand: [{sys.executable}, cuda.py]\nfiles: [cuda.py]\n"
        "sizes: [1000, 2000]\ngpus: [1]\nenvironment: {CUDA_VISIBLE_DEVICES: '0'}\n"
        "result: {regex: 'took (?P<t>.*) ms', unit: ms, skip: 1}\n"
    )
    return path


def test_visits_say_how_the_recorded_run_of_their_cell_splits_a_step(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "data.jsonl"
    measure = ("measure", "--program", cuda(tmp_path), "--trace", "--json", "-o", path)
    assert answer_of(run(*measure, "-n", 1000, "--visits", 2))["measured"] == 2
    assert visits(path) == grid([1000], [1], most=2)
    for step in gc.load(path).steps:
        assert step.seconds == [pytest.approx(4e-4)]
        assert step.phases.kernel == [pytest.approx(9e-5)]
        assert step.phases.calls[0] > step.phases.cpu[0] >= 0
        parts = (step.phases.kernel, step.phases.cpu, step.phases.calls)
        assert sum(part[0] for part in parts) == pytest.approx(4e-4)
    (trace,) = (tmp_path / "data.traces").iterdir()
    assert len(traces.read(trace).processes) == 1
    before = trace.stat().st_mtime_ns

    # The trace that is there serves later visits, and another cell gets its own.
    assert answer_of(run(*measure, "--visits", 3))["measured"] == 4
    assert all(step.phases is not None for step in gc.load(path).steps)
    assert trace.stat().st_mtime_ns == before
    assert len(list((tmp_path / "data.traces").iterdir())) == 2
    status, _, err = run(*measure, "--visits", 3)
    assert "2 cells have all their visits, and no more is recorded of them: --visits 4" in err
    assert status == 0


def test_a_program_without_cuda_calls_is_measured_all_the_same(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    program = described(tmp_path)
    status, out, err = run("measure", "--program", program, "--trace", "--json", "-o", path)
    assert status == 0, err
    assert only_json(out)["measured"] == 6
    assert visits(path) == grid([1000, 2000, 4000], [1, 2])
    lines = [line for line in err.splitlines() if "recorded" in line]
    assert len(lines) == 1
    assert "no process of it made a CUDA call" in lines[0]
    assert "the campaign goes on without traces" in lines[0]
    assert all(step.phases is None for step in gc.load(path).steps)
    assert list((tmp_path / "data.traces").iterdir()) == []


def test_a_recorded_run_that_fails_costs_no_visit(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    program = cuda(tmp_path, fails=True)
    status, out, err = run("measure", "--program", program, "--trace", "--json", "-o", path)
    assert status == 0, err
    assert only_json(out)["measured"] == 2
    lines = [line for line in err.splitlines() if "no split of the step" in line]
    assert len(lines) == 2
    assert "exit status 1: the recorded run of a cell (log: " in lines[0]
    assert "-trace.log)" in lines[0]


def test_without_the_recorder_nothing_is_run(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUCAST_TRACE_LIB", str(tmp_path))
    path = tmp_path / "data.jsonl"
    status, out, err = run("measure", "--program", described(tmp_path), "--trace", "-o", path)
    assert (status, out) == (1, "")
    (line,) = err.splitlines()
    assert "gpucast was built without the recorder" in line
    assert not path.exists()
    assert not (tmp_path / "data.logs").exists()


def test_traces_are_of_described_programs(run: Run, tmp_path: Path) -> None:
    result = run("measure", "--trace", "-o", tmp_path / "d.jsonl")
    assert_refused(result, "--trace: is of --program PROGRAM.yaml")
