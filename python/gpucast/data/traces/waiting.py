"""The calls in which the host waits, and the awaited work.

Waiting calls are known from the trace's waits, from the kind of copy if there is no record of a
wait (blocking copies have none), and from the name of the call if the recorder had no waits at all.
The rules for copies are those of CUDA's "API synchronization behavior": blocking copies wait,
except within a device; asynchronous ones may wait if host memory is pageable, and then return after
the end of the copy.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpucast.data.traces import tables
from gpucast.data.traces.trace import Process

NOTHING, STREAM, EVENT, DEVICE, COPY, POLLING = range(6)
"""The work that a call waits for."""

WORDS: Final = {
    STREAM: "stream",
    EVENT: "event",
    DEVICE: "device",
    COPY: "copy",
    POLLING: "polls",
}

_BY_KIND = {
    tables.HOST_WAITS_STREAM: STREAM,
    tables.HOST_WAITS_EVENT: EVENT,
    tables.HOST_WAITS_DEVICE: DEVICE,
}
_BY_NAME = (
    ("StreamSynchronize", STREAM),
    ("EventSynchronize", EVENT),
    ("DeviceSynchronize", DEVICE),
    ("CtxSynchronize", DEVICE),
    ("ThreadSynchronize", DEVICE),
    ("StreamQuery", POLLING),
    ("EventQuery", POLLING),
)

Kinds = NDArray[np.uint8]


def calls_of(process: Process, correlations: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return the row in ``process.calls`` of the call with each correlation; -1 if there is
    none."""
    own = process.calls["correlation"].to_numpy()
    if own.size == 0 or correlations.size == 0:
        return np.full(correlations.size, -1)
    order = np.argsort(own, kind="stable")
    at = np.minimum(np.searchsorted(own, correlations, sorter=order), own.size - 1)
    rows = order[at]
    return np.where(own[rows] == correlations, rows, -1)


def functions(process: Process) -> NDArray[np.uint16]:
    """Return the numbers of the functions with waiting calls."""
    return np.unique(process.calls["name"].to_numpy()[of_calls(process) != NOTHING])


def of_calls(process: Process) -> Kinds:
    """Return the work that each call of ``process.calls`` waits for."""
    numbers, places = np.unique(process.calls["name"].to_numpy(), return_inverse=True)
    names = map(process.name_of, numbers.tolist())
    by_name = [next((kind for end, kind in _BY_NAME if name.endswith(end)), 0) for name in names]
    kinds_of = np.array(by_name, np.uint8)[places]
    _mark_copies(process, kinds_of)
    waits = process.waits
    rows = calls_of(process, waits["correlation"].to_numpy())
    kinds = waits["kind"].to_numpy()
    for kind, what in _BY_KIND.items():
        there = rows[(kinds == kind) & (rows >= 0)]
        # Queries also make records of waiting, but return at once.
        kinds_of[there[kinds_of[there] != POLLING]] = what
    return kinds_of


def asked_again(process: Process, waits: Kinds) -> NDArray[np.bool_]:
    """Return which queries follow the same query of their thread: their number depends on the
    waiting time, and so on the path. ``waits``: as from ``of_calls``."""
    names, threads = (process.calls[column].to_numpy() for column in ("name", "thread"))
    order = np.argsort(threads, kind="stable")
    call, before = order[1:], order[:-1]
    again = np.zeros(waits.size, bool)
    again[call] = (names[call] == names[before]) & (threads[call] == threads[before])
    again[call] &= (waits[call] == POLLING) & (waits[before] == POLLING)
    return again


def _mark_copies(process: Process, kinds_of: Kinds) -> None:
    work = process.work[process.work["kind"] == tables.COPY]
    if work.empty or process.calls.empty:
        return
    rows = calls_of(process, work["correlation"].to_numpy())
    direction = work["direction"].to_numpy()
    host = np.where(
        direction == tables.TO_DEVICE, work["from_memory"].to_numpy(), work["to_memory"].to_numpy()
    )
    outside = np.isin(direction, (tables.TO_DEVICE, tables.TO_HOST, tables.WITHIN_HOST))
    returned_after = process.calls["end_ns"].to_numpy()[rows] >= work["end_ns"].to_numpy()
    blocking = work["asynchronous"].to_numpy() == 0
    waits = (rows >= 0) & outside & (blocking | ((host == tables.PAGEABLE) & returned_after))
    kinds_of[rows[waits]] = COPY
