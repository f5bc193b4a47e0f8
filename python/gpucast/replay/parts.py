"""T_gpu, T_cpu and T_com of simulated steps, as ``traces.parts`` tells them of recorded ones."""

from __future__ import annotations

import numpy as np

from gpucast.replay.path import PathCosts, forwarded
from gpucast.replay.program import CallProgram, Engine, Seconds
from gpucast.replay.step_times import steady
from gpucast.traces.intervals import Ints, Union
from gpucast.traces.parts import StepParts


def parts_on(program: CallProgram, costs: PathCosts | None = None) -> StepParts:
    """Means over the steady steps, natively or on a path."""
    there, messages = (program, None) if costs is None else forwarded(program, costs)
    times = there.simulate(messages)
    bounds = np.append(times.begin, times.end.max())[there.bound_call] - there.bound_offset
    begins, ends = (steady(each) for each in (bounds[:-1], bounds[1:]))
    works = np.isfinite(times.work)
    kernels = works & (there.engine % len(Engine) == Engine.compute)
    drives = there.thread == there.thread[np.minimum(there.bound_call[0], len(there) - 1)]
    computing = _union(times.work, times.work_done, kernels)
    busy = computing | _union(times.work, times.work_done, works)
    busy = busy | _union(times.begin, times.end, drives)
    first, last = _ns(begins), _ns(ends)
    gpu, either = (float(each.within(first, last).mean()) for each in (computing, busy))
    length = float((last - first).mean())
    return StepParts(gpu / 1e9, (length - either) / 1e9, (either - gpu) / 1e9)


def _union(begin: Seconds, end: Seconds, own: np.ndarray) -> Union:
    return Union.of(_ns(begin[own]), _ns(end[own]))


def _ns(seconds: Seconds) -> Ints:
    return np.asarray(np.round(seconds * 1e9), np.int64)
