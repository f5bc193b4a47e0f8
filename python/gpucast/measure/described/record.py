"""A visit as the file of records has it."""

from __future__ import annotations

from collections.abc import Mapping

from gpucast.data import jsonl
from gpucast.data.records import Step
from gpucast.measure.described.description import Program
from gpucast.measure.described.results import Times
from gpucast.measure.described.runs import Run


def step_of(
    run: Run,
    program: Program,
    machine: str | None,
    times: Times,
    visit: Mapping[str, object],
    phases: Mapping[str, object] | None,
) -> Step:
    """The record of a visit.

    Args:
        machine: its id.
        visit: its number, what it took (``seconds``), and which allocation it was in.
        phases: how its steps are split, by a trace; None: not known from one.
    """
    cell = run.cell
    stated = {
        "kind": "step", "machine": machine, "path": program.path,
        "program": program.program, "case": program.case, "n": cell.n, "unit": program.unit,
        "gpus": cell.gpus, "instances": cell.instances if cell.instances > 1 else None,
        "mps": run.mps or None, "nodes": run.nodes if program.gpus_per_node else None,
        "ranks": run.ranks, "seconds": times.seconds, **times.more,
        "visit": {"digest": run.digest, **visit},
    }  # fmt: skip
    if phases:
        stated["phases"] = phases
    made = jsonl.record({key: value for key, value in stated.items() if value is not None})
    assert isinstance(made, Step)
    return made
