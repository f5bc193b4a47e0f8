"""The steps of a trace: by a named range, a kernel that begins them, or by what repeats.

Where light phases hold only some of the calls, steps are found in the full ones; those of light
phases follow (``waits_alone``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from gpucast.errors import InputError
from gpucast.traces import phases, tables, waits_alone
from gpucast.traces.kernel_names import short
from gpucast.traces.ranges import counted_ranges
from gpucast.traces.repetition import FEWEST_REPEATS
from gpucast.traces.step_making import steps_between, typical_of
from gpucast.traces.steps import NO_KIND, Ints, ProcessSteps, Steps
from gpucast.traces.steps_by_launch import by_launches
from gpucast.traces.steps_by_range import by_ranges
from gpucast.traces.steps_by_repetition import by_repetition
from gpucast.traces.trace import Process, Trace

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
            steps = _of_full_phases(process, at, range_name.removeprefix(KERNEL))
        elif range_name is not None:
            steps = by_ranges(process, at, range_name)
        elif phases.has_some_calls(process):
            steps = _of_full_phases(process, at)
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


def _of_full_phases(process: Process, at: int, kernel: str | None = None) -> ProcessSteps | None:
    """Those of full phases, and of light ones what their waits tell; ``kernel``: begins a step."""
    known = waits_alone.full_part(process)
    found = by_repetition(known, at) if kernel is None else by_launches(known, at, kernel)
    if found is None:
        return None
    bounds = found.begins_ns
    whole = phases.of_spans(process, bounds[:-1], bounds[1:]) == phases.FULL
    usual = found.kept & whole & (found.kind == 0)
    light = waits_alone.light_steps(process, found.thread, bounds[:-1][usual], bounds[1:][usual])
    if light is None:
        made = steps_between(process, at, found.thread, bounds, found.kind, found.how)
        return replace(made, kept=found.kept & whole)
    both = np.union1d(bounds, light.bounds)
    light_kinds = np.where(light.whole, 0, NO_KIND)
    light_kept = typical_of(np.diff(light.bounds) / 1e9, light_kinds)
    kinds = np.maximum(
        _values(both, bounds, np.where(whole, found.kind, NO_KIND), NO_KIND),
        _values(both, light.bounds, light_kinds, NO_KIND),
    )
    made = steps_between(process, at, found.thread, both, kinds, found.how)
    kept = _values(both, bounds, (found.kept & whole).astype(np.int64), 0)
    kept += _values(both, light.bounds, light_kept.astype(np.int64), 0)
    return replace(made, kept=(kept > 0) & (made.phase != phases.BETWEEN))


def _values(bounds: Ints, of: Ints, values: Ints, otherwise: int) -> Ints:
    """Of each stretch between bounds the value that it has among the stretches ``of``."""
    at = np.minimum(np.searchsorted(of, bounds[:-1]), of.size - 2)
    same = (of[at] == bounds[:-1]) & (of[at + 1] == bounds[1:])
    return np.where(same, values[at], otherwise)


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
