"""Finds the call that ends a step, which separates steps if nothing else is recorded."""

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
"""Least share of steps of the usual kind, so that the median of all steps is of this kind."""


@dataclass(frozen=True)
class Marker:
    """The function whose calls separate steps.

    Attributes:
        name: its name in traces.
        calls: calls per step.
        before: calls before the first typical step.
    """

    name: str
    calls: int
    before: int


def marker_of(process: Process, steps: ProcessSteps) -> Marker | None:
    """Return a function that all typical steps call equally often, preferably one that waits and is
    called seldom; None if there is none, or steps are of several kinds."""
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
    """Return the median step time (s) of a run of which only a marker's calls are recorded, that of
    the slowest process; None if there are too few calls."""
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
    """Return the marker of a recording's folder; None if it has no steps, or no marker."""
    try:
        trace = traces.read(folder)
        steps = traces.find_steps(trace, range_name).main
    except GpucastError:  # reading the trace later reports the error
        return None
    return marker_of(trace.processes[steps.process], steps)


def seconds_in(folder: Path, marker: Marker) -> float | None:
    """Return ``step_seconds`` of a recording's folder; None if it is empty."""
    try:
        return step_seconds(traces.read(folder), marker)
    except GpucastError:
        return None
