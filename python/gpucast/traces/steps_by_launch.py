"""Steps that begin where a kernel is launched, whose name the user gives."""

from __future__ import annotations

import numpy as np

from gpucast.traces import tables, waiting
from gpucast.traces.kernel_names import short
from gpucast.traces.sequence import of_threads
from gpucast.traces.step_making import kinds_of, steps_between
from gpucast.traces.steps import ProcessSteps
from gpucast.traces.trace import Process


def by_launches(process: Process, at: int, kernel: str) -> ProcessSteps | None:
    """From each launch of a kernel to the next one, of the thread that launches it most.

    None where it is launched less than twice. ``kernel``: what its name has in it; ``at``: the
    process's place in the trace.
    """
    names = process.names.items()
    numbers = [number for number, name in names if kernel in name or kernel in short(name)]
    work = process.work[
        (process.work["kind"] == tables.KERNEL) & process.work["name"].isin(numbers)
    ]
    rows = np.unique(waiting.calls_of(process, work["correlation"].to_numpy()))
    rows = rows[rows >= 0]
    if rows.size < 2:
        return None
    threads = process.calls["thread"].to_numpy()[rows]
    thread = int(np.bincount(threads).argmax())
    bounds = process.calls["start_ns"].to_numpy()[rows[threads == thread]]
    sequences = of_threads(process, waiting.of_calls(process))
    sequence = next(each for each in sequences if each.thread == thread)
    edges = np.searchsorted(sequence.start_ns, bounds)
    kinds = kinds_of(sequence.tokens, edges[:-1], edges[1:])
    how = f"from one launch of {kernel} to the next, {bounds.size - 1} times"
    return steps_between(process, at, thread, bounds, kinds, how)
