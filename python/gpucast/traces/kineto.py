"""PyTorch's (Kineto's) Chrome trace, ``.json`` or ``.json.gz``, as a trace.

Format: libkineto's output_json.cpp and CuptiActivity.cpp. ``ts`` and ``dur`` are microseconds with
decimals, from ``baseTimeNanoseconds`` where that is stated. Calls are the categories cuda_runtime
and cuda_driver, work is kernel, gpu_memcpy and gpu_memset, waits are cuda_sync and cuda_event
(written only with ``enable_cuda_sync_events``), ranges are user_annotation. One file is one
process.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

from gpucast.data.limits import LARGEST_GPUS
from gpucast.errors import InputError
from gpucast.traces import foreign, tables
from gpucast.traces.json_pieces import JsonPieces
from gpucast.traces.trace import Process, RunDescription, Trace, TracedMachine
from gpucast.util import limits
from gpucast.util.files import PathLike

_GZIP = b"\x1f\x8b"
_CALLS = ("cuda_runtime", "cuda_driver")
_WORK = {"kernel": tables.KERNEL, "gpu_memcpy": tables.COPY, "gpu_memset": tables.SET}
_COPY = re.compile(r"Memcpy (\w+) \((\w+) -> (\w+)\)")
_SET = re.compile(r"Memset \((\w+)\)")
_DIRECTIONS = {
    "HtoD": tables.TO_DEVICE,
    "DtoH": tables.TO_HOST,
    "DtoD": tables.WITHIN_DEVICE,
    "HtoH": tables.WITHIN_HOST,
    "PtoP": tables.BETWEEN_DEVICES,
}
_WAITS = {
    "Event Sync": tables.HOST_WAITS_EVENT,
    "Stream Wait Event": tables.STREAM_WAITS_EVENT,
    "Stream Sync": tables.HOST_WAITS_STREAM,
    "Context Sync": tables.HOST_WAITS_DEVICE,
}
_LATEST = 2**62
"""ns; sums and differences of two fit 64 bits."""
_AXES = 3
UNFIT = "host times hold the cost of PyTorch's profiler: forecasts of host-bound steps are too slow"

Event = Mapping[str, Any]


def detect(head: bytes) -> bool:
    """Whether a file that begins with these bytes is such a trace; never raises."""
    if head.startswith(_GZIP):
        try:
            head = zlib.decompressobj(31).decompress(head)
        except zlib.error:
            return False
    return b'"traceEvents"' in head or (
        b'"schemaVersion"' in head and b'"deviceProperties"' in head
    )


def read(path: PathLike) -> Trace:
    """The trace in a file.

    Raises:
        InputError: no JSON, or one without CUDA calls or work; the event that is wrong.
    """
    file = str(path)
    events = _Events(file)
    try:
        with open(path, "rb") as plain:
            is_packed = plain.read(len(_GZIP)) == _GZIP
            plain.seek(0)
            stream = cast("BinaryIO", gzip.GzipFile(fileobj=plain)) if is_packed else plain
            document = JsonPieces(stream, file).read("traceEvents", events.take)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no whole JSON ({error})", file=file) from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"is cut off or damaged ({error})", file=file) from None
    if "traceEvents" in document:
        raise InputError("must be a list", file=file, field="traceEvents")
    return _Kineto(file, document).trace(events.by_category)


_FIELDS = ("cat", "name", "pid", "tid", "ts", "dur")
_ARGUMENTS = (
    "correlation", "device", "inDevice", "context", "inContext", "stream", "graph id",
    "graph node id", "shared memory", "registers per thread", "bytes", "fromDevice", "toDevice",
    "grid", "block", "cuda_sync_kind", "event_id", "wait_on_cuda_event_id",
    "wait_on_cuda_event_record_corr_id",
)  # fmt: skip
_KEPT = {*_CALLS, *_WORK, "cuda_sync", "cuda_event", "user_annotation"}


@dataclass
class _Events:
    """What is kept of a list of events: those that are read here, with their places in the list."""

    file: str
    by_category: dict[str, list[tuple[int, Event]]] = field(default_factory=dict)
    seen: int = 0
    kept: int = 0

    def take(self, event: object) -> None:
        self.seen += 1
        if not isinstance(event, dict) or event.get("ph") != "X":
            return
        category = str(event.get("cat", "")).lower()
        if category not in _KEPT:
            return
        self.kept += 1
        limits.EVENTS.check(self.kept, self.file)
        plain: dict[str, Any] = {name: event[name] for name in _FIELDS if name in event}
        for name in ("pid", "tid"):
            if not isinstance(plain.get(name), int | float | str | None):
                raise InputError(
                    f"{name} must be a number",
                    file=self.file,
                    field=f"traceEvents[{self.seen - 1}]",
                )
        given = event.get("args")
        if isinstance(given, dict):
            plain["args"] = {name: given[name] for name in _ARGUMENTS if name in given}
        self.by_category.setdefault(category, []).append((self.seen - 1, plain))


@dataclass(frozen=True)
class _Kineto:
    """A document that was read."""

    file: str
    document: Mapping[str, Any]

    def trace(self, found: Mapping[str, list[tuple[int, Event]]]) -> Trace:
        calls = [each for name in _CALLS for each in found.get(name, ())]
        work = [each for name in _WORK for each in found.get(name, ())]
        for name, there, what in (
            ("cuda_runtime", calls, "calls"),
            ("kernel", work, "kernels or copies"),
        ):
            if not there:
                raise InputError(
                    f"no {what} (category {name}): profile with ProfilerActivity.CUDA",
                    file=self.file,
                )
        base = self.document.get("baseTimeNanoseconds")
        if isinstance(base, int) and abs(base) > _LATEST:
            raise InputError("must be ns", file=self.file, field="baseTimeNanoseconds")
        names = foreign.Names()
        first = {event.get("tid"): self._ns(at, event)[0] for at, event in reversed(calls)}
        threads = {
            tid: number for number, tid in enumerate(sorted(first, key=lambda tid: first[tid]))
        }
        done = self._work(found, names)
        waits = self._waits(found)
        made = foreign.outermost(self._calls(calls, threads, names), done, waits)
        foreign.mark_asynchronous(done, made, names)
        stated = self.document.get("deviceProperties")
        listed = stated if isinstance(stated, list) else []
        properties = [each for each in listed if isinstance(each, dict)]
        distributed = self.document.get("distributedInfo")
        rank = distributed.get("rank") if isinstance(distributed, dict) else None
        pids = Counter(event.get("pid") for _, event in calls)
        pid = pids.most_common(1)[0][0]
        process = Process(
            pid=pid if isinstance(pid, int) and 0 < pid < 2**32 else 0,
            rank=rank if isinstance(rank, int) and 0 <= rank < LARGEST_GPUS else None,
            program="python",
            lost=0,
            ended="exit",
            calls=made,
            work=self._sorted(done),
            waits=foreign.number_recordings(waits),
            ranges=self._ranges(found.get("user_annotation", []), threads, names),
            streams=foreign.streams_of(
                done, {(int(c), 7): tables.LEGACY_DEFAULT for c in set(done["context"])}
            ),
            names=names.texts,
        )
        machine = TracedMachine(gpus=[str(each.get("name", "?")) for each in properties])
        run = RunDescription(
            source="kineto", machine=machine, started=int(made["start_ns"].min()) / 1e9
        )
        missing = [UNFIT]
        if "cuda_sync" not in found:
            missing.append(
                "waits for events and streams are not in it "
                "(_ExperimentalConfig(enable_cuda_sync_events=True))"
            )
        return Trace(run, (process,), self.file, tuple(missing))

    def _calls(
        self, calls: list[tuple[int, Event]], threads: Mapping[object, int], names: foreign.Names
    ) -> Any:
        times = [self._ns(at, event) for at, event in calls]
        return tables.frame(
            "calls",
            {
                "start_ns": [start for start, _ in times],
                "end_ns": [end for _, end in times],
                "correlation": [self._number(at, event, "correlation") for at, event in calls],
                "thread": [threads[event.get("tid")] for _, event in calls],
                "name": names.all_of(
                    foreign.call_name(str(event.get("name"))) for _, event in calls
                ),
            },
        )

    def _work(self, found: Mapping[str, list[tuple[int, Event]]], names: foreign.Names) -> Any:
        rows: dict[str, list[int]] = {name: [] for name in tables.COLUMNS["work"]}
        for category, kind in _WORK.items():
            for at, event in found.get(category, ()):
                start, end = self._ns(at, event)
                row = {
                    "kind": kind,
                    "start_ns": start,
                    "end_ns": end,
                    "correlation": self._number(at, event, "correlation"),
                    "device": self._number(at, event, "device", "inDevice"),
                    "context": self._number(at, event, "context", "inContext"),
                    "stream": self._number(at, event, "stream"),
                    "graph": self._number(at, event, "graph id"),
                    "node": self._number(at, event, "graph node id"),
                    **self._of_kind(at, event, kind, names),
                }
                for name, values in rows.items():
                    values.append(row.get(name, 0))
        return tables.frame("work", rows)

    def _of_kind(self, at: int, event: Event, kind: int, names: foreign.Names) -> dict[str, int]:
        text = str(event.get("name", ""))
        if kind == tables.KERNEL:
            return {
                "name": names.number(text),
                "blocks": self._product(event, "grid"),
                "threads": self._product(event, "block"),
                "shared_bytes": self._number(at, event, "shared memory"),
                "registers": self._number(at, event, "registers per thread"),
            }
        size = {"bytes": self._number(at, event, "bytes")}
        if kind == tables.SET:
            said = _SET.match(text)
            return size | {"to_memory": foreign.MEMORIES.get(said[1].lower(), 0) if said else 0}
        copied = _COPY.match(text)
        if copied is None:
            return size
        return size | {
            "direction": _DIRECTIONS.get(copied[1], 0),
            "from_memory": foreign.MEMORIES.get(copied[2].lower(), 0),
            "to_memory": foreign.MEMORIES.get(copied[3].lower(), 0),
            "from_device": self._number(at, event, "fromDevice", "device"),
            "to_device": self._number(at, event, "toDevice", "device"),
        }

    def _waits(self, found: Mapping[str, list[tuple[int, Event]]]) -> Any:
        rows: dict[str, list[int]] = {name: [] for name in tables.COLUMNS["waits"]}
        for at, event in (*found.get("cuda_sync", ()), *found.get("cuda_event", ())):
            arguments = event.get("args") or {}
            recorded = str(event.get("cat", "")).lower() == "cuda_event"
            said = str(arguments.get("cuda_sync_kind", event.get("name")))
            kind = tables.EVENT_RECORDED if recorded else _WAITS.get(said, 0)
            start, end = self._ns(at, event)
            row = {
                "kind": kind,
                "start_ns": 0 if recorded else start,
                "end_ns": 0 if recorded else end,
                "correlation": self._number(at, event, "correlation"),
                "context": self._number(at, event, "context"),
                "stream": self._number(at, event, "stream"),
                "event": self._number(at, event, "event_id", "wait_on_cuda_event_id"),
                # The correlation of the call that recorded it numbers a recording as well.
                "recording": self._number(
                    at, event, "correlation" if recorded else "wait_on_cuda_event_record_corr_id"
                ),
            }
            for name, values in rows.items():
                values.append(row[name])
        return tables.frame("waits", rows)

    def _ranges(
        self, found: list[tuple[int, Event]], threads: Mapping[object, int], names: foreign.Names
    ) -> Any:
        times = [self._ns(at, event) for at, event in found]
        return self._sorted(
            tables.frame(
                "ranges",
                {
                    "start_ns": [start for start, _ in times],
                    "end_ns": [end for _, end in times],
                    "thread": [threads.get(event.get("tid"), 0) for _, event in found],
                    "name": names.all_of(str(event.get("name")) for _, event in found),
                },
            )
        )

    def _sorted(self, table: Any) -> Any:
        return table.sort_values("start_ns", kind="stable", ignore_index=True)

    def _ns(self, at: int, event: Event) -> tuple[int, int]:
        base = self.document.get("baseTimeNanoseconds", 0)
        try:
            start = (base if isinstance(base, int) else 0) + round(float(event["ts"]) * 1000)
            end = start + round(float(event.get("dur", 0)) * 1000)
            if max(abs(start), abs(end)) > _LATEST:
                raise OverflowError
        except (KeyError, TypeError, ValueError, OverflowError):
            raise InputError(
                "must have ts and dur in microseconds", file=self.file, field=f"traceEvents[{at}]"
            ) from None
        return start, end

    def _number(self, at: int, event: Event, *keys: str) -> int:
        """The first of these arguments that is there; 0 for none, and for "none" written as -1."""
        arguments = event.get("args") or {}
        for key in keys:
            value = arguments.get(key)
            if isinstance(value, int) and not isinstance(value, bool):
                most = 2**63 if key in ("graph node id", "bytes") else 2**32 - 1
                return value if 0 <= value < most else 0
        return 0

    def _product(self, event: Event, key: str) -> int:
        product = 1
        sides = (event.get("args") or {}).get(key)
        for side in sides if isinstance(sides, list) and len(sides) <= _AXES else ():
            product *= side if isinstance(side, int) and 0 < side < 2**32 else 1
        return product % 2**32
