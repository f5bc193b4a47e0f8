"""Traces for timeline viewers: Chrome's trace event format, which ui.perfetto.dev opens.

Format: "Trace Event Format" (Google, 2016). Complete events (``X``) have microseconds; processes
are the program's and its GPUs', with a row for each thread or stream; arrows (``s``, ``f``) lead
from a call to its work; steps are a row of their own.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from gpucast.data.traces import waiting
from gpucast.data.traces.steps import ProcessSteps, Steps
from gpucast.data.traces.trace import Process, Trace
from gpucast.data.traces.work_names import demangled, labels_of

_GPU_OF = 1_000_000
"""Added to the number of a process for the rows of its GPUs, so that no other process has them."""
_STEPS_ROW = 1_000_000

Event = dict[str, Any]


def content(trace: Trace, steps: Steps | None, *, compressed: bool = False) -> bytes:
    """Return the content of the file: JSON, possibly compressed by gzip."""
    document = {
        "displayTimeUnit": "ns",
        "otherData": {"made_by": "gpucast", "source": trace.run.source},
        "traceEvents": list(_events(trace, steps)),
    }
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    # Without a date, so that the same trace gives the same file.
    return gzip.compress(text, mtime=0) if compressed else text


def _events(trace: Trace, steps: Steps | None) -> Iterator[Event]:
    starts = [
        int(table["start_ns"].min())
        for process in trace.processes
        for table in (process.calls, process.work)
        if len(table)
    ]
    zero = min(starts, default=0)
    steps_of = {own.process: own for own in steps.processes} if steps is not None else {}
    for at, process in enumerate(trace.processes):
        yield from _host(process, at, zero)
        yield from _gpus(process, at, zero)
        if at in steps_of:
            yield from _steps(steps_of[at], at, zero)


def _host(process: Process, at: int, zero: int) -> Iterator[Event]:
    title = process.program if process.rank is None else f"rank {process.rank}: {process.program}"
    yield _named("process_name", at, None, f"{title} ({process.pid})")
    waits = waiting.of_calls(process)
    calls = process.calls
    for thread in np.unique(calls["thread"].to_numpy()).tolist():
        yield _named("thread_name", at, thread, f"thread {thread}")
    for call, waited in zip(_rows(calls), waits.tolist(), strict=True):
        arguments: Event = {"correlation": call.correlation}
        if waited:
            arguments["waits for"] = waiting.WORDS[waited]
        if call.result:
            arguments["error"] = call.result
        span = (call.start_ns, call.end_ns)
        yield _complete(process.name_of(call.name), "call", at, call.thread, span, zero, arguments)
    for row in _rows(process.ranges):
        span = (row.start_ns, row.end_ns)
        yield _complete(process.name_of(row.name), "range", at, row.thread, span, zero, {})


def _rows(table: pd.DataFrame) -> Iterator[Any]:
    """Return the rows of a table, their columns by name."""
    return iter(table.itertuples())


def _gpus(process: Process, at: int, zero: int) -> Iterator[Event]:
    work = process.work
    for device, stream in work[["device", "stream"]].drop_duplicates().itertuples(index=False):
        yield _named("process_name", _row(at, device), None, f"GPU {device} of {process.pid}")
        yield _named("thread_name", _row(at, device), int(stream), f"stream {stream}")
    rows = waiting.calls_of(process, work["correlation"].to_numpy())
    called, threads = process.calls["start_ns"].to_numpy(), process.calls["thread"].to_numpy()
    pieces = zip(_rows(work), labels_of(process, work), rows.tolist(), strict=True)
    for number, (piece, (kind, text), row) in enumerate(pieces):
        gpu = _row(at, piece.device)
        arguments: Event = {"correlation": piece.correlation}
        if piece.name:
            text = demangled(process.name_of(piece.name))
        else:
            arguments["bytes"] = piece.bytes
        span = (piece.start_ns, piece.end_ns)
        yield _complete(text, kind, gpu, piece.stream, span, zero, arguments)
        if row >= 0:
            arrow: Event = {"cat": "asked", "name": "asked", "id": at * 2**32 + number}
            asked = _us(int(called[row]), zero)
            yield arrow | {"ph": "s", "pid": at, "tid": int(threads[row]), "ts": asked}
            done = {"pid": gpu, "tid": piece.stream, "ts": _us(piece.start_ns, zero)}
            yield arrow | {"ph": "f", "bp": "e"} | done


def _steps(steps: ProcessSteps, at: int, zero: int) -> Iterator[Event]:
    yield _named("thread_name", at, _STEPS_ROW, "steps")
    for number, span in enumerate(pairwise(steps.begins_ns.tolist())):
        arguments: Event = {"kind": int(steps.kind[number]), "typical": bool(steps.kept[number])}
        yield _complete(f"step {number}", "step", at, _STEPS_ROW, span, zero, arguments)


def _row(process: int, device: int) -> int:
    return _GPU_OF + process * 1000 + int(device)


def _complete(
    name: str, category: str, pid: int, tid: int, span: tuple[int, int], zero: int, arguments: Event
) -> Event:
    start, end = span
    return {
        "ph": "X", "name": name, "cat": category, "pid": pid, "tid": tid,
        "ts": _us(start, zero), "dur": (end - start) / 1000, "args": arguments,
    }  # fmt: skip


def _named(what: str, pid: int, tid: int | None, name: str) -> Event:
    event: Event = {"ph": "M", "name": what, "pid": pid, "args": {"name": name}}
    return event if tid is None else event | {"tid": tid}


def _us(time: int, zero: int) -> float:
    return (time - zero) / 1000
