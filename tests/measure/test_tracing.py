"""``gpucast trace -- PROGRAM`` over a stand-in for CUPTI: what becomes of a run's records."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from traced_programs import PROGRAM, Tracing, built
from waiting import until

pytestmark = pytest.mark.skipif(
    not PROGRAM.exists(), reason="gpucast was built without the recorder's stand-ins"
)

LAUNCH = "runtime start=1000 end=1200 correlationId=1 threadId=5 cbid=1"
KERNEL = "kernel start=1300 end=2000 correlationId=1 contextId=1 streamId=7 name=_Z4axpyPf"
CONTEXT = "context contextId=1 deviceId=0 nullStreamId=7"


def launches(first: int, count: int) -> list[str]:
    """Launches with their kernels, one behind the other."""
    return [
        line
        for number in range(first, first + count)
        for line in (
            f"runtime start={number}000 end={number}200 correlationId={number} threadId=5 cbid=1",
            f"kernel start={number}300 end={number}900 correlationId={number}",
        )
    ]


def test_a_run_becomes_one_file(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path)
    status, said = tracing.end("init", CONTEXT, LAUNCH, KERNEL)
    assert status == 0
    assert "1 process, 1 call, 1 pieces of GPU work, 0 lost" in said
    trace = tracing.trace
    assert trace.json("run.json")["exit"] == {"status": 0}
    assert trace.json("run.json")["command"] == [str(PROGRAM)]
    assert [each["ended"] for each in trace.processes] == ["exit"]
    assert trace.call_names() == ["cudaLaunchKernel"]
    assert trace.rows("streams") == [{"context": 1, "device": 0, "stream": 7, "flags": 3}]
    (work,) = trace.rows("work")
    assert (work["start_ns"], work["end_ns"], work["correlation"]) == (1300, 2000, 1)
    assert not tracing.part.exists()


def test_calls_that_no_path_forwards_are_left_out(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path)
    tracing.end("init", "runtime start=1 end=2 cbid=4 correlationId=2", LAUNCH)  # cudaGetLastError
    assert tracing.trace.call_names() == ["cudaLaunchKernel"]


@pytest.mark.parametrize("end", ["exit 7", "_exit 7"])
def test_the_programs_exit_status_is_passed_on(tmp_path: Path, end: str) -> None:
    tracing = Tracing(tmp_path)
    tracing.do("init", LAUNCH, "runtime start=3000 end=4000 correlationId=2 threadId=5 cbid=1")
    tracing.wait_for_rows("calls", 2)
    status, _ = tracing.end(end)
    assert status == 7
    assert tracing.trace.json("run.json")["exit"] == {"status": 7}
    assert len(tracing.trace.rows("calls")) == 2


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_a_killed_program_leaves_what_was_flushed(tmp_path: Path, number: signal.Signals) -> None:
    tracing = Tracing(tmp_path)
    tracing.do("init", *launches(1, 100))
    tracing.wait_for_rows("calls", 100)
    status, said = tracing.end(f"kill {int(number)}")
    assert status == 128 + number
    assert "1 of them cut off" in said
    assert len(tracing.trace.rows("work")) == 100
    assert tracing.trace.json("run.json")["exit"] == {"signal": int(number)}
    assert tracing.trace.processes[0]["ended"] == "open"


def test_sigterm_is_passed_on_to_the_program(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path)
    tracing.do("init", *launches(1, 3), f"wait {tmp_path}/never")
    tracing.wait_for_rows("calls", 3)
    tracing.process.send_signal(signal.SIGTERM)
    status, _ = tracing.end()
    assert status == 128 + signal.SIGTERM
    assert len(tracing.trace.rows("calls")) == 3


def test_a_recorder_that_is_killed_leaves_a_readable_folder(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path)
    tracing.do("init", *launches(1, 3))
    tracing.wait_for_rows("calls", 3)
    tracing.process.kill()
    tracing.end()
    assert (tracing.part / "run.json").exists()
    status, said = Tracing(tmp_path).end()
    assert status == 2
    assert "what a recording that was cut off has left" in said
    assert len(said.splitlines()) == 1


def test_a_child_that_makes_the_first_cuda_call_is_recorded(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path)
    status, said = tracing.end("fork", "init", LAUNCH, "exit 0")
    assert status == 0
    assert "1 process, 1 call" in said


def test_a_child_forked_after_the_first_cuda_call_leaves_its_parents_files_alone(
    tmp_path: Path,
) -> None:
    tracing = Tracing(tmp_path)
    tracing.do("init", *launches(1, 3))
    tracing.wait_for_rows("calls", 3)
    tracing.end("fork", "exit 0")
    assert [each["calls"] for each in tracing.trace.processes] == [3]
    assert len(tracing.trace.rows("calls")) == 3


def test_recording_ends_after_so_many_calls_and_the_program_goes_on(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path, "--calls", "50")
    tracing.do("init", *launches(1, 60))
    tracing.wait_for_rows("calls", 60)
    end = tracing.part / "0" / "process.json"
    assert until(lambda: '"enough"' in end.read_text(), tracing.process)
    status, _ = tracing.end(*launches(100, 60))
    assert status == 0
    assert len(tracing.trace.rows("calls")) == 60


def test_ranks_are_named(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path, OMPI_COMM_WORLD_RANK="3")
    tracing.end("init", LAUNCH)
    assert tracing.trace.processes[0]["rank"] == 3


def test_lost_records_are_told(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path, FAKE_CUPTI_DROPPED="17")
    _, said = tracing.end("init", LAUNCH, "kernel correlationId=1")  # that one has no times
    assert "18 lost" in said
    assert (tracing.trace.processes[0]["lost"], tracing.trace.processes[0]["untimed"]) == (17, 1)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"FAKE_CUPTI_SUBSCRIBE": "39"}, "another profiler or debugger is attached"),
        ({"FAKE_CUPTI_SUBSCRIBE": "15"}, "newer than the driver"),
        ({"FAKE_CUPTI_SUBSCRIBE": "40"}, "does not let programs be traced"),
        ({"FAKE_CUPTI_VERSION": "24"}, "CUDA 12.8 to 13.x"),
    ],
)
def test_where_cupti_cannot_run_the_program_does_and_one_line_says_why(
    tmp_path: Path, environment: dict[str, str], words: str
) -> None:
    tracing = Tracing(tmp_path, **environment)
    status, said = tracing.end("init", LAUNCH, "exit 0")
    assert status == 1
    assert words in said.splitlines()[-1]
    assert not tracing.output.exists()
    assert not tracing.part.exists()


def test_a_program_without_cuda_is_no_trace(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path)
    status, said = tracing.end("exit 0")
    assert status == 1
    assert "no process of it made a CUDA call" in said
    assert not tracing.output.exists()


def test_an_existing_trace_is_replaced_only_with_force(tmp_path: Path) -> None:
    (tmp_path / "t.trace").write_text("kept")
    status, said = Tracing(tmp_path).end()
    assert status == 2
    assert "--force" in said
    assert (tmp_path / "t.trace").read_text() == "kept"
    assert Tracing(tmp_path, "--force").end("init", LAUNCH)[0] == 0


def test_the_library_shows_nothing_but_its_entry_points() -> None:
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", str(built("libgpucast-trace.so"))],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert sorted(line.split()[-1] for line in symbols.splitlines()) == [
        "InitializeInjection",
        "InitializeInjectionNvtx2",
    ]


def test_the_library_needs_neither_cuda_nor_the_c_plus_plus_runtime() -> None:
    needed = subprocess.run(
        ["readelf", "-d", str(built("libgpucast-trace.so"))],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    if "libasan" in needed or "libtsan" in needed:
        pytest.skip("sanitizers need the runtime")
    assert not any(name in needed for name in ("libcupti", "libcuda", "libstdc++", "libnv"))
