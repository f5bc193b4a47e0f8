"""A traced program's steps as a program of calls."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpucast.errors import InputError
from gpucast.replay.asked import Asked, asked_of
from gpucast.replay.native import native_times
from gpucast.replay.program import SYNCS, CallProgram, Operation, Seconds, tick_of
from gpucast.replay.without_recorder import as_natively
from gpucast.traces import phases, tables
from gpucast.traces.native_step import with_work
from gpucast.traces.native_step import native_steps
from gpucast.traces.steps import ProcessSteps, Steps
from gpucast.traces.trace import Process, Trace

MOST_STEPS = 100
"""Consecutive steps that are simulated; work crosses the bounds between them."""
FEWEST_STEPS = 5

SMS = {"H200": 132, "H100 PCIe": 114, "H100": 132, "A100": 108, "L40": 142, "V100": 80}
"""Multiprocessors by a part of the GPU's name; others are taken for an H200."""
# Of a multiprocessor, compute capability 7 to 9 (CUDA C++ Programming Guide, table 24).
_THREADS, _BLOCKS, _REGISTERS, _SHARED = 2048, 32, 65536, 228 * 1024


def program_of(
    trace: Trace, steps: Steps | ProcessSteps, *, most_steps: int = MOST_STEPS
) -> CallProgram:
    """The longest run of typical steps of a process, the first of the trace unless told.

    Raises:
        InputError: fewer than five consecutive steps, or none of their calls.
    """
    of = steps.main if isinstance(steps, Steps) else steps
    process = trace.processes[of.process]
    recorded = (of.phase == phases.FULL) & with_work(process, of)
    first, last = of.longest_run(recorded, most_steps)
    if last - first < FEWEST_STEPS:
        raise InputError(
            f"{last - first} consecutive steps; a simulation needs {FEWEST_STEPS}: "
            "record more (--steps)",
            file=trace.file or None,
        )
    bounds = of.begins_ns[first : last + 1]
    asked = asked_of(process, int(bounds[0]), int(bounds[-1]))
    share = _shares(process, asked, trace.run.machine.gpus)
    waits = _waits_for_set(asked)
    operation_waits = np.isin(asked.operation, SYNCS) | waits
    blocking = np.where(waits, 1, asked.blocking)
    native = native_times(asked, share, operation_waits)
    bound_call, bound_offset = _bounds(asked, of, bounds)
    names, name = np.unique(asked.name, return_inverse=True)
    program = CallProgram(
        threads=int(asked.thread.max()) + 1,
        devices=int(asked.streams.devices.size),
        streams=np.array([asked.streams.device, asked.streams.kind]),
        thread=asked.thread,
        operation=asked.operation,
        direction=asked.direction,
        memory=asked.memory,
        blocking=blocking,
        device=asked.device,
        stream=asked.stream,
        bytes=asked.bytes,
        recording=asked.recording,
        engine=asked.engine,
        gap=native.gap,
        cost=native.cost,
        tail=native.tail,
        latency=native.latency,
        delay=native.delay,
        seconds=native.seconds,
        share=share,
        switches=native.switches,
        step=_steps_of(asked, bounds),
        name=name,
        names=tuple(process.name_of(each) for each in names),
        bound_call=bound_call,
        bound_offset=bound_offset,
        recorded=np.diff(bounds) / 1e9,
        tick=tick_of(trace.run.machine.gpus),
        warnings=tuple(_warnings(trace, process, asked)),
    )
    kinds = of.kind[first:last]
    return as_natively(
        program, process, of, native_steps(process, of, trace.run.seconds_untraced), kinds, asked
    )


def _waits_for_set(asked: Asked) -> NDArray[np.bool_]:
    """Allocations and frees that returned only when the device was done."""
    found = np.zeros(asked.start.size, bool)
    for call in np.flatnonzero(np.isin(asked.operation, (Operation.alloc, Operation.free))):
        earlier = asked.work_end[:call][asked.device[:call] == asked.device[call]]
        busy_until = np.nanmax(earlier, initial=-np.inf)
        found[call] = asked.start[call] < busy_until <= asked.end[call]
    return found


def _shares(process: Process, asked: Asked, gpus: list[str]) -> Seconds:
    """Which share of its device's multiprocessors each kernel asks for; 1 for graphs."""
    name = gpus[0] if gpus else ""
    sms = next((count for part, count in SMS.items() if part in name), SMS["H200"])
    share = np.ones(asked.start.size)
    own = np.flatnonzero(asked.work >= 0)
    work = process.work.iloc[asked.work[own]]
    threads = np.maximum(work["threads"].to_numpy(np.float64), 1)
    limits = [
        _THREADS / threads,
        _REGISTERS / np.maximum(work["registers"].to_numpy(np.float64) * threads, 1),
        _SHARED / np.maximum(work["shared_bytes"].to_numpy(np.float64), 1),
        np.full(threads.size, float(_BLOCKS)),
    ]
    occupancy = np.maximum(1, np.floor(np.min(limits, axis=0)))
    kernels = work["kind"].to_numpy() == tables.KERNEL
    asks = np.minimum(1, work["blocks"].to_numpy() / (sms * occupancy))
    # Memsets and copies within a device take a part of the memory's bandwidth and hardly a
    # multiprocessor.
    share[own] = np.where(kernels, asks, 0.1)
    share[asked.operation == Operation.graph_launch] = 1
    return share


def _steps_of(asked: Asked, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    begins = (bounds - bounds[0]) / 1e9
    return np.clip(np.searchsorted(begins, asked.start, side="right") - 1, 0, bounds.size - 2)


def _bounds(
    asked: Asked, steps: ProcessSteps, bounds: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Seconds]:
    """Each bound as a time before the next call of the thread that drives the steps."""
    times = (bounds - bounds[0]) / 1e9
    drives = np.flatnonzero(asked.thread == asked.thread_of(steps.thread))
    after = np.searchsorted(asked.start[drives], times)
    size = asked.start.size
    call = np.append(drives, size)[after]
    start = np.append(asked.start, asked.end.max())
    return call, start[call] - times


def _warnings(trace: Trace, process: Process, asked: Asked) -> list[str]:
    said = list(trace.missing)
    if process.lost:
        said.append(f"{process.lost} records were lost: the steps may lack calls")
    works = process.work.iloc[asked.work[asked.work >= 0]]
    managed = np.isin(tables.MANAGED, works[["from_memory", "to_memory"]].to_numpy())
    if managed:
        said.append("copies of managed memory: what kernels fetch themselves is not in a trace")
    kernels = {process.name_of(each) for each in np.unique(works["name"].to_numpy())}
    if any("nccl" in each.lower() for each in kernels):
        said.append(
            "NCCL's kernels take as long as recorded, waiting for other ranks included: "
            "no forecast of them"
        )
    if (works.groupby("device")["context"].nunique() > 1).any():
        said.append("a device has several contexts: their works are taken to overlap freely")
    return said
