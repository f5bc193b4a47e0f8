"""Files that a reader must refuse in one line, or read: valid ones of each format, changed at
random; and a process for each reading, with bounded memory and processor time.

    python tests/support/hostile_files.py 1000 [SEED]

makes so many and says of each which reader it met and what became of it.
"""

import copy
import gzip
import importlib.util
import io
import json
import os
import random
import re
import resource
import shutil
import sqlite3
import sys
import tempfile
import traceback
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import made_data
import made_traces
from gpucast.cli import main

MEMORY = 1 << 30
"""Bytes beyond its size that a file may take of its reader's address space."""
SECONDS = 60
"""Seconds of a processor after which a file counts as one that hangs its reader, on however slow a
machine."""
ROOT = Path(__file__).parents[2]
LOGS = sorted((ROOT / "tests" / "data" / "logs").iterdir())
TABLE = "n,gpus,seconds,program\n" + "".join(
    f"{n},{gpus},{1e-3 + n * 1e-7 / gpus:.6f},md\n" for n in (1000, 2000, 4000) for gpus in (1, 2)
)
EXTREMES = (
    "0", "-1", "1e308", "-1e308", "5e-324", "1e999", "nan", "inf", str(2**31), str(2**63),
    str(2**64), "9" * 400, "", "x", "''", "[]", "{}", "null", "true", '"1"', "1,5", "0x10", "\x00",
)  # fmt: skip
VALUES: tuple[object, ...] = (
    None, -1, 0, 1e308, 5e-324, 10**30, 2**63, True, "", "x" * 1000, "\ud800", [], [[1]], {},
    {"a": 1}, float("nan"), float("inf"),
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What became of a file: a word, and the line that was said; processor time and memory."""

    word: str
    message: str
    seconds: float
    mebibytes: int

    @property
    def is_right(self) -> bool:
        """Whether the file was read, or refused in one line."""
        return self.word in ("read", "refused")


@dataclass(frozen=True)
class Reader:
    """A format: the file's name, a valid one, and the command that reads it."""

    name: str
    file: str
    content: Callable[[], bytes]
    command: tuple[str, ...]
    change: Callable[[bytes, random.Random], bytes]


# --- changes --------------------------------------------------------------------------------------


def any_bytes(content: bytes, by: random.Random) -> bytes:
    """Cut off, cut out, doubled, or with bytes changed."""
    made = bytearray(content)
    start, end = sorted(by.randrange(len(made) + 1) for _ in "ab")
    how = by.randrange(5)
    if how == 0:
        return bytes(made[:end])
    if how == 1:
        return bytes(made[:start] + made[end:])
    if how == 2:
        return bytes(made[:end] + made[start:])
    if how == 3:
        return (
            bytes(made[:start])
            + by.choice((b"\0", b",", b"\n", b"[", b" ", b'"')) * 10 ** (by.randrange(1, 7))
            + bytes(made[start:])
        )
    for _ in range(by.choice((1, 5, 50))):
        made[by.randrange(len(made))] = by.randrange(256)
    return bytes(made)


def text(content: bytes, by: random.Random) -> bytes:
    """Numbers and words changed."""
    if by.random() < 0.3:
        return any_bytes(content, by)
    words = re.split(rb"(\w[\w.+-]*)", content)
    for _ in range(by.choice((1, 3, 20))):
        at = by.randrange(len(words) // 2) * 2 + 1 if len(words) > 2 else 0
        words[at] = by.choice(EXTREMES).encode("utf-8", "replace")
    return b"".join(words)


def _places(value: object) -> Iterator[tuple[object, object]]:
    """Containers and keys of everything within a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from _places(inner)


def values(content: bytes, by: random.Random) -> bytes:
    """Values of a JSON text replaced, removed or deeply nested."""
    if by.random() < 0.2:
        return any_bytes(content, by)
    document = json.loads(content)
    for _ in range(by.choice((1, 1, 3, 10))):
        places = list(_places(document))
        if not places:
            break
        container, key = by.choice(places)
        if by.random() < 0.2:
            del container[key]
        else:
            container[key] = copy.deepcopy(by.choice(VALUES))
    made = json.dumps(document).encode()
    return made.replace(b"null", b"[" * 20000 + b"]" * 20000, 1) if by.random() < 0.05 else made


def lines(content: bytes, by: random.Random) -> bytes:
    """The same of one line of JSON Lines."""
    if by.random() < 0.2:
        return any_bytes(content, by)
    made = content.splitlines()
    at = by.randrange(len(made))
    made[at] = values(made[at], by)
    return b"\n".join(made) + b"\n"


def packed(content: bytes, by: random.Random) -> bytes:
    """The same of a compressed JSON text, or of its bytes."""
    if by.random() < 0.3:
        return any_bytes(content, by)
    return gzip.compress(values(gzip.decompress(content), by))


def archived(content: bytes, by: random.Random) -> bytes:
    """A file within a zip archive changed, left out or named otherwise."""
    if by.random() < 0.2:
        return any_bytes(content, by)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = by.choice(list(parts))
    if by.random() < 0.15:
        parts.pop(name)
    elif name.endswith((".xml", ".rels", ".json")) and by.random() < 0.8:
        parts[name] = text(parts[name], by)
    else:
        parts[name] = any_bytes(parts[name], by)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, inner in parts.items():
            archive.writestr(path, inner)
    return buffer.getvalue()


def stored(content: bytes, by: random.Random) -> bytes:
    """Cells of an sqlite database changed, tables made views, or bytes changed."""
    if by.random() < 0.25:
        return any_bytes(content, by)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(content)
        with closing(sqlite3.connect(path)) as base, base:
            tables = [row[0] for row in base.execute("SELECT name FROM sqlite_master")]
            table = by.choice(tables)
            columns = [row[1] for row in base.execute(f'PRAGMA table_info("{table}")')]
            column = by.choice(columns)
            value = by.choice((
                "NULL", "-1", "1e300", "9223372036854775807", "-9223372036854775808", "'x'",
                "x'00ff'", "zeroblob(1000000)", "char(27,8238,55296)", "0", "''", "0.5",
            ))  # fmt: skip
            few = by.choice(("", " WHERE rowid % 7 = 3"))
            how = by.randrange(6)
            if how == 0:
                base.execute(f'DROP TABLE "{table}"')
                named = ", ".join(f'x AS "{field}"' for field in columns)
                base.execute(
                    f'CREATE VIEW "{table}" AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT '
                    f"x + 1 FROM c) SELECT {named} FROM c"
                )
            elif how == 1:
                base.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO other')
            else:
                with suppress(sqlite3.Error):  # a key takes whole numbers alone
                    base.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = {value}{few}')
        return path.read_bytes()


def _of_test(name: str) -> Any:
    """A module of tests/data/traces, which makes traces as other programs write them."""
    path = ROOT / "tests" / "data" / "traces" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- valid files ----------------------------------------------------------------------------------


@cache
def _records() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        made_data.whole().dump(path)
        return path.read_bytes()


@cache
def _model() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        table, data, model = (str(Path(folder) / name) for name in ("t.csv", "d.jsonl", "m.json"))
        Path(table).write_text(TABLE)
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            assert main(["import", table, "-o", data]) == 0
            assert main(["fit", data, "-o", model, "--replicates", "3"]) == 0
        return Path(model).read_bytes()


@cache
def _workbook() -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for line in TABLE.splitlines():
        book.active.append(
            [float(field) if field[0].isdigit() else field for field in line.split(",")]
        )
    book.active.merge_cells("D2:D4")
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


@cache
def _parquet() -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    buffer = io.BytesIO()
    columns = {"n": [1000, 2000] * 4, "gpus": [1, 1, 2, 2] * 2, "seconds": [0.1] * 8}
    parquet.write_table(pa.table({**columns, "program": ["md"] * 8}), buffer)
    return buffer.getvalue()


@cache
def _kineto() -> bytes:
    written = _of_test("test_kineto").written
    with tempfile.TemporaryDirectory() as folder:
        return written(Path(folder) / "x.json").read_bytes()


@cache
def _nsys() -> bytes:
    export = _of_test("test_nsys").export
    with tempfile.TemporaryDirectory() as folder:
        return export(Path(folder) / "x.sqlite").read_bytes()


@cache
def _trace() -> bytes:
    made = made_traces.MadeTrace()
    for _ in range(10):
        with made.range("step"):
            made.host(20e-6)
            made.copy(4096, "h2d", blocking=True)
            made.launch("kernel", seconds=100e-6)
            made.copy(8, "d2h", blocking=True)
    with tempfile.TemporaryDirectory() as folder:
        made.write(Path(folder) / "T")
        return (Path(folder) / "T").read_bytes()


def _nvbandwidth() -> bytes:
    test = {
        "name": "host_to_device_memcpy_ce", "status": "Passed",
        "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
        "bandwidth_matrix": [["55.0", "54.5"]],
    }  # fmt: skip
    return json.dumps(
        {"nvbandwidth": {"CUDA Runtime Version": 12080, "testcases": [test]}}
    ).encode()


def _extrap() -> bytes:
    points = [{"point": [n, gpus], "values": [0.1]} for n in (1000, 2000) for gpus in (1, 2)]
    document = {"parameters": ["n", "gpus"], "measurements": {"main": {"time": points}}}
    return json.dumps(document).encode()


def _plan() -> bytes:
    return (ROOT / "docs" / "examples" / "plan.yaml").read_bytes()


def _program() -> bytes:
    return (
        b"program: md\ncommand: [echo, '{n}']\nsizes: [1000, 2000]\ngpus: [1, 2]\n"
        b"result: {regex: '(?P<ms>[0-9.]+)', unit: ms}\ntime_limit: 60s\n"
    )


IMPORT = ("import", "FILE", "-o", "OUT.jsonl")
SHOW = ("trace", "show", "FILE")
READERS = (
    Reader("table", "t.csv", TABLE.encode, IMPORT, text),
    Reader("workbook", "t.xlsx", _workbook, IMPORT, archived),
    Reader("parquet", "t.parquet", _parquet, IMPORT, any_bytes),
    Reader("records", "d.jsonl", _records, ("fit", "FILE", "-o", "OUT.json", "--replicates", "0"),
           lines),
    Reader("records shown", "d.jsonl", _records, ("data", "show", "FILE"), lines),
    Reader("model", "m.json", _model, ("predict", "FILE", "-n", "1000", "--gpus", "1,2"), values),
    Reader("kineto", "k.json", _kineto, SHOW, values),
    Reader("kineto, compressed", "k.json.gz", lambda: gzip.compress(_kineto()), SHOW, packed),
    Reader("nsys", "x.sqlite", _nsys, SHOW, stored),
    Reader("trace", "T", _trace, SHOW, archived),
    Reader("nvbandwidth", "b.json", _nvbandwidth, IMPORT, values),
    Reader("Extra-P", "e.json", _extrap, IMPORT, values),
    Reader("plan", "plan.yaml", _plan, ("plan", "FILE", "MODEL"), text),
    Reader("program", "p.yaml", _program,
           ("measure", "--program", "FILE", "--dry-run", "-o", "OUT.jsonl"), text),
    *(Reader(f"log {log.stem}", log.name, log.read_bytes, IMPORT, text) for log in LOGS),
)  # fmt: skip


# --- readings -------------------------------------------------------------------------------------


def outcome(command: tuple[str, ...], file: Path) -> Outcome:
    """Run a command in a process that is ended where it takes too much of a machine.

    The process is forked, so that nothing need be imported again; run with nothing else going on.
    """
    words = [{"FILE": str(file), "MODEL": str(file.parent / "model")}.get(w, w) for w in command]
    if "MODEL" in command:
        (file.parent / "model").write_bytes(_model())
    output = file.parent / "said"
    process = os.fork()
    if process == 0:
        _read(words, file, output)
    _, status, used = os.wait4(process, 0)
    text = output.read_text("utf-8", "replace") if output.exists() else ""
    code = os.waitstatus_to_exitcode(status)
    errors = [line for line in text.splitlines() if line.startswith("gpucast: error: ")]
    if code < 0:
        word = "too long" if code == -24 else f"signal {-code}"
    elif "Traceback" in text:
        word = "too much memory" if "MemoryError" in text else "traceback"
    elif "Warning:" in text:
        word = "a warning of Python's"
    else:
        word = "read" if code == 0 else "refused" if code == 2 and len(errors) == 1 else "failed"
    shown = (errors or text.strip().splitlines() or [""])[-1]
    return Outcome(word, shown, used.ru_utime + used.ru_stime, used.ru_maxrss >> 10)


def _read(words: list[str], file: Path, said: Path) -> None:
    status = 99
    try:
        os.chdir(file.parent)
        with open(said, "w", encoding="utf-8", errors="replace") as stream:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            most = pages * resource.getpagesize() + MEMORY + file.stat().st_size
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
            with redirect_stdout(io.StringIO()), redirect_stderr(stream):
                try:
                    status = main(words)
                except BaseException:  # a traceback is what is looked for
                    traceback.print_exc(file=stream)
    finally:
        os._exit(status)


def made(number: int, seed: int) -> tuple[Reader, bytes]:
    """The file of a number: a reader of each kind in turn, and logs by turns."""
    by = random.Random(f"{seed} {number}")
    kinds = len(READERS) - len(LOGS)
    at = number % (kinds + 1)
    reader = READERS[at] if at < kinds else by.choice(READERS[kinds:])
    content = reader.content()
    for _ in range(by.choice((1, 1, 2))):
        content = reader.change(content, by) if content else content
        if reader.change in (values, lines, packed, archived, stored):
            break
    return reader, content


def outcomes(count: int, seed: int, folder: Path) -> Iterator[tuple[int, Reader, Outcome]]:
    """What becomes of so many files; those that were wrongly treated stay in the folder."""
    for number in range(count):
        reader, content = made(number, seed)
        room = folder / str(number)
        room.mkdir()
        (room / reader.file).write_bytes(content)
        result = outcome(reader.command, room / reader.file)
        if result.is_right:
            shutil.rmtree(room)
        yield number, reader, result


def report(count: int, seed: int = 1) -> int:
    """Print what becomes of so many files; 1 where one was wrongly treated."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    wrong, words = 0, dict[str, int]()
    most = (0.0, 0)
    for number, reader, read in outcomes(count, seed, folder):
        words[read.word] = words.get(read.word, 0) + 1
        most = max(most[0], read.seconds), max(most[1], read.mebibytes)
        wrong += not read.is_right
        print(f"{number}\t{reader.name}\t{read.word}\t{read.seconds:.1f} s\t{read.message[:160]}",
              flush=True)  # fmt: skip
    print(f"{count} files: {words}; at most {most[0]:.1f} s, {most[1]} MiB; kept in {folder}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(report(*map(int, sys.argv[1:])))
