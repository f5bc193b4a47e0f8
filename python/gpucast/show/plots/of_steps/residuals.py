"""How far the model is off, against n.

Measured steps over its forecasts, in percent, beside its 90 % band.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from gpucast.show.plots import steps, style
from gpucast.show.plots.step_series import Series
from gpucast.show.plots.steps import Asked, Drawing

AXIS, CHOSEN = "-n", steps.EACH_COUNT


def drawings(asked: Asked) -> Iterator[Drawing]:
    """Yield the figure, where a model and measured steps are of the same path."""
    if _comparable(asked.series):
        yield Drawing("residuals", "Measured over forecast", residuals, asked.counts, _reading)


def why_not(series: Sequence[Series]) -> str:
    """Return why there may be none."""
    return "no path has both measured steps and a model"


@style.styled
def residuals(
    series: Sequence[Series], counts: Sequence[int], title: str, caption: str = ""
) -> Figure:
    """Draw measured over forecast steps against n, one mark per GPU count, one panel per path."""
    drawn = _comparable(series)
    figure, grid = style.several(len(drawn), 3, title, caption, sharex=True, sharey=True)
    for axes, own in zip(grid, drawn, strict=True):
        for at, count in enumerate(counts):
            points = {n: point for (n, gpus), point in own.points.items() if gpus == count}
            n = np.array([*points])
            forecasts = steps.forecasts_at(own.model, n, np.full(n.size, float(count)))
            if forecasts is None or not points:
                continue
            band = np.array([forecasts.low, forecasts.high])
            measured = np.array([(p.seconds, p.low, p.high) for p in points.values()]).T
            low, high = 100 * (band / forecasts.seconds - 1)
            style.band(axes, n, low, high, at)
            percent = 100 * (measured / forecasts.seconds - 1)
            style.points(axes, n, percent[0], percent[1:], at)
        axes.axhline(0, color="black", lw=0.6)
        steps.percent_axes(axes, steps.size_label(series))
        axes.set_title(own.label)
    grid[0].set_ylabel("measured over forecast")
    entries = [(f"N = {count}", at) for at, count in enumerate(counts)]
    steps.key(figure, entries, [replace(own, model=None) for own in drawn])
    return figure


def _comparable(series: Sequence[Series]) -> list[Series]:
    return [own for own in series if own.model is not None and own.points]


def _reading(series: Sequence[Series]) -> str:
    return (
        "Points: medians measured, over the model's forecast (bars: 95 % intervals or rounding). "
        "Bands: the forecast's 90 % interval."
    )
