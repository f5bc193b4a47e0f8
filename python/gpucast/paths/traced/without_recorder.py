"""Removes the overhead of recording from a program's calls.

A recorded call takes longer, because it and its work are noted. The overhead lies in the call and
after it, and it delays the work, which is submitted within the call. All calls are shortened by the
same amount, until a simulated step takes its native time; overhead while the host waits anyway has
no effect. The amount is taken from a call's gap and, if that is too short, from the call and its
work's latency, at most half of each, because a call itself takes time.

The GPU writes records as well: work begins later after other work, and a graph that is recorded
node by node is slower. If shorter calls are not enough, delays and graphs are shortened.
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
from gpucast.paths.traced.program import CallProgram, Operation
from gpucast.paths.traced.recorded_calls import RecordedCalls
from gpucast.paths.traced.timeline import median_seconds, native_seconds, natively

LEAST: Final = 0.5
"""Least share of a call, or of a latency, that remains."""
MOST: Final = 2.0
"""Largest overhead of recording, relative to a call and the gap before it."""
MANY_CALLS: Final = 100
"""Number of calls of a step from which after-effects of recording matter: in light phases after
full ones, steps of 200 to 600 launches took 4 to 58 % longer than natively (h200-traces, without
the overhead of notes)."""
LEAST_OF_GRAPH: Final = 0.25
"""Least share of a graph's recorded time that remains."""
_TRIED = np.linspace(0, 1, 21)
"""Shares of the largest overhead that are tried; the sufficient one is interpolated."""


def as_natively(
    program: CallProgram, process: Process, steps: ProcessSteps, native: NativeSteps,
    kinds: NDArray[np.int64], calls: RecordedCalls,
) -> CallProgram:  # fmt: skip
    """Return a recorded program without the overhead of recording.

    Args:
        native: step times of the process without a recorder, as far as known.
        kinds: kinds of the program's steps.
        calls: the recorded calls, in the program's order.
    """
    if native.light is not None:
        program = replace(program, warnings=(*program.warnings, *_slowed(process, steps)))
    if native.alone and native.median < native_seconds(program):
        by_node = calls.operation == Operation.graph_launch
        by_node[by_node] = process.work["kind"].to_numpy()[calls.work[by_node]] != tables.GRAPH
        program = _lasting(program, lambda share: _shorter_calls(program, share), native.median)
        short = program
        program = _lasting(short, lambda share: _shorter_work(short, share, by_node), native.median)
    if np.bincount(kinds[kinds >= 0], minlength=1).argmax() != 0:
        return program
    # For steps of the usual kind, the median is the native step.
    return replace(program, recorded=program.recorded + (native.median - native_seconds(program)))


def _slowed(process: Process, steps: ProcessSteps) -> list[str]:
    """Warn if recording may have slowed calls down even in light phases."""
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
    """Return columns in which each call is shortened by a share of ``MOST``."""
    gap, cost, tail, latency = (
        getattr(program, name)[:, None] for name in ("gap", "cost", "tail", "latency")
    )
    amount = share * MOST * float(np.mean(program.gap + program.cost + program.tail))
    from_gap = np.minimum(gap, amount)
    from_cost = np.minimum(amount - from_gap, (1 - LEAST) * cost)
    from_tail = np.minimum(amount - from_gap - from_cost, (1 - LEAST) * tail)
    return {
        "gap": gap - from_gap,
        "cost": cost - from_cost,
        "tail": tail - from_tail,
        "latency": np.maximum(latency - from_cost, LEAST * latency),
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
    """Shorten a program by the least share that makes steps take at most ``seconds``, or by all."""
    takes = natively(program)
    columns = shorter(_TRIED)
    cost = columns.pop("cost", None)
    if cost is not None:
        columns |= {"ask": cost, "there": -cost}
    lasted = np.minimum.accumulate(median_seconds(program, replace(takes, **columns)))
    # The step time falls with the share; find where it reaches the native time.
    share = np.interp(-seconds, -lasted, _TRIED)
    enough = shorter(np.array([share]))
    return replace(program, **{name: column[:, 0] for name, column in enough.items()})
