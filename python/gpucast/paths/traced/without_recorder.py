"""What recording a program took, taken off its calls.

A recorded call takes longer: it is noted, and so is the work that it asks for. That shows in the
call and behind it, and the work begins later by what the call takes longer, because it is asked for
within. All calls are made shorter by as much, until a step takes what it takes natively: what
passes while the host waits anyway costs nothing. It is taken off a call's gap, and what the gap has
not off the call and its work's latency, half of each at most: a call does something by itself.

The GPU writes records, too: work begins later behind other work, and a graph that is recorded node
by node runs so. Where shorter calls are not enough, delays and graphs are taken shorter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gpucast.data.traces import phases, tables
from gpucast.data.traces.native_step import NativeSteps, light_steps
from gpucast.data.traces.steps import ProcessSteps
from gpucast.data.traces.trace import Process
from gpucast.paths.traced.asked import Asked
from gpucast.paths.traced.program import CallProgram, Operation
from gpucast.paths.traced.timeline import median_seconds, native_seconds, natively

LEAST: Final = 0.5
"""Share of a call, or of a latency, that is left."""
MOST: Final = 2.0
"""Times what a call and the gap before it take: no recorder takes more."""
MANY_CALLS: Final = 100
"""Calls of a step from which what recording leaves behind is seen: in light phases behind full
ones, steps of 200 to 600 launches took 4 to 58 % longer than natively (h200-traces, less what notes
take)."""
LEAST_OF_GRAPH: Final = 0.25
"""Share of a graph's recorded time that is its own."""
_TRIED = np.linspace(0, 1, 21)
"""Shares of the most that may be taken off; what is enough is interpolated between two."""


def as_natively(
    program: CallProgram, process: Process, steps: ProcessSteps, native: NativeSteps,
    kinds: NDArray[np.int64], asked: Asked,
) -> CallProgram:  # fmt: skip
    """A recorded program without what recording took.

    Args:
        native: how long the steps of the process take without a recorder, as far as it is known.
        kinds: of the program's steps.
        asked: what its calls ask for, in the program's order.
    """
    if native.light is not None:
        program = replace(program, warnings=(*program.warnings, *_slowed(process, steps)))
    if native.alone and native.median < native_seconds(program):
        by_node = asked.operation == Operation.graph_launch
        by_node[by_node] = process.work["kind"].to_numpy()[asked.work[by_node]] != tables.GRAPH
        program = _lasting(program, lambda share: _shorter_calls(program, share), native.median)
        short = program
        program = _lasting(short, lambda share: _shorter_work(short, share, by_node), native.median)
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


_Columns = dict[str, Any]


def _shorter_calls(program: CallProgram, share: NDArray[np.float64]) -> _Columns:
    """Columns with as much off each call: a share of ``MOST``."""
    gap, cost, tail, latency = (
        getattr(program, name)[:, None] for name in ("gap", "cost", "tail", "latency")
    )
    less = share * MOST * float(np.mean(program.gap + program.cost + program.tail))
    of_gap = np.minimum(gap, less)
    of_cost = np.minimum(less - of_gap, (1 - LEAST) * cost)
    of_tail = np.minimum(less - of_gap - of_cost, (1 - LEAST) * tail)
    return {
        "gap": gap - of_gap,
        "cost": cost - of_cost,
        "tail": tail - of_tail,
        "latency": np.maximum(latency - of_cost, LEAST * latency),
    }


def _shorter_work(
    program: CallProgram, share: NDArray[np.float64], by_node: NDArray[np.bool_]
) -> _Columns:
    graphs = np.where(by_node, 1 - LEAST_OF_GRAPH, 0.0)[:, None]
    return {
        "delay": program.delay[:, None] * (1 - share),
        "seconds": program.seconds[:, None] * (1 - share * graphs),
    }


def _lasting(
    program: CallProgram,
    shorter: Callable[[NDArray[np.float64]], _Columns],
    seconds: float,
) -> CallProgram:
    """With the least share off that makes steps take ``seconds`` at most; else with all."""
    takes = natively(program)
    columns = shorter(_TRIED)
    cost = columns.pop("cost", None)
    if cost is not None:
        columns |= {"ask": cost, "there": -cost}
    lasted = np.minimum.accumulate(median_seconds(program, replace(takes, **columns)))
    # Falls with the share: where it comes down to what is wanted.
    share = np.interp(-seconds, -lasted, _TRIED)
    enough = shorter(np.array([share]))
    return replace(program, **{name: column[:, 0] for name, column in enough.items()})
