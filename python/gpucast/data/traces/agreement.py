"""Check that the steps detected in several traces of a program are the same part of it.

The repeating part of a trace may be a part of the program's step, or several steps: a program that
sweeps four times between two halo exchanges repeats after a sweep on one GPU, where nothing is
exchanged, and after four on two. A model of both would take a quarter of a step for a step. The
launches of a step on each GPU, l, and the number of waits of the host in it, w, decide:

    l and w are the same                         one step
    l differs, w does not                        the work of a step grows (many kernels, one wait)
    both grow k times with GPU counts            k repeating parts on fewer GPUs are one step
    else                                         not known, and refused

If the user defines the step, this definition counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpucast.data.traces import waiting
from gpucast.data.traces.native_step import usual
from gpucast.data.traces.steps import ProcessSteps, Steps, among
from gpucast.data.traces.trace import Process, Trace
from gpucast.errors import InputError
from gpucast.util.units import number

MANY_TIMES = 1.9
"""A step with this ratio of launches or waits may be several steps."""
MOST_REPEATS = 8
WHOLE = 0.05
"""Relative distance to a whole number of repeats."""


@dataclass(frozen=True)
class Shape:
    """The calls of a step that was detected in a trace.

    Attributes:
        file: the file of the trace; gpus: the number of GPUs that it used.
        calls, launches, waits: mean numbers in a step; graphs are launches, and consecutive queries
            of one thread are one wait.
    """

    file: str
    gpus: int
    calls: float
    launches: float
    waits: float

    @property
    def a_gpu(self) -> float:
        """The launches on each GPU."""
        return self.launches / self.gpus


def shape_of(trace: Trace, steps: Steps, file: str, gpus: int) -> Shape:
    """Return the calls of all processes of a trace together, in steps whose work is recorded."""
    counts = [_counts(trace.processes[own.process], own) for own in steps.processes]
    return Shape(file, gpus, *np.sum(counts, axis=0).tolist())


def _counts(process: Process, steps: ProcessSteps) -> tuple[float, float, float]:
    """Return calls, launches and waits of a step."""
    own = usual(process, steps)
    waits = waiting.of_calls(process)
    calls = among(steps.call_step, own) & ~waiting.asked_again(process, waits)
    # Counted by the names of calls, because records of kernels may be missing.
    launching = [
        number
        for number, name in process.names.items()
        if name.startswith(("cudaLaunch", "cuLaunch", "cudaGraphLaunch", "cuGraphLaunch"))
        and not name.endswith("HostFunc")
    ]
    launches = calls & process.calls["name"].isin(launching).to_numpy()
    kinds = (calls, launches, calls & (waits != waiting.NOTHING))
    count, launched, waited = (np.count_nonzero(kind) / np.count_nonzero(own) for kind in kinds)
    return count, launched, waited


def repeats(shapes: Sequence[Shape]) -> list[int]:
    """Return how many detected steps of each trace make one step of the program.

    Raises:
        InputError: the repeating parts of the traces are not the same; the message has the traces,
            their numbers of calls, and the remedy.
    """
    longest = max(shapes, key=lambda shape: shape.a_gpu)
    return [_repeats(shape, longest) for shape in shapes]


def _repeats(shape: Shape, longest: Shape) -> int:
    launches = longest.a_gpu / shape.a_gpu if shape.a_gpu else float("inf")
    waits = longest.waits / shape.waits if shape.waits else float("inf")
    if longest.a_gpu == 0 or min(launches, waits) < MANY_TIMES:
        return 1
    if shape.gpus != longest.gpus and np.isfinite(launches):
        times = round(launches)
        # Some of the waits are those for other GPUs.
        if abs(launches / times - 1) <= WHOLE and times <= MOST_REPEATS and waits >= 0.9 * times:
            return times
    raise InputError(
        f"the repeating part is not one step in all traces: {_in_words(shape)} here, "
        f"{_in_words(longest)} in {longest.file}; say what a step is by --range NAME (an NVTX "
        "range) or --range kernel:NAME (from one launch of that kernel to the next)",
        file=shape.file,
    )


def _in_words(shape: Shape) -> str:
    counts = (shape.calls, shape.launches, shape.waits)
    calls, launches, waits = (number(round(count, 1)) for count in counts)
    return f"{calls} calls a step ({launches} launches, {waits} waits)"


def unlike(launches: Sequence[float]) -> list[str]:
    """Return a warning if steps of some traces may be parts of steps of others.

    ``launches``: the launches on each GPU in a step of each trace.
    """
    if max(launches) < MANY_TIMES * min(launches):
        return []
    return [
        f"a step launches {min(launches):.3g} to {max(launches):.3g} kernels a GPU: if what "
        "repeats is a part of the program's step in some traces, or several, name the step by "
        "--range"
    ]


def said_of_repeats(shapes: Sequence[Shape], times: Sequence[int]) -> list[str]:
    """Return a line for each trace in which several repeating parts were taken as a step."""
    return [
        f"{shape.file}: {several} of what repeats there are one step, as with more GPUs"
        for shape, several in zip(shapes, times, strict=True)
        if several > 1
    ]
