"""Times of a program's steps: as recorded, and in simulations, with their parts."""

from __future__ import annotations

import numpy as np

from gpucast.data.traces.parts import Ints, StepParts, Union
from gpucast.paths.replay.path import PathCosts, forwarded
from gpucast.paths.replay.program import CallProgram, Engine, Messages, Seconds

SETTLING = 0.2
"""Share of the simulated steps that come before the steady ones."""


def steady(seconds: Seconds) -> Seconds:
    """Without the first steps, which find streams and queues empty."""
    return seconds[int(np.ceil(SETTLING * seconds.size)) :]


def simulated_seconds(program: CallProgram, messages: Messages | None = None) -> Seconds:
    """How long the steady steps take in a simulation: natively, or by messages."""
    return steady(program.step_seconds(program.simulate(messages)))


def native_seconds(program: CallProgram) -> float:
    """Median s of a step as it was recorded."""
    return float(np.median(steady(program.recorded)))


def median_seconds(program: CallProgram, costs: PathCosts | None = None) -> float:
    """Median s of a step in a simulation: natively, or on a path."""
    if costs is None:
        return float(np.median(simulated_seconds(program)))
    return float(np.median(simulated_seconds(*forwarded(program, costs))))


def parts_on(program: CallProgram, costs: PathCosts | None = None) -> StepParts:
    """T_gpu, T_cpu and T_com as ``traces.parts`` tells them of recorded steps: means over the
    steady steps, natively or on a path."""
    there, messages = (program, None) if costs is None else forwarded(program, costs)
    times = there.simulate(messages)
    bounds = np.append(times.begin, times.end.max())[there.bound_call] - there.bound_offset
    begins, ends = (steady(edges) for edges in (bounds[:-1], bounds[1:]))
    works = np.isfinite(times.work)
    kernels = works & (there.engine % len(Engine) == Engine.compute)
    drives = there.thread == there.thread[np.minimum(there.bound_call[0], len(there) - 1)]
    computing = _union(times.work, times.work_done, kernels)
    busy = computing | _union(times.work, times.work_done, works)
    busy = busy | _union(times.begin, times.end, drives)
    first, last = _ns(begins), _ns(ends)
    gpu, either = (float(union.within(first, last).mean()) for union in (computing, busy))
    length = float((last - first).mean())
    return StepParts(gpu / 1e9, (length - either) / 1e9, (either - gpu) / 1e9)


def _union(begin: Seconds, end: Seconds, own: np.ndarray) -> Union:
    return Union.of(_ns(begin[own]), _ns(end[own]))


def _ns(seconds: Seconds) -> Ints:
    return np.asarray(np.round(seconds * 1e9), np.int64)
