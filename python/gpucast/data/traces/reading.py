"""Traces from files: zip archives, folders, and files of other recorders.

Complete parts of an interrupted recording are read, with a list of its truncated tables, which are
Arrow IPC streams.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pandas as pd

from gpucast.data.traces import kineto, nsys
from gpucast.data.traces.phases import KNOWN, checked
from gpucast.data.traces.tables import COLUMNS, SCHEMA, frame
from gpucast.data.traces.trace import Process, RunDescription, Trace
from gpucast.errors import InputError, from_os_error
from gpucast.util import limits
from gpucast.util.files import PathLike, read_bytes
from gpucast.util.typed_json import WrongValueError, from_json

if TYPE_CHECKING:
    from nanoarrow.c_array import CArrayView

T = TypeVar("T")

_RUN = "run.json"
_ZIP = b"PK\x03\x04"


@dataclass(frozen=True)
class _Phase:
    """A phase that has not ended."""

    start_ns: int
    full: bool


@dataclass(frozen=True)
class _Described:
    """The content of ``process.json``."""

    pid: int = 0
    rank: int | None = None
    program: str = "?"
    lost: int = 0
    ended: str = "open"
    phase: _Phase | None = None


@dataclass(frozen=True)
class _Files:
    """The files of a trace: functions that return their content, by name.

    ``whole``: whether all must exist, as in an archive.
    """

    file: str
    content: Mapping[str, Callable[[], bytes]]
    whole: bool

    def json(self, name: str, kind: type[T]) -> T:
        try:
            return from_json(kind, json.loads(self.content[name]()))
        except WrongValueError as error:
            field = f"{name}: {error.field}"
            raise InputError(error.message, file=self.file, field=field) from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"is not JSON ({error})", file=self.file, field=name) from None


def read(path: PathLike) -> Trace:
    """Read the trace in a file or folder, or in Nsight Systems' sqlite export or Kineto's JSON.

    Raises:
        InputError: it is not a trace, or its tables are wrong; the message has file, table, column
            and error.
    """
    name = os.fspath(path)
    try:
        if Path(path).is_dir():
            return _trace(_folder(Path(path), name))
        with open(path, "rb") as stream:
            head = stream.read(4096)
        if head.startswith(_ZIP):
            with zipfile.ZipFile(path) as archive:
                return _trace(_archive(archive, name))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError):  # of a later version
        raise InputError("is a zip archive that is cut off or damaged", file=path) from None
    except OSError as error:
        raise from_os_error(error, path) from error
    if nsys.detect(head):
        return nsys.read(path)
    if kineto.detect(head):
        return kineto.read(path)
    raise InputError(
        "is not a trace: neither one of gpucast trace, nor an sqlite export of Nsight Systems, "
        "nor a Kineto trace",
        file=path,
    )


def is_trace(path: PathLike) -> bool:
    """Return whether a file or folder looks like one that ``read`` accepts."""
    try:
        if Path(path).is_dir():
            names = _folder(Path(path), "").content
            return _RUN in names or any(map(_of_process, names))
        with open(path, "rb") as stream:
            head = stream.read(4096)
        if head.startswith(_ZIP):
            with zipfile.ZipFile(path) as archive:
                return _RUN in archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError):
        # Truncated archives are reported by ``read``. They contain the name of the first file.
        return _RUN.encode() in head
    except OSError:
        return False
    return nsys.detect(head) or kineto.detect(head)


def _folder(path: Path, name: str) -> _Files:
    files = [file for file in (*path.glob("*.json"), *path.glob("*/*")) if file.is_file()]
    content = {file.relative_to(path).as_posix(): partial(read_bytes, file) for file in files}
    return _Files(name, content, whole=False)


def _archive(archive: zipfile.ZipFile, name: str) -> _Files:
    def content(entry: str) -> bytes:
        try:
            return archive.read(entry)
        except (NotImplementedError, RuntimeError) as error:  # encrypted, an unknown compression
            raise InputError(f"cannot be read ({error})", file=name, field=entry) from None

    limits.check_archive(archive, name)
    entries = {entry: partial(content, entry) for entry in archive.namelist()}
    return _Files(name, entries, whole=True)


def _of_process(name: str) -> bool:
    """Return whether a file of this name describes a process or its calls."""
    folder, _, rest = name.partition("/")
    return folder.isdigit() and rest in ("process.json", "calls.arrows")


def _trace(files: _Files) -> Trace:
    folders = {name.partition("/")[0] for name in files.content if "/" in name}
    # A longer number is not a rank.
    numbers = sorted(int(folder) for folder in folders if re.fullmatch(r"[0-9]{1,9}", folder))
    # The recorder's library without the command leaves a folder without a description of the run.
    bare = _RUN not in files.content
    if bare and (files.whole or not any(map(_of_process, files.content))):
        raise InputError("is not a trace: it has no run.json", file=files.file)
    run = RunDescription("cupti") if bare else files.json(_RUN, RunDescription)
    if run.schema != SCHEMA:
        message = f"is {run.schema!r}; this gpucast reads {SCHEMA!r}"
        raise InputError(message, file=files.file, field=_RUN)
    limits.PROCESSES.check(len(numbers), files.file)
    processes = tuple(_process(files, str(number)) for number in numbers)
    if not processes:
        raise InputError(
            "holds no process: the program made no CUDA call, or ended before one was recorded",
            file=files.file,
        )
    return Trace(run=run, processes=processes, file=files.file)


def _process(files: _Files, folder: str) -> Process:
    described = _Described()
    if f"{folder}/process.json" in files.content:  # a recorder that is killed may not write it
        described = files.json(f"{folder}/process.json", _Described)
    rows: dict[str, pd.DataFrame] = {}
    names: dict[int, str] = {}
    cut: list[str] = []
    untimed = 0
    for table in (*COLUMNS, "names"):
        stream = f"{folder}/{table}.arrows"
        if stream not in files.content:
            continue
        content, place = files.content[stream](), Place(files.file, stream)
        if table == "names":
            names, ended = names_of(content, place)
        else:
            rows[table], ended = rows_of(content, table, place)
        cut += [table] * ended
    for table in COLUMNS:
        read = rows.setdefault(table, frame(table))
        if "start_ns" in read and table != "waits":
            timed = read[(read["start_ns"] > 0) & (read["end_ns"] >= read["start_ns"])]
            untimed += len(read) - len(timed)
            rows[table] = timed.sort_values("start_ns", kind="stable", ignore_index=True)
    _check_kinds(rows["phases"], Place(files.file, f"{folder}/phases.arrows"))
    rows["phases"] = _with_open_phase(rows["phases"], described.phase, rows["calls"])
    process = Process(
        pid=described.pid, rank=described.rank, program=described.program, lost=described.lost,
        ended=described.ended, names=names, folder=folder, cut=tuple(cut), untimed=untimed,
        calls=rows["calls"], work=rows["work"], waits=rows["waits"], ranges=rows["ranges"],
        phases=rows["phases"], streams=rows["streams"],
    )  # fmt: skip
    return checked(process)


def _check_kinds(phases: pd.DataFrame, place: Place) -> None:
    """Refuse phases of unknown kinds, because it is not known which records they lack."""
    unknown = sorted(set(phases["full"].tolist()) - set(KNOWN))
    if unknown:
        raise place.error(
            f"has phases of kind {unknown[0]}, but this gpucast knows only 0, 1 and 2: record "
            "the program again with it",
            "full",
        )


def _with_open_phase(
    phases: pd.DataFrame, phase: _Phase | None, calls: pd.DataFrame
) -> pd.DataFrame:
    """Add the current phase of an interrupted recording, which lasts until the last call."""
    if phase is None or calls.empty or calls["end_ns"].max() <= phase.start_ns:
        return phases
    if len(phases) and phases["end_ns"].max() > phase.start_ns:
        return phases  # it ended after the last write of process.json
    columns = {
        "start_ns": [phase.start_ns], "end_ns": [calls["end_ns"].max()], "full": [int(phase.full)],
    }  # fmt: skip
    return pd.concat([phases, frame("phases", columns)], ignore_index=True)


_MESSAGE = b"\xff\xff\xff\xff"
"""The first bytes of each message of a stream."""


@dataclass(frozen=True)
class Place:
    """The place of a table, for messages: the file of the trace, and the table's name."""

    file: str
    table: str

    def error(self, message: str, column: str | None = None) -> InputError:
        """Return an error at this place."""
        field = self.table if column is None else f"{self.table}: {column}"
        return InputError(message, file=self.file, field=field)


def rows_of(content: bytes, table: str, place: Place) -> tuple[pd.DataFrame, bool]:
    """Return the rows of a table other than ``names``, and whether the stream is truncated.

    Columns unknown to the format are left out.

    Raises:
        InputError: it is not an Arrow stream, is damaged, or a column is missing, of another type
            or has nulls.
    """
    read, cut = _whole_batches(content, place)
    if read is None:
        return frame(table), cut
    columns = {name: _numbers(read, name, kind, place) for name, kind in COLUMNS[table].items()}
    return pd.DataFrame(columns), cut


def names_of(content: bytes, place: Place) -> tuple[dict[int, str], bool]:
    """Return texts by id, and whether the stream is truncated. Raises InputError as ``rows_of``."""
    read, cut = _whole_batches(content, place)
    if read is None:
        return {}, cut
    ids = _numbers(read, "id", "uint32", place).tolist()
    kind, columns = _column(read, "text", place)
    if kind not in _OFFSETS:
        raise place.error(f"must be utf8, not {_called(kind)}", "text")
    try:
        texts = [text for part in columns for text in _texts(part, _OFFSETS[kind])]
    except UnicodeDecodeError:
        raise place.error("is not UTF-8", "text") from None
    return dict(zip(ids, texts, strict=True)), cut


_INTEGERS = {
    "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32",
    "l": "int64", "L": "uint64",
}  # fmt: skip
_OFFSETS = {"u": "int32", "U": "int64"}
"""Types of columns in the notation of the Arrow C data interface: numbers, and texts with the type
of their offsets."""


@dataclass(frozen=True)
class _Batches:
    """Types of columns by name, and the batches of a stream."""

    kinds: dict[str, str]
    batches: list[CArrayView]


def _whole_batches(content: bytes, place: Place) -> tuple[_Batches | None, bool]:
    """Return the complete batches; None if not even the schema is complete."""
    import nanoarrow
    from nanoarrow.ipc import InputStream

    if not _MESSAGE.startswith(content[:4]):
        raise place.error("is not an Arrow stream")
    source = io.BytesIO(content)
    try:
        stream = nanoarrow.c_array_stream(InputStream.from_readable(source))
        schema = stream.get_schema()
    except (RuntimeError, OSError, ValueError) as error:
        if _at_end(source, content):
            return None, True
        raise place.error(f"is not an Arrow stream ({_said(error)})") from None
    read = _Batches({column.name: column.format for column in schema.children}, [])
    try:
        while True:
            read.batches.append(stream.get_next().view())
    except StopIteration:
        cut = False
    except (RuntimeError, OSError, ValueError) as error:
        # A killed writer leaves an incomplete batch at the end; anything else is damage.
        if not _at_end(source, content):
            batch = len(read.batches) + 1
            raise place.error(f"is damaged in batch {batch} ({_said(error)})") from None
        cut = True
    return read, cut


def _at_end(source: io.BytesIO, content: bytes) -> bool:
    return source.tell() >= len(content)


def _column(read: _Batches, name: str, place: Place) -> tuple[str, list[CArrayView]]:
    """Return a column's type and its parts."""
    if name not in read.kinds:
        raise place.error("the column is missing", name)
    at = list(read.kinds).index(name)
    parts = [batch.child(at) for batch in read.batches if batch.length]
    if any(part.null_count for part in parts):
        raise place.error("must not have nulls", name)
    return read.kinds[name], parts


def _numbers(read: _Batches, name: str, kind: str, place: Place) -> pd.Series[int]:
    stated, parts = _column(read, name, place)
    if stated not in _INTEGERS:
        raise place.error(f"must be {kind}, not {_called(stated)}", name)
    type_ = _INTEGERS[stated]
    # Buffers may be longer than their rows, for alignment.
    whole = [
        np.frombuffer(part.buffer(1), type_)[part.offset : part.offset + part.length]
        for part in parts
    ]
    values = whole[0] if len(whole) == 1 else np.concatenate([np.empty(0, type_), *whole])
    right = values.astype(kind, copy=False)
    limits = np.iinfo(kind)
    if len(values) and not limits.min <= int(values.min()) <= int(values.max()) <= limits.max:
        raise place.error(f"has values that are not {kind}", name)
    return pd.Series(right, copy=False)


def _texts(part: CArrayView, offsets: str) -> list[str]:
    ends = np.frombuffer(part.buffer(1), offsets)[part.offset : part.offset + part.length + 1]
    content = bytes(part.buffer(2))
    return [content[start:end].decode() for start, end in itertools.pairwise(ends.tolist())]


def _called(kind: str) -> str:
    """Return a common type in words."""
    return {"e": "float16", "f": "float32", "g": "float64", "b": "bool", "z": "binary"}.get(
        kind, _INTEGERS.get(kind, "utf8" if kind in _OFFSETS else f"type {kind!r}")
    )


def _said(error: Exception) -> str:
    return str(error).partition("\n")[0]
