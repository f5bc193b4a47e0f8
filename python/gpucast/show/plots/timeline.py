"""Plots the timeline of one typical step: the host's calls and waits, and each GPU's work.

Rows are host threads, then each GPU's copies by direction (each has its own copy engine) and the
kernels of its streams. Times are as recorded, with GPU times as CUPTI maps them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from gpucast.data.traces import phases, tables, waiting
from gpucast.data.traces.steps import ProcessSteps
from gpucast.data.traces.trace import Process
from gpucast.data.traces.work_names import short
from gpucast.show.plots import style
from gpucast.util.units import duration

MOST_THREADS = 4
MOST_STREAMS = 6
"""Most streams drawn for a GPU, the busiest ones."""
ROW_HEIGHT = 0.24
"""Height of a row (in)."""
_BAR = 0.72
_LEAST = 0.0012
"""Least width of a bar, as a share of the panel; shorter ones would be invisible."""
_LETTERS_OF_WIDTH = 105
"""Number of letters of small print that fit into the panel's width."""

_BEHIND_TEXT = {"facecolor": "#D9D9D9", "edgecolor": "none", "pad": 0.8}

WAITS, CALLS, KERNELS, TO_GPU, TO_HOST, OTHER = "waiting", "call", "kernel", "in", "out", "other"
_LOOKS = {
    WAITS: ("host waits", "#D9D9D9", "////"),
    CALLS: ("CUDA call", style.COLOURS[4], ""),
    KERNELS: ("kernel", style.COLOURS[0], ""),
    TO_GPU: ("copy in", style.COLOURS[2], ""),
    TO_HOST: ("copy out", style.COLOURS[1], ""),
    OTHER: ("other GPU work", style.COLOURS[3], ""),
}


@dataclass(frozen=True)
class Row:
    """A row: its label and bars (s from the step's begin)."""

    label: str
    starts: NDArray[np.float64]
    ends: NDArray[np.float64]
    looks: list[str]
    texts: list[str]


def typical_step(steps: ProcessSteps) -> int:
    """Return the usual step whose time is nearest to the median of the kept ones."""
    usual = steps.kept & (steps.kind == 0) & (steps.phase == phases.FULL)
    candidates = np.flatnonzero(usual if usual.any() else np.ones(steps.count, bool))
    seconds = steps.seconds[candidates]
    return int(candidates[np.argmin(np.abs(seconds - np.median(seconds)))])


@style.styled
def timeline(process: Process, steps: ProcessSteps) -> Figure:
    """Draw one typical step of a process."""
    at = typical_step(steps)
    begin, end = int(steps.begins_ns[at]), int(steps.begins_ns[at + 1])
    gpu_rows, omitted = _gpus(process, begin, end)
    rows = [*_threads(process, steps, begin, end), *gpu_rows]
    name = f"{process.program}{'' if process.rank is None else f', rank {process.rank}'}"
    kept = int((steps.kept & (steps.phase == phases.FULL)).sum())
    caption = (
        f"Step {at} of {steps.count}, nearest to the median of {kept} typical ones: "
        f"{steps.how}. GPU times are mapped to the host's clock and may be microseconds off."
        + (f" Not drawn: {omitted} streams that were less busy." if omitted else "")
    )
    figure, axes = style.one(
        f"{name}: a step of {duration((end - begin) / 1e9)}", caption,
        width=style.TWO_COLUMNS, height=0.85 + ROW_HEIGHT * len(rows),
    )  # fmt: skip
    _draw(axes, rows, (end - begin) / 1e9)
    return figure


def _draw(axes: Axes, rows: list[Row], length: float) -> None:
    unit, scale = next(
        (unit for unit in (("s", 1.0), ("ms", 1e3)) if length * unit[1] >= 1), ("us", 1e6)
    )
    for place, row in enumerate(rows):
        widths = np.maximum(row.ends - row.starts, _LEAST * length) * scale
        # Edges would hide narrow bars.
        narrow = widths < 4 * _LEAST * length * scale
        # Bars that begin at the very end must stay visible.
        starts = np.minimum(row.starts, length * (1 - _LEAST)) * scale
        for look, edged in dict.fromkeys(zip(row.looks, (~narrow).tolist(), strict=True)):
            own = np.array([kind == look for kind in row.looks]) & (narrow != edged)
            _, colour, hatch = _LOOKS[look]
            axes.broken_barh(
                list(zip(starts[own], widths[own], strict=True)),
                (place - _BAR / 2, _BAR),
                facecolor=colour, hatch=hatch if edged else "",
                edgecolor=("#777777" if hatch else "white") if edged else "none", linewidth=0.2,
            )  # fmt: skip
        _write_names(axes, row, place, length, scale)
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, length * scale)
    axes.set_xlabel(f"time in the step, {unit}")
    axes.grid(axis="x", alpha=0.35)
    axes.tick_params(axis="y", length=0)
    used = {look for row in rows for look in row.looks}
    shown = [
        Patch(facecolor=colour, hatch=hatch, edgecolor="#777777", label=label)
        for look, (label, colour, hatch) in _LOOKS.items()
        if look in used
    ]
    axes.legend(
        handles=shown, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=len(shown),
        borderaxespad=0.2, handlelength=1.2, columnspacing=1.2,
    )  # fmt: skip


def _write_names(axes: Axes, row: Row, place: int, length: float, scale: float) -> None:
    for start, end, look, text in zip(row.starts, row.ends, row.looks, row.texts, strict=True):
        left, right = max(start, 0.0), min(end, length)
        room = int((right - left) / length * _LETTERS_OF_WIDTH) - 1
        if not text or room < min(len(text), 6):
            continue
        shown = text if len(text) <= room else f"{text[: room - 1]}…"
        axes.text(
            (left + right) / 2 * scale, place, shown, ha="center", va="center", fontsize=5.5,
            color="black" if look in (WAITS, CALLS) else "white", clip_on=True,
            bbox=_BEHIND_TEXT if look == WAITS else None,
        )  # fmt: skip


def _threads(process: Process, steps: ProcessSteps, begin: int, end: int) -> list[Row]:
    calls = process.calls
    in_step = ((calls["start_ns"] < end) & (calls["end_ns"] > begin)).to_numpy()
    waits = waiting.of_calls(process)
    busiest = calls["thread"][in_step].value_counts().index.tolist()
    busiest.sort(key=lambda thread: thread != steps.thread)
    rows = []
    for thread in busiest[:MOST_THREADS]:
        own = in_step & (calls["thread"] == thread).to_numpy()
        looks = [WAITS if waited else CALLS for waited in waits[own].tolist()]
        texts = [process.name_of(number) for number in calls["name"][own].tolist()]
        rows.append(_row(f"host thread {thread}", calls[own], begin, looks, texts))
    return rows


def _gpus(process: Process, begin: int, end: int) -> tuple[list[Row], int]:
    """Return the rows of GPUs, and the number of streams without a row."""
    work = process.work
    work = work[(work["start_ns"] < end) & (work["end_ns"] > begin)]
    rows, left = [], 0
    several = work["device"].nunique() > 1
    for device, own in work.groupby("device"):
        where = f"GPU {device}: " if several else ""
        for direction, label, look in (
            (tables.TO_DEVICE, "copies in", TO_GPU),
            (tables.TO_HOST, "copies out", TO_HOST),
        ):
            copies = own[(own["kind"] == tables.COPY) & (own["direction"] == direction)]
            if len(copies):
                sizes = [style.binary(size, 0) for size in copies["bytes"].tolist()]
                rows.append(_row(where + label, copies, begin, [look] * len(copies), sizes))
        rest = own[~((own["kind"] == tables.COPY) & own["direction"].isin((1, 2)))]
        taken = (rest["end_ns"] - rest["start_ns"]).groupby(rest["stream"]).sum()
        left += max(0, len(taken) - MOST_STREAMS)
        shown = taken.sort_values(ascending=False, kind="stable").index[:MOST_STREAMS]
        for stream in sorted(shown):
            done = rest[rest["stream"] == stream]
            looks = [KERNELS if kind == tables.KERNEL else OTHER for kind in done["kind"].tolist()]
            texts = [
                short(process.name_of(name)).rpartition("::")[2] if kind == tables.KERNEL else ""
                for kind, name in zip(done["kind"].tolist(), done["name"].tolist(), strict=True)
            ]
            rows.append(_row(f"{where}stream {stream}", done, begin, looks, texts))
    return rows, left


def _row(label: str, table: pd.DataFrame, begin: int, looks: list[str], texts: list[str]) -> Row:
    starts = (table["start_ns"].to_numpy() - begin) / 1e9
    ends = (table["end_ns"].to_numpy() - begin) / 1e9
    return Row(label, starts, ends, looks, texts)
