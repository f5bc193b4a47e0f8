"""A forecast held against measurements that came after it: step time against the GPU count."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
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
    figure, ((axes,),) = style.panels(1, 1, title, caption, width=WIDTH, height=HEIGHT)
    cells = {**fitted, **later}
    most = max(gpus for _, gpus in cells)
    for at, n in enumerate(sorted({n for n, _ in cells})):
        least = min(gpus for size, gpus in cells if size == n)
        _forecast(axes, model, float(n), least, most, at)
        for own, face in ((fitted, style.COLOURS[at]), (later, "white")):
            points = [(gpus, seconds) for (size, gpus), seconds in own.items() if size == n]
            axes.plot(*np.array(points).reshape(-1, 2).T, style.marker(at), ls="none", mfc=face,
                      mew=0.8, color=style.COLOURS[at], zorder=3)  # fmt: skip
    _axes(axes, most)
    return figure


def _forecast(axes: Axes, model: Forecaster, n: float, least: int, most: int, at: int) -> None:
    """The line and band of an n, and its label at the end."""
    gpus = np.unique(np.round(np.geomspace(least, most, style.POINTS)))
    line = model.forecasts(np.full(gpus.size, n), gpus)
    colour = style.COLOURS[at]
    axes.fill_between(gpus, line.low, line.high, color=colour, alpha=style.BAND_ALPHA, lw=0)
    axes.plot(gpus, line.seconds, "-", color=colour)
    axes.annotate(
        _size(n, model.unit),
        (most, line.seconds[-1]),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        color=colour,
        fontsize=7,
    )


def _size(n: float, unit: str | None) -> str:
    """``10M atoms``."""
    return f"{EngFormatter(places=0, sep='')(n)} {unit or ''}".rstrip()


def _axes(axes: Axes, most: int) -> None:
    style.log_axes(axes, "N, GPUs", "time of a step")
    axes.set_xlim(right=most * _ROOM)
    axes.set_ylim(bottom=axes.get_ylim()[0] / _BELOW)
    powers = [2**i for i in range(most.bit_length()) if 2**i <= most]
    axes.xaxis.set_major_locator(FixedLocator(powers))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda gpus, _: f"{gpus:.0f}"))
    style.si_axis(axes.yaxis, "s")
    axes.legend(handles=_key(), loc="lower left")


def _key() -> list[Line2D]:
    look = {"marker": "o", "ls": "none", "color": _GREY, "mew": 0.8}
    return [
        Line2D([], [], mfc=_GREY, label="fitted to these", **look),  # type: ignore[arg-type]
        Line2D([], [], color=_GREY, label="forecast, 90 % interval"),
        Line2D([], [], mfc="white", label="measured, not shown to the fit", **look),  # type: ignore[arg-type]
    ]
