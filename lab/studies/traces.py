"""How good are forecasts of other paths from one native trace, compared with measured steps?

    .venv/bin/python lab/studies/traces.py DATA FOLDER -o docs/results/traces.md [--also DATA ...]

DATA: measurements of ``lab/gpu.sh traces``; FOLDER: the traces that it recorded (*.zip). For each
program, case, size and number of GPUs in both, the step on every other path is forecast from the
trace and from the times of transfers and launches on that path, and compared with the steps
measured there. ``--also``: other datasets, of other machines and paths, whose steps of the kernel
``tuned`` are compared with forecasts from its traces. Writes the page, its picture (in images/) and
a table of all cells (the page's name with .csv). The parts are in tracing/.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import pandas as pd

import gpucast
from gpucast.data.dataset import Dataset
from gpucast.data.traces import read
from gpucast.errors import GpucastError, InputError
from gpucast.paths.traced.path import PathCosts
from gpucast.show.plots import style
from gpucast.util import files
from gpucast.util.processes import spread
from tracing.cells import NATIVE, Cell, cell_of, costs_of, traces_in, visits
from tracing.outcomes import Outcome, outcomes, table
from tracing.page import page, picture

RULES = "Which rules there are was decided with these programs at hand."

Answer = tuple[list[Outcome], str]
"""The outcomes of a trace, or the reason why there are none."""
Ask = Callable[..., Iterable[Outcome]]
"""``outcomes``, possibly with other settings."""


def answered(
    file: Path,
    measured: dict[Cell, dict[str, list[float]]],
    paths: dict[str, PathCosts],
    ask: Ask = outcomes,
) -> Answer:
    """The outcomes of a trace."""
    try:
        trace = read(file)
        cell = cell_of(trace.run)
        if cell is None or NATIVE not in measured.get(cell, {}):
            return [], "not measured"
        return list(ask(cell, trace, measured[cell], paths)), ""
    except InputError as error:
        return [], error.message


def run(
    data: Dataset, folder: Path, jobs: int | None, ask: Ask = outcomes, *, learns: bool = True
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Outcomes of all traces, and reasons of traces without any; ``learns``: intervals are learned
    from the other programs.

    Raises:
        InputError: there are no traces, or no measured steps for them.
    """
    traces = traces_in(folder)
    measured = {cell: dict(by_path) for cell, by_path in visits(data).items()}
    paths = costs_of(data)
    tasks = [partial(answered, file, measured, paths, ask) for file in traces]
    answers = spread(tasks, jobs, lambda done, total: None)
    every = [outcome for outcomes_of, _ in answers for outcome in outcomes_of]
    if not every:
        raise InputError("no trace belongs to a measured cell", file=folder)
    left_out = {file.stem: why for file, (_, why) in zip(traces, answers, strict=True) if why}
    return table(every, learns=learns), left_out


def elsewhere(name: str, folder: Path, jobs: int | None) -> pd.DataFrame:
    """Outcomes of the mini-app's traces on the machine and the paths of another dataset."""
    data = gpucast.load(name).select(kernel="tuned")
    rows, _ = run(data, folder, jobs)
    return rows.assign(data=name)


def parser_of(documentation: str | None) -> argparse.ArgumentParser:
    """The options of a study that holds forecasts from traces against measured steps."""
    parser = argparse.ArgumentParser(
        description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", help="bundled name or file")
    parser.add_argument("traces", type=Path, metavar="FOLDER")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the page")
    parser.add_argument("--jobs", type=int, help="processes (default: as many as cores)")
    return parser


def main(arguments: list[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--also", nargs="*", default=[], metavar="DATA")
    parser.add_argument("--rules", default=RULES, help="the decisions that used these programs")
    parser.add_argument("--further", default="", help="words added to the heading")
    options = parser.parse_args(arguments)
    given = sys.argv[1:] if arguments is None else arguments
    command = shlex.join(["python", "lab/studies/traces.py", *given])
    to: Path = options.output
    try:
        data = gpucast.load(options.data)
        rows, left_out = run(data, options.traces, options.jobs)
        others = [elsewhere(name, options.traces, options.jobs) for name in options.also]
        (to.parent / "images").mkdir(parents=True, exist_ok=True)
        figure = f"images/{to.stem}.png"
        style.save(picture(rows), to.parent / figure, force=True)
        text = rows.to_csv(index=False, float_format="%.5g")
        cells = to.with_suffix(".csv")
        files.write_text(cells, text, force=True)
        page_text = page(
            rows,
            left_out,
            others,
            title=data.title(),
            rules=options.rules,
            further=options.further,
            command=command,
            figure=figure,
            cells=cells.name,
        )
        files.write_text(to, page_text, force=True)
    except GpucastError as error:
        print(f"traces.py: error: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
