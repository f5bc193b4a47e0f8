"""Whether a recording holds as many steps as are wanted."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpucast import traces
from gpucast.errors import GpucastError
from gpucast.traces import phases


def has_steps(folder: Path, wanted: int, range_name: str | None, *, light: bool) -> bool:
    """Whether each process that has steps has so many typical ones whose work is recorded.

    With ``light``, as many whose calls alone were, too. Without a name, steps are found by what
    repeats; a folder that a recorder is writing to is read as far as it is whole.
    """
    try:
        found = traces.find_steps(traces.read(folder), range_name)
    except GpucastError:  # not yet
        return False
    kinds = (phases.FULL, phases.LIGHT) if light else (phases.FULL,)
    return all(
        np.count_nonzero(each.kept & (each.phase == kind)) >= wanted
        for each in found.processes
        for kind in kinds
    )
