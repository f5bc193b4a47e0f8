"""Made-up traces of several phases: full ones, in which calls cost more, and light ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpucast.data.traces import phases
from gpucast.data.traces.tables import frame
from gpucast.data.traces.trace import Process, Trace
from made_traces import COST, MadeTrace

Step = Callable[[MadeTrace, float], None]
"""Asks for a step's work; calls that are told their cost take so many seconds."""

SWITCH = 0.5e-3
"""s between two phases."""


@dataclass(frozen=True)
class Made:
    """``kind`` of ``gpucast.data.traces.phases``; ``cost``: s of its calls."""

    kind: int
    steps: int
    cost: float = COST


def phased(step: Step, made: Sequence[Made]) -> Trace:
    """So many steps of each phase, with what its kind records."""
    trace = MadeTrace()
    bounds = []
    for phase in made:
        trace.host(SWITCH)
        begin = trace.now()
        for _ in range(phase.steps):
            step(trace, phase.cost)
        bounds.append((begin, trace.now()))
    whole = trace.trace()
    (process,) = whole.processes
    first = int(process.calls["start_ns"].iloc[0])
    zero = first - round((bounds[0][0]) * 1e9)
    rows = {
        "start_ns": [zero + round(begin * 1e9) - 1 for begin, _ in bounds],
        "end_ns": [zero + round(end * 1e9) + 1 for _, end in bounds],
        "full": [phase.kind for phase in made],
    }
    return replace(whole, processes=(recorded(process, frame("phases", rows)),))


def recorded(process: Process, table: object) -> Process:
    """What a recorder with these phases gives of a process of which all is known."""
    process = replace(process, phases=table)
    calls = process.calls
    at = np.searchsorted(process.phases["start_ns"], calls["start_ns"], side="right") - 1
    kind = process.phases["full"].to_numpy()[at]
    full = calls["correlation"][kind == phases.FULL]
    return replace(
        process,
        work=process.work[process.work["correlation"].isin(full)].reset_index(drop=True),
        waits=process.waits[process.waits["correlation"].isin(full)].reset_index(drop=True),
    )
