"""A forecast held against measurements that came after it: step time against the GPU count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FixedLocator, FuncFormatter, NullLocator

from gpucast.data.steps import Cell
from gpucast.model.forecaster import Forecaster
from gpucast.show.plots import style

WIDTH, HEIGHT = 5.2, 2.8
"""Inches: as wide as a line of text."""

_ROOM = 2.6
"""The axis of GPU counts goes on by this factor beyond the last point: labels stand there."""

_BELOW = 6.0
"""The axis of times goes down by this factor below the least: the key stands there."""

_GREY = "#555555"


@style.styled
def against_counts(
    model: Forecaster,
    fitted: Mapping[Cell, float],
    later: Mapping[Cell, float],
    title: str,
    caption: str = "",
) -> Figure:
    """Step time against N: a line for each n with its 90 % band, and what was measured.

    Args:
        model: fitted to ``fitted`` alone.
        fitted: seconds of the cells that the model knows; filled points.
        later: seconds of cells that it does not know; open points.
    """
    figure, axes = style.one(title, caption, width=WIDTH, height=HEIGHT)
    cells = {**fitted, **later}
    most = max(gpus for _, gpus in cells)
    for at, n in enumerate(sorted({n for n, _ in cells})):
        least = min(gpus for size, gpus in cells if size == n)
        _forecast(axes, model, float(n), least, most, at)
        for own, face in ((fitted, style.colour(at)), (later, "white")):
            points = [(gpus, seconds) for (size, gpus), seconds in own.items() if size == n]
            look = style.look(at) | {"ls": "none", "mfc": face, "ms": 3.5}
            axes.plot(*np.array(points).reshape(-1, 2).T, zorder=3, **look)
    _axes(axes, most)
    return figure


def _forecast(axes: Axes, model: Forecaster, n: float, least: int, most: int, at: int) -> None:
    """The line and band of an n, and its label at the end."""
    gpus = np.unique(np.round(np.geomspace(least, most, style.POINTS)))
    line = model.forecasts(np.full(gpus.size, n), gpus)
    colour = style.COLOURS[at]
    style.band(axes, gpus, line.low, line.high, at)
    axes.plot(gpus, line.seconds, "-", color=colour)
    label = f"{EngFormatter(places=0, sep='')(n)} {model.unit or ''}".rstrip()
    axes.annotate(
        label, (most, line.seconds[-1]), (6, 0), textcoords="offset points", va="center",
        color=colour, fontsize=7,
    )  # fmt: skip


def _axes(axes: Axes, most: int) -> None:
    style.log_axes(axes, "N, GPUs", "time of a step")
    axes.set_xlim(right=most * _ROOM)
    axes.set_ylim(bottom=axes.get_ylim()[0] / _BELOW)
    powers = [2**i for i in range(most.bit_length()) if 2**i <= most]
    axes.xaxis.set_major_locator(FixedLocator(powers))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda gpus, _: f"{gpus:.0f}"))
    style.si_axis(axes.yaxis, "s")
    marks = {"marker": "o", "ls": "none", "color": _GREY, "mew": 0.8}
    entries: list[tuple[str, dict[str, Any]]] = [
        ("fitted to these", {"mfc": _GREY, **marks}),
        ("forecast, 90 % interval", {"color": _GREY}),
        ("measured, not shown to the fit", {"mfc": "white", **marks}),
    ]
    axes.legend(handles=style.handles(entries), loc="lower left")
