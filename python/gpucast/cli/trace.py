"""``gpucast trace``: record one run of a CUDA program; a sub-command for each use of a trace."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer
from typer.core import TyperGroup

from gpucast.cli import trace_show
from gpucast.cli.options import argument, flag, option
from gpucast.cli.output import warn

if TYPE_CHECKING:
    from gpucast.measure.tracing import Recorded
    from gpucast.measure.tracing.recording import Enough


class _Group(TyperGroup):
    """``gpucast trace -- PROGRAM`` is ``gpucast trace record -- PROGRAM``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        if args and not known:
            args = ["record", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(rich_markup_mode=None, cls=_Group)
for _name, _function in trace_show.SUBCOMMANDS:
    app.command(_name)(_function)


@app.callback()
def callback() -> None:
    """Record one run of a CUDA program, as it is: gpucast trace [-o T] -- PROGRAM ARGUMENTS."""


@app.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
def record(
    program: list[str] = argument("-- PROGRAM ARGUMENTS"),
    output: Path = option("The trace.", "-o", "--output", default=Path("trace.zip")),
    steps: int = option("Record so many steps and no more; 0: the whole run.", default=200, min=0),
    range_name: str | None = option("NVTX range that is a step.", "--range"),
    after: float = option("Seconds of each process that are left out first.", default=0.0, min=0),
    seconds: float = option("Record so many seconds and no more; 0: no limit.", default=0.0, min=0),
    calls: int = option(
        "Record so many calls of a process and no more; 0: no limit.", default=2_000_000, min=0
    ),
    graphs: Literal["nodes", "whole"] = option(
        "CUDA graphs: a row for each node, or for each launch (costs less).", default="nodes"
    ),
    full: bool = flag(
        "--full", "Record the GPUs' work all the time, not in a quarter of it (slows programs)."
    ),
    force: bool = flag("--force", "Replace an existing trace."),
    quiet: bool = flag("--quiet", "No progress, no summary."),
) -> None:
    """Run a program and record what it asks of its GPUs (`record` may be left out)."""
    from gpucast.measure.tracing import Limits
    from gpucast.measure.tracing import record as run

    limits = Limits(after, seconds, calls, whole_graphs=graphs == "whole")
    if full:
        limits = replace(limits, phase=0.0)
    watcher = _Line(shown=not quiet and sys.stderr.isatty())
    enough = _has_steps(steps, range_name, light=not full) if steps else None
    try:
        recorded = run(program, output, limits, watcher, enough=enough, force=force)
    finally:
        watcher.clear()
    if recorded.written:
        warn(*recorded.problems)
        if not quiet:
            _say(_summary(output, recorded))
    if recorded.status:
        raise typer.Exit(recorded.status if recorded.status > 0 else 128 - recorded.status)
    if recorded.written and recorded.problems:
        raise typer.Exit(1)


def _has_steps(wanted: int, range_name: str | None, *, light: bool) -> Enough:
    def has_steps(folder: Path) -> bool:
        from gpucast.measure.tracing import enough  # reads tables, which takes a second to load

        return enough.has_steps(folder, wanted, range_name, light=light)

    return has_steps


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
    """Progress, on a terminal's last line."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._words = "recording"
        self._dirty = False

    def recording(self, so_far: Recorded) -> None:
        """Says how much there is."""
        if self._shown:
            calls, size = f"{so_far.calls:,} calls", f"{so_far.size / 1e6:.3g} MB"
            print(f"\r\033[K{self._words}: {calls}, {size}", end="", file=sys.stderr, flush=True)
            self._dirty = True

    def enough(self) -> None:
        """Says that the program goes on unrecorded."""
        self._words = "recorded enough; waiting for the program's end"

    def clear(self) -> None:
        """Leaves the line to others."""
        if self._dirty:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._dirty = False
