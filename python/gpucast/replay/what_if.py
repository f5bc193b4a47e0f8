"""A trace on another path: all processes of the run, the slowest of which is the step's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpucast.data.dataset import Dataset
from gpucast.replay.forecast import DRAWS, TraceForecast, forecast
from gpucast.replay.from_trace import MOST_STEPS, program_of
from gpucast.replay.network import Network
from gpucast.replay.program import CallProgram, Operation
from gpucast.replay.refused import refused_calls
from gpucast.replay.skeletons import step_costs
from gpucast.traces.finding_steps import find_steps
from gpucast.traces.steps import Steps
from gpucast.traces.trace import Trace

MOST_CALLS_AT_ONCE = 400_000
"""Of the steps that are simulated together, where they are at least ``ENOUGH_STEPS``."""
ENOUGH_STEPS = 12


def trace_on_path(
    trace: Trace,
    data: Dataset,
    path: str,
    *,
    machine: str | None = None,
    network: Network | None = None,
    range_name: str | None = None,
    steps: Steps | None = None,
    draws: int = DRAWS,
    seed: int = 1,
) -> TraceForecast:
    """A step of a traced program on a path that was measured.

    Args:
        data: launches and transfers of that path, native ones beside them if there are.
        network: another network than the one they were measured on.
        range_name: the NVTX range that is a step; None: what repeats. steps: where they were found
            already.

    Raises:
        InputError: no repeating step, or what the path's costs need was not measured.
    """
    costs = step_costs(data, path, machine=machine, network=network)
    programs = traced_programs(trace, range_name, steps=steps)
    found = [forecast(each, costs, draws=draws, seed=seed) for each in programs]
    slowest = max(found, key=lambda each: each.seconds)
    return replace(
        slowest,
        warnings=(*slowest.warnings, *said_of(programs)),
        refused=refused_calls(trace, programs),
    )


def traced_programs(
    trace: Trace,
    range_name: str | None = None,
    *,
    steps: Steps | None = None,
    most_steps: int = MOST_STEPS,
    at_once: int = MOST_CALLS_AT_ONCE,
) -> list[CallProgram]:
    """The program of each process of a trace, of so many steps and calls at most.

    Raises:
        InputError: no repeating step.
    """
    found = []
    for of in (steps or find_steps(trace, range_name)).processes:
        calls = max(1, int(of.calls.mean()))
        most = max(ENOUGH_STEPS, min(most_steps, at_once // calls))
        found.append(program_of(trace, of, most_steps=most))
    return found


def said_of(programs: Sequence[CallProgram]) -> list[str]:
    """Warnings of a trace's programs on a forwarding path."""
    said = []
    if any((each.operation == Operation.graph_launch).any() for each in programs):
        said.append("CUDA graphs are taken for one launch each")
    if len(programs) > 1:
        said.append(
            f"{len(programs)} processes, each simulated alone: what they wait for one another is "
            "as recorded; the slowest is shown"
        )
    return said
