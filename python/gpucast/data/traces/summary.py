"""The distribution of a step's time, and the calls in which the host waits.

The host's time is that of the thread that drives the steps: waiting (in calls that return when the
GPU has finished), other CUDA calls, and outside of them; the three add up to the step. A GPU's time
is divided into kernels alone, copies alone, both at once, and idle, which also add up to the step.
Both are means over the typical steps; the time of a step is their median.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gpucast.data.traces import phases, tables, waiting
from gpucast.data.traces.native_step import native_steps
from gpucast.data.traces.parts import Skew, Union, skew_of
from gpucast.data.traces.steps import ProcessSteps, among
from gpucast.data.traces.trace import Process
from gpucast.data.traces.work_names import labels_of, short

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class StepTimes:
    """The steps of a process.

    Attributes:
        how: the definition of a step.
        found, kept: numbers of all steps and of typical ones whose GPU work is recorded, to which
            the other fields, and the rest of a summary, refer.
        seconds, low, high, mean: time of a typical step, s: median, 5 % and 95 % quantile, mean.
        calls: number of CUDA calls of the usual step (median).
        others: kinds of steps other than the usual one.
        gpu_share: share of the trace's GPU time that is in steps.
        light: number of typical steps whose calls only were recorded, which takes little time.
        light_seconds: the native step (``native_step``) if these determine it, s; else None.
    """

    how: str
    found: int
    kept: int
    seconds: float
    low: float
    high: float
    mean: float
    calls: int
    others: list[OtherKind]
    gpu_share: float
    light: int
    light_seconds: float | None


@dataclass(frozen=True)
class OtherKind:
    """Steps that do more or less than the usual one.

    ``every``: steps from one to the next, if this is constant. ``seconds``: median, s.
    """

    steps: int
    every: int | None
    calls: int
    seconds: float


@dataclass(frozen=True)
class HostTime:
    """Seconds per step of the driving thread."""

    waiting: float
    calls: float
    outside: float


@dataclass(frozen=True)
class GpuTime:
    """Seconds per step of a GPU; ``busy`` is the share that is not idle."""

    device: int
    kernels: float
    copies: float
    both: float
    idle: float
    busy: float


@dataclass(frozen=True)
class WorkTime:
    """A kind of work: its number, seconds and bytes per step, over all GPUs."""

    kind: str
    name: str
    count: float
    seconds: float
    bytes: float


@dataclass(frozen=True)
class Wait:
    """Calls of one kind in which the host waits, at one place of the step.

    Attributes:
        call, what: the call, and the awaited work.
        after: the last kernel that its thread launched before it in the step; empty for none.
        count, bytes, seconds: per step.
    """

    call: str
    what: str
    after: str
    count: float
    bytes: float
    seconds: float


@dataclass(frozen=True)
class Summary:
    """A process: its steps and the distribution of their time."""

    process: int
    pid: int
    rank: int | None
    program: str
    steps: StepTimes
    host: HostTime
    gpus: list[GpuTime]
    work: list[WorkTime]
    waits: list[Wait]
    skew: Skew


def summarize(process: Process, steps: ProcessSteps) -> Summary:
    """Return the distribution of the time of a process's steps."""
    full = steps.phase == phases.FULL
    typical = steps.kept & full
    if not typical.any():
        typical = full if full.any() else np.ones(steps.count, bool)
    begins, ends = steps.begins_ns[:-1][typical], steps.begins_ns[1:][typical]
    waits = waiting.of_calls(process)
    return Summary(
        process=steps.process,
        pid=process.pid,
        rank=process.rank,
        program=process.program,
        steps=_times(process, steps, typical),
        host=_host(process, steps, waits, begins, ends),
        gpus=_gpus(process, begins, ends),
        work=_work(process, steps, typical),
        waits=_waits(process, steps, waits, typical),
        skew=skew_of(process),
    )


def _times(process: Process, steps: ProcessSteps, typical: NDArray[np.bool_]) -> StepTimes:
    seconds, calls = steps.seconds[typical], steps.calls[typical]
    kinds = steps.kind[typical]
    usual = kinds == 0 if (kinds == 0).any() else np.ones(kinds.size, bool)
    low, high = np.quantile(seconds, [0.05, 0.95])
    native = native_steps(process, steps)
    others = []
    for kind in np.unique(kinds[~usual]):
        own = kinds == kind
        medians = int(np.median(calls[own])), float(np.median(seconds[own]))
        others.append(OtherKind(int(own.sum()), _spacing(steps.kind == kind), *medians))
    return StepTimes(
        how=steps.how,
        found=steps.count,
        kept=int((steps.kept & (steps.phase == phases.FULL)).sum()),
        seconds=float(np.median(seconds)),
        low=float(low),
        high=float(high),
        mean=float(np.mean(seconds)),
        calls=int(np.median(calls[usual])),
        others=others,
        gpu_share=steps.gpu_share,
        light=int((steps.kept & (steps.phase == phases.LIGHT)).sum()),
        light_seconds=native.median if native.alone else None,
    )


def _spacing(where: NDArray[np.bool_]) -> int | None:
    distances = np.diff(np.flatnonzero(where))
    same = distances.size > 0 and bool((distances == distances[0]).all())
    return int(distances[0]) if same else None


def _host(
    process: Process, steps: ProcessSteps, waits: waiting.Kinds, begins: Ints, ends: Ints
) -> HostTime:
    own = process.calls["thread"].to_numpy() == steps.thread
    starts, stops = (process.calls[name].to_numpy() for name in ("start_ns", "end_ns"))
    in_calls, in_waits = (
        Union.of(starts[kind], stops[kind]).within(begins, ends).mean()
        for kind in (own, own & (waits != waiting.NOTHING))
    )
    step = (ends - begins).mean()
    return HostTime(in_waits / 1e9, (in_calls - in_waits) / 1e9, (step - in_calls) / 1e9)


def _gpus(process: Process, begins: Ints, ends: Ints) -> list[GpuTime]:
    gpus = []
    step = (ends - begins).mean()
    for device, work in process.work.groupby("device"):
        copying = work["kind"] == tables.COPY
        copies = Union.of(work["start_ns"][copying], work["end_ns"][copying])
        others = Union.of(work["start_ns"][~copying], work["end_ns"][~copying])
        covered = [union.within(begins, ends) for union in (copies | others, copies, others)]
        any_of, in_copies, in_others = (float(shares.mean()) for shares in covered)
        # Whole nanoseconds, so that work without overlap gives exactly 0.
        both = covered[1] + covered[2] - covered[0]
        gpus.append(
            GpuTime(
                device=int(str(device)),
                kernels=(any_of - in_copies) / 1e9,
                copies=(any_of - in_others) / 1e9,
                both=float(both.mean()) / 1e9,
                idle=(step - any_of) / 1e9,
                busy=any_of / step,
            )
        )
    return gpus


def _work(process: Process, steps: ProcessSteps, typical: NDArray[np.bool_]) -> list[WorkTime]:
    work = process.work[among(steps.work_step, typical)]
    labels = labels_of(process, work)
    table = pd.DataFrame(
        {
            "kind": [kind for kind, _ in labels],
            "name": [name for _, name in labels],
            "seconds": (work["end_ns"] - work["start_ns"]).to_numpy() / 1e9,
            "bytes": work["bytes"].to_numpy(),
        }
    )
    return [WorkTime(**row) for row in _a_step(table, ["kind", "name"], typical)]


def _waits(
    process: Process, steps: ProcessSteps, waits: waiting.Kinds, typical: NDArray[np.bool_]
) -> list[Wait]:
    calls = process.calls
    there = among(steps.call_step, typical) & (waits != waiting.NOTHING)
    copies = _copies(process)
    words = [waiting.WORDS[kind] for kind in waits[there].tolist()]
    rows = np.flatnonzero(there).tolist()
    table = pd.DataFrame(
        {
            "call": [process.name_of(number) for number in calls["name"].to_numpy()[there]],
            "what": [
                copies[row][0] if word == "copy" and row in copies else word
                for row, word in zip(rows, words, strict=True)
            ],
            "after": _kernels_before(process, steps)[there],
            "seconds": (calls["end_ns"] - calls["start_ns"]).to_numpy()[there] / 1e9,
            "bytes": [copies[row][1] if row in copies else 0 for row in rows],
        }
    )
    return [Wait(**row) for row in _a_step(table, ["call", "what", "after"], typical)]


def _a_step(
    table: pd.DataFrame, kinds: list[str], typical: NDArray[np.bool_]
) -> list[dict[Any, Any]]:
    """Return count, seconds and bytes per step of each kind of rows, the longest time first."""
    sums = table.groupby(kinds, as_index=False).agg(
        count=("bytes", "size"), seconds=("seconds", "sum"), bytes=("bytes", "sum")
    )
    sums = sums.sort_values("seconds", ascending=False, kind="stable")
    steps = np.count_nonzero(typical)
    means = {column: sums[column] / steps for column in ("count", "seconds", "bytes")}
    return [dict(row) for row in sums.assign(**means).to_dict("records")]


def _copies(process: Process) -> dict[int, tuple[str, int]]:
    """Return the copy of each call in words, and its bytes."""
    work = process.work[process.work["kind"] == tables.COPY]
    rows = waiting.calls_of(process, work["correlation"].to_numpy())
    copies: dict[int, tuple[str, int]] = {}
    labels = labels_of(process, work)
    for row, (_, label), size in zip(rows.tolist(), labels, work["bytes"].tolist(), strict=True):
        copies[row] = (label, copies.get(row, ("", 0))[1] + size)
    return copies


def _kernels_before(process: Process, steps: ProcessSteps) -> NDArray[np.object_]:
    """Return the last kernel that the thread of each call launched before it in its step."""
    work = process.work[process.work["kind"].isin((tables.KERNEL, tables.GRAPH))]
    rows = waiting.calls_of(process, work["correlation"].to_numpy())
    launched = np.full(len(process.calls), None, object)
    names = [
        "graph" if kind == tables.GRAPH else short(process.name_of(name))
        for kind, name in zip(work["kind"].tolist(), work["name"].tolist(), strict=True)
    ]
    launched[rows[rows >= 0]] = np.array(names, object)[rows >= 0]
    places = [process.calls["thread"].to_numpy(), steps.call_step]
    return pd.Series(launched).groupby(places).ffill().fillna("").to_numpy()
