"""``gpucast trace show``, ``export``, ``import``, ``calls``: what can be done with a trace."""

from __future__ import annotations

from pathlib import Path

from gpucast.cli import options
from gpucast.cli.options import argument, option
from gpucast.cli.output import note, print_json, say, warn
from gpucast.errors import InputError

TRACE = argument(
    "What gpucast trace wrote, an sqlite export of Nsight Systems, or a Kineto trace.",
    metavar="TRACE",
)
RANGE = option(
    "NVTX range that is a step; kernel:NAME: from one launch of it to the next.",
    "--range",
    metavar="NAME",
)


def show(
    trace: Path = TRACE,
    range_name: str | None = RANGE,
    output: Path | None = option(
        "Timeline of a typical step (png, pdf, svg).", "--output", "-o", metavar="FIGURE"
    ),
    force: bool = options.FORCE,
    json: bool = options.JSON,
) -> None:
    """What a step is, where its time goes, and where the host waits."""
    from gpucast.cli import trace_text
    from gpucast.cli.figure_files import check_figure
    from gpucast.data.traces import find_steps, read
    from gpucast.data.traces.summary import summarize

    if output is not None:
        check_figure(output, force=force)
    read_trace = read(trace)
    steps = find_steps(read_trace, range_name)
    summaries = [summarize(read_trace.processes[own.process], own) for own in steps.processes]
    if output is not None:
        from gpucast.show.plots.style import save
        from gpucast.show.plots.timeline import timeline

        main = steps.main
        save(timeline(read_trace.processes[main.process], main), output, force=force)
    notes = trace_text.notes(read_trace, summaries)
    if json:
        print_json(trace_text.answer(read_trace, summaries, notes))
        return
    note(*notes)
    trace_text.print_summary(read_trace, summaries)
    if output is not None:
        say(f"\nwritten: {output}")


def export(
    trace: Path = TRACE,
    output: Path = option(
        "For ui.perfetto.dev.", "--output", "-o", default=..., metavar="FILE.json[.gz]"
    ),
    range_name: str | None = RANGE,
    force: bool = options.FORCE,
) -> None:
    """A timeline of all that was recorded, for Perfetto (ui.perfetto.dev) or Chrome."""
    from gpucast.data.traces import find_steps, perfetto, read
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
    file: Path = argument(
        "Sqlite export of Nsight Systems, or a Kineto trace (json, gz).", metavar="FILE"
    ),
    output: Path = option("The trace to write.", "--output", "-o", default=..., metavar="TRACE"),
    force: bool = options.FORCE,
) -> None:
    """A trace that Nsight Systems or PyTorch wrote, as one of ours."""
    from gpucast.data.traces import read
    from gpucast.data.traces.writing import write
    from gpucast.util.files import check_output

    check_output(output, force=force)
    recorded = read(file)
    if recorded.run.source == "cupti":
        raise InputError("is one of ours already", file=file)
    warn(*recorded.missing)
    write(recorded, output, force=force)
    count = sum(len(process.calls) for process in recorded.processes)
    work = sum(len(process.work) for process in recorded.processes)
    say(f"{len(recorded.processes)} processes, {count:,} calls, {work:,} pieces of GPU work")
    say(f"written: {output}; next: gpucast trace show {output}")


def calls(
    trace: Path = TRACE,
    output: Path = option("Where to write.", "--output", "-o", default=..., metavar="CALLS.jsonl"),
    steps: int = option("So many consecutive steps at most.", default=12, min=5),
    range_name: str | None = RANGE,
    force: bool = options.FORCE,
) -> None:
    """Write what some steps asked of their GPUs, a line a call (gpucast.calls/1)."""
    from gpucast.data.traces import find_steps, read
    from gpucast.paths.replay import program_of
    from gpucast.paths.replay.calls import write_calls
    from gpucast.util.files import check_output

    check_output(output, force=force)
    recorded = read(trace)
    program = program_of(recorded, find_steps(recorded, range_name), most_steps=steps)
    warn(*program.warnings)
    write_calls(program, output, force=force)
    say(f"{program.steps} steps, {len(program)} calls")
    say(f"written: {output}")


SUBCOMMANDS = (("show", show), ("export", export), ("import", import_file), ("calls", calls))
"""Name and function of each sub-command of ``gpucast trace`` that is here."""
