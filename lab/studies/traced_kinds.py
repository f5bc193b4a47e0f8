"""Steps of one kind of GPU forecast from traces of the other, kernel by kernel.

The traces (``data/measured/h100-h200-traces``, a folder a kind; ``h200-programs`` for programs not
recorded again) are recordings by ``lab/gpu.sh kinds`` on one machine of each kind. Each holds the
step of a second run without a recorder, which is what the other kind's forecast is compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from gpucast.data.traces import read
from gpucast.data.traces.trace import Trace
from gpucast.errors import InputError
from gpucast.paths.traced.other_kind import KindForecast, trace_on_kind

MEASURED = Path(__file__).parents[2] / "data" / "measured"
FOLDERS = {
    "H100-SXM5": (MEASURED / "h100-h200-traces" / "h100",),
    "H200-SXM5": (MEASURED / "h200-programs", MEASURED / "h100-h200-traces" / "h200"),
}
"""Where traces of each kind lie; a later folder's count."""
KERNELS_NAMED = "kernels, most of known limits"
OTHER_KERNELS = "kernels, most of unknown limits"
HOST = "host, copies and waits"
"""What a step's time mostly is."""
OF_KERNELS = 0.8
"""Least share of kernels in a step whose time is mostly theirs."""


def judged() -> list[str]:
    """Rows of a Markdown table: how far steps of the other kind are from their forecasts."""
    cells = pd.DataFrame(_cells())
    lines = []
    for (own, group), part in cells.groupby(["own", "group"], sort=False):
        figures = [
            f"{part[column].abs().median():.1%}" for column in ("off", "unchanged", "work_off")
        ]
        lines.append(
            f"| {own} | {group} | {len(part)} | {' | '.join(figures)} | {part.inside.mean():.0%} |"
        )
    return lines


def _cells() -> Iterator[dict[str, object]]:
    """Yield a row for each trace and each group that it belongs to."""
    traces = {kind: _traces(folders) for kind, folders in FOLDERS.items()}
    directions = (("H100-SXM5", "H200-SXM5"), ("H200-SXM5", "H100-SXM5"))
    forecasts = {
        own: {cell: _forecast(trace, other) for cell, trace in traces[own].items()}
        for own, other in directions
    }
    for own, other in directions:
        for group in ("all", KERNELS_NAMED, OTHER_KERNELS, HOST):
            for cell, answer in forecasts[own].items():
                there = traces[other].get(cell)
                seconds = None if there is None else there.run.seconds_untraced
                if answer is None or seconds is None or group not in ("all", _group(answer)):
                    continue
                yield {
                    "own": own,
                    "group": group,
                    "off": answer.seconds / seconds - 1,
                    "unchanged": answer.native / seconds - 1,
                    "work_off": sum(share.seconds for share in answer.shares)
                    / _work(forecasts[other][cell])
                    - 1,
                    "inside": answer.low <= seconds <= answer.high,
                }


def _traces(folders: tuple[Path, ...]) -> dict[str, Trace]:
    files = {file.stem: file for folder in folders for file in sorted(folder.glob("*.zip"))}
    return {cell: read(file) for cell, file in sorted(files.items())}


def _forecast(trace: Trace, kind: str) -> KindForecast | None:
    """Return the forecast, if the trace holds enough consecutive steps with their work."""
    try:
        stepped = "step" if len(trace.processes[0].ranges) else None
        return trace_on_kind(trace, kind, range_name=stepped)
    except InputError:
        return None


def _work(answer: KindForecast | None) -> float:
    """Return the time of a step's work on the trace's kind, s; NaN if not known."""
    return np.nan if answer is None else sum(share.native for share in answer.shares)


def _group(answer: KindForecast) -> str:
    """Return whether a step is the GPU's, and whether names tell what limits most of its work."""
    by_words = {"others": 0.0, "copies": 0.0, "named": 0.0}
    for share in answer.shares:
        first_word = share.words.replace(",", " ").split()[0]
        by_words[first_word if first_word in by_words else "named"] += share.native
    if by_words["others"] + by_words["named"] < OF_KERNELS * answer.native:
        return HOST
    return KERNELS_NAMED if by_words["named"] > by_words["others"] else OTHER_KERNELS
