"""Traces in files: written and read again, truncated anywhere, and wrong in every table."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from command_line import Run, assert_refused
from gpucast.data.traces import Trace, phases, read
from gpucast.data.traces.reading import Place, is_trace, names_of, rows_of
from gpucast.data.traces.tables import COLUMNS
from gpucast.data.traces.writing import write
from gpucast.errors import InputError
from made_traces import MadeTrace
from phased_traces import Made, phased

TABLES = ("calls", "work", "waits", "ranges", "streams")


def made() -> MadeTrace:
    """A few steps with every kind of row."""
    trace = MadeTrace(rank=3)
    for _ in range(6):
        with trace.range("step"):
            trace.copy(4096, "h2d", memory="pinned", blocking=False)
            trace.launch("kernel", seconds=10e-6)
            trace.set(64)
            trace.record(1)
            trace.stream_waits(1, trace.stream(13))
            trace.copy(8, "d2h")
            trace.wait_device()
    return trace


def stream(table: pa.Table, rows_of_a_batch: int = 3) -> bytes:
    """A table as a recorder writes it, batch after batch."""
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows_of_a_batch)
    return buffer.getvalue()


def calls(rows: int = 10, **columns: pa.Array) -> pa.Table:
    """A table of calls, written without our own code."""
    numbers = list(range(1, rows + 1))
    table = {
        "start_ns": pa.array([10 * number for number in numbers], pa.int64()),
        "end_ns": pa.array([10 * number + 5 for number in numbers], pa.int64()),
        "correlation": pa.array(numbers, pa.uint32()),
        "thread": pa.array([0] * rows, pa.uint16()),
        "name": pa.array([1] * rows, pa.uint32()),
        "result": pa.array([0] * rows, pa.uint16()),
    }
    return pa.table(table | columns)


def folder(path: Path, **streams: bytes) -> Path:
    """A trace as an interrupted recorder leaves it."""
    (path / "0").mkdir(parents=True)
    (path / "run.json").write_text('{"schema": "gpucast.trace/1", "source": "cupti"}')
    for table, content in streams.items():
        (path / "0" / f"{table}.arrows").write_bytes(content)
    return path


def test_a_trace_that_is_written_is_read_as_it_was(tmp_path: Path) -> None:
    trace = made().trace(made())
    again = read(made().write(tmp_path / "T", made()))
    assert again.run == trace.run
    assert len(again.processes) == 2
    for before, after in zip(trace.processes, again.processes, strict=True):
        assert after.names == before.names
        assert (after.pid, after.rank, after.ended) == (before.pid, before.rank, "exit")
        for table in TABLES:
            pd.testing.assert_frame_equal(getattr(before, table), getattr(after, table))


def test_the_same_trace_gives_the_same_file(tmp_path: Path) -> None:
    one, other = made().write(tmp_path / "one"), made().write(tmp_path / "other")
    assert one.read_bytes() == other.read_bytes()


def test_a_folder_is_read_like_the_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(made().write(tmp_path / "T")) as archive:
        archive.extractall(tmp_path / "folder")
    one, other = read(tmp_path / "T"), read(tmp_path / "folder")
    pd.testing.assert_frame_equal(one.processes[0].work, other.processes[0].work)


def test_rows_come_in_the_order_of_time_whatever_their_order_in_the_file(tmp_path: Path) -> None:
    table = calls().take([7, 2, 9, 0, 1, 3, 4, 5, 6, 8])
    rows = read(folder(tmp_path / "T", calls=stream(table))).processes[0].calls
    assert rows["correlation"].tolist() == list(range(1, 11))


def test_columns_that_nobody_knows_are_left_out(tmp_path: Path) -> None:
    table = calls(later=pa.array(["x"] * 10))
    rows = read(folder(tmp_path / "T", calls=stream(table))).processes[0].calls
    assert list(rows) == list(COLUMNS["calls"])


def test_a_stream_cut_off_at_any_byte_gives_the_batches_before() -> None:
    content = stream(calls(), rows_of_a_batch=3)
    whole, cut = rows_of(content, "calls", Place("T", "calls"))
    assert len(whole) == 10
    assert not cut
    seen = set()
    for length in range(len(content)):
        rows, cut = rows_of(content[:length], "calls", Place("T", "calls"))
        pd.testing.assert_frame_equal(rows, whole.iloc[: len(rows)], check_index_type=False)
        seen.add(len(rows))
        # Between two batches, only the missing end mark shows that more was to come.
        assert cut or len(rows) in (3, 6, 9, 10) or length == 0 or len(rows) == 0
    assert seen == {0, 3, 6, 9, 10}


def test_names_cut_off_at_any_byte_are_those_before() -> None:
    texts = pa.table({"id": pa.array([1, 2, 3], pa.uint32()), "text": ["a", "ü", "kernel<x>"]})
    content = stream(texts, rows_of_a_batch=1)
    whole, _ = names_of(content, Place("T", "names"))
    assert whole == {1: "a", 2: "ü", 3: "kernel<x>"}
    for length in range(len(content)):
        names, _ = names_of(content[:length], Place("T", "names"))
        assert names.items() <= whole.items()


def test_what_a_killed_recorder_leaves_is_read_and_says_what_was_cut(tmp_path: Path) -> None:
    cut = stream(calls())[:-100]
    process = read(folder(tmp_path / "T", calls=cut)).processes[0]
    assert process.ended == "open"
    assert process.cut == ("calls",)
    assert 0 < len(process.calls) < 10
    assert process.work.empty


def test_rows_without_times_are_left_out_and_counted(tmp_path: Path) -> None:
    ends = [10 * number + 5 for number in range(1, 9)] + [0, 0]
    table = calls(end_ns=pa.array(ends, pa.int64()))
    process = read(folder(tmp_path / "T", calls=stream(table))).processes[0]
    assert len(process.calls) == 8
    assert process.untimed == 2


def nulls(table: pa.Table) -> pa.Table:
    """The table with a null among the names."""
    return table.set_column(4, "name", pa.array([1, None] + [1] * 8, pa.uint32()))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.drop_columns(["thread"]), "thread: the column is missing"),
        (lambda table: table.set_column(0, "start_ns", pa.array([1.5] * 10)), "start_ns: must be"),
        (lambda table: table.set_column(0, "start_ns", pa.array(["x"] * 10)), "start_ns: must be"),
        (lambda table: table.set_column(3, "thread", pa.array([-1] * 10)), "thread: has values"),
        (nulls, "name: must not have nulls"),
    ],
)
def test_a_wrong_column_is_named_with_its_table(
    tmp_path: Path, change: Callable[[pa.Table], pa.Table], said: str
) -> None:
    path = folder(tmp_path / "T", calls=stream(change(calls())))
    with pytest.raises(InputError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: 0/calls.arrows: {said}")


def test_a_phase_of_a_kind_that_is_not_known_is_refused(tmp_path: Path, run: Run) -> None:
    def step(trace: MadeTrace, cost: float) -> None:
        trace.launch("kernel", seconds=10e-6, cost=cost)
        trace.copy(8, "d2h")

    wrong = tmp_path / "T"
    write(phased(step, [Made(phases.FULL, 9), Made(3, 9)]), wrong)
    for command in (("trace", "show", wrong), ("import", wrong, "-o", tmp_path / "D.jsonl")):
        assert_refused(run(*command), "0/phases.arrows: full: has phases of kind 3", str(wrong))
    assert not (tmp_path / "D.jsonl").exists()


def test_a_file_that_is_no_stream_is_named(tmp_path: Path) -> None:
    path = folder(tmp_path / "T", calls=b"no stream at all, but long enough to look like one" * 9)
    with pytest.raises(InputError, match=r"0/calls\.arrows: is not an Arrow stream"):
        read(path)


def test_damage_within_a_stream_is_no_end_of_it(tmp_path: Path) -> None:
    content = bytearray(stream(calls()))
    second = content.index(b"\xff\xff\xff\xff", content.index(b"\xff\xff\xff\xff", 4) + 4)
    content[second + 8 : second + 40] = b"\xee" * 32
    with pytest.raises(InputError, match="damaged in batch"):
        read(folder(tmp_path / "T", calls=bytes(content)))


def rewritten(source: Path, target: Path, name: str, content: bytes | None) -> Path:
    """An archive with one entry replaced or removed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.namelist():
            if entry != name:
                new.writestr(entry, old.read(entry))
            elif content is not None:
                new.writestr(entry, content)
    return target


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("run.json", None, "it has no run.json"),
        ("run.json", b"{", "run.json: is not JSON"),
        ("run.json", b"[]", "run.json: "),
        ("run.json", b'{"source": 1}', "run.json: source: must be a string"),
        (
            "run.json",
            b'{"schema": "gpucast.trace/2", "source": "cupti"}',
            "reads 'gpucast.trace/1'",
        ),
        ("0/process.json", b'{"pid": "x"}', "0/process.json: pid: must be a whole number"),
    ],
)
def test_what_is_wrong_in_the_descriptions_is_one_line(
    tmp_path: Path, run: Run, name: str, content: bytes | None, said: str
) -> None:
    source = made().write(tmp_path / "T")
    wrong = rewritten(source, tmp_path / "W", name, content)
    assert_refused(run("trace", "show", wrong), str(wrong), said)


def test_an_archive_that_is_cut_off_anywhere_is_refused_in_one_line(
    tmp_path: Path, run: Run
) -> None:
    content = made().write(tmp_path / "T").read_bytes()
    cut = tmp_path / "cut"
    for length in (0, 1, 3, 4, 100, len(content) // 2, len(content) - 1):
        cut.write_bytes(content[:length])
        assert_refused(run("trace", "show", cut), str(cut))


def test_an_archive_that_is_cut_off_is_refused_as_a_trace_where_a_model_may_stand(
    tmp_path: Path, run: Run
) -> None:
    content = made().write(tmp_path / "T").read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(content[: len(content) // 2])
    assert_refused(run("what-if", cut, "--path", "remote", "--data", cut), "cut off or damaged")


def test_an_archive_damaged_anywhere_is_read_or_refused(tmp_path: Path) -> None:
    content = made().write(tmp_path / "T").read_bytes()
    damaged = tmp_path / "damaged"
    for at in range(0, len(content), 7):
        damaged.write_bytes(content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :])
        with suppress(InputError):
            assert isinstance(read(damaged), Trace)


def test_what_the_recorder_leaves_without_a_description_of_the_run_is_read(
    tmp_path: Path,
) -> None:
    path = folder(tmp_path / "T", calls=stream(calls()))
    (path / "run.json").unlink()
    assert is_trace(path)
    assert read(path).run.source == "cupti"
    (path / "0" / "calls.arrows").unlink()
    assert not is_trace(path)
    with pytest.raises(InputError, match="it has no run"):
        read(path)


def test_a_trace_without_a_process_says_so(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "T"
    path.mkdir()
    (path / "run.json").write_text(json.dumps({"schema": "gpucast.trace/1", "source": "cupti"}))
    assert_refused(run("trace", "show", path), "holds no process")


def test_other_files_are_no_traces(tmp_path: Path, run: Run) -> None:
    (tmp_path / "x").write_text("n,gpus,seconds\n1,1,1\n")
    assert_refused(run("trace", "show", tmp_path / "x"), "is not a trace")
    assert_refused(run("trace", "show", tmp_path / "missing"), "No such file")
