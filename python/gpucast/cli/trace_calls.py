"""``gpucast trace calls``: the calls of some steps, for gpucast-microbench to make."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpucast.cli import options
from gpucast.cli.output import say


def calls(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="As of gpucast trace show.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="CALLS.jsonl", help="Where to write.")
    ],
    steps: Annotated[int, typer.Option(min=5, help="So many consecutive steps at most.")] = 12,
    range_name: Annotated[
        str | None,
        typer.Option("--range", metavar="NAME", help="NVTX range that is a step."),
    ] = None,
    force: options.Force = False,
) -> None:
    """Write what some steps asked of their GPUs, a line a call (gpucast.calls/1)."""
    from gpucast.cli.output import warn
    from gpucast.replay import program_of
    from gpucast.replay.calls import write_calls
    from gpucast.traces import find_steps, read
    from gpucast.util.files import check_output

    check_output(output, force=force)
    found = read(trace)
    program = program_of(found, find_steps(found, range_name), most_steps=steps)
    for text in program.warnings:
        warn(text)
    write_calls(program, output, force=force)
    say(f"{program.steps} steps, {len(program)} calls")
    say(f"written: {output}")
