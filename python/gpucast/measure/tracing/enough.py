"""Whether a recording holds as many steps as are wanted."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpucast import traces
from gpucast.errors import GpucastError
from gpucast.traces import phases
from gpucast.traces.step_making import ENOUGH_LIGHT
from gpucast.traces.steps import ProcessSteps
from gpucast.traces.trace import Process


def has_steps(folder: Path, wanted: int, range_name: str | None, *, light: bool) -> bool:
    """Whether each process that has steps has so many typical ones whose work is recorded.

    With ``light``, also as many of light phases as tell what a step takes; none where these, when
    they have lasted as long as the full ones, tell nothing. Without a name, steps are found by what
    repeats; a folder that a recorder is writing to is read as far as it is whole.
    """
    try:
        trace = traces.read(folder)
        found = traces.find_steps(trace, range_name)
    except GpucastError:  # not yet
        return False
    return all(
        _count(each, phases.FULL) >= wanted
        and (not light or _light_is_told(each, trace.processes[each.process], wanted))
        for each in found.processes
    )


def _count(steps: ProcessSteps, phase: int) -> int:
    return int(np.count_nonzero(steps.kept & (steps.phase == phase)))


def _light_is_told(steps: ProcessSteps, process: Process, wanted: int) -> bool:
    count = _count(steps, phases.LIGHT)
    if count or not phases.has_some_calls(process):
        return count >= min(wanted, ENOUGH_LIGHT)
    table = process.phases
    lasted = (table["end_ns"] - table["start_ns"]).groupby(table["full"] == phases.FULL).sum()
    return bool(lasted.get(False, 0) >= lasted.get(True, 0))
