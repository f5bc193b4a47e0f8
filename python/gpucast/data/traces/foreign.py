"""What readers of other programs' traces share: names, nested calls, events without a number."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
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
"""Kinds of memory by the words that Nsight Systems and Kineto use."""


@dataclass
class Names:
    """Texts and their numbers, from 1."""

    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        """The number of a text, the same each time."""
        return self.numbers.setdefault(text, len(self.numbers) + 1)

    def all_of(self, texts: Iterable[str]) -> list[int]:
        """The number of each text."""
        return [self.number(text) for text in texts]

    @property
    def texts(self) -> dict[int, str]:
        """Texts by number."""
        return {number: text for text, number in self.numbers.items()}


def call_name(text: str) -> str:
    """``cudaMemcpyAsync`` of ``cudaMemcpyAsync_ptsz_v7000``."""
    return _VERSIONS.sub("", text)


def process(
    calls: pd.DataFrame, work: pd.DataFrame, waits: pd.DataFrame, ranges: pd.DataFrame,
    names: Names, flags: dict[tuple[int, int], int], **facts: Any,
) -> Process:  # fmt: skip
    """A process of these tables, in any order of rows, and facts.

    ``flags``: of streams, by context and stream.
    """
    calls = _outermost(calls, work, waits)
    _mark_asynchronous(work, calls, names)
    return Process(
        calls=calls, work=_by_start(work), waits=_number_recordings(waits),
        ranges=_by_start(ranges), streams=_streams_of(work, flags), names=names.texts, lost=0,
        ended="exit", **facts,
    )  # fmt: skip


def _outermost(calls: pd.DataFrame, *others: pd.DataFrame) -> pd.DataFrame:
    """The calls that no other call of their thread contains.

    The runtime's calls make driver's calls, whose work then is theirs: correlations of inner calls
    are renamed in ``others`` (work and waits), in place.
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
    """Rows in time."""
    return rows.sort_values("start_ns", kind="stable", ignore_index=True)


def _mark_asynchronous(work: pd.DataFrame, calls: pd.DataFrame, names: Names) -> None:
    """Work asked for by calls whose name says so: the formats do not tell it themselves."""
    asynchronous = [number for text, number in names.numbers.items() if "Async" in text]
    calls = calls[calls["name"].isin(asynchronous)]
    work["asynchronous"] = work["correlation"].isin(calls["correlation"]).astype("uint8")


def _number_recordings(waits: pd.DataFrame) -> pd.DataFrame:
    """Waits for events with the number of the recording they wait for, where it is not known.

    The recording is then the last of that event before the wait, in the order of the calls, as
    Kineto and Nsight Systems take it.
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
    """The streams that work ran in; flags by context and stream, 1 (blocking) where not known."""
    keys = work[["context", "device", "stream"]].drop_duplicates()
    known = [
        flags.get((context, stream), tables.BLOCKING)
        for context, _, stream in keys.to_numpy().tolist()
    ]
    columns = {name: keys[name].to_numpy() for name in ("context", "device", "stream")}
    return tables.frame("streams", columns | {"flags": np.array(known)})
