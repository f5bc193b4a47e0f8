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

from gpucast.traces import waiting
from gpucast.traces.steps import ProcessSteps, Steps
from gpucast.traces.trace import Process, Trace
from gpucast.traces.work_names import demangled, labels_of

_GPU_OF = 1_000_000
"""Added to a process's number for its GPUs' rows, which must not be those of another process."""
_STEPS_ROW = 1_000_000

Event = dict[str, Any]


def content(trace: Trace, steps: Steps | None, *, compressed: bool = False) -> bytes:
    """The file's content: JSON, or gzip of it."""
    document = {
        "displayTimeUnit": "ns",
        "otherData": {"made_by": "gpucast", "source": trace.run.source},
        "traceEvents": list(_events(trace, steps)),
    }
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    # No date within, so that the same trace gives the same file.
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
    for name, start, end, thread, correlation, waited, result in zip(
        calls["name"].tolist(), calls["start_ns"].tolist(), calls["end_ns"].tolist(),
        calls["thread"].tolist(), calls["correlation"].tolist(), waits.tolist(),
        calls["result"].tolist(), strict=True,
    ):  # fmt: skip
        arguments: Event = {"correlation": correlation}
        if waited:
            arguments["waits for"] = waiting.WORDS[waited]
        if result:
            arguments["error"] = result
        yield _complete(process.name_of(name), "call", at, thread, start, end, zero, arguments)
    ranges = process.ranges
    for name, start, end, thread in zip(
        ranges["name"].tolist(), ranges["start_ns"].tolist(), ranges["end_ns"].tolist(),
        ranges["thread"].tolist(), strict=True,
    ):  # fmt: skip
        yield _complete(process.name_of(name), "range", at, thread, start, end, zero, {})


def _gpus(process: Process, at: int, zero: int) -> Iterator[Event]:
    work = process.work
    for device, stream in work[["device", "stream"]].drop_duplicates().itertuples(index=False):
        yield _named("process_name", _row(at, device), None, f"GPU {device} of {process.pid}")
        yield _named("thread_name", _row(at, device), int(stream), f"stream {stream}")
    rows = waiting.calls_of(process, work["correlation"].to_numpy())
    called, threads = process.calls["start_ns"].to_numpy(), process.calls["thread"].to_numpy()
    columns = ("start_ns", "end_ns", "device", "stream", "correlation", "name", "bytes")
    lists = [work[name].tolist() for name in columns]
    labels = labels_of(process, work)
    for at_work, (start, end, device, stream, correlation, name, size) in enumerate(
        zip(*lists, strict=True)
    ):
        kind, text = labels[at_work]
        arguments = {"correlation": correlation}
        if name:
            text = demangled(process.name_of(name))
        else:
            arguments["bytes"] = size
        yield _complete(text, kind, _row(at, device), stream, start, end, zero, arguments)
        if rows[at_work] >= 0:
            arrow: Event = {"cat": "asked", "name": "asked", "id": at * 2**32 + at_work}
            row = int(rows[at_work])
            asked = _us(int(called[row]), zero)
            yield arrow | {"ph": "s", "pid": at, "tid": int(threads[row]), "ts": asked}
            done = {"pid": _row(at, device), "tid": stream, "ts": _us(start, zero)}
            yield arrow | {"ph": "f", "bp": "e"} | done


def _steps(steps: ProcessSteps, at: int, zero: int) -> Iterator[Event]:
    yield _named("thread_name", at, _STEPS_ROW, "steps")
    for number, (start, end) in enumerate(pairwise(steps.begins_ns.tolist())):
        arguments: Event = {"kind": int(steps.kind[number]), "typical": bool(steps.kept[number])}
        yield _complete(f"step {number}", "step", at, _STEPS_ROW, start, end, zero, arguments)


def _row(process: int, device: int) -> int:
    return _GPU_OF + process * 1000 + int(device)


def _complete(
    name: str, category: str, pid: int, tid: int, start: int, end: int, zero: int, arguments: Event
) -> Event:
    return {
        "ph": "X", "name": name, "cat": category, "pid": pid, "tid": tid,
        "ts": _us(start, zero), "dur": (end - start) / 1000, "args": arguments,
    }  # fmt: skip


def _named(what: str, pid: int, tid: int | None, name: str) -> Event:
    event: Event = {"ph": "M", "name": what, "pid": pid, "args": {"name": name}}
    return event if tid is None else event | {"tid": tid}


def _us(time: int, zero: int) -> float:
    return (time - zero) / 1000
