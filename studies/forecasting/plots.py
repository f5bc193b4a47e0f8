"""Pictures of held-out forecasts: forecast against measured time, and error over n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gpucast.plots.style import COLOURS, MARKERS

CLIP = 0.5
"""Errors beyond this are drawn at the edge."""

Cells = Sequence[Mapping[str, float]]


def mark(at: int, of: int | None = None) -> dict[str, str]:
    """How points are drawn: an open mark and a colour; the mark by ``of`` where given."""
    marker = MARKERS[(at if of is None else of) % len(MARKERS)]
    return {"marker": marker, "mfc": "none", "color": COLOURS[at % len(COLOURS)]}


def forecast_against_measured(groups: Mapping[str, Cells], title: str) -> Figure:
    """Forecast over measured step time, doubly logarithmic; the band is 10 % either way."""
    figure = Figure(figsize=(7.6, 5.0), layout="constrained")
    axes = figure.subplots()
    axes.set_title(title, fontsize="medium")
    every = [cell["measured"] for cells in groups.values() for cell in cells]
    ends = np.array([min(every) / 1.2, max(every) * 1.2])
    axes.fill_between(ends, ends / 1.1, ends * 1.1, color="#999999", alpha=0.25, lw=0)
    axes.plot(ends, ends, color="#000000", lw=0.8)
    for i, (name, cells) in enumerate(groups.items()):
        points = np.array([(cell["measured"], cell["predicted"]) for cell in cells])
        axes.plot(*points.T, ms=4, lw=0, label=name, **mark(i, i // len(COLOURS)))
    axes.set(xscale="log", yscale="log")
    axes.set(xlabel="measured, seconds a step", ylabel="forecast, seconds a step")
    axes.grid(which="major", alpha=0.3)
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    return figure


def error_over_n(groups: Mapping[str, Cells], title: str) -> Figure:
    """Relative error over n, a panel a group, a colour a GPU count."""
    across = min(3, len(groups))
    down = -(-len(groups) // across)
    figure = Figure(figsize=(3.4 * across, 1.9 * down + 0.7), layout="constrained")
    figure.suptitle(f"{title} (drawn up to {100 * CLIP:.0f} % either way)", fontsize="medium")
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    counts = sorted({cell["gpus"] for cells in groups.values() for cell in cells})
    flat = panels.ravel()
    for axes, (name, cells) in zip(flat, groups.items(), strict=False):
        _panel(axes, name, cells, counts)
    for axes in flat[len(groups) :]:
        axes.set_visible(False)
    for axes in panels[:, 0]:
        axes.set_ylabel("error, %", fontsize="small")
    for at in range(across):
        lowest = flat[max(i for i in range(at, len(groups), across))]
        lowest.set_xlabel("n", fontsize="small")
        lowest.tick_params(labelbottom=True)
    handles = [
        Line2D([], [], ms=4, label=f"N = {count}", **mark(i)) for i, count in enumerate(counts)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(counts), frameon=False)
    return figure


def _panel(axes: Axes, name: str, cells: Cells, counts: Sequence[float]) -> None:
    axes.axhline(0, color="#000000", lw=0.8)
    for i, count in enumerate(counts):
        own = sorted((cell["n"], cell["relative_error"]) for cell in cells if cell["gpus"] == count)
        n, error = np.array(own).reshape(-1, 2).T
        axes.plot(n, 100 * np.clip(error, -CLIP, CLIP), ms=3.5, lw=0.8, **mark(i))
    axes.set_xscale("log")
    axes.set_title(name, fontsize="small")
    axes.grid(which="major", alpha=0.3)
    axes.tick_params(labelsize="small")
