"""What can be done with a trace that is there: ``gpucast trace show``, ``export``, ``import``,
``calls``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpucast.cli import options
from gpucast.cli.output import say
from gpucast.errors import InputError

TraceFile = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE",
        help="What gpucast trace wrote, an sqlite export of Nsight Systems, or a Kineto trace.",
    ),
]
Range = Annotated[
    str | None,
    typer.Option(
        "--range",
        metavar="NAME",
        help="NVTX range that is a step; kernel:NAME: from one launch of it to the next.",
        show_default=False,
    ),
]


def show(
    trace: TraceFile,
    range_name: Range = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FIGURE",
            help="Timeline of a typical step (png, pdf, svg).",
            show_default=False,
        ),
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """What a step is, where its time goes, and where the host waits."""
    from gpucast.cli import trace_text
    from gpucast.cli.figure_files import check_figure
    from gpucast.cli.output import note, print_json
    from gpucast.traces import find_steps, read
    from gpucast.traces.summary import summarize

    if output is not None:
        check_figure(output, force=force)
    read_trace = read(trace)
    steps = find_steps(read_trace, range_name)
    summaries = [summarize(read_trace.processes[each.process], each) for each in steps.processes]
    if output is not None:
        from gpucast.plots.style import save
        from gpucast.plots.timeline import timeline

        main = steps.main
        save(timeline(read_trace.processes[main.process], main), output, force=force)
    notes = trace_text.notes(read_trace, summaries)
    if json:
        print_json(trace_text.answer(read_trace, summaries, notes))
        return
    for line in notes:
        note(line)
    trace_text.print_summary(read_trace, summaries)
    if output is not None:
        say(f"\nwritten: {output}")


def export(
    trace: TraceFile,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE.json[.gz]", help="For ui.perfetto.dev."),
    ],
    range_name: Range = None,
    force: options.Force = False,
) -> None:
    """A timeline of all that was recorded, for Perfetto (ui.perfetto.dev) or Chrome."""
    from gpucast.cli.output import note
    from gpucast.traces import find_steps, perfetto, read
    from gpucast.util.files import check_output, write_bytes

    check_output(output, force=force)
    read_trace = read(trace)
    try:
        steps = find_steps(read_trace, range_name)
    except InputError as error:
        if range_name is not None:
            raise
        note(f"without a row of steps: {error.message}")
        steps = None
    compressed = output.suffix == ".gz"
    write_bytes(output, perfetto.content(read_trace, steps, compressed=compressed), force=force)
    say(f"written: {output}")


def import_file(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Sqlite export of Nsight Systems, or a Kineto trace (json, gz)."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="TRACE", help="The trace to write.")
    ],
    force: options.Force = False,
) -> None:
    """A trace that Nsight Systems or PyTorch wrote, as one of ours."""
    from gpucast.cli.output import warn
    from gpucast.traces import read
    from gpucast.traces.writing import write
    from gpucast.util.files import check_output

    check_output(output, force=force)
    found = read(file)
    if found.run.source == "cupti":
        raise InputError("is one of ours already", file=file)
    for line in found.missing:
        warn(line)
    write(found, output, force=force)
    calls = sum(len(each.calls) for each in found.processes)
    work = sum(len(each.work) for each in found.processes)
    say(f"{len(found.processes)} processes, {calls:,} calls, {work:,} pieces of GPU work")
    say(f"written: {output}; next: gpucast trace show {output}")


def calls(
    trace: TraceFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="CALLS.jsonl", help="Where to write.")
    ],
    steps: Annotated[int, typer.Option(min=5, help="So many consecutive steps at most.")] = 12,
    range_name: Range = None,
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


SUBCOMMANDS = (("show", show), ("export", export), ("import", import_file), ("calls", calls))
"""Name and function of each sub-command of ``gpucast trace`` that is here."""
