"""What recording a program cost, taken off its calls.

How, depends on what the recording holds: light phases, or a run without a recorder.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpucast.replay.asked import Asked
from gpucast.replay.program import CallProgram, Operation
from gpucast.replay.shorter_calls import (
    HALVINGS,
    MOST,
    calls_shorter,
    delays_behind,
    delays_shorter,
    longest,
)
from gpucast.replay.step_times import median_seconds, native_seconds
from gpucast.traces import phases, tables
from gpucast.traces.native_step import NativeSteps, light_steps, note
from gpucast.traces.steps import ProcessSteps
from gpucast.traces.trace import Process

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
    graphs = _by_node(process, asked)
    said = _slowed(process, steps) if native.light is not None else []
    program = replace(program, warnings=(*program.warnings, *said))
    if native.light is not None:
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
    program: CallProgram, graphs: NDArray[np.bool_], untraced: float
) -> CallProgram:
    """With graphs that take the GPU by so much less that a step is as long as without a recorder.

    For a record of each node its graph runs node by node: a hundred kernels took 124 us so, and
    less than 60 us otherwise (H200, CUDA 13.0).
    """
    if not graphs.any():
        return program

    def shorter(share: float) -> CallProgram:
        left = np.where(graphs, 1 - share, 1.0)
        return replace(program, seconds=program.seconds * left)

    return longest(shorter, 1 - LEAST_OF_GRAPH, untraced)


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
        if alone.size >= _OFTEN and own.any():
            more = max(0.0, float(np.median(cost[own]) - np.median(alone)))
            cost[own] = np.maximum(cost[own] - more, 0.2 * cost[own])
    # Work could begin when its call had asked for it, and that was later by as much.
    latency = np.maximum(program.latency - (program.cost - cost), 0.5 * program.latency)
    return replace(program, cost=cost, latency=latency, delay=delays_behind(program))


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
    most = MOST * float(np.mean(program.gap + program.cost + program.tail))

    def less(seconds: float) -> CallProgram:
        return calls_shorter(program, seconds, tails=True)

    return delays_shorter(longest(less, most, untraced), untraced)
