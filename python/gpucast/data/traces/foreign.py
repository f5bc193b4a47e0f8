"""Common parts of readers of other programs' traces: names, nested calls, events without a
number."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpucast.data.traces import tables
from gpucast.data.traces.trace import Process

Ints = NDArray[np.int64]

_VERSIONS = re.compile(r"(_ptsz|_ptds|_v\d+)+$")

MEMORIES = {
    "pageable": tables.PAGEABLE,
    "pinned": tables.PINNED,
    "device": tables.DEVICE,
    "array": tables.ARRAY,
    "managed": tables.MANAGED,
    "device static": tables.DEVICE,
    "managed static": tables.MANAGED,
    "unified": tables.MANAGED,
}
"""Kinds of memory by the words of Nsight Systems and Kineto."""


class Names(dict[str, int]):
    """Numbers of texts, from 1, in the order of their first look-up."""

    def __missing__(self, text: str) -> int:
        self[text] = len(self) + 1
        return self[text]


def call_name(text: str) -> str:
    """Return ``cudaMemcpyAsync`` for ``cudaMemcpyAsync_ptsz_v7000``."""
    return _VERSIONS.sub("", text)


def process(
    calls: pd.DataFrame, work: pd.DataFrame, waits: pd.DataFrame, ranges: pd.DataFrame,
    names: Names, flags: dict[tuple[int, int], int], **facts: Any,
) -> Process:  # fmt: skip
    """Return a process from tables with rows in any order, and facts.

    ``flags``: flags of streams, by context and stream.
    """
    calls = _outermost(calls, work, waits)
    # Recognized by the names of calls, because the formats do not state it.
    asynchronous = [number for text, number in names.items() if "Async" in text]
    numbers = calls["correlation"][calls["name"].isin(asynchronous)]
    work["asynchronous"] = work["correlation"].isin(numbers).astype("uint8")
    return Process(
        calls=calls, work=_by_start(work), waits=_number_recordings(waits),
        ranges=_by_start(ranges), streams=_streams_of(work, flags), lost=0,
        names={number: text for text, number in names.items()}, ended="exit", **facts,
    )  # fmt: skip


def _outermost(calls: pd.DataFrame, *others: pd.DataFrame) -> pd.DataFrame:
    """Return the calls that no other call of their thread contains.

    Calls of the runtime make calls of the driver, whose work then belongs to the former:
    correlations of inner calls are replaced in ``others`` (work and waits), in place.
    """
    ordered = calls.sort_values(
        ["thread", "start_ns", "end_ns"], ascending=[True, True, False], kind="stable",
        ignore_index=True,
    )  # fmt: skip
    threads, ends = ordered["thread"].to_numpy(), ordered["end_ns"].to_numpy()
    reached = ordered.groupby("thread")["end_ns"].cummax().to_numpy()
    inner = np.zeros(len(ordered), bool)
    inner[1:] = (threads[1:] == threads[:-1]) & (ends[1:] <= reached[:-1])
    own = np.arange(len(ordered))
    outer = np.maximum.accumulate(np.where(inner, -1, own)) if len(ordered) else own
    correlations = ordered["correlation"].to_numpy(np.int64)
    renamed = dict(
        zip(correlations[inner].tolist(), correlations[outer[inner]].tolist(), strict=True)
    )
    if renamed:
        for table in others:
            table["correlation"] = table["correlation"].replace(renamed)
    return _by_start(ordered[~inner])


def _by_start(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in order of time."""
    return rows.sort_values("start_ns", kind="stable", ignore_index=True)


def _number_recordings(waits: pd.DataFrame) -> pd.DataFrame:
    """Add the number of the recording to waits for events that lack it.

    It is the last recording of that event before the wait, in order of the calls, as in Kineto and
    Nsight Systems.
    """
    if waits["recording"].any() or not (waits["kind"] == tables.EVENT_RECORDED).any():
        return waits
    ordered = waits.sort_values("correlation", kind="stable")
    recorded = ordered["kind"] == tables.EVENT_RECORDED
    numbers = pd.Series(np.where(recorded, recorded.cumsum(), np.nan), index=ordered.index)
    last = numbers.groupby([ordered["context"], ordered["event"]]).ffill().fillna(0)
    of_event = ordered["kind"].isin(
        (tables.HOST_WAITS_EVENT, tables.STREAM_WAITS_EVENT, tables.EVENT_RECORDED)
    )
    return waits.assign(recording=last.where(of_event, 0).astype("uint64").reindex(waits.index))


def _streams_of(work: pd.DataFrame, flags: dict[tuple[int, int], int]) -> pd.DataFrame:
    """Return the streams of the work; flags by context and stream, 1 (blocking) if not known."""
    keys = work[["context", "device", "stream"]].drop_duplicates()
    streams = zip(keys["context"].tolist(), keys["stream"].tolist(), strict=True)
    known = [flags.get(stream, tables.BLOCKING) for stream in streams]
    columns = {str(name): column for name, column in keys.items()}
    return tables.frame("streams", columns | {"flags": np.array(known)})
