"""A traced program's steps as a program of calls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpucast.errors import InputError
from gpucast.replay.asked import Asked, asked_of
from gpucast.replay.native import native_times
from gpucast.replay.program import SYNCS, CallProgram, Operation, Seconds, tick_of
from gpucast.replay.step_times import median_seconds, native_seconds
from gpucast.replay.undisturbed import delays_shorter, longest, undisturbed
from gpucast.traces import phases, tables
from gpucast.traces.complete import with_work
from gpucast.traces.native_step import NativeSteps, light_steps, native_steps, note
from gpucast.traces.steps import ProcessSteps, Steps
from gpucast.traces.trace import Process, Trace

MOST_STEPS = 100
"""Consecutive steps that are simulated; work crosses the bounds between them."""
FEWEST_STEPS = 5
BEHIND = 0.7e-6
"""s from a kernel's end until the next of its stream begins: recording it takes the GPU longer."""
_PLAIN = (
    Operation.launch,
    Operation.copy,
    Operation.set,
    Operation.record,
    Operation.wait_stream_event,
    Operation.graph_launch,
)
"""Calls that cost the host their own time and no more, unless they block."""
MANY_CALLS = 100
"""Of a step, from which what recording leaves behind is seen: in light phases behind full ones,
steps of 200 to 600 launches took 4 to 58 % longer than natively (h200-traces, less what notes
take)."""
LEAST_OF_GRAPH = 0.25
"""Of a graph's recorded time, that is its own."""
HALVINGS = 12
HALVINGS_BEGIN = 2.0
"""Times what a call and the gap before it take: no recorder costs more."""

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
    return _as_natively(
        program, process, of, native_steps(process, of, trace.run.seconds_untraced), kinds, asked
    )


def _as_natively(
    program: CallProgram, process: Process, steps: ProcessSteps, native: NativeSteps,
    kinds: NDArray[np.int64], asked: Asked,
) -> CallProgram:  # fmt: skip
    """Without what recording cost; ``kinds``: of the program's steps."""
    graphs = _by_node(process, asked)
    said = _slowed(process, steps) if native.light is not None else []
    program = replace(program, warnings=(*program.warnings, *said))
    if phases.has_some_calls(process):
        program = _by_steps_alone(program, steps, native, graphs)
    elif native.light is not None:
        program = _towards(program, _light_costs(program, process), native.light)
        program = _graphs_shorter(program, graphs, native.light)
        program = _untraced(_without_notes(program), native.median)
    elif native.alone:
        program = _untraced(_graphs_shorter(program, graphs, native.median), native.median)
    usual = np.bincount(kinds[kinds >= 0], minlength=1).argmax() == 0
    return _stating(program, native.median) if usual else program


def _slowed(process: Process, steps: ProcessSteps) -> list[str]:
    """Whether recording may have left calls slower in light phases than they are natively."""
    own = light_steps(steps)
    begins = steps.begins_ns[:-1][own] if own is not None else steps.begins_ns[:0]
    recorded = process.phases["start_ns"][process.phases["full"] == phases.FULL]
    calls = float(steps.calls[: steps.count].mean())
    if not begins.size or calls < MANY_CALLS or not (recorded < begins[0]).any():
        return []
    return [
        f"steps of {calls:.0f} calls, whose light phases come after full ones: natively they may "
        "take up to 40 % less; a run without a recorder tells"
    ]


def _by_node(process: Process, asked: Asked) -> NDArray[np.bool_]:
    """Launches of graphs whose nodes were recorded one by one."""
    found = asked.operation == Operation.graph_launch
    found[found] = process.work["kind"].to_numpy()[asked.work[found]] != tables.GRAPH
    return np.asarray(found)


def _graphs_shorter(
    program: CallProgram, graphs: NDArray[np.bool_], untraced: float, *, calls: bool = False
) -> CallProgram:
    """With graphs that take the GPU by so much less that a step is as long as without a recorder.

    For a record of each node its graph runs node by node: a hundred kernels took 124 us so, and
    less than 60 us otherwise (H200, CUDA 13.0). ``calls``: launches are shorter by as much, too.
    """
    if not graphs.any():
        return program

    def shorter(share: float) -> CallProgram:
        left = np.where(graphs, 1 - share, 1.0)
        cost = program.cost * left if calls else program.cost
        return replace(program, seconds=program.seconds * left, cost=cost)

    return longest(shorter, 1 - LEAST_OF_GRAPH, untraced)


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


def _by_steps_alone(
    program: CallProgram, steps: ProcessSteps, native: NativeSteps, graphs: NDArray[np.bool_]
) -> CallProgram:
    """Without what recording cost, where light phases hold no calls but waits."""
    if not native.alone:
        if light_steps(steps) is not None:
            return program
        said = (
            "light phases do not tell how long steps take, whose waits they hold alone: steps "
            "are as long as recorded"
        )
        return replace(program, warnings=(*program.warnings, said))
    program = _graphs_shorter(program, graphs, native.median, calls=True)
    return undisturbed(program, native.median)


def _without_notes(program: CallProgram) -> CallProgram:
    """Without what noting a call takes behind it: the shortest gaps; in them the program did
    nothing."""
    return replace(program, gap=np.maximum(program.gap - note(program.gap), 0))


def _stating(program: CallProgram, native: float) -> CallProgram:
    """With recorded steps whose median, as forecasts take it, is the native step."""
    recorded = native_seconds(program)
    return replace(program, recorded=program.recorded + (native - recorded))


def _light_costs(program: CallProgram, process: Process) -> CallProgram:
    """With calls that do not wait as short as they are where their work is not recorded."""
    if not phases.has_light(process):
        return program
    calls = process.calls
    start, end = calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()
    light = phases.of_spans(process, start, end) == phases.LIGHT
    named = calls["name"].to_numpy()
    asks = np.isin(program.operation, _PLAIN) & (program.blocking == 0)
    cost = program.cost.copy()
    for at, name in enumerate(program.names):
        number = next((key for key, text in process.names.items() if text == name), -1)
        alone = (end - start)[light & (named == number)] / 1e9
        own = asks & (program.name == at)
        if alone.size >= FEWEST_STEPS and own.any():
            more = max(0.0, float(np.median(cost[own]) - np.median(alone)))
            cost[own] = np.maximum(cost[own] - more, 0.2 * cost[own])
    # Work could begin when its call had asked for it, and that was later by as much.
    latency = np.maximum(program.latency - (program.cost - cost), 0.5 * program.latency)
    kernels = (program.operation == Operation.launch) & ~program.switches
    delay = np.where(kernels, np.minimum(program.delay, BEHIND), program.delay)
    return replace(program, cost=cost, latency=latency, delay=delay)


def _towards(program: CallProgram, light: CallProgram, seconds: float) -> CallProgram:
    """With calls that are shorter by so much of the difference that a step is no shorter than it is
    where calls alone are recorded: their times there are those of calls that come sooner, too."""

    def towards(share: float) -> CallProgram:
        columns = {
            name: (1 - share) * getattr(program, name) + share * getattr(light, name)
            for name in ("cost", "latency", "delay")
        }
        return replace(program, **columns)

    if median_seconds(light) >= seconds:
        return light
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        tried = (low + high) / 2
        low, high = (tried, high) if median_seconds(towards(tried)) > seconds else (low, tried)
    return towards(low)


def _untraced(program: CallProgram, untraced: float) -> CallProgram:
    """Without what recording cost: of each call as much, so that a step takes what it took alone.

    How much that is only a replay tells: what passes while the host waits anyway costs nothing.
    """
    if untraced >= native_seconds(program):
        return program
    most = HALVINGS_BEGIN * float(np.mean(program.gap + program.cost + program.tail))
    return delays_shorter(longest(lambda less: _each_less(program, less), most, untraced), untraced)


def _each_less(program: CallProgram, seconds: float) -> CallProgram:
    """Every call so many seconds shorter: its gap; what that has not, its cost; then its tail.

    Of cost and tail half at most. Work is asked for by as much sooner within its call.
    """
    of_gap = np.minimum(program.gap, seconds)
    of_cost = np.minimum(seconds - of_gap, program.cost / 2)
    of_tail = np.minimum(seconds - of_gap - of_cost, program.tail / 2)
    return replace(
        program,
        gap=program.gap - of_gap,
        cost=program.cost - of_cost,
        tail=program.tail - of_tail,
        latency=np.maximum(program.latency - of_cost, program.latency / 2),
    )


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
