"""Steps that a program names by ranges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpucast.traces import phases, waiting
from gpucast.traces.ranges import named_ranges, unnumbered
from gpucast.traces.sequence import of_threads
from gpucast.traces.step_making import kinds_of, steps_between, typical_of
from gpucast.traces.steps import ProcessSteps
from gpucast.traces.trace import Process


def by_ranges(process: Process, at: int, name: str) -> ProcessSteps | None:
    """From each range's begin to the next one's: work between two ranges belongs to the first.

    None where fewer than two ranges have that name. ``at``: the process's place in the trace.
    """
    rows = named_ranges(process, name)
    if rows is None or len(rows) < 2:
        return None
    starts, last_end = rows["start_ns"].to_numpy(), int(rows["end_ns"].iloc[-1])
    lengths = (rows["end_ns"] - rows["start_ns"]).to_numpy()
    bounds = starts
    # The last range is a step, too, where nothing comes between ranges.
    if np.median(np.diff(starts) - lengths[:-1]) <= 0.02 * np.median(lengths):
        bounds = np.append(starts, last_end)
    thread = int(rows["thread"].iloc[0])
    sequence = next(
        (each for each in of_threads(process, waiting.of_calls(process)) if each.thread == thread),
        None,
    )
    kinds = np.zeros(bounds.size - 1, np.int64)
    if sequence is not None:
        edges = np.searchsorted(sequence.start_ns, bounds)
        kinds = kinds_of(sequence.tokens, edges[:-1], edges[1:])
    calls = bounds.size - 1
    said = name if rows["name"].nunique() == 1 else f"{unnumbered(name)} *"
    made = steps_between(process, at, thread, bounds, kinds, f"range {said!r}, {calls} times")
    typical = typical_of(made.seconds, np.maximum(kinds, 0))
    return replace(made, range_name=name, kept=typical & (made.phase != phases.BETWEEN))
