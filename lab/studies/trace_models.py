"""How good are models of other paths made of native traces, at sizes that were not traced?

    .venv/bin/python lab/studies/trace_models.py DATA FOLDER [-o TABLE.md]

DATA: what ``lab/gpu.sh traces`` measured; FOLDER: the traces it recorded (*.zip). For each
program and case with traces of at least four cells, a model of each path is made of all traces but
those of one size, and its forecasts of that size are held against the steps measured there: of the
largest size, and of each of the others. Beside them stands what the left-out trace itself gives on
that path: an error that both have is the simulation's, not the model's.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

import gpucast
from gpucast.data import jsonl
from gpucast.data.dataset import Dataset
from gpucast.data.records import Step
from gpucast.data.traces import find_steps, phases, read
from gpucast.data.traces.steps import ProcessSteps
from gpucast.data.traces.trace import Trace
from gpucast.errors import GpucastError, InputError
from gpucast.paths.replay.from_trace import program_of
from gpucast.paths.replay.models import CellOnPath, cell_on, fitted
from gpucast.paths.replay.path import PathCosts
from gpucast.util import files
from tracing.cells import NATIVE, RECORDED, Cell, cell_of, costs_of, traces_in, visits
from tracing.outcomes import grouped_steps, repeats_of

Measured = dict[Cell, dict[str, list[float]]]
OnPaths = dict[str, CellOnPath]
FEWEST = 4
"""Cells of a program."""
KINDS = ("largest n", "another n")


@dataclass(frozen=True)
class Forecast:
    """A left-out cell on a path, s; ``kind``: which size was left out; ``alone``: its own trace on
    the path."""

    program: str
    path: str
    kind: str
    n: int
    gpus: int
    measured: float
    seconds: float
    low: float
    high: float
    alone: float

    @property
    def error(self) -> float:
        """Relative."""
        return self.seconds / self.measured - 1

    @property
    def covered(self) -> bool:
        """Whether the measured step lies in the 90 % interval."""
        return self.low <= self.measured <= self.high

    @property
    def half_width(self) -> float:
        """Relative half width of the interval: half of its logarithm's width."""
        return float(np.log(self.high / self.low)) / 2


@dataclass(frozen=True)
class Found:
    """A trace of a measured cell: its steps, and how many of them one of the program's is."""

    cell: Cell
    trace: Trace
    steps: ProcessSteps
    repeats: float


def found_in(file: Path, measured: Measured) -> Found | None:
    """A trace's steps; None where nothing was measured of its cell.

    Raises:
        InputError: it has no steps.
    """
    trace = read(file)
    cell = cell_of(trace.run)
    if cell is None or NATIVE not in measured.get(cell, {}):
        return None
    steps = find_steps(trace).main
    recorded = measured[cell].get(RECORDED, measured[cell][NATIVE])
    return Found(cell, trace, steps, repeats_of(steps, statistics.median(recorded)))


def alike(found: Sequence[Found]) -> list[Found]:
    """Traces of a program and number of GPUs, one of whose steps is as many found ones in all of
    them where it is several in each: one ratio of times is not exact, most of them are."""
    if any(each.repeats < 2 for each in found):
        return list(found)
    usual = statistics.mode(each.repeats for each in found)
    return [replace(each, repeats=usual) for each in found]


def on_paths(found: Found, measured: Measured, paths: dict[str, PathCosts]) -> OnPaths:
    """A trace's cell on each path."""
    cell, trace, native = found.cell, found.trace, statistics.median(measured[found.cell][NATIVE])
    share = min(1.0, found.repeats)
    if not phases.has_light(trace.processes[found.steps.process]):
        trace = replace(trace, run=replace(trace.run, seconds_untraced=native / share))
    program = program_of(trace, grouped_steps(found.steps, found.repeats))
    record = jsonl.record(
        {
            "kind": "step", "machine": "traced", "path": NATIVE, "program": cell.program,
            **({"case": cell.case} if cell.case else {}),
            "n": cell.n, "gpus": cell.gpus, "seconds": [native],
        }
    )  # fmt: skip
    assert isinstance(record, Step)
    return {path: cell_on(record, [program], of, share=share) for path, of in paths.items()}


def held_out(
    of: dict[Cell, OnPaths], measured: Measured, data: Dataset, paths: dict[str, PathCosts]
) -> Iterator[Forecast]:
    """Forecasts of each size of a program, on each path, by the traces of the others."""
    sizes = sorted({cell.n for cell in of})
    for path, costs in paths.items():
        for size in sizes:
            known = [each[path] for cell, each in of.items() if cell.n != size]
            left = [cell for cell in of if cell.n == size and path in measured[cell]]
            try:
                model = fitted(known, data, costs, "traces").model
            except InputError:
                continue
            found = model.forecasts([each.n for each in left], [each.gpus for each in left])
            for at, cell in enumerate(left):
                name = f"{cell.program} ({cell.case})" if cell.case else cell.program
                yield Forecast(
                    program=name,
                    path=path,
                    kind=KINDS[size != sizes[-1]],
                    n=cell.n,
                    gpus=cell.gpus,
                    measured=statistics.median(measured[cell][path]),
                    seconds=float(found.seconds[at]),
                    low=float(found.low[at]),
                    high=float(found.high[at]),
                    alone=of[cell][path].seconds,
                )


def run(data: Dataset, folder: Path) -> tuple[pd.DataFrame, list[str]]:
    """All forecasts, and the programs of which there are too few cells.

    Raises:
        InputError: no traces.
    """
    traces = traces_in(folder)
    measured = {cell: dict(of) for cell, of in visits(data).items()}
    paths = costs_of(data)
    found = [each for each in (found_in(file, measured) for file in traces) if each is not None]
    groups: dict[tuple[str, str, int], list[Found]] = defaultdict(list)
    for each in found:
        groups[each.cell.program, each.cell.case, each.cell.gpus].append(each)
    programs: dict[str, dict[Cell, OnPaths]] = defaultdict(dict)
    for (program, case, _), some in groups.items():
        for each in alike(some):
            programs[f"{program} {case}"][each.cell] = on_paths(each, measured, paths)
    rows: list[Forecast] = []
    without = []
    for name, of in programs.items():
        made = list(held_out(of, measured, data, paths)) if len(of) >= FEWEST else []
        rows += made
        if not made:
            without.append(name.strip())
    derived = ("error", "covered", "half_width")
    return pd.DataFrame(
        [{**vars(each), **{name: getattr(each, name) for name in derived}} for each in rows]
    ), without


def summary(rows: pd.DataFrame) -> str:
    """A table: a line for each program, path and kind, and for all."""
    lines = [
        "| left out | path | program | forecasts | median error | 90 % within | half-width | "
        "its own trace: median error |",
        "| :-- | :-- | :-- | --: | --: | --: | --: | --: |",
    ]
    for kind in KINDS:
        own = rows[rows.kind == kind]
        groups = [(path, "all", some) for path, some in own.groupby("path")]
        groups += [(path, name, some) for (path, name), some in own.groupby(["path", "program"])]
        for path, name, some in sorted(groups, key=lambda each: each[:2]):
            shown = (
                some.error.abs().median(),
                some.covered.mean(),
                some.half_width.median(),
                (some.alone / some.measured - 1).abs().median(),
            )
            figures = " | ".join(f"{100 * each:.0f} %" for each in shown)
            lines.append(f"| {kind} | {path} | {name} | {len(some)} | {figures} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", help="bundled name or file")
    parser.add_argument("traces", type=Path, metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path, help="file for the table")
    options = parser.parse_args(arguments)
    try:
        rows, without = run(gpucast.load(options.data), options.traces)
        text = summary(rows)
        if without:
            text += f"\nToo few cells: {', '.join(without)}.\n"
        if options.output is not None:
            files.write_text(options.output, text, force=True)
    except GpucastError as error:
        print(f"trace_models.py: error: {error}", file=sys.stderr)
        return error.exit_status
    print(text, end="")
    columns = ["program", "path", "n", "gpus", "measured", "seconds", "low", "high", "error"]
    print(rows[rows.kind == KINDS[0]][columns].to_string(index=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
