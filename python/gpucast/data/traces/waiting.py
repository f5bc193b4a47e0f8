"""Which calls make the host wait, and for what.

Who waits is told by the trace's waits, by the kind of copy where there is no record of a wait
(a blocking copy has none), and by the call's name where the recorder had no waits at all. Rules of
copies are those of CUDA's "API synchronization behavior": blocking copies wait, but within a
device; asynchronous ones may where host memory is pageable, and then return after the copy's end.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpucast.data.traces import tables
from gpucast.data.traces.trace import Process

NOTHING, STREAM, EVENT, DEVICE, COPY, POLLING = range(6)
"""What a call waits for."""

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
    """The row in ``process.calls`` of the call with each correlation; -1 where there is none."""
    own = process.calls["correlation"].to_numpy()
    if own.size == 0 or correlations.size == 0:
        return np.full(correlations.size, -1)
    order = np.argsort(own, kind="stable")
    at = np.minimum(np.searchsorted(own, correlations, sorter=order), own.size - 1)
    rows = order[at]
    return np.where(own[rows] == correlations, rows, -1)


def functions(process: Process) -> NDArray[np.uint16]:
    """Numbers of the functions of which some calls wait."""
    return np.unique(process.calls["name"].to_numpy()[of_calls(process) != NOTHING])


def of_calls(process: Process) -> Kinds:
    """What each call of ``process.calls`` waits for."""
    calls = process.calls
    kinds_of = np.zeros(len(calls), np.uint8)
    for number in np.unique(calls["name"].to_numpy()):
        name = process.name_of(number)
        kind = next((kind for text, kind in _BY_NAME if name.endswith(text)), NOTHING)
        if kind:
            kinds_of[calls["name"].to_numpy() == number] = kind
    _mark_copies(process, kinds_of)
    waits = process.waits
    rows = calls_of(process, waits["correlation"].to_numpy())
    kinds = waits["kind"].to_numpy()
    for kind, what in _BY_KIND.items():
        there = rows[(kinds == kind) & (rows >= 0)]
        # Queries, too, make records of waiting; they return at once.
        kinds_of[there[kinds_of[there] != POLLING]] = what
    return kinds_of


def asked_again(process: Process, waits: Kinds) -> NDArray[np.bool_]:
    """Queries behind the same query of their thread: how often a loop asks depends on how long it
    waits, and so on the path. ``waits``: as ``of_calls``."""
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
