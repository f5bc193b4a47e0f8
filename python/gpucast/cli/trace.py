"""``gpucast trace``: record one run of a CUDA program; a sub-command for each use of a trace."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
from typer.core import TyperGroup

from gpucast.cli import options
from gpucast.cli.options import argument, flag, option
from gpucast.cli.output import note, print_json, say, warn
from gpucast.data.traces.summary import GpuTime, OtherKind, Summary, Wait, WorkTime
from gpucast.data.traces.trace import Trace
from gpucast.errors import InputError
from gpucast.util.tables import Column, print_rows
from gpucast.util.typed_json import to_json
from gpucast.util.units import bytes_in_words, duration, percent

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
    notes = _notes(read_trace, summaries)
    if json:
        print_json(_answer(read_trace, summaries, notes))
        return
    note(*notes)
    _print_summary(read_trace, summaries)
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


# --- output of show, as text and as JSON ---


MOST_ROWS = 12
FEW = 0.5
"""Steps with a smaller share of the GPUs' time may be the wrong ones."""


def _answer(trace: Trace, summaries: list[Summary], notes: list[str]) -> dict[str, Any]:
    return {
        "trace": trace.file,
        "source": trace.run.source,
        "command": trace.run.command,
        "machine": to_json(trace.run.machine),
        "seconds_untraced": trace.run.seconds_untraced,
        "processes": [to_json(summary) for summary in summaries],
        "notes": notes,
    }


def _notes(trace: Trace, summaries: list[Summary]) -> list[str]:
    lines = list(trace.missing)
    for process in trace.processes:
        lacking, phases = process.lacking_phases, len(process.phases)
        for many, words in (
            (process.lost, "{:,} records were lost; calls without work are shown as such"),
            (process.cut, f"the recording was cut off; {', '.join(process.cut)} end early"),
            (
                lacking,
                f"kernels were not recorded in {lacking} of {phases} phases of the recording, "
                "whose steps are left out",
            ),
            (
                process.unnumbered,
                "{:,} calls bear a number of others; what they asked for is left out",
            ),
            (process.untimed, "{:,} rows without times are left out"),
        ):
            if many:
                lines.append(f"process {process.pid}: {words.format(many)}")
    with_steps = {summary.process for summary in summaries}
    left = [
        str(process.pid)
        for at, process in enumerate(trace.processes)
        if at not in with_steps and len(process.work)
    ]
    if left:
        lines.append(f"no repeating step in process {', '.join(left)}")
    lines += [
        f"process {summary.pid}: {percent(1 - summary.steps.gpu_share, 0)} of the GPUs' time in "
        "the trace is not in steps, but before or after them"
        for summary in summaries
        if summary.steps.gpu_share < FEW
    ]
    return lines + [line for summary in summaries for line in _clocks(summary)]


def _clocks(summary: Summary) -> list[str]:
    low, high = summary.skew.low, summary.skew.high
    if low is not None and low > 0:
        behind = f"at least {duration(low)} behind"
    elif high is not None and high < 0:
        behind = f"at least {duration(-high)} ahead of"
    else:
        return []
    return [f"process {summary.pid}: the GPUs' clock is {behind} the host's"]


def _print_summary(trace: Trace, summaries: list[Summary]) -> None:
    """Print the first process in full; with several, a line for each."""
    main = summaries[0]
    command = " ".join(trace.run.command) or main.program
    machine = trace.run.machine
    gpus = ", ".join(dict.fromkeys(machine.gpus))
    where = ", ".join(filter(None, (machine.name, gpus)))
    say(f"{command}{f' on {where}' if where else ''} (recorded by {trace.run.source})")
    _print_step(main)
    untraced = trace.run.seconds_untraced
    if untraced:
        cost = percent(main.steps.seconds / untraced - 1)
        say(f"      without recording {duration(untraced)}: recording takes {cost} more")
    print()
    _print_times(main)
    print()
    _print_work(main)
    print()
    _print_waits(main)
    if len(summaries) > 1:
        print()
        _print_processes(summaries)


def _print_step(main: Summary) -> None:
    steps = main.steps
    left = steps.found - steps.kept - steps.light
    say(
        f"step: {duration(steps.seconds)}, median of {steps.kept} "
        f"(90 % of them {duration(steps.low)} to {duration(steps.high)})"
        + (f"; {left} more left out: warm-up, outliers" if left else "")
    )
    say(f"      {steps.how}; {percent(steps.gpu_share, 0)} of the GPUs' time in the trace")
    if steps.light_seconds is not None:
        say(
            f"      {duration(steps.light_seconds)} natively: median of {steps.light} without "
            "records of GPU work, less what noting their calls takes"
        )
    for kind in steps.others:
        say(f"      {_other_kind(kind, steps.calls)}: {duration(kind.seconds)}")
    if left and not steps.kept:
        print("      no step is typical: the numbers are of all")


def _other_kind(kind: OtherKind, usual: int) -> str:
    more = kind.calls - usual
    calls = f"{abs(more)} call{'s' * (abs(more) != 1)} {'more' if more > 0 else 'fewer'}"
    does = calls if more else "as many calls, but others"
    if kind.every is None:
        return f"{kind.steps} steps make {does}"
    return f"every {_ordinal(kind.every)} step makes {does}"


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def _print_times(main: Summary) -> None:
    mean = main.steps.mean
    rows: list[tuple[str, float]] = [
        ("host: waits for the GPU", main.host.waiting),
        ("host: other CUDA calls", main.host.calls),
        ("host: outside of CUDA", main.host.outside),
    ]
    for gpu in main.gpus:
        rows += _gpu_rows(gpu, several=len(main.gpus) > 1)
    print_rows(
        rows,
        [
            Column("where the time goes", 0),
            Column("time a step", 1, duration),
            Column("share", lambda row: row[1] / mean, percent),
        ],
    )


def _gpu_rows(gpu: GpuTime, *, several: bool) -> list[tuple[str, float]]:
    name = f"GPU {gpu.device}" if several else "GPU"
    rows = [(f"{name}: kernels alone", gpu.kernels), (f"{name}: copies alone", gpu.copies)]
    if gpu.both:
        rows.append((f"{name}: kernels and copies at once", gpu.both))
    return [*rows, (f"{name}: idle", gpu.idle)]


def _a_step(main: Summary) -> list[Column]:
    """Columns: how often a kind of work or wait occurs in a step, its bytes and its time."""
    return [
        Column("times a step", "count", ".3g"),
        Column("bytes a step", lambda row: row.bytes or None, bytes_in_words),
        Column("time a step", "seconds", duration),
        Column("share", lambda row: row.seconds / main.steps.mean, percent),
    ]


def _print_work(main: Summary) -> None:
    columns = [Column("GPU work", "kind"), Column("name", "name"), *_a_step(main)]
    print_rows(main.work[:MOST_ROWS], columns)
    _print_rest(main.work)


def _print_waits(main: Summary) -> None:
    if not main.waits:
        print("no call makes the host wait")
        return
    print_rows(
        main.waits[:MOST_ROWS],
        [
            Column("host waits in", "call"),
            Column("for", "what"),
            Column("after kernel", lambda wait: wait.after or "(step before)"),
            *_a_step(main),
        ],
    )
    _print_rest(main.waits)


def _print_rest(rows: Sequence[WorkTime | Wait]) -> None:
    """Print a line about the rows that a table omits."""
    rest = rows[MOST_ROWS:]
    if rest:
        say(f"and {len(rest)} more: {duration(sum(row.seconds for row in rest))} a step")


def _print_processes(summaries: list[Summary]) -> None:
    print_rows(
        summaries,
        [
            Column("process", "pid"),
            Column("rank", "rank", side="r"),
            Column("steps", lambda it: it.steps.kept),
            Column("step", lambda it: it.steps.seconds, duration),
            Column("host waits", lambda it: it.host.waiting / it.steps.mean, percent),
            Column("GPU busy", lambda it: max((gpu.busy for gpu in it.gpus), default=0.0), percent),
        ],
    )
