"""Nsight Systems' sqlite export (``nsys export --type sqlite``) as a trace.

Tables and columns: NVIDIA's "SQLite Export Schema Reference". Tables exist only if something was
recorded, and columns differ by version; numbers of enumerations are looked up in the export's own
ENUM tables. Times are ns since the session began. The last 24 bits of ``globalTid`` are the thread,
the others the process.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from gpucast.data.traces import foreign, tables
from gpucast.data.traces.trace import Process, RunDescription, Trace, TracedMachine
from gpucast.errors import InputError
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
    "start": "start",
    "end": "end",
    "correlation": "correlationId",
    "device": "deviceId",
    "context": "contextId",
    "stream": "streamId",
    "registers": "registersPerThread",
    "bytes": "bytes",
    "direction": "copyKind",
    "from_device": "srcDeviceId",
    "to_device": "dstDeviceId",
    "graph": "graphId",
    "node": "graphNodeId",
    "process": "globalPid",
}
_OF_WORK = (
    *_COLUMNS.values(), "demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY",
    "blockZ", "staticSharedMemory", "dynamicSharedMemory", "srcKind", "dstKind", "memKind",
)  # fmt: skip
_TEXTS = {"value", "text", "name", "label"}
_LACKS = {
    _SYNCHRONIZATION: "waits for streams and events are not in the export",
    _EVENTS: "recorded events are not in the export (nsys --cuda-event-trace=true)",
    "ENUM_CUDA_MEM_KIND": "kinds of memory are not in the export",
    "TARGET_INFO_CUDA_STREAM": (
        "kinds of streams are not in the export: all are taken as blocking ones"
    ),
}
_ROWS_AT_ONCE = 65536
_LONGEST_DEFAULT = 20


def _cell(column: str) -> str:
    """Return a column of a query: whole numbers, or texts where these are allowed; otherwise a
    text, or NULL."""
    if column in _TEXTS:  # PROCESSES.name is the number of a text
        return f"CASE WHEN typeof(\"{column}\") IN ('integer', 'text') THEN \"{column}\" END"
    kind = f'typeof("{column}")'
    return f"CASE WHEN {kind} IN ('integer', 'null') THEN \"{column}\" ELSE {kind} END"


def detect(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is an sqlite database."""
    return head.startswith(b"SQLite format 3\x00")


def read(path: PathLike) -> Trace:
    """Read the trace in an export.

    Raises:
        InputError: the file is not an export of Nsight Systems, or has no CUDA calls or work; the
            table is named.
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
    """An open export.

    Attributes:
        rows, characters: the remaining numbers that may be read.
    """

    connection: sqlite3.Connection
    file: str
    rows: int
    characters: int

    def trace(self) -> Trace:
        for needed in ("StringIds", _CALLS):
            if needed not in self._tables:
                raise InputError(
                    "the table is missing: profile with nsys profile --trace=cuda,nvtx",
                    file=self.file, field=needed,
                )  # fmt: skip
        if not self._tables.intersection(_WORK):
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
        starts = self._table("TARGET_INFO_SESSION_START_TIME", (), ("utcEpochNs",))["utcEpochNs"]
        began = max(0, int(starts.iloc[0])) if len(starts) else 0
        known = ("start", "end", "globalTid", "correlationId", "nameId")
        calls = self._table(_CALLS, known, ("returnValue",))
        calls = calls.assign(process=calls["globalTid"] & ~_OF_THREAD)
        memories = self._memories()
        made = [self._work(name, kind, memories) for name, kind in _WORK.items()]
        work = pd.concat(made, ignore_index=True).fillna(0)
        waits, ranges = self._waits(began), self._ranges(texts)
        parts = {"calls": calls, "work": work, "waits": waits, "ranges": ranges}
        for rows in parts.values():
            rows[["start", "end"]] += began
        owners: list[int] = calls["process"].drop_duplicates().tolist()
        if len(owners) == 1:  # the work of exports without processes belongs to the only one
            work["process"] = waits["process"] = owners[0]
        processes = tuple(
            self._process(
                owner, at, texts,
                **{name: rows[rows["process"] == owner] for name, rows in parts.items()},
            )
            for at, owner in enumerate(owners)
        )  # fmt: skip
        gpus = [
            str(name) for name in self._table("TARGET_INFO_GPU", (), ("name",))["name"].dropna()
        ]
        run = RunDescription(source="nsys", machine=TracedMachine(gpus=gpus), started=began / 1e9)
        missing = tuple(text for name, text in _LACKS.items() if name not in self._tables)
        return Trace(run, processes, self.file, missing)

    def _process(
        self, owner: int, at: int, texts: dict[int, str], calls: pd.DataFrame, work: pd.DataFrame,
        waits: pd.DataFrame, ranges: pd.DataFrame,
    ) -> Process:  # fmt: skip
        names = foreign.Names()
        threads = {
            thread: number
            for number, thread in enumerate(calls.sort_values("start")["globalTid"].unique())
        }
        called = [foreign.call_name(texts.get(number, "?")) for number in calls["nameId"].tolist()]
        calls = calls.assign(
            correlation=calls["correlationId"], thread=calls["globalTid"].map(threads),
            name=[names[name] for name in called], result=calls["returnValue"].clip(0, 65535),
        )  # fmt: skip
        kernels = work["text"].map(texts).fillna("")
        work = work.assign(name=[names[name] if name else 0 for name in kernels])
        ranges = ranges.assign(
            thread=ranges["globalTid"].map(threads).fillna(0),
            name=[names[text] for text in ranges["text"]],
        )
        return foreign.process(
            _framed("calls", calls), _framed("work", work), _framed("waits", waits),
            _framed("ranges", ranges), names, self._flags(), pid=(owner >> 24) & _OF_THREAD,
            rank=None, program=self._program(owner, texts), folder=str(at),
        )  # fmt: skip

    def _work(self, name: str, kind: int, memories: dict[int, int]) -> pd.DataFrame:
        needed = ("start", "end", "deviceId", "streamId", "correlationId")
        rows = self._table(name, needed, _OF_WORK)
        made = pd.DataFrame({own: rows[column].clip(0) for own, column in _COLUMNS.items()})
        text = rows["demangledName"].where(rows["demangledName"] >= 0, rows["shortName"])
        made = made.assign(kind=kind, text=text if kind == tables.KERNEL else -1)
        if kind == tables.KERNEL:
            for own, axes in (("blocks", "grid"), ("threads", "block")):
                made[own] = rows[[f"{axes}{axis}" for axis in "XYZ"]].clip(1).prod(axis=1)
            shared = rows[["staticSharedMemory", "dynamicSharedMemory"]]
            made["shared_bytes"] = shared.clip(0).sum(axis=1)
        if kind == tables.COPY:
            for own, column in (("from_memory", "srcKind"), ("to_memory", "dstKind")):
                made[own] = rows[column].map(memories)
        if kind == tables.SET:
            made["to_memory"] = rows["memKind"].map(memories).fillna(tables.DEVICE)
        return made

    def _waits(self, began: int) -> pd.DataFrame:
        needed, more = ("contextId", "correlationId"), ("streamId", "eventId", "eventSyncId")
        waited = self._table(
            _SYNCHRONIZATION, ("start", "end", *needed), (*more, "syncType", "globalPid")
        )
        recorded = self._table(_EVENTS, needed, (*more, "globalPid"))
        recorded = recorded.assign(syncType=tables.EVENT_RECORDED, start=-began, end=-began)
        rows = pd.concat([waited, recorded], ignore_index=True)
        # "No stream" and "no event" are all bits set.
        numbers = rows[["streamId", "eventId"]]
        numbers = numbers.where((numbers >= 0) & (numbers < 2**32 - 1), 0)
        return rows.assign(
            kind=rows["syncType"].clip(0), recording=rows["eventSyncId"].clip(0),
            correlation=rows["correlationId"], context=rows["contextId"],
            stream=numbers["streamId"], event=numbers["eventId"], process=rows["globalPid"],
        )  # fmt: skip

    def _ranges(self, texts: dict[int, str]) -> pd.DataFrame:
        needed = ["start", "end", "globalTid"]
        rows = self._table(_RANGES, (*needed, "eventType"), ("text", "textId"))
        rows = rows[rows["eventType"].isin(_RANGE_TYPES)].dropna(subset=needed)
        text = rows["text"].where(rows["text"].notna(), rows["textId"].map(texts)).fillna("?")
        whole = rows[needed].astype("int64")
        return whole.assign(process=whole["globalTid"] & ~_OF_THREAD, text=text)

    # -- facts of the session ---------------------------------------------------------------------

    @cached_property
    def _tables(self) -> set[str]:
        # Views and virtual tables have no pages of their own, because their content is computed.
        names = self.connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
        )
        return {str(name) for (name,) in names}

    def _table(
        self, name: str, needed: tuple[str, ...], optional: tuple[str, ...] = ()
    ) -> pd.DataFrame:
        """Return columns of a table: whole numbers (-1 if an optional one is missing) or texts
        (None then); no rows if the table is missing.

        Raises:
            InputError: a column is missing or holds wrong values, or there are too many rows.
        """
        columns = list(dict.fromkeys((*needed, *optional)))
        if name not in self._tables:
            return pd.DataFrame(columns=columns, dtype="int64")
        # Computed columns are not in the list. A default value takes no space in the file, but may
        # be of any length in every row.
        listed = self.connection.execute(f'PRAGMA table_info("{name}")').fetchall()
        there = {row[1] for row in listed if len(row[4] or "") <= _LONGEST_DEFAULT}
        for column in needed:
            if column not in there:
                raise InputError("the column is missing", file=self.file, field=f"{name}.{column}")
        known = [column for column in columns if column in there]
        wanted = ", ".join(map(_cell, known)) or "NULL"
        cursor = self.connection.execute(f'SELECT {wanted} FROM "{name}" LIMIT {self.rows + 1}')
        parts = [pd.DataFrame(columns=known or ["?"], dtype="int64")]
        for part in iter(lambda: cursor.fetchmany(_ROWS_AT_ONCE), []):
            self.rows -= len(part)
            if self.rows < 0:
                raise limits.EVENTS.error(self.file, field=name)
            parts.append(self._checked(pd.DataFrame(part, columns=known or ["?"]), name))
        rows = pd.concat(parts[1:] or parts, ignore_index=True)
        lacking = {column: None if column in _TEXTS else -1 for column in columns}
        return rows.assign(**{column: lacking[column] for column in set(columns) - set(known)})

    def _checked(self, rows: pd.DataFrame, table: str) -> pd.DataFrame:
        """Check that the numbers of rows are numbers; NULL becomes 0, except in ranges."""
        for column in rows:
            place = f"{table}.{column}"
            if column in _TEXTS:
                long = rows[column].map(lambda text: len(text) if isinstance(text, str) else 0)
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
                rows[column] = rows[column].fillna(0).astype("int64")
        return rows

    def _memories(self) -> dict[int, int]:
        """Return our kinds of memory by the export's numbers."""
        rows = self._table("ENUM_CUDA_MEM_KIND", ("id",), ("label", "name"))
        words = rows["label"].where(rows["label"].notna(), rows["name"]).astype(str).str.lower()
        words = words.str.replace("cuda_memopr_memory_kind_", "")
        words = words.str.replace(r"[_-]", " ", regex=True)
        return {
            int(number): foreign.MEMORIES.get(word, 0)
            for number, word in zip(rows["id"], words, strict=True)
        }

    def _flags(self) -> dict[tuple[int, int], int]:
        rows = self._table("TARGET_INFO_CUDA_STREAM", ("streamId", "contextId"), ("flag",))
        rows = rows[rows["flag"] >= 0].astype("int64")
        streams = zip(rows["contextId"].tolist(), rows["streamId"].tolist(), strict=True)
        return dict(zip(streams, rows["flag"].tolist(), strict=True))

    def _program(self, owner: int, texts: dict[int, str]) -> str:
        rows = self._table("PROCESSES", (), ("globalPid", "name"))
        names = rows.loc[rows["globalPid"] == owner, "name"].dropna()
        if names.empty:
            return "?"
        name = names.iloc[0]
        return texts.get(int(name), "?") if isinstance(name, (int, np.integer)) else str(name)


def _framed(table: str, rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows.rename(columns={"start": "start_ns", "end": "end_ns"})
    return tables.frame(table, {name: rows[name] for name in tables.COLUMNS[table] if name in rows})
