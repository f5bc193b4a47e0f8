"""``gpucast trace``: record one run of a CUDA program; a sub-command for each use of a trace."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
from typer.core import TyperGroup

from gpucast.cli import options
from gpucast.cli.options import argument, flag, option
from gpucast.cli.output import note, print_json, say, warn
from gpucast.errors import InputError
from gpucast.util.units import duration

if TYPE_CHECKING:
    from gpucast.measure.tracing import Recorded


class _Group(TyperGroup):
    """``gpucast trace -- PROGRAM`` is ``gpucast trace record -- PROGRAM``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        if args and not known:
            args = ["record", *args]
        return super().parse_args(ctx, args)


TRACE = argument(
    "What gpucast trace wrote, an sqlite export of Nsight Systems, or a Kineto trace.",
    metavar="TRACE",
)
RANGE = option(
    "NVTX range that is a step; kernel:NAME: from one launch of it to the next.",
    "--range",
    metavar="NAME",
)

app = typer.Typer(rich_markup_mode=None, cls=_Group)


@app.callback()
def callback() -> None:
    """Record one run of a CUDA program, as it is: gpucast trace [-o T] -- PROGRAM ARGUMENTS."""


@app.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
def record(
    program: list[str] = argument("-- PROGRAM ARGUMENTS"),
    output: Path = option("The trace.", "-o", "--output", default=Path("trace.zip")),
    steps: int = option("Record this many steps at most; 0: the whole run.", default=200, min=0),
    range_name: str | None = option("NVTX range that is a step.", "--range"),
    after: float = option("Seconds of each process that are left out first.", default=0.0, min=0),
    seconds: float = option("Record this many seconds at most; 0: no limit.", default=0.0, min=0),
    calls: int = option(
        "Record this many calls of a process at most; 0: no limit.", default=2_000_000, min=0
    ),
    graphs: Literal["nodes", "whole"] = option(
        "CUDA graphs: a row for each node, or for each launch (slows programs less).",
        default="nodes",
    ),
    full: bool = flag(
        "--full", "Record the GPUs' work all the time, not in a quarter of it (slows programs)."
    ),
    once: bool = flag(
        "--once",
        "Run the program once. Else it is run again, with its output hidden, where it ended within "
        "a minute: unrecorded but for the call that ends a step, for the native step.",
    ),
    force: bool = flag("--force", "Replace an existing trace."),
    quiet: bool = flag("--quiet", "No progress, no summary."),
) -> None:
    """Run a program and record what it asks of its GPUs (`record` may be left out)."""
    from gpucast.measure.tracing import Limits
    from gpucast.measure.tracing import record as run
    from gpucast.measure.tracing.recording import has_steps
    from gpucast.measure.tracing.unrecorded import SecondRun

    limits = Limits(after, seconds, calls, whole_graphs=graphs == "whole")
    if full:
        limits = replace(limits, phase=0.0)
    watcher = _Line(shown=not quiet and sys.stderr.isatty())
    look = partial(has_steps, wanted=steps, range_name=range_name, light=not full)
    enough = look if steps else None
    second = None if once else SecondRun(program, limits, watcher, range_name)
    try:
        recorded = run(program, output, limits, watcher, enough=enough, again=second, force=force)
    finally:
        watcher.clear()
    if recorded.written:
        warn(*recorded.problems)
        if second and second.problem:
            warn(second.problem)
        if not quiet:
            _say(_summary(output, recorded))
            if second and second.seconds:
                _say(f"run again unrecorded: a step takes {duration(second.seconds)}")
    if recorded.status:
        raise typer.Exit(recorded.status if recorded.status > 0 else 128 - recorded.status)
    if recorded.written and recorded.problems:
        raise typer.Exit(1)


@app.command()
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


@app.command()
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


@app.command("import")
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


@app.command()
def calls(
    trace: Path = TRACE,
    output: Path = option("Where to write.", "--output", "-o", default=..., metavar="CALLS.jsonl"),
    steps: int = option("Consecutive steps, at most.", default=12, min=5),
    range_name: str | None = RANGE,
    force: bool = options.FORCE,
) -> None:
    """Write what some steps asked of their GPUs, a line a call (gpucast.calls/1)."""
    from gpucast.data.traces import find_steps, read
    from gpucast.paths.traced import program_of
    from gpucast.paths.traced.call_file import write_calls
    from gpucast.util.files import check_output

    check_output(output, force=force)
    recorded = read(trace)
    program = program_of(recorded, find_steps(recorded, range_name), most_steps=steps)
    warn(*program.warnings)
    write_calls(program, output, force=force)
    say(f"{program.steps} steps, {len(program)} calls")
    say(f"written: {output}")


def _summary(output: Path, recorded: Recorded) -> str:
    counts = [
        _counted(recorded.processes, "process", "processes"),
        _counted(recorded.calls, "call", "calls"),
        f"{recorded.work:,} pieces of GPU work",
        f"{recorded.lost:,} lost",
        f"{recorded.size / 1e6:.3g} MB",
    ]
    if recorded.cut:
        counts.insert(1, f"{recorded.cut} of them cut off")
    return f"{output}: {', '.join(counts)}; next: gpucast trace show {output}"


def _counted(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"


def _say(text: str) -> None:
    print(f"gpucast: {text}", file=sys.stderr)


class _Line:
    """Progress on the last line of a terminal."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._words = "recording"
        self._dirty = False

    def recording(self, so_far: Recorded) -> None:
        """Show the number of records."""
        if self._shown:
            calls, size = f"{so_far.calls:,} calls", f"{so_far.size / 1e6:.3g} MB"
            print(f"\r\033[K{self._words}: {calls}, {size}", end="", file=sys.stderr, flush=True)
            self._dirty = True

    def enough(self) -> None:
        """Show that the program continues without being recorded."""
        self._words = "recorded enough; waiting for the program's end"

    def clear(self) -> None:
        """Clear the line for other output."""
        if self._dirty:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._dirty = False
