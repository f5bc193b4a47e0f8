"""What ``gpucast trace show`` says of a trace, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpucast.cli.output import say
from gpucast.traces.summary import GpuTime, OtherKind, Summary, Wait, WorkTime
from gpucast.traces.trace import Trace
from gpucast.util.tables import print_table
from gpucast.util.typed_json import to_json
from gpucast.util.units import bytes_in_words, duration, percent

MOST_ROWS = 12
FEW = 0.5
"""Share of the GPUs' time: steps that hold less may not be those that are meant."""


def answer(trace: Trace, summaries: list[Summary], notes: list[str]) -> dict[str, Any]:
    """The JSON object."""
    return {
        "trace": trace.file,
        "source": trace.run.source,
        "command": trace.run.command,
        "machine": to_json(trace.run.machine),
        "seconds_untraced": trace.run.seconds_untraced,
        "processes": [to_json(each) for each in summaries],
        "notes": notes,
    }


def notes(trace: Trace, summaries: list[Summary]) -> list[str]:
    """What one must know before one trusts the numbers, a line each."""
    said = list(trace.missing)
    for each in trace.processes:
        who = f"process {each.pid}"
        if each.lost:
            said.append(
                f"{who}: {each.lost:,} records were lost; calls without work are shown as such"
            )
        if each.cut:
            said.append(f"{who}: the recording was cut off; {', '.join(each.cut)} end early")
        if each.lacking_phases:
            said.append(
                f"{who}: kernels were not recorded in {each.lacking_phases} of {len(each.phases)} "
                "phases of the recording, whose steps are left out"
            )
        if each.unnumbered:
            said.append(
                f"{who}: {each.unnumbered:,} calls bear a number of others; what they asked for is "
                "left out"
            )
        if each.untimed:
            said.append(f"{who}: {each.untimed:,} rows without times are left out")
    found = {each.process for each in summaries}
    left = [
        each.pid for at, each in enumerate(trace.processes) if at not in found and len(each.work)
    ]
    if left:
        said.append(f"no repeating step in process {', '.join(map(str, left))}")
    said += [
        f"process {each.pid}: {percent(1 - each.steps.gpu_share, 0)} of the GPUs' time in the "
        "trace is not in steps, but before or after them"
        for each in summaries
        if each.steps.gpu_share < FEW
    ]
    said += [line for summary in summaries for line in _of_clocks(summary)]
    return said


def _of_clocks(summary: Summary) -> list[str]:
    low, high = summary.skew.low, summary.skew.high
    if low is not None and low > 0:
        behind = f"at least {duration(low)} behind"
    elif high is not None and high < 0:
        behind = f"at least {duration(-high)} ahead of"
    else:
        return []
    return [f"process {summary.pid}: the GPUs' clock is {behind} the host's"]


def print_summary(trace: Trace, summaries: list[Summary]) -> None:
    """The first process in full; of several, a line each."""
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
        say(f"      without recording {duration(untraced)}: recording costs {cost}")
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
    for each in steps.others:
        say(f"      {_other_kind(each, steps.calls)}: {duration(each.seconds)}")
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
    for each in main.gpus:
        rows += _gpu_rows(each, several=len(main.gpus) > 1)
    print_table(
        ("where the time goes", "time a step", "share"),
        [(name, duration(value), percent(value / mean)) for name, value in rows],
        "lrr",
    )


def _gpu_rows(gpu: GpuTime, *, several: bool) -> list[tuple[str, float]]:
    name = f"GPU {gpu.device}" if several else "GPU"
    rows = [(f"{name}: kernels alone", gpu.kernels), (f"{name}: copies alone", gpu.copies)]
    if gpu.both:
        rows.append((f"{name}: kernels and copies at once", gpu.both))
    return [*rows, (f"{name}: idle", gpu.idle)]


def _print_work(main: Summary) -> None:
    _print_rows(
        main, ("GPU work", "name"), main.work, [(each.kind, each.name) for each in main.work]
    )


def _print_waits(main: Summary) -> None:
    if not main.waits:
        print("no call makes the host wait")
        return
    columns = [(each.call, each.what, each.after or "(step before)") for each in main.waits]
    _print_rows(main, ("host waits in", "for", "after kernel"), main.waits, columns)


def _print_rows(
    main: Summary,
    heads: tuple[str, ...],
    rows: Sequence[WorkTime | Wait],
    words: Sequence[tuple[str, ...]],
) -> None:
    """Kinds of work or waits, what they are in ``words``; those that take longest."""
    print_table(
        (*heads, "times a step", "bytes a step", "time a step", "share"),
        [
            (
                *known,
                f"{row.count:.3g}",
                bytes_in_words(row.bytes) if row.bytes else None,
                duration(row.seconds),
                percent(row.seconds / main.steps.mean),
            )
            for row, known in zip(rows[:MOST_ROWS], words, strict=False)
        ],
        "l" * len(heads) + "rrrr",
    )
    rest = rows[MOST_ROWS:]
    if rest:
        say(f"and {len(rest)} more: {duration(sum(row.seconds for row in rest))} a step")


def _print_processes(summaries: list[Summary]) -> None:
    print_table(
        ("process", "rank", "steps", "step", "host waits", "GPU busy"),
        [
            (
                each.pid,
                each.rank,
                each.steps.kept,
                duration(each.steps.seconds),
                percent(each.host.waiting / each.steps.mean),
                percent(max((gpu.busy for gpu in each.gpus), default=0.0)),
            )
            for each in summaries
        ],
        "rrrrrr",
    )
