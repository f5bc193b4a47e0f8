"""Files that would take their reader's time and memory are refused in one line, or read."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hostile_files
from gpucast.data.loading import read
from gpucast.data.traces import read as read_trace
from gpucast.errors import InputError
from gpucast.util import limits
from hostile_files import IMPORT, SHOW, Outcome, outcome

HEADER = "n,gpus,seconds"


@pytest.fixture
def met(tmp_path: Path) -> Callable[..., Outcome]:
    """The outcome of reading a file of this name and content in a process of its own."""

    def outcome_of(name: str, content: bytes, command: tuple[str, ...] = IMPORT) -> Outcome:
        (tmp_path / name).write_bytes(content)
        return outcome(command, tmp_path / name)

    return outcome_of


@pytest.mark.parametrize("number", range(28))
def test_a_changed_file_is_read_or_refused_in_one_line(number: int, tmp_path: Path) -> None:
    reader, content = hostile_files.made(number, seed=1)
    (tmp_path / reader.file).write_bytes(content)
    result = outcome(reader.command, tmp_path / reader.file)
    assert result.is_right, result


@pytest.mark.slow
def test_a_thousand_changed_files_are_read_or_refused_in_one_line(tmp_path: Path) -> None:
    results = hostile_files.outcomes(1000, 2, tmp_path)
    assert [result for result in results if not result[2].is_right] == []


# --- tables ---------------------------------------------------------------------------------------


def _workbook(change: Callable[[bytes], bytes]) -> bytes:
    """A workbook with a changed sheet."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(hostile_files._workbook())) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, change(part) if "sheet1.xml" in name else part)
    return buffer.getvalue()


def _before(end: bytes, more: bytes) -> bytes:
    return _workbook(lambda sheet: sheet.replace(end, more + end))


def test_a_far_formatted_cell_and_a_merged_sheet_do_not_keep_a_workbook_from_being_read(
    tmp_path: Path,
) -> None:
    far = b'<row r="1048576"><c r="XFD1048576" s="0"/></row>'
    path = tmp_path / "t.xlsx"
    path.write_bytes(_before(b"</sheetData>", far))
    assert len(read(path).steps) == 6
    merged = _workbook(lambda sheet: sheet.replace(b'ref="D2:D4"', b'ref="D2:XFD1048576"'))
    path.write_bytes(merged)
    assert {step.program for step in read(path).steps} == {"md"}


def _parquet(**columns: object) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    buffer = io.BytesIO()
    table = pa.table({"n": [1000, 2000], "gpus": [1, 1], "seconds": [0.1, 0.2], **columns})
    parquet.write_table(table, buffer)
    return buffer.getvalue()


def test_lists_as_cells_of_a_parquet_file_are_no_numbers(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    path.write_bytes(_parquet(seconds=[[0.1, 0.2], [0.3]]))
    with pytest.raises(InputError, match=r":1: seconds: 'a list' is not a number"):
        read(path)
    path.write_bytes(_parquet(tags=[[1, 2], [3]]))
    assert len(read(path).steps) == 2


def test_a_text_that_stands_once_in_a_parquet_file_stands_once_in_memory(
    met: Callable[..., Outcome],
) -> None:
    pytest.importorskip("pyarrow")
    rows = 1200
    columns: dict[str, list[float]] = {"n": [1000.0 + at for at in range(rows)]}
    columns["gpus"] = [1] * rows
    columns["seconds"] = [0.1] * rows
    result = met("t.parquet", _parquet(**columns, notes=["x" * 1_000_000] * rows))
    assert result.word == "read", result


# --- JSON -----------------------------------------------------------------------------------------


def test_a_size_that_has_no_inverse_is_refused(tmp_path: Path) -> None:
    (record, *others) = hostile_files._records().decode().splitlines()
    step = json.loads(next(line for line in others if '"step"' in line))
    path = tmp_path / "d.jsonl"
    path.write_text(f"{record}\n{json.dumps(step | {'n': 5e-324})}\n")
    from gpucast.data import jsonl

    with pytest.raises(InputError, match=r":2: n: must be at least 1e-18, got 5e-324"):
        jsonl.read(path)


# --- traces ---------------------------------------------------------------------------------------


def _kineto(**changed: object) -> bytes:
    """A PyTorch trace with changes to every event or to the whole."""
    document: dict[str, Any] = json.loads(hostile_files._kineto())
    whole = {name: changed.pop(name) for name in list(changed) if name in document}
    document["traceEvents"] = [{**event, **changed} for event in document["traceEvents"]]
    return json.dumps({**document, **whole}).encode()


@pytest.mark.parametrize(
    "changed",
    [
        {"args": [1]},
        {"args": {"correlation": 2**70}},
        {"pid": {"a": 1}},
        {"tid": [1]},
        {"ts": 1e300},
        {"dur": 9.3e15},
        {"deviceProperties": 5},
        {"baseTimeNanoseconds": 10**30},
        {"traceEvents": {"a": 1}},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_kineto_trace_of_other_types_is_read_or_refused(
    met: Callable[..., Outcome], changed: dict[str, object]
) -> None:
    result = met("k.json", _kineto(**changed), SHOW)
    assert result.is_right, result


def test_copies_of_more_than_4_gib_keep_their_bytes(tmp_path: Path) -> None:
    path = tmp_path / "k.json"
    path.write_bytes(hostile_files._kineto().replace(b'"bytes": 4,', b'"bytes": 5000000000,'))
    assert read_trace(path).processes[0].work["bytes"].max() == 5_000_000_000


def test_a_kineto_trace_is_read_alike_whatever_its_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpucast.data.traces import kineto

    path = tmp_path / "k.json"
    path.write_bytes(hostile_files._kineto())
    whole = read_trace(path).processes[0]
    for piece in (1, 7, 64, 1000):
        monkeypatch.setattr(kineto, "_PIECE", piece)
        parts = read_trace(path).processes[0]
        assert parts.work.equals(whole.work)
        assert parts.calls.equals(whole.calls)


_CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
_ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (f"UPDATE {_CALLS} SET start = 'x'", f"{_CALLS}.start: must be whole numbers"),
        (f"UPDATE {_CALLS} SET start = x'00ff'", f"{_CALLS}.start: must be whole numbers"),
        (f"UPDATE {_CALLS} SET start = 1e300", f"{_CALLS}.start: must be whole numbers"),
        (f'UPDATE {_CALLS} SET "end" = NULL', f"{_CALLS}.end: must not be NULL"),
        (
            f"DROP TABLE StringIds; CREATE VIEW StringIds AS {_ENDLESS} "
            "SELECT x AS id, 'v' AS value FROM c",
            "StringIds: the table is missing",
        ),
        (
            f"DROP TABLE {_CALLS}; CREATE VIEW {_CALLS} AS {_ENDLESS} SELECT x AS start FROM c",
            f"{_CALLS}: the table is missing",
        ),
        (
            "DROP TABLE StringIds; CREATE VIEW StringIds AS "
            "SELECT 1 AS id, hex(zeroblob(400000000)) AS value",
            "StringIds: the table is missing",
        ),
        (
            "DROP TABLE StringIds; CREATE TABLE StringIds (id INTEGER, "
            "value TEXT AS (hex(zeroblob(400000000)))); INSERT INTO StringIds VALUES (1)",
            "StringIds.value: the column is missing",
        ),
    ],
    ids=["text", "blob", "real", "null", "endless names", "endless calls", "zeroes", "computed"],
)
def test_an_sqlite_export_that_holds_something_else_is_refused(
    met: Callable[..., Outcome], tmp_path: Path, statement: str, said: str
) -> None:
    path = tmp_path / "y.sqlite"
    path.write_bytes(hostile_files._nsys())
    with closing(sqlite3.connect(path)) as base, base:
        base.executescript(statement)
    result = met("x.sqlite", path.read_bytes(), SHOW)
    assert (result.word, said in result.message) == ("refused", True), result


@pytest.mark.parametrize("value", ["NULL", "x'ff00fe'"])
def test_a_name_that_is_no_text_is_a_question_mark(tmp_path: Path, value: str) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(hostile_files._nsys())
    with closing(sqlite3.connect(path)) as base, base:
        rows = base.execute("SELECT id, value FROM StringIds").fetchall()
        base.execute("DROP TABLE StringIds")
        base.execute("CREATE TABLE StringIds (id INTEGER, value)")
        base.executemany("INSERT INTO StringIds VALUES (?, ?)", rows)
        base.execute(f"UPDATE StringIds SET value = {value} WHERE id = 2")
    process = read_trace(path).processes[0]
    assert "?" in process.names.values()


# --- what unfolds ---------------------------------------------------------------------------------


def _packed(begin: bytes, filler: bytes, times: int) -> bytes:
    """A compressed text with little but filler."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=1) as stream:
        stream.write(begin)
        for _ in range(times):
            stream.write(filler)
    return buffer.getvalue()


def _archive() -> bytes:
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("run.json", "w", force_zip64=True) as part,
    ):
        for _ in range(300):
            part.write(b" " * (1 << 20))
    return buffer.getvalue()


def _declared() -> bytes:
    """A small Parquet file that declares many cells."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    buffer = io.BytesIO()
    many = {name: pa.array([1]).take(pa.array([0] * 2_000_000)) for name in HEADER.split(",")}
    parquet.write_table(pa.table(many), buffer)
    assert len(buffer.getvalue()) < 100_000
    return buffer.getvalue()


MANY = b"[" + b"{}," * 3_000_000 + b"{}]}\n"
FAR = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
TRACE = b'{"schemaVersion":1,"deviceProperties":[],"traceEvents":['
MEASURE = ("measure", "--program", "FILE", "--dry-run", "-o", "OUT.jsonl")
VALUES, READ_ALL = "has more than 4000000 values", "which is as much as is read"
UNFOLDING: dict[str, tuple[str, Callable[[], str | bytes], str, tuple[str, ...]]] = {
    "columns": ("t.csv", lambda: f"{HEADER}," + ",".join(f"c{at}" for at in range(10**6)),
                "has more than 1000 columns", IMPORT),
    "blank columns": ("t.csv", lambda: f"{HEADER}," + "," * (4 << 20),
                      "has more than 1000 columns", IMPORT),
    "a wide row": ("t.csv", lambda: f"{HEADER}\n1,1,0.1\n" + "1," * 10**6,
                   "is larger than 1 MiB", IMPORT),
    "blank lines": ("t.csv", lambda: f"{HEADER}\n1,1,0.1\n" + "\n" * 10**6,
                    "has more than 300000 lines", IMPORT),
    "commas": ("t.csv", lambda: "," * (5 << 20), "is of no known format", IMPORT),
    "brackets": ("t.csv", lambda: "a,b," + "[" * 100_000 + "\n", "is of no known format", IMPORT),
    "wide lines": ("t.csv", lambda: "\n".join("a," * 50_000 for _ in range(19)),
                   "is of no known format", IMPORT),
    "a far cell": ("t.xlsx", lambda: _before(b"</sheetData>", FAR),
                   "has more than 1000 columns", IMPORT),
    "a far row": ("t.xlsx", lambda: _before(b"</sheetData>", b'<row r="999999999999"/>'),
                  "has more than 4194304", IMPORT),
    "blanks of a sheet": ("t.xlsx", lambda: _before(b"</sheetData>", b" " * (300 << 20)),
                          "is larger than 256 MiB", IMPORT),
    "rows of a sheet": ("t.xlsx", lambda: _before(b"</sheetData>", b"<row/>" * 1_100_000),
                        "has more than 1000000 XML", IMPORT),
    "cells of a Parquet file": ("t.parquet", _declared, "has more than 4000000 cells", IMPORT),
    "a model": ("m.json", lambda: b'{"measurements":' + MANY, VALUES,
                ("predict", "FILE", "-n", "1")),
    "an export": ("e.json", lambda: b'{"measurements":' + MANY, VALUES, IMPORT),
    "a record": ("d.jsonl", lambda: b'{"schema":"gpucast.record/1","a":' + MANY, VALUES,
                 ("data", "show", "FILE")),
    "blanks of a trace": ("k.json.gz", lambda: _packed(TRACE, b" " * (1 << 20), 520), READ_ALL,
                          SHOW),
    "events of a trace": ("k.json.gz", lambda: _packed(TRACE, b"{}," * 350_000, 13), READ_ALL,
                          SHOW),
    "an archive": ("T", _archive, "is larger than 256 MiB", SHOW),
    "a plan": ("p.yaml", lambda: b"program: md\nsizes: [" + b"1," * 250_000 + b"1]\n",
               "has more than 200000 values", MEASURE),
}  # fmt: skip
"""A file's name and content, the expected message, and the command that reads it."""


@pytest.mark.parametrize(("name", "content", "said", "command"), UNFOLDING.values(), ids=UNFOLDING)
def test_a_file_that_unfolds_is_refused(
    met: Callable[..., Outcome],
    name: str,
    content: Callable[[], str | bytes],
    said: str,
    command: tuple[str, ...],
) -> None:
    made = content()
    result = met(name, made if isinstance(made, bytes) else made.encode(), command)
    assert (result.word, said in result.message) == ("refused", True), result


# --- limits ---------------------------------------------------------------------------------------


def test_all_limits_are_raised_by_one_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    few = limits.Limit(10, "rows")
    with pytest.raises(InputError, match=r"f: has more than 10 rows.*GPUCAST_LIMITS=2"):
        few.check(11, "f")
    monkeypatch.setenv("GPUCAST_LIMITS", "2")
    few.check(20, "f")
    with pytest.raises(InputError, match="has more than 20 rows"):
        few.check(21, "f")


@pytest.mark.parametrize("text", ["", "0.5", "x", "nan", "inf"])
def test_a_factor_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("GPUCAST_LIMITS", text)
    with pytest.raises(InputError, match=r"GPUCAST_LIMITS: .* is no number from 1 to 1e6"):
        limits.INPUT.check(1, "f")
