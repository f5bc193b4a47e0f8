"""Phases of a recording: full ones, and light ones in which calls alone were recorded.

A record of a kernel or copy costs the program more than one of a call. What takes its time in a
light phase takes it nearly as without a recorder; what the GPUs did is told by full ones.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpucast.traces.trace import Process

LIGHT: Final = 0
FULL: Final = 1
LACKING: Final = 2
"""In the table alone: meant to be full, but without records of kernels."""
KNOWN: Final = (LIGHT, FULL, LACKING)
"""Kinds that a table may have."""
BETWEEN: Final = -1
"""Not wholly in one phase, as the recorder switched; or in one that is neither full nor light."""


def has_light(process: Process) -> bool:
    """Whether the work of some calls was not recorded."""
    return bool((process.phases["full"] != FULL).any())


def of_spans(
    process: Process, start_ns: NDArray[np.int64], end_ns: NDArray[np.int64]
) -> NDArray[np.int8]:
    """FULL, LIGHT or BETWEEN of each span of the host's time. Without phases all is FULL."""
    phases = process.phases
    if phases.empty:
        return np.full(start_ns.size, FULL, np.int8)
    begins, ends = phases["start_ns"].to_numpy(), phases["end_ns"].to_numpy()
    at = np.searchsorted(begins, start_ns, side="right") - 1
    within = (at >= 0) & (end_ns <= ends[at])
    kinds = phases["full"].to_numpy()[at].astype(np.int8)
    return np.where(within & (kinds != LACKING), kinds, BETWEEN).astype(np.int8)
