"""Plots how a program scales: time, rate, speed-up and efficiency over GPUs or nodes.

Each size has a line. Filled points were fitted, open ones were not; lines and bands are forecasts
with 90 % intervals, dashed outside the fitted range; grey lines are ideal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from gpucast.answers.scaling import THRESHOLD, Sweep, strong, weak
from gpucast.errors import InputError
from gpucast.model.asked import Numbers, as_list
from gpucast.model.fitted import Model
from gpucast.model.intervals import Array, Interval
from gpucast.model.rates import ns_per_day
from gpucast.show.plots import style
from gpucast.util.units import number

What = Literal["time", "rate", "speed-up", "efficiency"]
Over = Literal["gpus", "nodes"]

HEIGHT = 1.9
"""Height of a panel (in)."""

_POINTS = 120
_MOST_TICKS = 8
_GREY = "#555555"
_DOTTED: dict[str, Any] = {"ls": ":", "lw": 0.7}
_ENTRY = 1.7
"""Width of an entry of a key (in)."""


@dataclass(frozen=True)
class Line:
    """The data of one line: of one size, or of sizes that grow with the GPU counts.

    Attributes:
        label: label at its end.
        curve: forecasts, dense enough for a line; the first is the reference.
        points: forecasts and measurements of the requested counts.
        later: measured times (s) by GPU count that were not fitted.
    """

    label: str
    curve: Sweep
    points: Sweep
    later: Mapping[int, float] = field(default_factory=dict)


def line(points: Sweep, label: str | None = None, later: Mapping[int, float] | None = None) -> Line:
    """Return the line through a sweep's cells."""
    first, last = points.gpus[[0, -1]]
    between = np.round(np.geomspace(first, last, _POINTS))
    gpus = np.unique([*points.gpus, *between, *(later or ())])
    n = np.full(gpus.size, points.n[0])
    if points.weak:
        n = np.exp(np.interp(np.log(gpus), np.log(points.gpus), np.log(points.n)))
    if label is None:
        unit = points.model.unit or ("" if points.weak else "n")
        per = "\na GPU" if points.weak else ""
        size = short(points.n[0] / (points.gpus[0] if points.weak else 1))
        label = f"n = {size}" if unit == "n" else f"{size} {unit}".rstrip() + per
    return Line(label, Sweep(points.model, n, gpus, points.interval), points, later or {})


def short(n: float) -> str:
    """Format a size for a label: ``10M``, ``312k``."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if n >= factor:
            return f"{n / factor:.3g}{prefix}"
    return number(float(f"{n:.3g}"))


@style.styled
def figure(
    lines: Sequence[Line],
    what: Sequence[What],
    *,
    title: str = "",
    caption: str = "",
    size: tuple[float, float] | None = None,
    threshold: float | None = THRESHOLD,
    **how: Any,
) -> Figure:
    """Draw a figure with a panel for each of ``what``, one below the other.

    Args:
        size: size of the figure (in).
        threshold, how: as for ``draw``.
    """
    width, height = size or usual_size(len(what))
    made, rows = style.panels(
        len(what), 1, title, width=width, height=height / len(what), sharex=True
    )
    draw([axes for (axes,) in rows], lines, what, threshold=threshold, **how)
    caption = style.wrapped(caption, width, 6)
    key_below(made, handles(lines, what, threshold), caption)
    return made


def draw(
    panels: Sequence[Axes],
    lines: Sequence[Line],
    what: Sequence[What],
    *,
    over: Over = "gpus",
    per_node: int | None = None,
    threshold: float | None = THRESHOLD,
    labels: Mapping[str, str] | None = None,
) -> None:
    """Draw lines onto axes.

    Args:
        what: the quantity of each of the axes.
        over: what the horizontal axis counts; nodes have ``per_node`` GPUs.
        threshold: an efficiency to mark, or None.
        labels: labels of axes that replace the default, by ``x`` and the names in ``what``.

    Raises:
        InputError: ``over`` is nodes, and ``per_node`` is not given.
    """
    if over == "nodes" and not per_node:
        raise InputError("nodes need the GPUs of a node", field="gpus_per_node")
    per = float(per_node or 1) if over == "nodes" else 1.0
    words = {**_labels(lines, over), **(labels or {})}
    for axes, quantity in zip(panels, what, strict=True):
        for at, one in enumerate(lines):
            _line(axes, one, quantity, per, at)
        if quantity == "efficiency" and threshold is not None:
            axes.axhline(threshold, color="black", **_DOTTED)
        _scales(axes, quantity, [gpus / per for one in lines for gpus in one.curve.gpus[[0, -1]]])
        axes.set_ylabel(words[quantity])
        _name(axes, lines, quantity)
    panels[-1].set_xlabel(words["x"])
    for axes in panels[:-1]:
        axes.tick_params(labelbottom=False)


def _labels(lines: Sequence[Line], over: Over) -> dict[str, str]:
    references = {int(one.points.gpus[0]) for one in lines}
    named = f" (N_ref = {references.pop()})" if len(references) == 1 else ""
    known = all(one.points.model.timestep is not None for one in lines)
    return {
        "x": "nodes" if over == "nodes" else "GPUs",
        "time": "time of a step",
        "rate": "ns/day" if known else "steps/s",
        "speed-up": f"speed-up{named}",
        "efficiency": f"efficiency{named}",
    }


def _line(axes: Axes, one: Line, what: What, per: float, at: int) -> None:
    curve, points, colour = one.curve, one.points, style.colour(at)
    forecasts, x = curve.forecasts, curve.gpus / per
    best, low, high, ideal = _values(curve, what)
    # An artist, unlike a plotted line, does not extend the axes.
    axes.add_artist(Line2D(x, ideal, color="#999999", lw=0.7, zorder=1))
    style.band(axes, x, low, high, at)
    axes.plot(x, best, "--", lw=0.8, color=colour)
    inside = np.where(forecasts.extrapolated, np.nan, best)
    axes.plot(x, inside, "-", color=colour)
    for own, face in (
        (dict(zip(points.gpus.tolist(), points.measured.tolist(), strict=True)), colour),
        (one.later, "white"),
    ):
        gpus, seconds = np.array([*own]), np.array([*own.values()], dtype=np.float64)
        if gpus.size and not np.isnan(seconds).all():
            n = np.interp(gpus, curve.gpus, curve.n)
            shown = _of_times(Sweep(points.model, n, gpus), points, seconds, what)
            look = style.look(at) | {"ls": "none", "mfc": face, "ms": 3.5}
            axes.plot(gpus / per, shown, zorder=3, **look)


def _values(curve: Sweep, what: What) -> tuple[Array, Array, Array, Array]:
    """Return forecasts in a plot's quantity: values, both ends of their band, and the ideal."""
    forecasts, speeds = curve.forecasts, curve.gpus / curve.gpus[0]
    if what in ("time", "rate"):
        times = (forecasts.seconds, forecasts.low, forecasts.high)
        best, low, high = (_rate(curve, one) if what == "rate" else one for one in times)
        work = curve.n / curve.n[0] / speeds
        return best, low, high, best[0] * (1 / work if what == "rate" else work)
    scale = speeds if what == "speed-up" else np.ones(speeds.size)
    best = curve.efficiency(forecasts.seconds, forecasts.seconds[0])
    low, high = curve.efficiency_interval()
    return scale * best, scale * low, scale * high, scale


def _of_times(cells: Sweep, points: Sweep, seconds: Array, what: What) -> Array:
    """Convert times of cells to a plot's quantity, relative to the reference of ``points``."""
    if what == "time":
        return seconds
    if what == "rate":
        return _rate(cells, seconds)
    speeds = cells.gpus / points.gpus[0]
    work = cells.n / points.n[0]
    speed_up = np.asarray(work * points.of_reference_measured / seconds, dtype=np.float64)
    return speed_up if what == "speed-up" else speed_up / speeds


def _rate(cells: Sweep, seconds: Array) -> Array:
    timestep = cells.model.timestep
    return 1 / seconds if timestep is None else ns_per_day(timestep, seconds)


def _scales(axes: Axes, what: What, counts: Sequence[float]) -> None:
    axes.set_xscale("log", base=2)
    first, last = np.log2([min(counts), max(counts)])
    every = max(1, -(-int(last - first + 1) // _MOST_TICKS))
    ticks = 2.0 ** np.arange(np.ceil(first - 1e-9), last + 1e-9, every)
    style.only_ticks(axes.xaxis, ticks.tolist() if ticks.size > 1 else counts)
    style.grid(axes)
    if what == "efficiency":
        axes.set_ylim(0, max(1.1, axes.get_ylim()[1]))
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
        return
    axes.set_yscale("log")
    style.plain_minor_ticks(axes)
    if what == "time":
        style.si_axis(axes.yaxis, "s")
    else:
        axes.yaxis.set_major_formatter("{x:g}")


def _name(axes: Axes, lines: Sequence[Line], what: What) -> None:
    """Put each line's label at its end without overlaps."""
    ends = [float(_values(one.curve, what)[0][-1]) for one in lines]
    low, high = axes.get_ylim()
    to, back = (np.log, np.exp) if axes.get_yscale() == "log" else (np.array, np.array)
    room = 0.085 * (to(high) - to(low))
    order, places = np.argsort(ends), to(np.array(ends))
    for before, at in pairwise(order.tolist()):
        places[at] = max(places[at], places[before] + room)
    for at, one in enumerate(lines):
        axes.annotate(
            one.label, (1, back(places[at])), (4, 0), xycoords=axes.get_yaxis_transform(),
            textcoords="offset points", va="center", color=style.colour(at), fontsize=7,
            annotation_clip=False,
        )  # fmt: skip


def handles(lines: Sequence[Line], what: Sequence[What], threshold: float | None) -> list[Line2D]:
    """Return entries of a key, which explain marks and lines."""
    marks = {"marker": "o", "ls": "none", "color": _GREY, "mew": 0.8}
    fitted = any(not np.isnan(one.points.measured).all() for one in lines)
    later = any(one.later for one in lines)
    beyond = any(one.curve.forecasts.extrapolated.any() for one in lines)
    efficient = threshold is not None and "efficiency" in what
    entries: list[tuple[bool, str, dict[str, Any]]] = [
        (fitted, "measured", {"mfc": _GREY, **marks}),
        (later, "measured, not shown to the fit", {"mfc": "white", **marks}),
        (True, "forecast, 90 % interval", {"color": _GREY}),
        (beyond, "beyond what was measured", {"color": _GREY, "ls": "--", "lw": 0.8}),
        (True, "ideal", {"color": "#999999", "lw": 0.7}),
        (efficient, f"{100 * (threshold or 0):g} % efficient", {"color": "black", **_DOTTED}),
    ]
    return style.handles((label, look) for shown, label, look in entries if shown)


def key_below(figure: Figure, entries: Sequence[Line2D], caption: str = "") -> None:
    """Put a key with a caption above it below a figure's panels."""
    figure.legend(
        handles=entries, loc="outside lower center", handlelength=1.8,
        ncols=max(2, int(figure.get_figwidth() / _ENTRY)),
        columnspacing=1.2, title=caption or None, title_fontsize=6, alignment="left",
    )  # fmt: skip


def usual_size(panels: int) -> tuple[float, float]:
    """Return width and height (in) of a figure of one journal column."""
    return style.ONE_COLUMN, HEIGHT * panels + 0.5


def lines_of(
    model: Model,
    n: Numbers | None = None,
    gpus: Numbers | None = None,
    per_gpu: float | None = None,
    per_node: int | None = None,
    interval: Interval = Interval.now,
) -> list[Line]:
    """Return a line for each size (by default the measured ones) or, with ``per_gpu``, one for
    sizes that grow with the GPU counts.

    Raises:
        InputError: there are more lines than can be distinguished.
    """
    counts = None if gpus is None else as_list(gpus)
    if per_gpu is not None:
        return [line(weak(model, per_gpu, counts, per_node, interval))]
    sizes = sizes_drawn(model) if n is None else as_list(n)
    if len(sizes) > len(style.COLOURS):
        message = f"{len(sizes)} lines; at most {len(style.COLOURS)} can be told apart"
        raise InputError(message, field="n")
    return [line(strong(model, size, counts, per_node, interval)) for size in sizes]


def sizes_drawn(model: Model, most: int = 5) -> list[float]:
    """Return the measured sizes, or a selection over their range if they are many."""
    cells = model.timed
    sizes = sorted(set(map(float, cells.n))) if cells else list(map(float, model.domain.n))
    at = np.unique(np.round(np.linspace(0, len(sizes) - 1, most)).astype(int))
    return sizes if len(sizes) <= most else [sizes[i] for i in at]
