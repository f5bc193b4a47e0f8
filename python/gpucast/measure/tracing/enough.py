"""Whether a recording holds as many steps as are wanted."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpucast.data import traces
from gpucast.data.traces import phases
from gpucast.data.traces.steps import ENOUGH_LIGHT, ProcessSteps
from gpucast.errors import GpucastError


def has_steps(folder: Path, wanted: int, range_name: str | None, *, light: bool) -> bool:
    """Whether each process with steps has ``wanted`` typical ones or more whose work is recorded.

    With ``light``, also enough steps of light phases to tell how long a step takes. Without the
    name of a range, steps are found by what repeats. A folder that a recorder is writing to is read
    as far as it is whole.
    """
    try:
        trace = traces.read(folder)
        steps = traces.find_steps(trace, range_name)
    except GpucastError:  # not yet
        return False
    return all(
        _count(process, phases.FULL) >= wanted
        and (not light or _count(process, phases.LIGHT) >= min(wanted, ENOUGH_LIGHT))
        for process in steps.processes
    )


def _count(steps: ProcessSteps, phase: int) -> int:
    return int(np.count_nonzero(steps.kept & (steps.phase == phase)))
