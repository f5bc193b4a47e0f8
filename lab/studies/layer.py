"""How good are forecasts on paths of a layer that played no part in choosing rules?

    .venv/bin/python lab/studies/layer.py DATA FOLDER -o docs/results/layer.md

DATA: measurements of ``lab/gpu.sh networks``; FOLDER: native traces of its programs (*.zip) from
another machine of the same kind. Each path is described by its launches, transfers and skeletons
alone: statements of machines about the layer are not read, no step over it is fitted, and intervals
are those of ``gpucast what-if``. Writes the page and a table of all cells (the page's name with
.csv).
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import gpucast
from gpucast.errors import GpucastError
from gpucast.paths.traced.measured import Curve
from gpucast.paths.traced.path import PathCosts
from gpucast.paths.traced.program import Memory
from gpucast.util import files
from gpucast.util.units import duration
from pages import missed, percent, table, written
from traces import parser_of, run
from tracing.cells import costs_of, nothing_stated
from tracing.outcomes import outcomes

MEDIAN, COVERED = 0.12, 0.80
"""Targets: the largest errors, and the least share in intervals."""
_HEADS = ["", "cells", "median error", "p95", "bias", "in interval", "right"]


def page(
    rows: pd.DataFrame,
    as_recorded: pd.DataFrame,
    costs: Mapping[str, PathCosts],
    left_out: Mapping[str, str],
    *,
    title: str,
    command: str,
    cells: str,
) -> str:
    """The page in Markdown. ``rows``: forecasts from the measured native step; ``as_recorded``:
    from the traces' own; ``cells``: a file in its folder with a row for each cell and path."""
    by_cell = as_recorded.groupby(["program", "case", "n", "gpus"])
    pinned = Memory.pinned
    path_rows = [
        [path, duration(one.turn), duration(one.there.launch),
         _rate(one.there.up[pinned]), _rate(one.there.down[pinned])]
        for path, one in costs.items()
    ]  # fmt: skip
    return written(
        Path(__file__).with_name("layer.md.jinja"),
        rows=rows,
        cells=len(by_cell),
        paths=costs,
        about=f" ({title})" if title else "",
        error=rows.error.abs(),
        natively=by_cell.native_error.first(),
        percent=percent,
        short=table(_HEADS, [_sums("all", rows), *_by(rows, ["path"])]),
        median=MEDIAN,
        covered=COVERED,
        recorded=table(_HEADS, [_sums("all", as_recorded), *_by(as_recorded, ["path"])]),
        path_table=table(["", "a turn", "a launch", "to the GPU", "back"], path_rows),
        programs=table(["path, program", *_HEADS[1:]], _by(rows, ["path", "program"])),
        table=cells,
        command=command,
        left_out=left_out,
    )


def _rate(copies: Curve) -> str:
    """The bandwidth over the last three quarters of the largest copies."""
    most = copies.sizes[-1]
    most_seconds, fewer_seconds = copies.at(most * np.array([1.0, 0.25]))
    return f"{8e-9 * 0.75 * most / (most_seconds - fewer_seconds):.2g} Gbit/s"


def _by(rows: pd.DataFrame, keys: list[str]) -> list[list[object]]:
    order = {path: place for place, path in enumerate(rows.path.unique())}
    ordered = rows.sort_values("path", key=lambda paths: paths.map(order), kind="stable")
    return [_sums(" ".join(key), own) for key, own in ordered.groupby(keys, sort=False)]


def _sums(name: str, rows: pd.DataFrame) -> list[object]:
    error, covered = rows.error.abs(), rows.covered.mean()
    return [
        name,
        len(rows),
        missed(percent(error.median()), bool(error.median() <= MEDIAN)),
        percent(error.quantile(0.95)),
        percent(rows.error.median()),
        missed(percent(covered), bool(covered >= COVERED)),
        percent(rows.right.mean()),
    ]


def main(arguments: list[str] | None = None) -> int:
    options = parser_of(__doc__).parse_args(arguments)
    given = sys.argv[1:] if arguments is None else arguments
    to: Path = options.output
    try:
        data = nothing_stated(gpucast.load(options.data))
        (rows, left_out), (as_recorded, _) = (
            run(
                data,
                options.traces,
                options.jobs,
                partial(outcomes, native_of_trace=native_of_trace),
                learns=False,
            )
            for native_of_trace in (False, True)
        )
        cells = to.with_suffix(".csv")
        text = page(
            rows,
            as_recorded,
            costs_of(data),
            left_out,
            title=data.title(),
            command=shlex.join(["python", "lab/studies/layer.py", *given]),
            cells=cells.name,
        )
        files.write_text(cells, rows.to_csv(index=False, float_format="%.5g"), force=True)
        files.write_text(to, text, force=True)
    except GpucastError as error:
        print(f"layer.py: error: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
