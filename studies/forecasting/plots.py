"""Pictures of held-out forecasts: forecast against measured time, and error over n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gpucast.plots.style import COLOURS

MARKERS = "osD^vP*X"
CLIP = 0.5
"""Errors beyond this are drawn at the edge."""

Cells = Sequence[Mapping[str, float]]


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
        axes.plot(
            [cell["measured"] for cell in cells],
            [cell["predicted"] for cell in cells],
            marker=MARKERS[i // len(COLOURS) % len(MARKERS)],
            ms=4,
            mfc="none",
            lw=0,
            color=COLOURS[i % len(COLOURS)],
            label=name,
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("measured, seconds a step")
    axes.set_ylabel("forecast, seconds a step")
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
        flat[max(i for i in range(at, len(groups), across))].set_xlabel("n", fontsize="small")
        flat[max(i for i in range(at, len(groups), across))].tick_params(labelbottom=True)
    handles = [
        Line2D([], [], marker=MARKERS[i], ms=4, mfc="none", color=COLOURS[i], label=f"N = {count}")
        for i, count in enumerate(counts)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(counts), frameon=False)
    return figure


def _panel(axes: Axes, name: str, cells: Cells, counts: Sequence[int]) -> None:
    axes.axhline(0, color="#000000", lw=0.8)
    for i, count in enumerate(counts):
        own = sorted((cell["n"], cell["relative_error"]) for cell in cells if cell["gpus"] == count)
        axes.plot(
            [n for n, _ in own],
            [100 * np.clip(error, -CLIP, CLIP) for _, error in own],
            marker=MARKERS[i % len(MARKERS)],
            ms=3.5,
            mfc="none",
            lw=0.8,
            color=COLOURS[i % len(COLOURS)],
        )
    axes.set_xscale("log")
    axes.set_title(name, fontsize="small")
    axes.grid(which="major", alpha=0.3)
    axes.tick_params(labelsize="small")
