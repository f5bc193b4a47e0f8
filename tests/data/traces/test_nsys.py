"""Nsight Systems' sqlite export: tables as NVIDIA documents them, filled by hand."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from command_line import Run, assert_refused
from gpucast.data.traces import find_steps, nsys, read, tables, waiting
from gpucast.errors import InputError

PID = 4711
OWNER = PID << 24
EPOCH = 1_790_000_000_000_000_000
STRINGS = {
    1: "cudaLaunchKernel_v7000",
    2: "cudaMemcpy_v3020",
    3: "cudaMemcpyAsync_ptsz_v7000",
    4: "cudaStreamSynchronize_v3020",
    5: "void solver::dot<float>(float *)",
    6: "cuLaunchKernel",
    7: "step",
    8: "/bin/solver",
    9: "cudaEventRecord_v3020",
    10: "cudaStreamWaitEvent_v3020",
}
LAUNCH, COPY, ASYNC, WAIT, DOT, INNER, STEP, PROGRAM, RECORD, STREAM_WAIT = STRINGS
TYPES = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,
    globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
    contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX INTEGER,
    gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,
    staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
    contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,
    copyKind INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, dstDeviceId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (contextId INTEGER, streamId INTEGER,
    correlationId INTEGER, globalPid INTEGER, eventId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT,
    textId INTEGER, globalTid INTEGER);
CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER, name TEXT, label TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name INTEGER);
"""


def export(path: Path, without: Iterable[str] = (), columns: str = "") -> Path:
    """Ten steps: a kernel, a copy of 8 B to pageable memory; before, a copy and events."""
    connection = sqlite3.connect(path)
    connection.executescript(TYPES)

    def add(table: str, *rows: tuple[object, ...]) -> None:
        marks = ",".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def call(start: int, end: int, correlation: int, name: int, thread: int = 1) -> None:
        add(
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            (start, end, 0, OWNER | thread, correlation, name, 0),
        )

    def copy(start: int, end: int, correlation: int, size: int, kind: int, *memory: int) -> None:
        row = (start, end, 0, 1, 7, correlation, OWNER, size, kind, *memory, None, None)
        add("CUPTI_ACTIVITY_KIND_MEMCPY", row)

    add("StringIds", *STRINGS.items())
    add("ENUM_CUDA_MEM_KIND", (0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"))
    add("ENUM_CUDA_MEM_KIND", (1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"))
    add("ENUM_CUDA_MEM_KIND", (2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"))
    add("TARGET_INFO_SESSION_START_TIME", (EPOCH,))
    add("TARGET_INFO_GPU", (0, "NVIDIA H200"))
    add("PROCESSES", (OWNER, PID, PROGRAM))
    call(100, 200, 1, ASYNC)
    copy(150, 400, 1, 4096, 1, 1, 2)
    call(300, 310, 2, RECORD)
    add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", (1, 7, 2, OWNER, 33))
    call(320, 330, 3, STREAM_WAIT)
    add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", (320, 330, 1, 13, 3, OWNER, 2, 33))
    for at in range(10):
        begin, number = 10_000 * (at + 1), 10 * (at + 1)
        call(begin, begin + 3000, number, LAUNCH)
        call(begin + 500, begin + 2500, number + 1, INNER)  # calls of the driver by the runtime
        kernel = (begin + 3000, begin + 7000, 0, 1, 7, number, OWNER, DOT, DOT, 32)
        add("CUPTI_ACTIVITY_KIND_KERNEL", (*kernel, 4, 5, 1, 128, 2, 1, 1024, 512, None))
        call(begin + 3100, begin + 8000, number + 2, COPY)
        copy(begin + 7000, begin + 7500, number + 2, 8, 2, 2, 0)
        add("NVTX_EVENTS", (begin, begin + 9000, 59, None, STEP, OWNER | 1))
    call(200_000, 201_000, 500, WAIT, thread=2)
    # All bits set stand for "no event".
    wait = (200_000, 201_000, 1, 7, 500, OWNER, 3, 2**32 - 1)
    add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", wait)
    for table in without:
        connection.execute(f"DROP TABLE {table}")
    if columns:
        connection.execute(columns)
    connection.commit()
    connection.close()
    return path


def test_calls_are_the_outermost_with_plain_names_and_real_times(tmp_path: Path) -> None:
    process = read(export(tmp_path / "x.sqlite")).processes[0]
    names = [process.name_of(number) for number in process.calls["name"]]
    assert names[:3] == ["cudaMemcpyAsync", "cudaEventRecord", "cudaStreamWaitEvent"]
    assert names[3:23] == ["cudaLaunchKernel", "cudaMemcpy"] * 10
    assert process.calls["start_ns"].iloc[0] == EPOCH + 100
    assert process.calls["thread"].tolist() == [0] * 23 + [1]
    assert (process.pid, process.program) == (PID, "/bin/solver")


def test_work_has_its_sizes_and_memories(tmp_path: Path) -> None:
    process = read(export(tmp_path / "x.sqlite")).processes[0]
    kernels = process.work[process.work["kind"] == tables.KERNEL]
    assert kernels["blocks"].unique().tolist() == [20]
    assert kernels["threads"].unique().tolist() == [256]
    assert kernels["shared_bytes"].unique().tolist() == [1536]
    assert process.name_of(kernels["name"].iloc[0]) == "void solver::dot<float>(float *)"
    copies = process.work[process.work["kind"] == tables.COPY]
    columns = ["bytes", "direction", "from_memory", "to_memory", "asynchronous"]
    rows = copies[columns].to_numpy().tolist()
    assert rows[0] == [4096, tables.TO_DEVICE, tables.PINNED, tables.DEVICE, 1]
    assert rows[1] == [8, tables.TO_HOST, tables.DEVICE, tables.PAGEABLE, 0]


def test_events_are_joined_to_the_recording_before(tmp_path: Path) -> None:
    waits = read(export(tmp_path / "x.sqlite")).processes[0].waits
    by_kind = waits.set_index("kind")
    recorded = by_kind.loc[tables.EVENT_RECORDED, "recording"]
    assert recorded > 0
    assert by_kind.loc[tables.STREAM_WAITS_EVENT, "recording"] == recorded
    assert by_kind.loc[tables.HOST_WAITS_STREAM, "event"] == 0


def test_its_steps_are_found(tmp_path: Path) -> None:
    trace = read(export(tmp_path / "x.sqlite"))
    steps = find_steps(trace).main
    assert steps.seconds[1:] == pytest.approx([10e-6] * 9)
    assert find_steps(trace, "step").main.count == 9
    assert waiting.COPY in waiting.of_calls(trace.processes[0])


def test_an_export_becomes_a_trace_of_ours(run: Run, tmp_path: Path) -> None:
    source = export(tmp_path / "x.sqlite")
    status, out, err = run("trace", "import", source, "-o", tmp_path / "T")
    assert status == 0
    assert "kinds of streams are not in the export" in err
    assert "24 calls, 21 pieces of GPU work" in out
    again = read(tmp_path / "T")
    assert again.run.source == "nsys"
    assert again.run.machine.gpus == ["NVIDIA H200"]
    assert again.processes[0].calls.equals(read(source).processes[0].calls)


KIND = "CUPTI_ACTIVITY_KIND"


@pytest.mark.parametrize(
    ("without", "columns", "said"),
    [
        ([f"{KIND}_RUNTIME"], "", [f"{KIND}_RUNTIME: the table is missing", "nsys"]),
        (["StringIds"], "", ["StringIds: the table is missing", "nsys"]),
        ([f"{KIND}_KERNEL", f"{KIND}_MEMCPY"], "", ["no table of kernels, copies or memsets"]),
        ([], f"ALTER TABLE {KIND}_KERNEL DROP COLUMN streamId",
         [f"{KIND}_KERNEL.streamId: the column is missing"]),
    ],
    ids=["calls", "names", "work", "column"],
)  # fmt: skip
def test_what_is_needed_and_missing_is_named(
    run: Run, tmp_path: Path, without: list[str], columns: str, said: list[str]
) -> None:
    path = export(tmp_path / "x.sqlite", without, columns)
    assert_refused(run("trace", "show", path), str(path), *said)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "waits for streams and events"),
        ("CUPTI_ACTIVITY_KIND_CUDA_EVENT", "recorded events"),
        ("ENUM_CUDA_MEM_KIND", "kinds of memory"),
    ],
)
def test_what_else_is_missing_is_said_in_a_line(tmp_path: Path, table: str, said: str) -> None:
    trace = read(export(tmp_path / "x.sqlite", without=[table]))
    assert any(said in line for line in trace.missing)
    assert find_steps(trace).main.count >= 9


@pytest.mark.parametrize(
    "table", ["NVTX_EVENTS", "TARGET_INFO_SESSION_START_TIME", "TARGET_INFO_GPU", "PROCESSES"]
)
def test_other_tables_may_be_missing(tmp_path: Path, table: str) -> None:
    assert find_steps(read(export(tmp_path / "x.sqlite", without=[table]))).main.count >= 9


def test_a_database_cut_off_anywhere_is_read_or_refused(tmp_path: Path) -> None:
    content = export(tmp_path / "x.sqlite").read_bytes()
    cut = tmp_path / "cut.sqlite"
    for length in range(16, len(content), 997):
        cut.write_bytes(content[:length])
        with suppress(InputError):
            assert nsys.read(cut).processes
