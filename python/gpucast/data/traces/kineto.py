"""PyTorch's (Kineto's) Chrome trace, ``.json`` or ``.json.gz``, as a trace.

Format: libkineto's output_json.cpp and CuptiActivity.cpp. ``ts`` and ``dur`` are microseconds with
decimals, from ``baseTimeNanoseconds`` if that is stated. Calls are the categories cuda_runtime
and cuda_driver, work is kernel, gpu_memcpy and gpu_memset, waits are cuda_sync and cuda_event
(written only with ``enable_cuda_sync_events``), ranges are user_annotation. Events ``[memory]``
(with ``profile_memory``) state how much memory PyTorch's allocator has reserved. One file is one
process.
"""

from __future__ import annotations

import codecs
import gzip
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, cast

import pandas as pd

from gpucast.data.traces import foreign, tables
from gpucast.data.traces.trace import RunDescription, Trace, TracedMachine
from gpucast.errors import InputError
from gpucast.util import limits
from gpucast.util.files import PathLike

_MOST_RANKS = 10**6  # as ``workload.LARGEST_GPUS``, without whose compiled code traces are read
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
_PIECE = 1 << 20
_WORD = 64
"""Characters at the end of a piece that may begin a number or word."""
_BLANK = re.compile(r"[ \t\n\r]*")
_LATEST = 2**62
"""ns; sums and differences of two fit 64 bits."""
_AXES = 3
_CUDA = 1
"""PyTorch's number of the type of device."""
UNFIT = "host times include PyTorch's profiler: forecasts of host-bound steps are too slow"

Event = Mapping[str, Any]
Events = list[tuple[int, Event]]
"""Events with their positions in the file's list."""


def detect(head: bytes) -> bool:
    """Return whether a file that begins with these bytes is such a trace; never raises."""
    if head.startswith(_GZIP):
        try:
            head = zlib.decompressobj(31).decompress(head)
        except zlib.error:
            return False
    return b'"traceEvents"' in head or (
        b'"schemaVersion"' in head and b'"deviceProperties"' in head
    )


def read(path: PathLike) -> Trace:
    """Read the trace in a file.

    Raises:
        InputError: the file is not JSON, or has no CUDA calls or work, or a wrong event.
    """
    file = str(path)
    events = _Events(file)
    try:
        with open(path, "rb") as plain:
            is_packed = plain.read(len(_GZIP)) == _GZIP
            plain.seek(0)
            stream = cast("BinaryIO", gzip.GzipFile(fileobj=plain)) if is_packed else plain
            document = _JsonPieces(stream, file).read("traceEvents", events.take)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not complete JSON ({error})", file=file) from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"is cut off or damaged ({error})", file=file) from None
    if "traceEvents" in document:
        raise InputError("must be a list", file=file, field="traceEvents")
    trace = _Kineto(file, document).trace(events.by_category)
    return replace(trace, run=replace(trace.run, gpu_memory=events.reserved or None))


_FIELDS = ("cat", "name", "pid", "tid", "ts", "dur")
_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "correlation": ("correlation",), "device": ("device", "inDevice"),
    "context": ("context", "inContext"), "stream": ("stream",), "graph": ("graph id",),
    "node": ("graph node id",), "shared_bytes": ("shared memory",),
    "registers": ("registers per thread",), "bytes": ("bytes",),
    "event": ("event_id", "wait_on_cuda_event_id"),
    "recording": ("wait_on_cuda_event_record_corr_id",),
}  # fmt: skip
"""Names of an event's arguments for the columns of a table; the first that exists counts."""
_READ = {
    *(name for names in _ARGUMENTS.values() for name in names), "fromDevice", "toDevice", "grid",
    "block", "cuda_sync_kind",
}  # fmt: skip
_KEPT = {*_CALLS, *_WORK, "cuda_sync", "cuda_event", "user_annotation"}


@dataclass
class _Events:
    """The events of a list that are used here, with their positions in the list."""

    file: str
    by_category: dict[str, Events] = field(default_factory=dict)
    seen: int = 0
    kept: int = 0
    reserved: int = 0  # most bytes of a GPU

    def take(self, event: object) -> None:
        self.seen += 1
        if not isinstance(event, dict):
            return
        given = event.get("args")
        arguments = given if isinstance(given, dict) else {}
        if event.get("name") == "[memory]" and arguments.get("Device Type") == _CUDA:
            self.reserved = max(self.reserved, _bytes(arguments.get("Total Reserved")))
        if event.get("ph") != "X":
            return
        category = str(event.get("cat", "")).lower()
        if category not in _KEPT:
            return
        self.kept += 1
        limits.EVENTS.check(self.kept, self.file)
        plain: dict[str, Any] = {name: event[name] for name in _FIELDS if name in event}
        for name in ("pid", "tid"):
            if not isinstance(plain.get(name), int | float | str | None):
                place = f"traceEvents[{self.seen - 1}]"
                raise InputError(f"{name} must be a number", file=self.file, field=place)
        plain["args"] = {name: arguments[name] for name in _READ if name in arguments}
        self.by_category.setdefault(category, []).append((self.seen - 1, plain))


@dataclass(frozen=True)
class _Kineto:
    """A document that was read."""

    file: str
    document: Mapping[str, Any]

    def trace(self, events: Mapping[str, Events]) -> Trace:
        calls = [event for name in _CALLS for event in events.get(name, ())]
        if not calls or not any(events.get(name) for name in _WORK):
            what = "kernels or copies (category kernel)"
            what = what if calls else "calls (category cuda_runtime)"
            raise InputError(f"no {what}: profile with ProfilerActivity.CUDA", file=self.file)
        base = self.document.get("baseTimeNanoseconds")
        if isinstance(base, int) and abs(base) > _LATEST:
            raise InputError("must be ns", file=self.file, field="baseTimeNanoseconds")
        names = foreign.Names()
        spans = [(self._span(at, event)["start_ns"], event.get("tid")) for at, event in calls]
        in_time = dict.fromkeys(tid for _, tid in sorted(spans, key=lambda span: span[0]))
        threads = {tid: number for number, tid in enumerate(in_time)}
        work = _framed("work", [
            (event, {"kind": kind, **self._span(at, event), **_of_kind(event, kind, names)})
            for category, kind in _WORK.items()
            for at, event in events.get(category, ())
        ])  # fmt: skip
        called = _framed("calls", [
            (event, {
                **self._span(at, event),
                "thread": threads[event.get("tid")],
                "name": names[foreign.call_name(str(event.get("name")))],
            })
            for at, event in calls
        ])  # fmt: skip
        ranges = _framed("ranges", [
            (event, {
                **self._span(at, event),
                "thread": threads.get(event.get("tid"), 0),
                "name": names[str(event.get("name"))],
            })
            for at, event in events.get("user_annotation", ())
        ])  # fmt: skip
        stated = self.document.get("deviceProperties")
        listed = stated if isinstance(stated, list) else []
        gpus = [str(gpu.get("name", "?")) for gpu in listed if isinstance(gpu, dict)]
        distributed = self.document.get("distributedInfo")
        rank = distributed.get("rank") if isinstance(distributed, dict) else None
        pids = Counter(event.get("pid") for _, event in calls)
        pid = pids.most_common(1)[0][0]
        flags = {(int(context), 7): tables.LEGACY_DEFAULT for context in set(work["context"])}
        process = foreign.process(
            called, work, self._waits(events), ranges, names, flags, program="python",
            pid=pid if isinstance(pid, int) and 0 < pid < 2**32 else 0,
            rank=rank if isinstance(rank, int) and 0 <= rank < _MOST_RANKS else None,
        )  # fmt: skip
        started = int(process.calls["start_ns"].min()) / 1e9
        run = RunDescription("kineto", machine=TracedMachine(gpus=gpus), started=started)
        missing = [UNFIT]
        if "cuda_sync" not in events:
            missing.append(
                "waits for events and streams are not in it "
                "(_ExperimentalConfig(enable_cuda_sync_events=True))"
            )
        return Trace(run, (process,), self.file, tuple(missing))

    def _waits(self, events: Mapping[str, Events]) -> pd.DataFrame:
        rows = []
        for at, event in events.get("cuda_sync", ()):
            kind = str(event["args"].get("cuda_sync_kind", event.get("name")))
            rows.append((event, {"kind": _WAITS.get(kind, 0), **self._span(at, event)}))
        for _, event in events.get("cuda_event", ()):
            # The correlation of the recording call is also the number of the recording.
            own = {"kind": tables.EVENT_RECORDED, "recording": _number(event, "correlation")}
            rows.append((event, own | {"start_ns": 0, "end_ns": 0}))
        return _framed("waits", rows)

    def _span(self, at: int, event: Event) -> dict[str, int]:
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
        return {"start_ns": start, "end_ns": end}


def _framed(table: str, rows: list[tuple[Event, dict[str, int]]]) -> pd.DataFrame:
    """Return events as a table; values are the row's own fields, else the event's arguments, else
    0."""
    columns: dict[str, object] = {}
    for name in tables.COLUMNS[table]:
        keys = _ARGUMENTS.get(name, ())
        columns[name] = [own[name] if name in own else _number(event, *keys) for event, own in rows]
    return tables.frame(table, columns)


def _of_kind(event: Event, kind: int, names: foreign.Names) -> dict[str, int]:
    """Return the specific fields of kernels, copies and memsets."""
    text = str(event.get("name", ""))
    if kind == tables.KERNEL:
        blocks, threads = _product(event, "grid"), _product(event, "block")
        return {"name": names[text], "blocks": blocks, "threads": threads}
    if kind == tables.SET:
        memory = _SET.match(text)
        return {"to_memory": foreign.MEMORIES.get(memory[1].lower(), 0) if memory else 0}
    copied = _COPY.match(text)
    if copied is None:
        return {}
    return {
        "direction": _DIRECTIONS.get(copied[1], 0),
        "from_memory": foreign.MEMORIES.get(copied[2].lower(), 0),
        "to_memory": foreign.MEMORIES.get(copied[3].lower(), 0),
        "from_device": _number(event, "fromDevice", "device"),
        "to_device": _number(event, "toDevice", "device"),
    }


def _number(event: Event, *keys: str) -> int:
    """Return the first of these arguments that exists; 0 if none does, and for -1 (none)."""
    for key in keys:
        value = event["args"].get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            most = 2**63 if key in ("graph node id", "bytes") else 2**32 - 1
            return value if 0 <= value < most else 0
    return 0


def _bytes(value: object) -> int:
    return value if isinstance(value, int) and 0 < value < 2**62 else 0


def _product(event: Event, key: str) -> int:
    sides = event["args"].get(key)
    known = sides if isinstance(sides, list) and len(sides) <= _AXES else []
    valid = [side for side in known if isinstance(side, int) and 0 < side < 2**32]
    return math.prod(valid) % 2**32


class _JsonPieces:
    """A JSON text that is read in pieces, because its list of events may be very long: only one
    value is in memory at a time, apart from those that the caller keeps.

    Raises:
        ValueError, RecursionError: by all methods, if the text is not JSON.
        InputError: by all methods, if the text is too large.
    """

    def __init__(self, stream: BinaryIO, file: str) -> None:
        self._stream = stream
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("surrogatepass").decode
        self._scan = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._bytes = 0
        self._ended = False

    def read(self, listed: str, take: Callable[[object], None]) -> dict[str, object]:
        """Return the object of the text without the list with this key, whose items are passed to
        ``take``.

        If the text is a list, it is that list, and the object is empty.
        """
        document: dict[str, object] = {}
        if self._next() == "[":
            self._hand_over(take)
        else:
            for key in self._keys():
                if key == listed and self._next() == "[":
                    self._hand_over(take)
                else:
                    document[key] = self._value()
        if self._next():
            raise ValueError("something follows its end")
        return document

    def _keys(self) -> Iterator[str]:
        """Yield the keys of an object; the caller reads the value of a key before the next."""
        self._skip("{")
        if self._next() == "}":
            self._skip("}")
            return
        while True:
            key = self._value()
            if not isinstance(key, str):
                raise ValueError("a key is not text")
            self._skip(":")
            yield key
            if self._next() == "}":
                self._skip("}")
                return
            self._skip(",")

    def _hand_over(self, take: Callable[[object], None]) -> None:
        self._skip("[")
        most = limits.JSON_VALUES.most
        while self._next() != "]":
            if not most:
                raise limits.JSON_VALUES.error(self._file)
            most -= 1
            take(self._value())
            if self._next() != "]":
                self._skip(",")
                if self._next() == "]":
                    raise ValueError("Expecting value")
        self._skip("]")

    def _value(self) -> object:
        self._next()
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except json.JSONDecodeError as error:
                is_cut = error.pos + _WORD > len(self._text) or "Unterminated" in error.msg
                if not is_cut or not self._more():
                    raise ValueError(error.msg) from None
                continue
            # A number at the end of a piece may continue in the next.
            if end == len(self._text) and self._more():
                continue
            self._at = end
            return value

    def _next(self) -> str:
        """Return the next non-blank character; "" at the end."""
        while True:
            blank = _BLANK.match(self._text, self._at)
            assert blank is not None
            self._at = blank.end()
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def _skip(self, character: str) -> None:
        if self._next() != character:
            raise ValueError(f"Expecting {character!r}")
        self._at += 1

    def _more(self) -> bool:
        """Read another piece, and drop the text before the position."""
        if self._ended:
            return False
        piece = self._stream.read(_PIECE)
        self._bytes += len(piece)
        limits.TRACE_TEXT.check(self._bytes, self._file)
        self._ended = not piece
        self._text = self._text[self._at :] + self._decode(piece, self._ended)
        self._at = 0
        limits.RECORD.check(len(self._text), self._file)
        return not self._ended
