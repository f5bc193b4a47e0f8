"""``gpucast trace -- PROGRAM`` over a stand-in for CUPTI: the records of a run."""

import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from gpucast.data.traces import find_steps, phases, read
from gpucast.data.traces.steps import ENOUGH_LIGHT
from gpucast.measure.tracing import libraries
from traced_programs import CUPTI, PROGRAM, Tracing, built
from waiting import until

pytestmark = pytest.mark.skipif(
    not PROGRAM.exists(), reason="gpucast was built without the recorder's stand-ins"
)

LAUNCH = "runtime start=1000 end=1200 correlationId=1 threadId=5 cbid=1"
KERNEL = "kernel start=1300 end=2000 correlationId=1 contextId=1 streamId=7 name=_Z4axpyPf"
CONTEXT = "context contextId=1 deviceId=0 nullStreamId=7"


def launches(first: int, count: int) -> list[str]:
    """Launches with their kernels, one after the other."""
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
    status, message = tracing.end("init", CONTEXT, LAUNCH, KERNEL)
    assert status == 0
    assert "1 process, 1 call, 1 pieces of GPU work, 0 lost" in message
    trace = tracing.trace
    assert trace.json("run.json")["exit"] == {"status": 0}
    assert trace.json("run.json")["command"] == [str(PROGRAM)]
    assert [process["ended"] for process in trace.processes] == ["exit"]
    assert trace.call_names() == ["cudaLaunchKernel"]
    assert trace.rows("streams") == [{"context": 1, "device": 0, "stream": 7, "flags": 3}]
    (work,) = trace.rows("work")
    assert (work["start_ns"], work["end_ns"], work["correlation"]) == (1300, 2000, 1)
    assert not tracing.part.exists()


@pytest.mark.parametrize("left_out", ["runtime cbid=4", "driver cbid=3"])  # cudaGetLastError
def test_calls_that_no_path_forwards_are_left_out(tmp_path: Path, left_out: str) -> None:
    tracing = Tracing(tmp_path)
    own = "driver start=5000 end=5200 correlationId=3 threadId=5 cbid=1"
    tracing.end("init", f"{left_out} start=1 end=2 correlationId=2", LAUNCH, own)
    assert tracing.trace.call_names() == ["cudaLaunchKernel", "cuLaunchKernel"]


def test_a_loop_that_polls_is_its_first_and_last_query(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path)
    polls = [
        f"runtime start={number}000 end={number}400 correlationId={number} cbid=7 returnValue=600"
        for number in range(1, 1001)
    ]
    tracing.end("init", *polls, "runtime start=2000000 end=2000400 correlationId=2000 cbid=7")
    calls = tracing.trace.rows("calls")
    told = [(row["correlation"], row["result"]) for row in calls]
    assert told == [(1, 600), (1000, 600), (2000, 0)]
    assert tracing.trace.processes[0]["polls"] == 998


def launch(number: int) -> tuple[str, str]:
    """A launch and its kernel."""
    call, kernel = launches(number, 1)
    return call, kernel


def test_work_is_recorded_in_full_phases_alone_and_calls_always(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path, phases=True)
    # No phase ends before it has seen work, and no light one before it has seen a call.
    tracing.do("init", *launch(1))
    tracing.wait_for_rows("phases", 1)  # the first is full, and has ended
    tracing.do(*reversed(launch(2)))
    tracing.wait_for_rows("phases", 2)
    tracing.end(*launch(3))
    trace = tracing.trace
    assert {row["correlation"] for row in trace.rows("calls")} == {1, 2, 3}
    assert {row["correlation"] for row in trace.rows("work")} == {1, 3}
    rows = trace.rows("phases")
    assert [row["full"] for row in rows[:3]] == [1, 0, 1]
    times = [time for row in rows for time in (row["start_ns"], row["end_ns"])]
    assert times == sorted(times)
    assert "phase" not in trace.processes[0]


def test_a_phase_without_records_of_its_kernels_says_so_and_begins_again(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path, phases=True)
    tracing.do("init", *launch(1))
    tracing.wait_for_rows("phases", 1)
    tracing.do(*reversed(launch(2)))
    tracing.wait_for_rows("phases", 2)
    tracing.do(*launches(10, 40)[::2])  # the calls, and not their kernels
    tracing.wait_for_rows("phases", 3)
    tracing.end(*launch(100))
    rows = tracing.trace.rows("phases")
    assert [row["full"] for row in rows[:4]] == [1, 0, 2, 1]
    assert {row["correlation"] for row in tracing.trace.rows("work")} == {1, 100}


def test_a_cut_off_recording_tells_in_which_phase_it_was(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path, phases=True)
    tracing.do("init", *launch(1))
    tracing.wait_for_rows("phases", 1)
    later = time.time_ns() + 1_000_000_000
    tracing.do(f"runtime start={later} end={later + 1000} correlationId=2 threadId=5 cbid=1")
    tracing.wait_for_rows("calls", 2)
    tracing.end("kill 9")
    (process,) = read(tracing.output).processes
    full = process.phases["full"].tolist()
    assert full == [1, 0, 1, 0, 1, 0][: len(full)]
    assert process.phases["start_ns"].is_monotonic_increasing


def test_all_is_one_phase_where_that_is_wanted(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path, "--seconds", "0.3")
    tracing.do("init", *launches(1, 10))
    end = tracing.part / "0" / "process.json"
    assert until(lambda: end.exists() and '"enough"' in end.read_text(), tracing.process)
    tracing.end(*launches(100, 10))
    assert [row["full"] for row in tracing.trace.rows("phases")] == [1]
    assert len(tracing.trace.rows("work")) == 10


def test_what_comes_before_after_is_left_out(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path, "--after", "1000")
    tracing.end("init", CONTEXT, *launches(1, 10), "return")
    trace = tracing.trace
    assert (trace.rows("calls"), trace.rows("work"), trace.rows("phases")) == ([], [], [])
    assert len(trace.rows("streams")) == 1


def test_recording_ends_when_there_are_enough_steps_of_both_kinds(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path, "--steps", "30", phases=True)
    status, message = tracing.end("init", CONTEXT, f"steps {tracing.part}/enough")
    assert status == 0, message
    assert {row["full"] for row in tracing.trace.rows("phases")} == {phases.FULL, phases.LIGHT}
    (process,) = read(tracing.output).processes
    (steps,) = find_steps(read(tracing.output)).processes
    for phase, least in ((phases.FULL, 30), (phases.LIGHT, ENOUGH_LIGHT)):
        assert np.count_nonzero(steps.kept & (steps.phase == phase)) >= least
    asked = np.bincount(steps.work_step[steps.work_step >= 0], minlength=steps.count)
    # A phase may end between a call and the record of its work.
    followed = np.append(steps.phase[1:] == phases.FULL, False)
    assert set(asked[(steps.phase == phases.FULL) & followed]) == {2}
    assert set(asked[steps.phase == phases.FULL]) <= {0, 1, 2}
    assert set(asked[steps.phase == phases.LIGHT]) == {0}
    assert set(steps.calls[steps.kept]) == {2}
    assert process.unnumbered == 0


def test_ranges_are_asked_for_where_a_program_uses_nvtx(tmp_path: Path) -> None:
    def answer(name: str, **environment: str) -> str:
        (tmp_path / name).mkdir()
        tracing = Tracing(tmp_path / name, **environment)
        out, _ = tracing.process.communicate(f"init\nnvtx\n{LAUNCH}\n")
        return out

    assert answer("known") == "nvtx 1\n"
    assert answer("broken", FAKE_CUPTI_VERSION="130000") == "nvtx 0\n"


def test_a_full_disk_ends_the_recording_and_not_the_program(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path)
    tracing.do("init")
    assert until((tracing.part / "0" / "process.json").exists, tracing.process)
    (tracing.part / "0" / "calls.arrows").symlink_to("/dev/full")
    tracing.do(*launches(1, 10))
    tracing.wait_for_problem()
    # The archive needs a file; none may be missing when its size is read.
    (tmp_path / "empty").touch()
    (tmp_path / "empty").replace(tracing.part / "0" / "calls.arrows")
    status, message = tracing.end(*launches(100, 10), "exit 0")
    assert status == 1
    assert "recording ended early" in message
    assert "No space left on device" in message


def test_an_older_cupti_is_taken_where_the_driver_is_too_old_for_the_newest(tmp_path: Path) -> None:
    folder = tmp_path / "toolkit" / "lib64"
    folder.mkdir(parents=True)
    for name in libraries.CUPTI:
        shutil.copy(CUPTI, folder / name)
    tracing = Tracing(
        tmp_path, GPUCAST_CUPTI="", CUDA_HOME=str(tmp_path / "toolkit"),
        FAKE_CUPTI_REFUSES=libraries.CUPTI[0], FAKE_CUPTI_EMITS=str(folder / libraries.CUPTI[1]),
    )  # fmt: skip
    status, message = tracing.end("init", LAUNCH)
    assert status == 0, message
    assert "1 process, 1 call" in message


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
    status, message = tracing.end(f"kill {int(number)}")
    assert status == 128 + number
    assert "1 of them cut off" in message
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
    status, message = Tracing(tmp_path).end()
    assert status == 2
    assert "was left by an interrupted recording" in message
    assert len(message.splitlines()) == 1


def test_a_child_that_makes_the_first_cuda_call_is_recorded(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path)
    status, message = tracing.end("fork", "init", LAUNCH, "exit 0")
    assert status == 0
    assert "1 process, 1 call" in message


def test_a_child_forked_after_the_first_cuda_call_leaves_its_parents_files_alone(
    tmp_path: Path,
) -> None:
    tracing = Tracing(tmp_path)
    tracing.do("init", *launches(1, 3))
    tracing.wait_for_rows("calls", 3)
    tracing.end("fork", "exit 0")
    assert [process["calls"] for process in tracing.trace.processes] == [3]
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


def test_lost_records_are_told(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path, FAKE_CUPTI_DROPPED="17")
    _, message = tracing.end("init", LAUNCH, "kernel correlationId=1")  # that one has no times
    assert "18 lost" in message
    assert (tracing.trace.processes[0]["lost"], tracing.trace.processes[0]["untimed"]) == (17, 1)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"FAKE_CUPTI_SUBSCRIBE": "39"}, "another profiler or debugger is attached"),
        ({"FAKE_CUPTI_SUBSCRIBE": "15"}, "newer than the driver"),
        ({"FAKE_CUPTI_SUBSCRIBE": "40"}, "does not allow programs to be traced"),
        ({"FAKE_CUPTI_VERSION": "24"}, "CUDA 12.8 to 13.x"),
    ],
)
def test_where_cupti_cannot_run_the_program_does_and_one_line_says_why(
    tmp_path: Path, environment: dict[str, str], words: str
) -> None:
    tracing = Tracing(tmp_path, **environment)
    status, message = tracing.end("init", LAUNCH, "exit 0")
    assert status == 1
    assert words in message.splitlines()[-1]
    assert not tracing.output.exists()
    assert not tracing.part.exists()


def test_a_program_without_cuda_is_no_trace(tmp_path: Path) -> None:
    tracing = Tracing(tmp_path)
    status, message = tracing.end("exit 0")
    assert status == 1
    assert "no process of it made a CUDA call" in message
    assert not tracing.output.exists()


def test_an_existing_trace_is_replaced_only_with_force(tmp_path: Path) -> None:
    (tmp_path / "t.trace").write_text("kept")
    status, message = Tracing(tmp_path).end()
    assert status == 2
    assert "--force" in message
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
