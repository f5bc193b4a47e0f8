"""The steps of a trace: by a named range, a kernel that begins them, or by what repeats."""

from __future__ import annotations

from collections import Counter

from gpucast.data.traces import tables
from gpucast.data.traces.by_kernel import by_kernel
from gpucast.data.traces.by_period import by_period
from gpucast.data.traces.by_range import by_range, counted_ranges
from gpucast.data.traces.repetition import FEWEST_REPEATS
from gpucast.data.traces.steps import ProcessSteps, Steps
from gpucast.data.traces.trace import Process, Trace
from gpucast.data.traces.work_names import short
from gpucast.errors import InputError

KERNEL = "kernel:"
"""Before the name of a kernel that begins steps, where a range could be named."""


def find_steps(trace: Trace, range_name: str | None = None) -> Steps:
    """The steps of each process that uses a GPU.

    Args:
        range_name: name of the NVTX ranges that are steps; a number behind it tells none apart.
            ``kernel:NAME``: a step is from one launch of a kernel to the next, whose name has NAME
            in it.

    Raises:
        InputError: no such range, or no repeating step; what to do.
    """

    def steps_of(process: Process, at: int) -> ProcessSteps | None:
        if range_name is None:
            return by_period(process, at)
        if range_name.startswith(KERNEL):
            return by_kernel(process, at, range_name.removeprefix(KERNEL))
        return by_range(process, at, range_name)

    steps = [steps_of(process, at) for at, process in enumerate(trace.processes)]
    those_with_steps = tuple(one for one in steps if one is not None)
    if those_with_steps:
        return Steps(those_with_steps)
    ranges = sum((counted_ranges(process) for process in trace.processes), Counter[str]())
    if range_name is None:
        raise InputError(_none_repeats(trace, ranges), file=trace.file or None)
    if range_name.startswith(KERNEL):
        known = _counted(_kernels(trace)) or "none"
        message = f"no kernel of that name is launched twice; there are {known}"
    elif ranges:
        message = f"no two ranges of that name; there are {_counted(ranges)}"
    else:
        message = "the trace has no NVTX ranges"
    raise InputError(message, file=trace.file or None, field=f"--range {range_name}")


def _counted(names: Counter[str]) -> str:
    return ", ".join(f"{name!r} ({count})" for name, count in names.most_common(5))


def _kernels(trace: Trace) -> Counter[str]:
    return Counter(
        short(process.name_of(number))
        for process in trace.processes
        for number in process.work["name"][process.work["kind"] == tables.KERNEL].to_numpy()
    )


def _none_repeats(trace: Trace, ranges: Counter[str]) -> str:
    if not any(len(process.work) for process in trace.processes):
        return "no GPU did any work in this trace"
    kernels = Counter({f"{KERNEL}{name}": count for name, count in _kernels(trace).items()})
    named = [name for name, count in (ranges or kernels).most_common(1) if count >= 2]
    hint = f"; --range {named[0]!r}, for instance" if named else ""
    return (
        f"no repeating step: fewer than {FEWEST_REPEATS} repeats with most of the GPUs' time; "
        "record more steps, or say what a step is by --range NAME (an NVTX range) or --range "
        f"kernel:NAME (from one launch of that kernel to the next){hint}"
    )
