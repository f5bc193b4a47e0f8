"""The output of ``gpucast trace show``, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpucast.cli.output import say
from gpucast.data.traces.summary import GpuTime, OtherKind, Summary, Wait, WorkTime
from gpucast.data.traces.trace import Trace
from gpucast.util.tables import Column, print_rows
from gpucast.util.typed_json import to_json
from gpucast.util.units import bytes_in_words, duration, percent

MOST_ROWS = 12
FEW = 0.5
"""Steps with a smaller share of the GPUs' time may be the wrong ones."""


def answer(trace: Trace, summaries: list[Summary], notes: list[str]) -> dict[str, Any]:
    """Return the JSON object."""
    return {
        "trace": trace.file,
        "source": trace.run.source,
        "command": trace.run.command,
        "machine": to_json(trace.run.machine),
        "seconds_untraced": trace.run.seconds_untraced,
        "processes": [to_json(summary) for summary in summaries],
        "notes": notes,
    }


def notes(trace: Trace, summaries: list[Summary]) -> list[str]:
    """Return caveats about the numbers, one per line."""
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


def print_summary(trace: Trace, summaries: list[Summary]) -> None:
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
