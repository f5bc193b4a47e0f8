"""Turns a traced program's steps into a program of calls, and finds what other paths refuse."""

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
from gpucast.paths.traced.native import as_natively, native_times
from gpucast.paths.traced.program import (
    CALL_FIELDS,
    SYNCS,
    CallProgram,
    Operation,
    Seconds,
    tick_of,
)
from gpucast.paths.traced.recorded_calls import RecordedCalls, recorded_calls

MOST_STEPS = 100
"""Most consecutive steps that are simulated together, since work crosses their bounds."""
FEWEST_STEPS = 5
MOST_CALLS_AT_ONCE = 20_000
"""Most calls that are simulated together, unless that is less than ``ENOUGH_STEPS`` steps."""
ENOUGH_STEPS = 6

MOST_NAMED = 3
"""Most refused calls that a line names."""
_VERSION = re.compile(r"(_v\d+|_ptsz|_ptds)+$")
_DRIVER = re.compile("cu[A-Z]")


def traced_programs(
    trace: Trace,
    range_name: str | None = None,
    *,
    steps: Steps | None = None,
    most_steps: int = MOST_STEPS,
) -> list[CallProgram]:
    """Return the program of each process of a trace, of limited length.

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
    """Return the longest run of typical steps of a process, by default the trace's first.

    Raises:
        InputError: there are fewer than five consecutive steps with recorded work, or they have no
            calls.
    """
    own = steps.main if isinstance(steps, Steps) else steps
    process = trace.processes[own.process]
    recorded = (own.phase == phases.FULL) & with_work(process, own)
    first, last = own.longest_run(recorded, most_steps)
    if last - first < FEWEST_STEPS:
        raise InputError(
            f"{last - first} consecutive steps whose work was recorded; a forecast needs "
            f"{FEWEST_STEPS}: record more (--steps), or all of the work (--full)",
            file=trace.file or None,
        )
    bounds = own.begins_ns[first : last + 1]
    calls = recorded_calls(process, int(bounds[0]), int(bounds[-1]))
    waits = _wait_for_device(calls)
    bound_call, bound_offset = _bounds(calls, own, bounds)
    names, name = np.unique(calls.name, return_inverse=True)
    begins = (bounds - bounds[0]) / 1e9
    program = CallProgram(
        **{name: getattr(calls, name) for name in CALL_FIELDS}
        | {"blocking": np.where(waits, 1, calls.blocking)},
        **native_times(calls, np.isin(calls.operation, SYNCS) | waits),
        threads=int(calls.thread.max()) + 1,
        devices=int(calls.streams.devices.size),
        streams=np.array([calls.streams.device, calls.streams.kind]),
        step=np.searchsorted(begins[1:-1], calls.start, side="right"),
        name=name,
        work=calls.work,
        names=tuple(process.name_of(number) for number in names),
        bound_call=bound_call,
        bound_offset=bound_offset,
        recorded=np.diff(bounds) / 1e9,
        tick=tick_of(trace.run.machine.gpus),
        warnings=tuple(_warnings(trace, process, calls)),
    )
    native = native_steps(process, own, trace.run.seconds_untraced)
    return as_natively(program, process, own, native, own.kind[first:last], calls)


def _wait_for_device(calls: RecordedCalls) -> NDArray[np.bool_]:
    """Return the allocations and frees that returned only when the device was idle."""
    waits = np.zeros(calls.start.size, bool)
    for call in np.flatnonzero(np.isin(calls.operation, (Operation.alloc, Operation.free))):
        earlier = calls.work_end[:call][calls.device[:call] == calls.device[call]]
        busy_until = np.nanmax(earlier, initial=-np.inf)
        waits[call] = calls.start[call] < busy_until <= calls.end[call]
    return waits


def _bounds(
    calls: RecordedCalls, steps: ProcessSteps, bounds: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Seconds]:
    """Express each bound as a time before the next call of the thread that drives the steps."""
    times = (bounds - bounds[0]) / 1e9
    drives = np.flatnonzero(calls.threads[calls.thread] == steps.thread)
    after = np.searchsorted(calls.start[drives], times)
    size = calls.start.size
    call = np.append(drives, size)[after]
    start = np.append(calls.start, calls.end.max())
    return call, start[call] - times


def _warnings(trace: Trace, process: Process, calls: RecordedCalls) -> list[str]:
    warnings = list(trace.missing)
    if process.lost:
        warnings.append(f"{process.lost} records were lost: the steps may lack calls")
    works = process.work.iloc[calls.work[calls.work >= 0]]
    managed = np.isin(tables.MANAGED, works[["from_memory", "to_memory"]].to_numpy())
    if managed:
        warnings.append("copies of managed memory: what kernels fetch themselves is not in a trace")
    kernels = {process.name_of(number) for number in np.unique(works["name"].to_numpy())}
    if any("nccl" in name.lower() for name in kernels):
        warnings.append(
            "NCCL's kernels wait for other ranks as recorded: no forecast of how long they wait "
            "elsewhere"
        )
    if (works.groupby("device")["context"].nunique() > 1).any():
        warnings.append("a device has several contexts: their works are taken to overlap freely")
    return warnings


def warnings_of(programs: Sequence[CallProgram]) -> list[str]:
    """Return warnings about a trace's programs on a path that forwards calls."""
    warnings = []
    if any((program.operation == Operation.graph_launch).any() for program in programs):
        warnings.append("CUDA graphs are taken for one launch each")
    return [*warnings, *several_processes(programs)]


def several_processes(programs: Sequence[CallProgram]) -> list[str]:
    """Return a warning if there are several."""
    if len(programs) < 2:
        return []
    return [
        f"{len(programs)} processes, each by itself: what they wait for one another is as "
        "recorded; the slowest is shown"
    ]


def refused_calls(trace: Trace, programs: Sequence[CallProgram]) -> tuple[str, ...]:
    """Return the functions that the program called and remote GPUs refuse, most frequent first.

    Functions of the runtime count anywhere in the trace. Functions of the driver count only if most
    steps call them: the runtime makes such calls itself, which a recorder that starts late records.
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
    """Return a line that names some of them."""
    named = ", ".join(refused[:MOST_NAMED])
    more = len(refused) - MOST_NAMED
    return (
        f"this program would not run on {path}: gpucast's remote GPUs refuse {named}"
        + (f" and {more} more of its calls" if more > 0 else "")
        + "; a forecast is as if they could"
    )
