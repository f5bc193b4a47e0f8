"""Times of a program's steps: as recorded, and in simulations."""

from __future__ import annotations

import numpy as np

from gpucast.replay.path import PathCosts, forwarded
from gpucast.replay.program import CallProgram, Messages, Seconds

SETTLING = 0.2
"""Share of the simulated steps that come before the steady ones."""


def steady(seconds: Seconds) -> Seconds:
    """Without the first steps, which find streams and queues empty."""
    return seconds[int(np.ceil(SETTLING * seconds.size)) :]


def simulated_seconds(program: CallProgram, messages: Messages | None = None) -> Seconds:
    """Of the steady steps in a simulation: natively, or by messages."""
    return steady(program.step_seconds(program.simulate(messages)))


def native_seconds(program: CallProgram) -> float:
    """Median s of a step as it was recorded."""
    return float(np.median(steady(program.recorded)))


def median_seconds(program: CallProgram, costs: PathCosts | None = None) -> float:
    """Median s of a step in a simulation: natively, or on a path."""
    if costs is None:
        return float(np.median(simulated_seconds(program)))
    return float(np.median(simulated_seconds(*forwarded(program, costs))))
