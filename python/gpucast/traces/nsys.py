"""Nsight Systems' sqlite export (``nsys export --type sqlite``) as a trace.

Tables and columns: NVIDIA's "SQLite Export Schema Reference". Tables are there only where something
was recorded, and columns differ by version; numbers of enumerations are looked up in the export's
own ENUM tables. Times are ns since the session began, a process is ``globalTid`` without its last
24 bits, a thread is these.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from gpucast.errors import InputError
from gpucast.traces import foreign, tables
from gpucast.traces.trace import Process, RunDescription, Trace, TracedMachine
from gpucast.util import limits
from gpucast.util.files import PathLike

_KIND = "CUPTI_ACTIVITY_KIND_"
_CALLS = f"{_KIND}RUNTIME"
_WORK = {
    f"{_KIND}KERNEL": tables.KERNEL,
    f"{_KIND}MEMCPY": tables.COPY,
    f"{_KIND}MEMSET": tables.SET,
    f"{_KIND}GRAPH_TRACE": tables.GRAPH,
}
_SYNCHRONIZATION = f"{_KIND}SYNCHRONIZATION"
_EVENTS = f"{_KIND}CUDA_EVENT"
_RANGES = "NVTX_EVENTS"
_RANGE_TYPES = (59, 60)  # push and pop, start and end
_OF_THREAD = 0xFFFFFF
_COLUMNS = {
    "start_ns": "start",
    "end_ns": "end",
    "correlation": "correlationId",
    "device": "deviceId",
    "context": "contextId",
    "stream": "streamId",
    "registers": "registersPerThread",
    "bytes": "bytes",
    "from_device": "srcDeviceId",
    "to_device": "dstDeviceId",
    "graph": "graphId",
    "node": "graphNodeId",
}


_TEXTS = {"value", "text", "name", "label"}
_NUMBERS = {
    *_COLUMNS.values(), "globalTid", "globalPid", "nameId", "returnValue", "demangledName",
    "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "staticSharedMemory",
    "dynamicSharedMemory", "copyKind", "srcKind", "dstKind", "memKind", "syncType", "eventId",
    "eventSyncId", "eventType", "textId", "id", "utcEpochNs", "flag",
}  # fmt: skip
_ROWS_AT_ONCE = 65536
_LONGEST_DEFAULT = 20


def _cell(column: str) -> str:
    """A column of a query: whole numbers, texts where there may be such; else a text, or NULL."""
    if column in _TEXTS:  # PROCESSES.name is the number of a text
        return f"CASE WHEN typeof(\"{column}\") IN ('integer', 'text') THEN \"{column}\" END"
    kind = f'typeof("{column}")'
    return f"CASE WHEN {kind} IN ('integer', 'null') THEN \"{column}\" ELSE {kind} END"


def detect(head: bytes) -> bool:
    """Whether a file that begins with these bytes is an sqlite database."""
    return head.startswith(b"SQLite format 3\x00")


def read(path: PathLike) -> Trace:
    """The trace in an export.

    Raises:
        InputError: no export of Nsight Systems, or one without CUDA calls or work: the table.
    """
    file = str(path)
    try:
        address = f"{Path(path).resolve().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            return _Export(connection, file, limits.EVENTS.most, limits.TEXTS.most).trace()
    except sqlite3.Error as error:
        raise InputError(f"cannot be read as an sqlite export ({error})", file=file) from None
    except (UnicodeDecodeError, OverflowError, pd.errors.DatabaseError) as error:
        raise InputError(f"is damaged ({str(error).splitlines()[0]})", file=file) from None


@dataclass
class _Export:
    """An export that is open.

    Attributes:
        rows, characters: how many more are read.
    """

    connection: sqlite3.Connection
    file: str
    rows: int
    characters: int

    def trace(self) -> Trace:
        there = self._names_of_tables()
        for needed in ("StringIds", _CALLS):
            if needed not in there:
                raise InputError(
                    "the table is missing: profile with nsys profile --trace=cuda,nvtx",
                    file=self.file, field=needed,
                )  # fmt: skip
        if not any(name in there for name in _WORK):
            raise InputError(
                "no table of kernels, copies or memsets: the program used no GPU, or nsys did not "
                "trace CUDA",
                file=self.file,
            )
        rows = self._table("StringIds", ("id", "value"))
        texts = {
            number: text
            for number, text in zip(rows["id"].tolist(), rows["value"].tolist(), strict=True)
            if isinstance(text, str)
        }
        began = self._began(there)
        known = ["start", "end", "globalTid", "correlationId", "nameId"]
        calls = self._table(_CALLS, tuple(known)).dropna(subset=known)
        calls = calls.astype(dict.fromkeys(known, "int64"))
        calls = calls.assign(process=calls["globalTid"] & ~_OF_THREAD)
        made = [self._work(name, kind, began) for name, kind in _WORK.items() if name in there]
        work = pd.concat(made, ignore_index=True).fillna(0)
        waits = self._waits(there, began)
        ranges = self._ranges(there, texts, began)
        owners = self._owners(work, waits, calls)
        processes = tuple(
            self._process(
                int(owner), at, calls[calls["process"] == owner], work[work["process"] == owner],
                waits[waits["process"] == owner], ranges[ranges["process"] == owner], texts, began,
                there,
            )
            for at, owner in enumerate(owners)
        )  # fmt: skip
        run = RunDescription(
            source="nsys", machine=TracedMachine(gpus=self._gpus(there)), started=began / 1e9
        )
        return Trace(run, processes, self.file, self._missing(there))

    def _process(
        self, owner: int, at: int, calls: pd.DataFrame, work: pd.DataFrame, waits: pd.DataFrame,
        ranges: pd.DataFrame, texts: dict[int, str], began: int, there: set[str],
    ) -> Process:  # fmt: skip
        names = foreign.Names()
        threads = {
            thread: number
            for number, thread in enumerate(calls.sort_values("start")["globalTid"].unique())
        }
        called = [foreign.call_name(texts.get(each, "?")) for each in calls["nameId"].tolist()]
        made = tables.frame(
            "calls",
            {
                "start_ns": calls["start"] + began,
                "end_ns": calls["end"] + began,
                "correlation": calls["correlationId"],
                "thread": calls["globalTid"].map(threads),
                "name": names.all_of(called),
                "result": calls.get("returnValue", pd.Series(0, calls.index)).clip(0, 65535),
            },
        )
        kernels = work["text"].map(texts).fillna("")
        done = tables.frame(
            "work", {name: work[name] for name in tables.COLUMNS["work"] if name in work}
        )
        done["name"] = np.array([names.number(each) if each else 0 for each in kernels], "uint32")
        own_waits = tables.frame("waits", {name: waits[name] for name in tables.COLUMNS["waits"]})
        made = foreign.outermost(made, done, own_waits)
        foreign.mark_asynchronous(done, made, names)
        return Process(
            pid=(owner >> 24) & _OF_THREAD,
            rank=None,
            program=self._program(owner, there, texts),
            lost=0,
            ended="exit",
            calls=made,
            work=done.sort_values("start_ns", kind="stable", ignore_index=True),
            waits=foreign.number_recordings(own_waits),
            ranges=tables.frame(
                "ranges",
                {
                    "start_ns": ranges["start"] + began,
                    "end_ns": ranges["end"] + began,
                    "thread": ranges["globalTid"].map(threads).fillna(0),
                    "name": names.all_of(ranges["said"]),
                },
            ).sort_values("start_ns", kind="stable", ignore_index=True),
            streams=foreign.streams_of(done, self._flags(there)),
            names=names.texts,
            folder=str(at),
        )

    def _work(self, name: str, kind: int, began: int) -> pd.DataFrame:
        rows = self._table(name, ("start", "end", "deviceId", "streamId", "correlationId"))
        made = pd.DataFrame(
            {own: rows[column] for own, column in _COLUMNS.items() if column in rows}
        )
        made = made.fillna(0).assign(
            kind=kind, process=rows.get("globalPid", 0), text=-1,
            start_ns=rows["start"] + began, end_ns=rows["end"] + began,
        )  # fmt: skip
        if kind == tables.KERNEL:
            text = "demangledName" if "demangledName" in rows else "shortName"
            made["text"] = rows.get(text, -1)
            for own, axes in (("blocks", "grid"), ("threads", "block")):
                sides = [rows.get(f"{axes}{axis}", 1) for axis in "XYZ"]
                made[own] = sides[0] * sides[1] * sides[2]
            made["shared_bytes"] = rows.get("staticSharedMemory", 0) + rows.get(
                "dynamicSharedMemory", 0
            )
        if kind == tables.COPY:
            made["direction"] = rows.get("copyKind", 0)
            memories = self._memories()
            for own, column in (("from_memory", "srcKind"), ("to_memory", "dstKind")):
                made[own] = rows[column].map(memories).fillna(0) if column in rows else 0
        if kind == tables.SET:
            made["to_memory"] = tables.DEVICE
            if "memKind" in rows:
                made["to_memory"] = rows["memKind"].map(self._memories()).fillna(0)
        return made

    def _waits(self, there: set[str], began: int) -> pd.DataFrame:
        columns = ["kind", *tables.COLUMNS["waits"], "process"]
        made = []
        for name in (_SYNCHRONIZATION, _EVENTS):
            if name not in there:
                continue
            rows = self._table(name, ("contextId", "correlationId"))
            zero = pd.Series(0, rows.index)
            timed = name == _SYNCHRONIZATION
            made.append(
                pd.DataFrame(
                    {
                        "kind": rows.get("syncType", zero) if timed else tables.EVENT_RECORDED,
                        "start_ns": rows["start"] + began if timed else 0,
                        "end_ns": rows["end"] + began if timed else 0,
                        "correlation": rows["correlationId"],
                        "context": rows["contextId"],
                        # "No stream" is all bits set.
                        "stream": rows.get("streamId", zero).where(
                            lambda s: s.between(0, 2**32 - 2), 0
                        ),
                        "event": rows.get("eventId", zero).where(
                            lambda s: s.between(0, 2**32 - 2), 0
                        ),
                        "recording": rows.get("eventSyncId", zero).clip(0),
                        "process": rows.get("globalPid", zero),
                    }
                ).fillna(0)
            )
        return (
            pd.concat(made)
            if made
            else pd.DataFrame(columns=list(dict.fromkeys(columns)), dtype="int64")
        )

    def _ranges(self, there: set[str], texts: dict[int, str], began: int) -> pd.DataFrame:
        empty = pd.DataFrame(
            {
                name: pd.Series(dtype="int64")
                for name in ("start", "end", "globalTid", "process", "said")
            }
        )
        if _RANGES not in there:
            return empty
        rows = self._table(_RANGES, ("start", "end", "eventType", "globalTid"))
        rows = rows[rows["eventType"].isin(_RANGE_TYPES)].dropna(
            subset=["start", "end", "globalTid"]
        )
        if rows.empty:
            return empty
        said = pd.Series(None, rows.index, dtype=object)
        if "textId" in rows:
            said = rows["textId"].map(texts)
        if "text" in rows:
            said = rows["text"].where(rows["text"].notna(), said)
        whole = rows[["start", "end", "globalTid"]].astype("int64")
        return whole.assign(process=whole["globalTid"] & ~_OF_THREAD, said=said.fillna("?"))

    # -- facts of the session ---------------------------------------------------------------------

    def _names_of_tables(self) -> set[str]:
        # Views and virtual tables have no page of their own: they compute what they hold.
        found = self.connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
        )
        return {str(name) for (name,) in found}

    def _table(self, name: str, needed: tuple[str, ...]) -> pd.DataFrame:
        """The rows of a table: whole numbers, and texts in the columns that hold such.

        Raises:
            InputError: a column that is missing, or holds what it should not; too many rows.
        """
        # Columns that are computed are not in the list. A default takes no place in the file, and
        # may be of any length in every row.
        listed = self.connection.execute(f'PRAGMA table_info("{name}")').fetchall()
        there = [each[1] for each in listed if len(each[4] or "") <= _LONGEST_DEFAULT]
        for column in needed:
            if column not in there:
                raise InputError("the column is missing", file=self.file, field=f"{name}.{column}")
        columns = [each for each in there if each in _NUMBERS or each in _TEXTS]
        wanted = ", ".join(map(_cell, columns)) or "NULL"
        cursor = self.connection.execute(f'SELECT {wanted} FROM "{name}" LIMIT {self.rows + 1}')
        parts = [pd.DataFrame(columns=columns, dtype="int64")]
        for part in iter(lambda: cursor.fetchmany(_ROWS_AT_ONCE), []):
            self.rows -= len(part)
            if self.rows < 0:
                raise limits.EVENTS.error(self.file, field=name)
            parts.append(self._checked(pd.DataFrame(part, columns=columns or ["?"]), name))
        return pd.concat(parts[1:] or parts, ignore_index=True)

    def _checked(self, rows: pd.DataFrame, table: str) -> pd.DataFrame:
        """Rows whose numbers are numbers, with 0 in place of NULL, but in ranges."""
        for column in rows:
            place = f"{table}.{column}"
            if column in _TEXTS:
                long = rows[column].map(lambda each: len(each) if isinstance(each, str) else 0)
                self.characters -= int(long.sum())
                if self.characters < 0:
                    raise limits.TEXTS.error(self.file, field=place)
                continue
            if rows[column].dtype.kind not in "if":
                if rows[column].notna().any():
                    raise InputError("must be whole numbers", file=self.file, field=place)
                rows[column] = np.nan
            if table != _RANGES:
                if column in ("start", "end") and rows[column].isna().any():
                    raise InputError("must not be NULL", file=self.file, field=place)
                rows[column] = rows[column].fillna(0)
        return rows

    def _began(self, there: set[str]) -> int:
        if "TARGET_INFO_SESSION_START_TIME" not in there:
            return 0
        rows = self._table("TARGET_INFO_SESSION_START_TIME", ())
        return int(rows["utcEpochNs"].iloc[0]) if "utcEpochNs" in rows and len(rows) else 0

    def _memories(self) -> dict[int, int]:
        """Our kinds of memory by the export's numbers."""
        if "ENUM_CUDA_MEM_KIND" not in self._names_of_tables():
            return {}
        rows = self._table("ENUM_CUDA_MEM_KIND", ("id",))
        text = "label" if "label" in rows else "name"
        words = rows[text].astype(str).str.lower().str.replace("cuda_memopr_memory_kind_", "")
        words = words.str.replace(r"[_-]", " ", regex=True)
        return {
            int(number): foreign.MEMORIES.get(word, 0)
            for number, word in zip(rows["id"], words, strict=True)
        }

    def _flags(self, there: set[str]) -> dict[tuple[int, int], int]:
        if "TARGET_INFO_CUDA_STREAM" not in there:
            return {}
        rows = self._table("TARGET_INFO_CUDA_STREAM", ("streamId", "contextId"))
        if "flag" not in rows:
            return {}
        return {
            (int(context), int(stream)): int(flag)
            for context, stream, flag in zip(
                rows["contextId"], rows["streamId"], rows["flag"], strict=True
            )
        }

    def _gpus(self, there: set[str]) -> list[str]:
        if "TARGET_INFO_GPU" not in there:
            return []
        rows = self._table("TARGET_INFO_GPU", ())
        return [str(name) for name in rows["name"]] if "name" in rows else []

    def _program(self, owner: int, there: set[str], texts: dict[int, str]) -> str:
        if "PROCESSES" not in there:
            return "?"
        rows = self._table("PROCESSES", ())
        if not {"globalPid", "name"} <= set(rows):
            return "?"
        found = rows.loc[rows["globalPid"] == owner, "name"].dropna()
        if found.empty:
            return "?"
        name = found.iloc[0]
        return texts.get(int(name), "?") if isinstance(name, (int, np.integer)) else str(name)

    def _owners(self, work: pd.DataFrame, waits: pd.DataFrame, calls: pd.DataFrame) -> list[int]:
        """The processes that called; work of exports without a process goes to the only one."""
        found: list[int] = calls["process"].drop_duplicates().tolist()
        if len(found) == 1:
            work["process"] = found[0]
            waits["process"] = found[0]
        return found

    def _missing(self, there: set[str]) -> tuple[str, ...]:
        said = []
        if _SYNCHRONIZATION not in there:
            said.append("waits for streams and events are not in the export")
        if _EVENTS not in there:
            said.append("recorded events are not in the export (nsys --cuda-event-trace=true)")
        if "ENUM_CUDA_MEM_KIND" not in there:
            said.append("kinds of memory are not in the export")
        if "TARGET_INFO_CUDA_STREAM" not in there:
            said.append("kinds of streams are not in the export: all are taken as blocking ones")
        return tuple(said)
