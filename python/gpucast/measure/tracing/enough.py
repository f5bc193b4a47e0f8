"""Whether a recording holds as many steps as are wanted."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpucast import traces
from gpucast.errors import GpucastError
from gpucast.traces import phases
from gpucast.traces.steps import ENOUGH_LIGHT, ProcessSteps


def has_steps(folder: Path, wanted: int, range_name: str | None, *, light: bool) -> bool:
    """Whether each process that has steps has so many typical ones whose work is recorded.

    With ``light``, also as many of light phases as tell what a step takes. Without a name, steps
    are found by what repeats; a folder that a recorder is writing to is read as far as it is whole.
    """
    try:
        trace = traces.read(folder)
        found = traces.find_steps(trace, range_name)
    except GpucastError:  # not yet
        return False
    return all(
        _count(each, phases.FULL) >= wanted
        and (not light or _count(each, phases.LIGHT) >= min(wanted, ENOUGH_LIGHT))
        for each in found.processes
    )


def _count(steps: ProcessSteps, phase: int) -> int:
    return int(np.count_nonzero(steps.kept & (steps.phase == phase)))
