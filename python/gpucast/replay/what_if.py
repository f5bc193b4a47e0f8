"""A trace on another path: all processes of the run, the slowest of which is the step's."""

from __future__ import annotations

from gpucast.data.dataset import Dataset
from gpucast.replay.forecast import DRAWS, TraceForecast, forecast
from gpucast.replay.from_trace import MOST_STEPS, program_of
from gpucast.replay.network import Network
from gpucast.replay.program import CallProgram, Operation
from gpucast.replay.skeletons import step_costs
from gpucast.traces.steps import find_steps
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
    draws: int = DRAWS,
    seed: int = 1,
) -> TraceForecast:
    """A step of a traced program on a path that was measured.

    Args:
        data: launches and transfers of that path, native ones beside them if there are.
        network: another network than the one they were measured on.
        range_name: the NVTX range that is a step; None: what repeats.

    Raises:
        InputError: no repeating step, or what the path's costs need was not measured.
    """
    costs = step_costs(data if machine is None else data.select(machine=machine), path)
    if network is not None:
        costs = costs.over(network)
    steps = find_steps(trace, range_name)
    found = []
    for of in steps.processes:
        calls = max(1, int(of.calls.mean()))
        most = max(ENOUGH_STEPS, min(MOST_STEPS, MOST_CALLS_AT_ONCE // calls))
        program = program_of(trace, of, most_steps=most)
        found.append((program, forecast(program, costs, draws=draws, seed=seed)))
    program, slowest = max(found, key=lambda each: each[1].seconds)
    said = [*slowest.warnings, *_refused(program)]
    if len(found) > 1:
        said.append(
            f"{len(found)} processes, each simulated alone: what they wait for one another is "
            "as recorded; the slowest is shown"
        )
    return TraceForecast(**{**vars(slowest), "warnings": tuple(said)})


def _refused(program: CallProgram) -> list[str]:
    """What gpucast's own remote layer does not do (docs/remote.md)."""
    if (program.operation == Operation.graph_launch).any():
        return ["remote GPUs refuse CUDA graphs: taken for one launch each"]
    return []
