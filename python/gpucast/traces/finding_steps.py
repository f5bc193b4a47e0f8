"""The steps of a trace: by a named range, a kernel that begins them, or by what repeats."""

from __future__ import annotations

from collections import Counter

from gpucast.errors import InputError
from gpucast.traces import tables
from gpucast.traces.kernel_names import short
from gpucast.traces.ranges import counted_ranges
from gpucast.traces.repetition import FEWEST_REPEATS
from gpucast.traces.steps import Steps
from gpucast.traces.steps_by_launch import by_launches
from gpucast.traces.steps_by_range import by_ranges
from gpucast.traces.steps_by_repetition import by_repetition
from gpucast.traces.trace import Trace

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
    found = []
    for at, process in enumerate(trace.processes):
        if range_name is not None and range_name.startswith(KERNEL):
            steps = by_launches(process, at, range_name.removeprefix(KERNEL))
        elif range_name is not None:
            steps = by_ranges(process, at, range_name)
        else:
            steps = by_repetition(process, at)
        if steps is not None:
            found.append(steps)
    if found:
        return Steps(tuple(found))
    if range_name is not None and range_name.startswith(KERNEL):
        raise _no_kernel(trace, range_name)
    if range_name is not None:
        raise _no_range(trace, range_name)
    raise InputError(_none_repeats(trace), file=trace.file or None)


def _no_kernel(trace: Trace, name: str) -> InputError:
    counted = Counter(
        short(process.name_of(number))
        for process in trace.processes
        for number in process.work["name"][process.work["kind"] == tables.KERNEL].to_numpy()
    )
    known = ", ".join(f"{text!r} ({count})" for text, count in counted.most_common(5))
    said = f"no kernel of that name is launched twice; there are {known or 'none'}"
    return InputError(said, file=trace.file or None, field=f"--range {name}")


def _no_range(trace: Trace, name: str) -> InputError:
    counted = sum((counted_ranges(each) for each in trace.processes), Counter[str]())
    if not counted:
        said = "the trace has no NVTX ranges"
    else:
        known = ", ".join(f"{text!r} ({count})" for text, count in counted.most_common(5))
        said = f"no two ranges of that name; there are {known}"
    return InputError(said, file=trace.file or None, field=f"--range {name}")


def _none_repeats(trace: Trace) -> str:
    if not any(len(process.work) for process in trace.processes):
        return "no GPU did any work in this trace"
    repeats = sum((counted_ranges(each) for each in trace.processes), Counter[str]())
    often = [text for text, count in repeats.most_common(1) if count >= 2]
    hint = f" (--range {often[0]!r}, for instance)" if often else ""
    return (
        f"no repeating step: fewer than {FEWEST_REPEATS} repeats with most of the GPUs' time; "
        f"record more steps, or name an NVTX range that is a step by --range{hint}"
    )
