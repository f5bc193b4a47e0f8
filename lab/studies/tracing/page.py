"""The page: how near, in short; by path and program; and its picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from gpucast.show.plots import style
from pages import missed, percent, table, written
from tracing.outcomes import NATIVE, WORTH_IT

MEDIAN, P95, COVERAGE, REPLAY = 0.05, 0.12, (0.80, 0.97), 0.02
"""Targets: of the forecasts' errors, of their 90 % intervals, and of the native replay's errors."""
ABOVE = 1.5
"""Times the floor: the target where that is not below the usual one."""

_CELL = ["program", "case", "n", "gpus"]
_HEADS = ["", "cells", "median error", "p95", "bias", "in interval", "right", "visits", "floor",
          "floor p95", "replay", "recording", "of calls alone", "skeleton"]  # fmt: skip


def page(
    rows: pd.DataFrame,
    left_out: Mapping[str, str],
    *,
    title: str,
    command: str,
    figure: str,
    cells: str,
) -> str:
    """Markdown. ``figure``, ``cells``: files beside it; the latter has a row a cell and path."""
    median, p95 = (percent(target) for target in _targets(rows))
    targets = (
        f"median {percent(MEDIAN)}, p95 {percent(P95)}, intervals {percent(COVERAGE[0])} to "
        f"{percent(COVERAGE[1])}, replay {percent(REPLAY)}; where the floor lies above that of "
        f"median or p95, {ABOVE} times the floor: of all cells, {median} and {p95}"
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
        made_again=_made_again(rows),
        by_program=table(["path, program", *_HEADS[1:]], by_program),
        table=cells,
        left_out=left_out,
    )


def _made_again(rows: pd.DataFrame) -> str:
    """Programs, their calls alone, and forecasts, on each path; nothing where none were made."""
    there = rows[rows.skeleton.notna()]
    if there.empty:
        return ""
    native = there.drop_duplicates(_CELL).assign(path=NATIVE)
    native = native.assign(
        measured=native.native, forecast=native.replayed, skeleton=native.skeleton_native
    )
    heads = ["path", "cells"]
    for pair in ("calls against program", "forecast against calls", "forecast against program"):
        heads += [f"{pair}: median", "p95", "bias"]
    return table(
        heads,
        [_between(str(path), own) for path, own in ((NATIVE, native), *there.groupby("path"))],
    )


def _between(name: str, rows: pd.DataFrame) -> list[object]:
    """Median and p95 of the errors' sizes, and the median error, of each pair."""
    line: list[object] = [name, len(rows)]
    for error in (
        rows.skeleton / rows.measured - 1,
        rows.forecast / rows.skeleton - 1,
        rows.forecast / rows.measured - 1,
    ):
        size = error.abs()
        line += map(percent, (size.median(), size.quantile(0.95), error.median()))
    return line


def _targets(rows: pd.DataFrame) -> tuple[float, float]:
    """The limits on median and 95th percentile; their floors are known or not a number."""
    floors = rows["floor"].median(), rows["floor"].quantile(0.95)
    median, p95 = (
        ABOVE * floor if floor > usual else usual
        for usual, floor in zip((MEDIAN, P95), floors, strict=True)
    )
    return median, p95


def _sums(name: str, rows: pd.DataFrame) -> list[object]:
    error, replay = rows.error.abs(), rows.replay_error.abs().median()
    median, p95, covered = error.median(), error.quantile(0.95), rows.covered.mean()
    limits = _targets(rows)
    return [
        name,
        len(rows),
        missed(percent(median), bool(median <= limits[0])),
        missed(percent(p95), bool(p95 <= limits[1])),
        percent(rows.error.median()),
        missed(percent(covered), bool(COVERAGE[0] <= covered <= COVERAGE[1])),
        percent(rows.right.mean()),
        percent(rows.spread.median()),
        percent(rows["floor"].median()),
        percent(rows["floor"].quantile(0.95)),
        missed(percent(replay), bool(replay <= REPLAY)),
        percent(rows.recording.median()),
        percent(rows.light_recording.median()),
        percent(rows.skeleton_error.abs().median()),
    ]


@style.styled
def picture(rows: pd.DataFrame) -> Figure:
    """Forecast over measured step: a panel a path, a colour and mark a program."""
    paths = list(dict.fromkeys(rows.path))
    figure = Figure(figsize=(style.TWO_COLUMNS, 3.4), layout="constrained")
    panels = figure.subplots(1, len(paths), sharex=True, sharey=True, squeeze=False)[0]
    both = rows[["measured", "forecast"]].to_numpy() * 1e6
    ends = (both.min() / 1.3, both.max() * 1.3)
    looks = list(zip(style.COLOURS, style.MARKERS, strict=True))
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
