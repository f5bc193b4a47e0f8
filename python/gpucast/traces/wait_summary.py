"""The calls of a step that make the host wait: which, how often, for what, how long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpucast.traces import tables, waiting
from gpucast.traces.kernel_names import short
from gpucast.traces.steps import ProcessSteps
from gpucast.traces.trace import Process
from gpucast.traces.work_names import labels_of


@dataclass(frozen=True)
class Wait:
    """Calls of one kind that make the host wait, at one place of the step.

    Attributes:
        call, what: the call, and what it waits for.
        after: the kernel that its thread launched last before it in the step; empty for none.
        count, bytes, seconds: in a step.
    """

    call: str
    what: str
    after: str
    count: float
    bytes: float
    seconds: float


def waits_of(
    process: Process, steps: ProcessSteps, waits: waiting.Kinds, typical: NDArray[np.bool_]
) -> list[Wait]:
    """The waits of the typical steps, those that take longest first; ``waits`` as of_calls."""
    in_steps = (steps.call_step >= 0) & typical[steps.call_step]
    there = np.flatnonzero(in_steps & (waits != waiting.NOTHING))
    if there.size == 0:
        return []
    calls, copied = process.calls, _copies_by_call(process)
    after = _kernels_before(process, steps)
    names = calls["name"].to_numpy()[there]
    table = pd.DataFrame(
        {
            "call": [process.name_of(number) for number in names],
            "what": [
                copied.get(row, ("copy", 0))[0] if kind == waiting.COPY else waiting.WORDS[kind]
                for row, kind in zip(there.tolist(), waits[there].tolist(), strict=True)
            ],
            "after": [after[row] for row in there.tolist()],
            "bytes": [copied.get(row, ("", 0))[1] for row in there.tolist()],
            "seconds": (calls["end_ns"] - calls["start_ns"]).to_numpy()[there] / 1e9,
        }
    )
    count = np.count_nonzero(typical)
    sums = table.groupby(["call", "what", "after"], as_index=False).agg(
        count=("bytes", "size"), bytes=("bytes", "sum"), seconds=("seconds", "sum")
    )
    sums = sums.sort_values("seconds", ascending=False, kind="stable")
    columns = [
        sums[name].tolist() for name in ("call", "what", "after", "count", "bytes", "seconds")
    ]
    return [
        Wait(call, what, before, number / count, total / count, seconds / count)
        for call, what, before, number, total, seconds in zip(*columns, strict=True)
    ]


def _copies_by_call(process: Process) -> dict[int, tuple[str, int]]:
    """What each call copied, in words, and its bytes."""
    work = process.work[process.work["kind"] == tables.COPY]
    rows = waiting.calls_of(process, work["correlation"].to_numpy())
    found: dict[int, tuple[str, int]] = {}
    for row, (_, label), total in zip(
        rows.tolist(), labels_of(process, work), work["bytes"].tolist(), strict=True
    ):
        found[row] = (label, found.get(row, ("", 0))[1] + total)
    return found


def _kernels_before(process: Process, steps: ProcessSteps) -> list[str]:
    """Of each call, the kernel that its thread launched last before it in its step."""
    work = process.work[process.work["kind"].isin((tables.KERNEL, tables.GRAPH))]
    rows = waiting.calls_of(process, work["correlation"].to_numpy())
    name = np.zeros(len(process.calls), np.int64)
    name[rows[rows >= 0]] = np.where(
        work["kind"] == tables.GRAPH, -1, work["name"].to_numpy(np.int64)
    )[rows >= 0]
    seen = pd.Series(np.where(name == 0, np.nan, name))
    places = [process.calls["thread"].to_numpy(), steps.call_step]
    last = seen.groupby(places).ffill().fillna(0).astype(int)
    words = {number: short(process.name_of(number)) for number in last.unique().tolist()}
    words |= {0: "", -1: "graph"}
    return [words[number] for number in last.tolist()]
