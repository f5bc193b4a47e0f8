"""What recording a program cost, taken off its calls.

How, depends on what the recording holds: light phases, or a run without a recorder.

In a full phase each call takes longer: it is noted, and so is the work it asks for. That shows in
the call and behind it, and the work begins later by what the call takes longer, because it is asked
for within. All calls are made shorter by as much, found by halving: what passes while the host
waits anyway costs nothing, which only a simulation tells. It is taken off a call's gap, and what
the gap has not off the call and its work's latency, half of each at most: a call does something by
itself.

The GPU writes records, too: a kernel behind another of its stream begins 0.7 us after its end
without, and later with. So does work that waited for another engine. Where shorter calls are not
enough, delays are therefore taken shorter, all by one factor, which is found likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gpucast.data.traces import phases, tables
from gpucast.data.traces.native_step import NativeSteps, light_steps, note
from gpucast.data.traces.steps import ProcessSteps
from gpucast.data.traces.trace import Process
from gpucast.paths.replay.asked import Asked
from gpucast.paths.replay.program import CallProgram, Operation
from gpucast.paths.replay.step_times import median_seconds, native_seconds

BEHIND: Final = 0.7e-6
"""s from a kernel's end until the next of its stream begins, when neither is recorded: H200."""
LEAST: Final = 0.5
"""Share of a call, or of a latency, that is left."""
MOST: Final = 2.0
"""Times what a call and the gap before it take: no recorder costs more."""
MANY_CALLS: Final = 100
"""Calls of a step from which what recording leaves behind is seen: in light phases behind full
ones, steps of 200 to 600 launches took 4 to 58 % longer than natively (h200-traces, less what notes
take)."""
LEAST_OF_GRAPH: Final = 0.25
"""Share of a graph's recorded time that is its own."""
_PLAIN = (
    Operation.launch, Operation.copy, Operation.set, Operation.record, Operation.wait_stream_event,
    Operation.graph_launch,
)  # fmt: skip
"""Calls that cost the host their own time and no more, unless they block."""
_HALVINGS = 12
_OFTEN = 5
"""Times that light phases have a call, from which their median counts."""


def as_natively(
    program: CallProgram, process: Process, steps: ProcessSteps, native: NativeSteps,
    kinds: NDArray[np.int64], asked: Asked,
) -> CallProgram:  # fmt: skip
    """A recorded program without what recording cost.

    Args:
        native: how long the steps of the process take without a recorder, as far as it is known.
        kinds: of the program's steps.
        asked: what its calls ask for, in the program's order.
    """
    if native.light is not None:
        slowed = _slowed(process, steps)
        program = replace(program, warnings=(*program.warnings, *slowed))
        program = _towards(program, _light_costs(program, process), native.light)
        program = _graphs_shorter(program, process, asked, native.light)
        # In the shortest gaps a program does nothing: that is what noting a call takes.
        gap = np.maximum(program.gap - note(program.gap), 0)
        program = _untraced(replace(program, gap=gap), native.median)
    elif native.alone:
        program = _graphs_shorter(program, process, asked, native.median)
        program = _untraced(program, native.median)
    if np.bincount(kinds[kinds >= 0], minlength=1).argmax() != 0:
        return program
    # Usual steps: their median, as forecasts take it, is the native step.
    return replace(program, recorded=program.recorded + (native.median - native_seconds(program)))


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


def _graphs_shorter(
    program: CallProgram, process: Process, asked: Asked, seconds: float
) -> CallProgram:
    """With graphs that take the GPU by so much less that a step is as long as without a recorder.

    For a record of each node its graph runs node by node: a hundred kernels took 124 us so, and
    less than 60 us otherwise (H200, CUDA 13.0).
    """
    by_node = asked.operation == Operation.graph_launch
    by_node[by_node] = process.work["kind"].to_numpy()[asked.work[by_node]] != tables.GRAPH
    if not by_node.any():
        return program

    def shorter(share: float) -> CallProgram:
        return replace(program, seconds=program.seconds * np.where(by_node, 1 - share, 1.0))

    return _longest(shorter, 1 - LEAST_OF_GRAPH, seconds)


def _light_costs(program: CallProgram, process: Process) -> CallProgram:
    """With calls that do not wait as short as they are where their work is not recorded, and
    kernels that begin behind their streams' others as natively."""
    if not phases.has_light(process):
        return program
    calls = process.calls
    start, end = calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()
    light = phases.of_spans(process, start, end) == phases.LIGHT
    names = calls["name"].to_numpy()
    asks = np.isin(program.operation, _PLAIN) & (program.blocking == 0)
    cost = program.cost.copy()
    for at, name in enumerate(program.names):
        number = next((key for key, text in process.names.items() if text == name), -1)
        alone = (end - start)[light & (names == number)] / 1e9
        own = asks & (program.name == at)
        if alone.size >= _OFTEN and own.any():
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
    return towards(_halved(towards, 1.0, seconds)[0])


def _untraced(program: CallProgram, seconds: float) -> CallProgram:
    """Without what recording cost: each call shorter by as much, so that a step takes what it took
    alone; then with work that begins sooner behind other work, where steps are still too long."""
    if seconds >= native_seconds(program):
        return program

    def shorter(less: float) -> CallProgram:
        of_gap = np.minimum(program.gap, less)
        of_cost = np.minimum(less - of_gap, (1 - LEAST) * program.cost)
        of_tail = np.minimum(less - of_gap - of_cost, (1 - LEAST) * program.tail)
        return replace(
            program,
            gap=program.gap - of_gap,
            cost=program.cost - of_cost,
            tail=program.tail - of_tail,
            latency=np.maximum(program.latency - of_cost, LEAST * program.latency),
        )

    most = MOST * float(np.mean(program.gap + program.cost + program.tail))
    short = _longest(shorter, most, seconds)
    return _longest(lambda share: replace(short, delay=(1 - share) * short.delay), 1.0, seconds)


def _longest(without: Callable[[float], CallProgram], most: float, seconds: float) -> CallProgram:
    """Take off the least that makes steps take ``seconds`` at most; else the most."""
    if median_seconds(without(0.0)) <= seconds:
        return without(0.0)
    return without(_halved(without, most, seconds)[1])


def _halved(
    without: Callable[[float], CallProgram], most: float, seconds: float
) -> tuple[float, float]:
    """What is taken off where steps are just too long, and where they no longer are."""
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        tried = (low + high) / 2
        too_long = median_seconds(without(tried)) > seconds
        low, high = (tried, high) if too_long else (low, tried)
    return low, high
