"""The page: a summary, tables by path and program, and the picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from gpucast.show.plots import style
from pages import missed, percent, table, written
from tracing.outcomes import EXTRA_SD, NATIVE_SD, WORTH_IT, covered_by, deviations

MEDIAN, P95, COVERAGE, RIGHT = 0.06, 0.20, (0.85, 0.95), 0.95
"""Targets: errors, coverage of 90 % intervals, right answers on good paths."""
ABOVE = 1.5
"""The target is this multiple of the floor if that exceeds the usual target."""

_CELL = ["program", "case", "n", "gpus"]
_HEADS = ["", "cells", "median error", "p95", "bias", "in interval", "right", "visits", "floor",
          "floor p95", "native", "recording"]  # fmt: skip


def page(
    rows: pd.DataFrame,
    left_out: Mapping[str, str],
    others: Sequence[pd.DataFrame] = (),
    *,
    title: str,
    rules: str,
    further: str = "",
    command: str,
    figure: str,
    cells: str,
) -> str:
    """The page in Markdown. ``figure``, ``cells``: files in its folder; the latter has a row for
    each cell and path."""
    median, p95 = (percent(target) for target in _targets(rows))
    targets = (
        f"median {percent(MEDIAN)}, p95 {percent(P95)}, intervals {percent(COVERAGE[0])} to "
        f"{percent(COVERAGE[1])}, right {percent(RIGHT)}; where {ABOVE} times the floor lies above "
        f"that of median or p95, it counts: of all cells, {median} and {p95}"
    )
    by_path = [_sums(str(path), own) for path, own in rows.groupby("path")]
    by_program = (_sums(" ".join(key), own) for key, own in rows.groupby(["path", "program"]))
    return written(
        Path(__file__).with_name("page.md.jinja"),
        rows=rows,
        cells=len(rows.groupby(_CELL)),
        about=f" ({title})" if title else "",
        error=rows.error.abs(),
        percent=percent,
        worth_it=WORTH_IT,
        figure=figure,
        command=command,
        short=table(_HEADS, [_sums("all", rows), *by_path]),
        targets=targets,
        learnt=deviations(rows),
        used=(NATIVE_SD, EXTRA_SD),
        used_covered=covered_by(rows, (NATIVE_SD, EXTRA_SD)).mean(),
        rules=rules,
        further=further,
        elsewhere=_elsewhere(others),
        by_program=table(["path, program", *_HEADS[1:]], by_program),
        table=cells,
        left_out=left_out,
    )


def _elsewhere(others: Sequence[pd.DataFrame]) -> str:
    """A line for each dataset and path."""
    lines = [
        [f"{name}, {path}", len(own), *map(percent, (
            own.error.abs().median(), own.error.abs().quantile(0.95), own.error.median(),
            own.covered.mean(),
        ))]
        for rows in others
        for (name, path), own in rows.groupby(["data", "path"])
    ]  # fmt: skip
    return table(["dataset, path", *_HEADS[1:6]], lines) if lines else ""


def _targets(rows: pd.DataFrame) -> tuple[float, float]:
    """The limits on median and 95th percentile; their floors are known or NaN."""
    floors = rows["floor"].median(), rows["floor"].quantile(0.95)
    median, p95 = (
        np.fmax(usual, ABOVE * floor) for usual, floor in zip((MEDIAN, P95), floors, strict=True)
    )
    return float(median), float(p95)


def _sums(name: str, rows: pd.DataFrame) -> list[object]:
    error = rows.error.abs()
    median, p95, covered = error.median(), error.quantile(0.95), rows.covered.mean()
    limits = _targets(rows)
    return [
        name,
        len(rows),
        missed(percent(median), bool(median <= limits[0])),
        missed(percent(p95), bool(p95 <= limits[1])),
        percent(rows.error.median()),
        missed(percent(covered), bool(COVERAGE[0] <= covered <= COVERAGE[1])),
        missed(percent(rows.right.mean()), bool(rows.right.mean() >= RIGHT)),
        percent(rows.spread.median()),
        percent(rows["floor"].median()),
        percent(rows["floor"].quantile(0.95)),
        percent(rows.native_error.abs().median()),
        percent(rows.recording.median()),
    ]


@style.styled
def picture(rows: pd.DataFrame) -> Figure:
    """Forecast over measured step: a panel for each path, a colour and marker for each program."""
    paths = list(dict.fromkeys(rows.path))
    figure = Figure(figsize=(style.TWO_COLUMNS, 3.4), layout="constrained")
    panels = figure.subplots(1, len(paths), sharex=True, sharey=True, squeeze=False)[0]
    both = rows[["measured", "forecast"]].to_numpy() * 1e6
    ends = (both.min() / 1.3, both.max() * 1.3)
    # The marker changes whenever all colours have been used.
    looks = [
        (colour, style.MARKERS[(at + shift) % len(style.MARKERS)])
        for shift in range(len(style.MARKERS))
        for at, colour in enumerate(style.COLOURS)
    ]
    for axes, path in zip(panels, paths, strict=True):
        axes.plot(ends, ends, color="black", lw=0.6)
        axes.fill_between(
            ends, [0.8 * end for end in ends], [1.2 * end for end in ends],
            color="black", alpha=0.08, lw=0,
        )  # fmt: skip
        for (colour, mark), (program, own) in zip(looks, rows.groupby("program"), strict=False):
            here = own[own.path == path]
            below, above = here.forecast - here.low, here.high - here.forecast
            axes.errorbar(
                here.measured * 1e6, here.forecast * 1e6,
                yerr=[below.clip(lower=0) * 1e6, above.clip(lower=0) * 1e6],
                fmt=mark, color=colour, elinewidth=0.7, label=program,
            )  # fmt: skip
        axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, title=path)
        axes.set_xlabel("measured step (µs)")
        axes.grid(which="major", alpha=0.3)
    panels[0].set_ylabel("forecast from a native trace (µs)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center")
    return figure
