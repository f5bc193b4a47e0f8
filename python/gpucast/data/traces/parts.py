"""T_gpu, T_cpu and T_com of traced steps, and the work of a step.

    T_gpu   while a kernel (or a memset, or a graph) runs on any GPU
    T_com   otherwise, while a copy runs, or the thread that drives the steps is in a CUDA call, in
            which it launches work or waits
    T_cpu   otherwise: the thread is outside of CUDA, and the GPUs are idle

so that the three add up to the step. Work hidden behind kernels does not count: copies during
kernels belong to T_gpu, as in the terms of the model. All are means over typical steps in which the
GPUs' work was recorded. Such steps are longer than others by the host's time for recording, in
calls and between them: the time of a step is the native one (``native_step``); kernels keep theirs,
and T_com and T_cpu share the rest in proportion to full phases.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpucast.data.traces import tables, waiting
from gpucast.data.traces.native_step import usual
from gpucast.data.traces.steps import ProcessSteps, among
from gpucast.data.traces.trace import Process

Ints = NDArray[np.int64]

LEAST_REST = 0.5
"""Recording takes host time; if it seems to have taken more than this share of the time without
kernels, kernels were longer as well."""


@dataclass(frozen=True)
class StepParts:
    """Parts of a step, s; they add up to it."""

    gpu: float
    cpu: float
    com: float

    @property
    def seconds(self) -> float:
        """The time of the step."""
        return self.gpu + self.cpu + self.com

    def times(self, repeats: float) -> StepParts:
        """Return the parts of several consecutive steps."""
        return StepParts(repeats * self.gpu, repeats * self.cpu, repeats * self.com)

    def lasting(self, seconds: float) -> StepParts:
        """Return the parts of a step with the same work that takes ``seconds``: kernels keep their
        time if at least ``LEAST_REST`` of the rest's share remains."""
        rest = self.cpu + self.com
        if rest <= 0:
            return StepParts(seconds, 0.0, 0.0)
        left = max(seconds - self.gpu, LEAST_REST * rest * seconds / self.seconds)
        return StepParts(seconds - left, left * self.cpu / rest, left * self.com / rest)


@dataclass(frozen=True)
class StepWork:
    """The work of a step; means over typical steps.

    Attributes:
        up, down, between: bytes to GPUs, from them, and between GPUs.
        launches, copies, waits: numbers of calls; graphs are launches.
    """

    up: float
    down: float
    between: float
    launches: float
    copies: float
    waits: float


def parts_of(process: Process, steps: ProcessSteps) -> StepParts:
    """Return the parts of the steps whose work is recorded, as recorded."""
    own = usual(process, steps)
    begins, ends = steps.begins_ns[:-1][own], steps.begins_ns[1:][own]
    work = process.work
    skew = round(1e9 * skew_of(process).least)
    start, end = work["start_ns"].to_numpy() + skew, work["end_ns"].to_numpy() + skew
    copying = (work["kind"] == tables.COPY).to_numpy()
    calls = process.calls[process.calls["thread"] == steps.thread]
    kernels = Union.of(start[~copying], end[~copying])
    busy = kernels | Union.of(start[copying], end[copying])
    busy = busy | Union.of(calls["start_ns"], calls["end_ns"])
    length = float((ends - begins).mean())
    gpu, either = (float(union.within(begins, ends).mean()) for union in (kernels, busy))
    return StepParts(gpu / 1e9, (length - either) / 1e9, (either - gpu) / 1e9)


def work_of(process: Process, steps: ProcessSteps) -> StepWork:
    """Return the work of the steps whose work is recorded."""
    own = usual(process, steps)
    count = np.count_nonzero(own)
    work = process.work[among(steps.work_step, own)]
    size, direction = work["bytes"].to_numpy(), work["direction"].to_numpy()
    copying = (work["kind"] == tables.COPY).to_numpy()
    up, down, between = (
        float(size[copying & (direction == way)].sum()) / count
        for way in (tables.TO_DEVICE, tables.TO_HOST, tables.BETWEEN_DEVICES)
    )
    asked = work["correlation"].to_numpy()
    waits = waiting.of_calls(process)[among(steps.call_step, own)]
    return StepWork(
        up=up,
        down=down,
        between=between,
        launches=np.unique(asked[~copying]).size / count,
        copies=np.unique(asked[copying]).size / count,
        waits=float(np.count_nonzero(waits != waiting.NOTHING)) / count,
    )


@dataclass(frozen=True)
class Union:
    """Disjoint intervals of time, ascending."""

    starts: Ints
    ends: Ints

    @classmethod
    def of(cls, starts: ArrayLike, ends: ArrayLike) -> Union:
        """Return the union of intervals [start, end)."""
        begins, stops = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
        order = np.argsort(begins, kind="stable")
        begins, stops = begins[order], stops[order]
        if begins.size == 0:
            return cls(begins, stops)
        reached = np.maximum.accumulate(stops)
        first = np.ones(begins.size, bool)
        first[1:] = begins[1:] > reached[:-1]
        at = np.flatnonzero(first)
        return cls(begins[at], reached[np.append(at[1:], begins.size) - 1])

    def __or__(self, other: Union) -> Union:
        return Union.of(
            np.concatenate([self.starts, other.starts]), np.concatenate([self.ends, other.ends])
        )

    def within(self, begins: Ints, ends: Ints) -> Ints:
        """Return the covered length of each [begin, end)."""
        return self._before(ends) - self._before(begins)

    def _before(self, times: Ints) -> Ints:
        """Return the covered length before each time."""
        lengths = self.ends - self.starts
        before = np.concatenate([[0], np.cumsum(lengths)])
        at = np.searchsorted(self.starts, times, side="right")
        beyond = np.zeros(np.shape(times), np.int64)
        there = at > 0
        beyond[there] = np.maximum(0, self.ends[at[there] - 1] - times[there])
        covered: Ints = before[at] - beyond
        return covered


@dataclass(frozen=True)
class Skew:
    """Bounds of the seconds that must be added to the GPUs' times; None if unknown.

    ``low`` above ``high``: the clocks drift.
    """

    low: float | None
    high: float | None

    @property
    def least(self) -> float:
        """The least correction that is certain; the middle if the clocks drift."""
        low = -np.inf if self.low is None else self.low
        high = np.inf if self.high is None else self.high
        return (low + high) / 2 if low > high else min(max(0.0, low), high)


def skew_of(process: Process) -> Skew:
    """Return bounds of the offset between the GPUs' clock and the host's, from causality.

    With s added to the GPU's times, work begins no earlier than the call that launches it, and a
    call that waits returns no earlier than the end of the awaited work:

        start(work) + s >= start(call)      for all work,
        end(wait) >= end(work) + s          for all awaited work,

    so that s lies between the largest of start(call) - start(work) and the smallest of
    end(wait) - end(work). CUPTI maps one clock to the other by interpolation; microseconds are
    usual.
    """
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
    """Return the slack (ns) of blocking copies to the host, which return after their end."""
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
    """Return the slack (ns) of waits for streams, which return after all earlier work there."""
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
