"""Make traces that ship from those a campaign recorded (``lab/gpu.sh traces``).

    python lab/data/trim_traces.py build/traces/traces -o data/measured/h200-traces [--calls 2000]

Each trace keeps some consecutive steps, and as many of those whose calls alone were recorded: what
a forecast needs. Times, ids and names stay as they are; absolute paths keep their last part.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from gpucast.data.traces import find_steps, phases, read
from gpucast.data.traces.steps import ProcessSteps
from gpucast.data.traces.trace import Process, Trace
from gpucast.data.traces.writing import write
from gpucast.errors import GpucastError

FEWEST, MOST = 8, 120
"""Steps of a stretch."""

Span = tuple[int, int]
"""Nanoseconds on the host's clock."""


def trimmed(trace: Trace, calls: int) -> Trace:
    """With so many calls of each stretch, or the fewest steps; processes without steps are gone.

    Raises:
        InputError: no repeating step.
    """
    steps = find_steps(trace)
    kept = tuple(
        _within(trace.processes[each.process], _apart(_spans(each, calls)))
        for each in steps.processes
    )
    command = [_without_folder(word) for word in trace.run.command]
    return replace(trace, run=replace(trace.run, command=command), processes=kept)


def _without_folder(word: str) -> str:
    """Where programs lay is nobody's business."""
    return Path(word).name if Path(word).is_absolute() else word


def _spans(steps: ProcessSteps, calls: int) -> Iterator[Span]:
    """The end of a run of typical steps of each phase, the first that is long enough, and a step
    on both sides. A full phase in which the program ended may have lost its work."""
    count = int(np.clip(calls / max(1.0, float(steps.calls.mean())), FEWEST, MOST))
    worked = np.bincount(steps.work_step[steps.work_step >= 0], minlength=steps.count) > 0
    for phase in (phases.FULL, phases.LIGHT):
        fits = (steps.phase == phase) & (worked if phase == phases.FULL else True)
        first, end = steps.longest_run(fits, count)
        if first < end:
            last = min(end + 1, steps.count)
            yield int(steps.begins_ns[max(0, first - 1)]), int(steps.begins_ns[last])


def _apart(spans: Iterable[Span]) -> list[Span]:
    """In order, those that overlap as one."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def _within(process: Process, spans: list[Span]) -> Process:
    calls = process.calls[_in_spans(process.calls, spans)]
    asked = calls["correlation"]
    used = pd.concat(
        [calls["name"], process.work.loc[process.work["correlation"].isin(asked), "name"]]
    )
    ranges = process.ranges[_in_spans(process.ranges, spans)]
    said = {*used.tolist(), *ranges["name"].tolist(), *ranges["domain"].tolist()}
    return replace(
        process,
        program=_without_folder(process.program),
        calls=calls.reset_index(drop=True),
        work=_rows(process.work, process.work["correlation"].isin(asked)),
        waits=_rows(process.waits, process.waits["correlation"].isin(asked)),
        ranges=ranges.reset_index(drop=True),
        phases=_phases(process.phases, spans),
        names={number: name for number, name in process.names.items() if number in said},
    )


def _rows(table: pd.DataFrame, keep: pd.Series) -> pd.DataFrame:
    return table[keep].reset_index(drop=True)


def _in_spans(table: pd.DataFrame, spans: list[Span]) -> pd.Series:
    starts = table["start_ns"]
    found = pd.Series(data=False, index=table.index)
    for begin, end in spans:
        found |= (starts >= begin) & (starts < end)
    return found


def _phases(table: pd.DataFrame, spans: list[Span]) -> pd.DataFrame:
    """What of each phase lies in a span."""
    cut = [
        table.assign(
            start_ns=table["start_ns"].clip(lower=begin), end_ns=table["end_ns"].clip(upper=end)
        )
        for begin, end in spans
    ]
    found = pd.concat(cut) if cut else table
    found = found[found["start_ns"] < found["end_ns"]]
    return found.sort_values("start_ns", ignore_index=True).astype(table.dtypes)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("traces", type=Path, metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--calls", type=int, default=2000, help="of each stretch of steps")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    for file in sorted(options.traces.glob("*.zip")):
        try:
            write(trimmed(read(file), options.calls), options.output / file.name, force=True)
        except GpucastError as error:
            print(f"left out: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
