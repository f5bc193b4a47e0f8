"""The page: how near, in short; by path and program."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from forecasting.markdown import missed, percent, table
from tracing.outcomes import NATIVE, WORTH_IT

MEDIAN, P95, COVERAGE, REPLAY = 0.05, 0.12, (0.80, 0.97), 0.02
"""Targets: of the forecasts' errors, of their 90 % intervals, and of the native replay's errors."""
ABOVE = 1.5
"""Times the floor: the target where that is not below the usual one."""


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
    error = rows.error.abs()
    about = f" ({title})" if title else ""
    parts = [
        "# Forecasts from traces",
        f"**How near is a forecast of another path from one native trace?** {len(rows)} forecasts "
        f"of {len(rows.groupby(_CELL))} cells{about}: the median error is "
        f"**{percent(error.median())}**, the 95th percentile {percent(error.quantile(0.95))}; "
        f"{percent(rows.covered.mean())} of the measured steps lie in their 90 % interval. Whether "
        f"the path costs at most {percent(WORTH_IT)} of time is told rightly for "
        f"{percent(rows.right.mean())}.",
        f"![Forecast over measured step, a mark a cell]({figure})",
        "*A mark is a cell: program, case, size, GPUs. Bars are 90 % intervals; 20 % to either "
        "side is shaded.*",
        f"Made by `{command}`; no number on this page comes from elsewhere. A trace is some steps "
        "of one native run. What calls cost on the other path comes from launches, transfers and "
        "skeletons measured there; the program's steps there are only looked at to judge.",
        "## In short",
        table(_HEADS, [_sums("all", rows), *(_sums(*each) for each in rows.groupby("path"))]),
        f"Targets: median {percent(MEDIAN)}, p95 {percent(P95)}, intervals {percent(COVERAGE[0])} "
        f"to {percent(COVERAGE[1])}, replay {percent(REPLAY)}; where the floor lies above that of "
        f"median or p95, {ABOVE} times the floor: of all cells, {_targets(rows)}. **Bold** figures "
        "miss theirs. Visits: how far measurements of one cell, minutes apart, lie from one "
        "another (largest over smallest), in the median. Floor: the error of a visit that is "
        "forecast by the median of the others, median and p95 over cells: what a forecast would "
        "miss that knew the program on the path. Replay: the recorded calls, "
        "simulated natively, against the native step that was not recorded. Recording: by how "
        "much it lengthened steps; of calls alone: in phases in which GPUs' work was not recorded, "
        "which are to be as long as without a recorder. Skeleton: see below.",
        *_made_again(rows),
        "## By program",
        table(
            ["path, program", *_HEADS[1:]],
            [_sums(" ".join(key), of) for key, of in rows.groupby(["path", "program"])],
        ),
        "## Every cell",
        f"[{cells}]({cells}) holds a row for each cell and path, times in seconds: native, "
        "recorded, replayed, measured, forecast with its 90 % interval, and errors as shares of 1.",
    ]  # fmt: skip
    if left_out:
        why = [f"- {name}: {reason}" for name, reason in left_out.items()]
        parts += ["Traces without a forecast:", "\n".join(why)]
    return "\n\n".join(parts) + "\n"


def _made_again(rows: pd.DataFrame) -> list[str]:
    """Programs, their calls alone, and forecasts, on each path; nothing where none were made."""
    there = rows[rows.skeleton.notna()]
    if there.empty:
        return []
    native = there.drop_duplicates(_CELL).assign(path=NATIVE)
    native = native.assign(
        measured=native.native, forecast=native.replayed, skeleton=native.skeleton_native
    )
    groups = [(NATIVE, native), *there.groupby("path")]
    return [
        "## The calls made again",
        "gpucast-microbench skeleton makes a trace's calls on a path, without the program and its "
        "work: a measurement of what a forecast simulates. Between the calls and the program lies "
        "what a recording does not hold; between the forecast and the calls, what the simulation "
        "and its costs miss. Natively the forecast is the replay. The calls may be those of "
        "another recording of the program than the trace: data/measured/README.md says which.",
        table(
            ["path", "cells", "calls against program: median", "p95", "bias",
             "forecast against calls: median", "p95", "bias",
             "forecast against program: median", "p95", "bias"],
            [_between(name, of) for name, of in groups],
        ),
    ]  # fmt: skip


def _between(name: str, rows: pd.DataFrame) -> list[object]:
    errors = [
        rows.skeleton / rows.measured - 1,
        rows.forecast / rows.skeleton - 1,
        rows.forecast / rows.measured - 1,
    ]
    return [name, len(rows), *(text for each in errors for text in _spread(each))]


def _spread(errors: pd.Series) -> tuple[str, str, str]:
    """Median and p95 of their sizes, and the median error."""
    sizes = errors.abs()
    return percent(sizes.median()), percent(sizes.quantile(0.95)), percent(errors.median())


_CELL = ["program", "case", "n", "gpus"]
_HEADS = ["", "cells", "median error", "p95", "bias", "in interval", "right", "visits", "floor",
          "floor p95", "replay", "recording", "of calls alone", "skeleton"]  # fmt: skip


def _target(usual: float, floor: float) -> float:
    """The limit on a median or 95th percentile whose floor is known, or is not a number."""
    return ABOVE * floor if floor > usual else usual


def _targets(rows: pd.DataFrame) -> str:
    median = _target(MEDIAN, rows["floor"].median())
    p95 = _target(P95, rows["floor"].quantile(0.95))
    return f"{percent(median)} and {percent(p95)}"


def _sums(name: str, rows: pd.DataFrame) -> list[object]:
    error, replay = rows.error.abs(), rows.replay_error.abs().median()
    median, p95, covered = error.median(), error.quantile(0.95), rows.covered.mean()
    spread, floor, floor_p95 = (
        rows.spread.median(),
        rows["floor"].median(),
        rows["floor"].quantile(0.95),
    )
    return [
        name,
        len(rows),
        missed(percent(median), bool(median <= _target(MEDIAN, floor))),
        missed(percent(p95), bool(p95 <= _target(P95, floor_p95))),
        percent(rows.error.median()),
        missed(percent(covered), bool(COVERAGE[0] <= covered <= COVERAGE[1])),
        percent(rows.right.mean()),
        _percent(spread),
        _percent(floor),
        _percent(floor_p95),
        missed(percent(replay), bool(replay <= REPLAY)),
        percent(rows.recording.median()),
        _percent(rows.light_recording.median()),
        _percent(rows.skeleton_error.abs().median()),
    ]


def _percent(value: float) -> str:
    return percent(None if pd.isna(value) else value)
