"""Whether the steps of several traces of one program are the same stretch of it.

What repeats in a trace may be a part of the program's step, or several: a halo exchange that sweeps
four times between two timings repeats after a sweep on one GPU, where nothing is exchanged, and
after four on two. A model of both would take a quarter of a step for one. What a step launches on a
GPU, l, and how often the host waits in it, w, tell:

    l and w alike                                one step
    l differs, w does not                        the work of a step grows (many kernels, one wait)
    both grow alike, k times, with GPU counts    k of what repeats on fewer GPUs are one step
    else                                         not known, and refused

Where the user says what a step is, it is that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpucast.errors import InputError
from gpucast.replay.program import SYNCS, CallProgram, Operation
from gpucast.util.units import number

MANY_TIMES = 1.9
"""As many launches or waits in a step: it may be several."""
MOST_REPEATS = 8
WHOLE = 0.05
"""Relative distance to a whole number of repeats."""


@dataclass(frozen=True)
class Shape:
    """What a found step of a trace asks for.

    Attributes:
        file: of the trace; gpus: that it used.
        calls, launches, waits: of a step in the mean; graphs are launches.
    """

    file: str
    gpus: int
    calls: float
    launches: float
    waits: float

    @property
    def a_gpu(self) -> float:
        """Launches on each GPU."""
        return self.launches / self.gpus


def shape_of(file: str, gpus: int, programs: Sequence[CallProgram]) -> Shape:
    """Of all processes of a trace together."""
    calls = launches = waits = 0.0
    for each in programs:
        launched = np.isin(each.operation, (Operation.launch, Operation.graph_launch))
        waited = np.isin(each.operation, SYNCS)
        waited |= (each.operation == Operation.copy) & (each.blocking != 0)
        calls += len(each) / each.steps
        launches += np.count_nonzero(launched) / each.steps
        waits += np.count_nonzero(waited) / each.steps
    return Shape(file, gpus, calls, launches, waits)


def repeats(shapes: Sequence[Shape]) -> list[int]:
    """How many found steps of each trace are one of the program's.

    Raises:
        InputError: what repeats is not the same stretch in all of them; which traces, how many
            calls, and what to do.
    """
    longest = max(shapes, key=lambda each: each.a_gpu)
    return [_repeats(each, longest) for each in shapes]


def _repeats(shape: Shape, longest: Shape) -> int:
    launches = longest.a_gpu / shape.a_gpu if shape.a_gpu else float("inf")
    waits = longest.waits / shape.waits if shape.waits else float("inf")
    if longest.a_gpu == 0 or min(launches, waits) < MANY_TIMES:
        return 1
    if shape.gpus != longest.gpus and np.isfinite(launches):
        times = round(launches)
        # Of the waits some are for other GPUs.
        if abs(launches / times - 1) <= WHOLE and times <= MOST_REPEATS and waits >= 0.9 * times:
            return times
    raise InputError(
        f"what repeats is not one step of the program in all traces: {_said(shape)} here, "
        f"{_said(longest)} in {longest.file}; say what a step is by --range NAME (an NVTX range) "
        "or --range kernel:NAME (from one launch of that kernel to the next)",
        file=shape.file,
    )


def _said(shape: Shape) -> str:
    calls, launches, waits = (
        number(round(each, 1)) for each in (shape.calls, shape.launches, shape.waits)
    )
    return f"{calls} calls a step ({launches} launches, {waits} waits)"


def said_of_repeats(shapes: Sequence[Shape], times: Sequence[int]) -> list[str]:
    """What is to be said where several repeats were taken for a step."""
    return [
        f"{shape.file}: {each} of what repeats there are one step, as with more GPUs"
        for shape, each in zip(shapes, times, strict=True)
        if each > 1
    ]
