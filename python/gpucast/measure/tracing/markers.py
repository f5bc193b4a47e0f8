"""The call that ends a step: by it steps are told apart where nothing else is recorded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpucast.data import traces
from gpucast.data.traces import waiting
from gpucast.data.traces.steps import ProcessSteps
from gpucast.data.traces.trace import Process, Trace
from gpucast.errors import GpucastError

FEWEST_STEPS = 5
USUAL = 0.6
"""Share of steps that are of the usual kind, from which the median of all is one of these."""


@dataclass(frozen=True)
class Marker:
    """The function by whose calls steps are told apart.

    Attributes:
        name: as a trace has it.
        calls: how often each step calls it.
        before: its calls before the first typical step.
    """

    name: str
    calls: int
    before: int


def marker_of(process: Process, steps: ProcessSteps) -> Marker | None:
    """The function that each typical step calls as often, one that waits and is called seldom if
    there is any; None where there is none, or steps are of several kinds."""
    kept = np.flatnonzero(steps.kept)
    if not kept.size or np.mean(steps.kind[kept] == 0) < USUAL:
        return None
    names, step = process.calls["name"].to_numpy(), steps.call_step
    driving = (process.calls["thread"] == steps.thread).to_numpy()
    waits = waiting.functions(process)
    regular = []
    for name in np.unique(names[driving]):
        own = driving & (names == name)
        counts = np.bincount(step[own & (step >= 0)], minlength=steps.count)[kept]
        if counts[0] > 0 and (counts == counts[0]).all():
            regular.append((name not in waits, int(counts[0]), int(name)))
    if not regular:
        return None
    _, calls, name = min(regular)
    earlier = process.calls["start_ns"].to_numpy() < steps.begins_ns[kept[0]]
    before = int(np.count_nonzero(driving & (names == name) & earlier))
    return Marker(process.name_of(name), calls, before)


def step_seconds(trace: Trace, marker: Marker) -> float | None:
    """The median step of a run of which only a marker's calls are on record, s: that of the slowest
    process; None where there are too few."""
    medians = []
    for process in trace.processes:
        threads = process.calls["thread"].to_numpy()
        if not threads.size:
            continue
        own = threads == np.bincount(threads).argmax()
        ends = np.sort(process.calls["end_ns"].to_numpy()[own])[marker.before :: marker.calls]
        if ends.size > FEWEST_STEPS:
            medians.append(float(np.median(np.diff(ends))) / 1e9)
    return max(medians, default=None)


def marker_in(folder: Path, range_name: str | None) -> Marker | None:
    """The marker of a recording's folder; None where it has no steps, or no marker."""
    try:
        trace = traces.read(folder)
        steps = traces.find_steps(trace, range_name).main
    except GpucastError:  # who reads the trace is told
        return None
    return marker_of(trace.processes[steps.process], steps)


def seconds_in(folder: Path, marker: Marker) -> float | None:
    """``step_seconds`` of a recording's folder; None where nothing is in it."""
    try:
        return step_seconds(traces.read(folder), marker)
    except GpucastError:
        return None
