"""A traced program's steps as a program of calls, and what in them other paths do otherwise."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpucast.data.remote_layer import SUPPORTED
from gpucast.data.traces import phases, tables
from gpucast.data.traces.finding_steps import find_steps
from gpucast.data.traces.native_step import native_steps, with_work
from gpucast.data.traces.steps import ProcessSteps, Steps
from gpucast.data.traces.trace import Process, Trace
from gpucast.errors import InputError
from gpucast.paths.traced.asked import Asked, asked_of
from gpucast.paths.traced.native import native_times
from gpucast.paths.traced.program import ASKED, SYNCS, CallProgram, Operation, Seconds, tick_of
from gpucast.paths.traced.without_recorder import as_natively

MOST_STEPS = 100
"""Consecutive steps that are looked at; work crosses the bounds between them."""
FEWEST_STEPS = 5
MOST_CALLS_AT_ONCE = 20_000
"""Calls of the steps that are looked at together, where they are at least ``ENOUGH_STEPS``."""
ENOUGH_STEPS = 6

MOST_NAMED = 3
"""Refused calls that a line names."""
_VERSION = re.compile(r"(_v\d+|_ptsz|_ptds)+$")
_DRIVER = re.compile("cu[A-Z]")


def traced_programs(
    trace: Trace,
    range_name: str | None = None,
    *,
    steps: Steps | None = None,
    most_steps: int = MOST_STEPS,
) -> list[CallProgram]:
    """The program of each process of a trace, with at most this many steps and calls.

    Raises:
        InputError: no repeating step.
    """
    programs = []
    for own in (steps or find_steps(trace, range_name)).processes:
        calls = max(1, int(own.calls.mean()))
        most = max(ENOUGH_STEPS, min(most_steps, MOST_CALLS_AT_ONCE // calls))
        programs.append(program_of(trace, own, most_steps=most))
    return programs


def program_of(
    trace: Trace, steps: Steps | ProcessSteps, *, most_steps: int = MOST_STEPS
) -> CallProgram:
    """The longest run of typical steps of a process, the first of the trace unless told.

    Raises:
        InputError: fewer than five consecutive steps, or none of their calls.
    """
    own = steps.main if isinstance(steps, Steps) else steps
    process = trace.processes[own.process]
    recorded = (own.phase == phases.FULL) & with_work(process, own)
    first, last = own.longest_run(recorded, most_steps)
    if last - first < FEWEST_STEPS:
        raise InputError(
            f"{last - first} consecutive steps; a forecast needs {FEWEST_STEPS}: "
            "record more (--steps)",
            file=trace.file or None,
        )
    bounds = own.begins_ns[first : last + 1]
    asked = asked_of(process, int(bounds[0]), int(bounds[-1]))
    waits = _waits_for_set(asked)
    bound_call, bound_offset = _bounds(asked, own, bounds)
    names, name = np.unique(asked.name, return_inverse=True)
    begins = (bounds - bounds[0]) / 1e9
    program = CallProgram(
        **{name: getattr(asked, name) for name in ASKED}
        | {"blocking": np.where(waits, 1, asked.blocking)},
        **native_times(asked, np.isin(asked.operation, SYNCS) | waits),
        threads=int(asked.thread.max()) + 1,
        devices=int(asked.streams.devices.size),
        streams=np.array([asked.streams.device, asked.streams.kind]),
        step=np.searchsorted(begins[1:-1], asked.start, side="right"),
        name=name,
        names=tuple(process.name_of(number) for number in names),
        bound_call=bound_call,
        bound_offset=bound_offset,
        recorded=np.diff(bounds) / 1e9,
        tick=tick_of(trace.run.machine.gpus),
        warnings=tuple(_warnings(trace, process, asked)),
    )
    native = native_steps(process, own, trace.run.seconds_untraced)
    return as_natively(program, process, own, native, own.kind[first:last], asked)


def _waits_for_set(asked: Asked) -> NDArray[np.bool_]:
    """Allocations and frees that returned only when the device was done."""
    waits = np.zeros(asked.start.size, bool)
    for call in np.flatnonzero(np.isin(asked.operation, (Operation.alloc, Operation.free))):
        earlier = asked.work_end[:call][asked.device[:call] == asked.device[call]]
        busy_until = np.nanmax(earlier, initial=-np.inf)
        waits[call] = asked.start[call] < busy_until <= asked.end[call]
    return waits


def _bounds(
    asked: Asked, steps: ProcessSteps, bounds: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Seconds]:
    """Each bound as a time before the next call of the thread that drives the steps."""
    times = (bounds - bounds[0]) / 1e9
    drives = np.flatnonzero(asked.threads[asked.thread] == steps.thread)
    after = np.searchsorted(asked.start[drives], times)
    size = asked.start.size
    call = np.append(drives, size)[after]
    start = np.append(asked.start, asked.end.max())
    return call, start[call] - times


def _warnings(trace: Trace, process: Process, asked: Asked) -> list[str]:
    warnings = list(trace.missing)
    if process.lost:
        warnings.append(f"{process.lost} records were lost: the steps may lack calls")
    works = process.work.iloc[asked.work[asked.work >= 0]]
    managed = np.isin(tables.MANAGED, works[["from_memory", "to_memory"]].to_numpy())
    if managed:
        warnings.append("copies of managed memory: what kernels fetch themselves is not in a trace")
    kernels = {process.name_of(number) for number in np.unique(works["name"].to_numpy())}
    if any("nccl" in name.lower() for name in kernels):
        warnings.append(
            "NCCL's kernels take as long as recorded, waiting for other ranks included: "
            "no forecast of them"
        )
    if (works.groupby("device")["context"].nunique() > 1).any():
        warnings.append("a device has several contexts: their works are taken to overlap freely")
    return warnings


def warnings_of(programs: Sequence[CallProgram]) -> list[str]:
    """Warnings of a trace's programs on a forwarding path."""
    warnings = []
    if any((one.operation == Operation.graph_launch).any() for one in programs):
        warnings.append("CUDA graphs are taken for one launch each")
    if len(programs) > 1:
        warnings.append(
            f"{len(programs)} processes, each by itself: what they wait for one another is "
            "as recorded; the slowest is shown"
        )
    return warnings


def refused_calls(trace: Trace, programs: Sequence[CallProgram]) -> tuple[str, ...]:
    """Functions that the program called and remote GPUs refuse, those called most often first.

    The runtime's anywhere in the trace. The driver's where most steps call them: the runtime makes
    such calls itself, which a recorder that is turned on meanwhile sees.
    """
    counts: Counter[str] = Counter()
    for process in trace.processes:
        calls = process.calls["name"].to_numpy()
        for number, count in zip(*np.unique(calls, return_counts=True), strict=True):
            name = _VERSION.sub("", process.name_of(int(number)))
            if name.startswith("cuda") and name not in SUPPORTED:
                counts[name] += int(count)
    for program in programs:
        for number, count in zip(*np.unique(program.name, return_counts=True), strict=True):
            name = program.names[number]
            if _DRIVER.match(name) and count > program.steps / 2:
                counts[name] += int(count)
    return tuple(sorted(counts, key=lambda name: (-counts[name], name)))


def refused_in_words(refused: tuple[str, ...], path: str) -> str:
    """One line, which names some of them."""
    named = ", ".join(refused[:MOST_NAMED])
    more = len(refused) - MOST_NAMED
    return (
        f"this program would not run on {path}: gpucast's remote GPUs refuse {named}"
        + (f" and {more} more of its calls" if more > 0 else "")
        + "; a forecast is as if they could"
    )
