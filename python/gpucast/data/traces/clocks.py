"""How far the GPUs' clock may be off the host's, bounded by what cannot be.

With s added to the GPU's times, work begins no earlier than the call that asks for it, and a call
that waits returns no earlier than what it waits for has ended:

    start(work) + s >= start(call)        for all work
    end(wait) >= end(work) + s            for all that is waited for

so that s lies between the largest of start(call) - start(work) and the smallest of
end(wait) - end(work). CUPTI maps one clock to the other by interpolation; microseconds are usual.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpucast.data.traces import tables, waiting
from gpucast.data.traces.trace import Process


@dataclass(frozen=True)
class Skew:
    """Seconds that have to be added to the GPUs' times: between these; None where nothing tells.

    ``low`` above ``high``: the clocks drift.
    """

    low: float | None
    high: float | None

    @property
    def least(self) -> float:
        """The least that surely has to be added; halfway where the clocks drift."""
        low = -np.inf if self.low is None else self.low
        high = np.inf if self.high is None else self.high
        return (low + high) / 2 if low > high else min(max(0.0, low), high)


def skew_of(process: Process) -> Skew:
    """The bounds that a process's calls and work give."""
    calls, work = process.calls, process.work
    rows = waiting.calls_of(process, work["correlation"].to_numpy())
    there = rows >= 0
    if not there.any():
        return Skew(None, None)
    asked = calls["start_ns"].to_numpy()[rows[there]]
    low = float((asked - work["start_ns"].to_numpy()[there]).max())
    ends = _slack_of_copies(process, rows) + _slack_of_streams(process, rows)
    return Skew(low / 1e9, min(ends) / 1e9 if ends else None)


def _slack_of_copies(process: Process, rows: np.ndarray) -> list[float]:
    """Blocking copies to the host return after they are done."""
    work = process.work
    blocking = (
        (rows >= 0)
        & (work["kind"] == tables.COPY).to_numpy()
        & (work["direction"] == tables.TO_HOST).to_numpy()
        & (work["asynchronous"] == 0).to_numpy()
    )
    slack = process.calls["end_ns"].to_numpy()[rows[blocking]] - work["end_ns"].to_numpy()[blocking]
    return [float(slack.min())] if slack.size else []


def _slack_of_streams(process: Process, rows: np.ndarray) -> list[float]:
    """A wait for a stream returns after all that was asked of the stream before."""
    waits = process.waits[process.waits["kind"] == tables.HOST_WAITS_STREAM]
    work, slacks = process.work, []
    for stream in np.unique(waits["stream"].to_numpy()):
        there = (work["stream"] == stream).to_numpy() & (rows >= 0)
        asked = process.calls["start_ns"].to_numpy()[rows[there]]
        order = np.argsort(asked, kind="stable")
        ends = np.maximum.accumulate(work["end_ns"].to_numpy()[there][order])
        own = waits[waits["stream"] == stream]
        before = np.searchsorted(asked[order], own["start_ns"].to_numpy()) - 1
        valid = before >= 0
        if valid.any():
            slack = own["end_ns"].to_numpy()[valid] - ends[before[valid]]
            slacks.append(float(slack.min()))
    return slacks
