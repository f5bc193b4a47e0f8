"""Plots of transfers, launches, overlaps, and contention between copies.

As in ``gpucast.show.plots.steps``, points are medians, bars their 95 % order-statistics intervals,
and lines fitted curves; small strokes are breakpoints, and gaps in lines are jumps.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpucast.data.dataset import Dataset
from gpucast.data.records import Launch
from gpucast.data.vocabulary import LaunchMethod
from gpucast.paths.contention import DISTURBED, Contention
from gpucast.paths.curves import FEWEST_SIZES, Array, TransferFit
from gpucast.paths.overlap import overlap_efficiencies
from gpucast.paths.series import ALIGNMENT, Series, SeriesFit, fit_series
from gpucast.show.plots import style
from gpucast.util.order_statistics import median_of

ALIKE = 1.1
"""Series whose medians differ by less than this factor at every size are drawn as one."""

LEAST_OF_BANDWIDTH = 1024
"""Least size in figures of bandwidth (bytes)."""

COSTS_WIDTH = 4.6
"""Width (in), which has room for long labels."""

_METHODS = {name: at for at, name in enumerate(get_args(LaunchMethod))}

Scale = Callable[[Array, Array], Array]
"""Converts sizes (bytes) and times (s) to the plotted quantity."""


@dataclass(frozen=True)
class Drawn:
    """A series that represents all series with equal times."""

    label: str
    fit: SeriesFit


Panels = dict[tuple[str, str, str], list[Drawn]]
"""Curves by machine, path and route."""


def drawn(series: Sequence[Series]) -> Panels:
    """Return the curves to draw: for each kind of copy, those of the devices with the most sizes.

    Series with equal times at every size are drawn once.
    """
    best: dict[tuple[object, ...], Series] = {}
    for own in series:
        way = own.way
        kind = (way.machine, way.path, way.route, way.memory, way.engine, way.method, way.reads)
        if len(own.samples) >= FEWEST_SIZES and (
            kind not in best or len(own.samples) > len(best[kind].samples)
        ):
            best[kind] = own
    grouped: dict[tuple[str, str, str], list[list[Series]]] = {}
    for own in best.values():
        way = own.way
        groups = grouped.setdefault((way.machine, way.path, way.route), [])
        same = next((group for group in groups if _similar(group[0], own)), None)
        if same is None:
            groups.append([own])
        else:
            same.append(own)
    return {
        panel: [Drawn(_label(group), fit_series(group[0])) for group in groups]
        for panel, groups in grouped.items()
    }


def _similar(one: Series, other: Series) -> bool:
    kinds = [(own.way.engine, own.way.method, own.way.reads) for own in (one, other)]
    if kinds[0] != kinds[1]:
        return False
    common = [size for size in one.samples if size in other.samples]
    ratio = np.log(one.only(common).medians / other.only(common).medians)
    return len(common) >= FEWEST_SIZES and bool(np.all(np.abs(ratio) < math.log(ALIKE)))


def _label(group: Sequence[Series]) -> str:
    way = group[0].way
    memory = ", ".join(own.way.memory for own in group if own.way.memory != "unknown")
    words = [memory, "by a kernel" if way.engine == "kernel" else ""]
    words += ["read" if way.reads else "", way.method or ""]
    return ", ".join(filter(None, words)) or f"{way.start}>{way.end}"


@style.styled
def transfer_times(curves: Panels, title: str) -> Figure:
    """Draw time against size, one panel per route."""
    figure = _figure(curves, title, lambda _, seconds: seconds, "time of one transfer")
    for axes in figure.axes:
        style.si_axis(axes.yaxis, "s")
    return figure


@style.styled
def bandwidths(curves: Panels, title: str) -> Figure:
    """Draw bandwidth against size, one panel per route.

    Sizes below ``LEAST_OF_BANDWIDTH`` are left out: their time is the latency, which the figure of
    times shows, and they would take half of the axis.
    """
    figure = _figure(
        curves,
        title,
        lambda size, seconds: np.where(size >= LEAST_OF_BANDWIDTH, size / seconds / 1e9, np.nan),
        "bandwidth, GB/s",
    )
    for axes in figure.axes:
        axes.yaxis.set_major_formatter("{x:g}")
    return figure


def _figure(curves: Panels, title: str, scale: Scale, label: str) -> Figure:
    labels = dict.fromkeys(line.label for lines in curves.values() for line in lines)
    places = {label: at for at, label in enumerate(labels)}
    columns = min(3, len(curves))
    figure, flat = style.several(len(curves), columns, title, width=3.45 * columns, height=2.9)
    several = len({key[:2] for key in curves}) > 1
    for axes, ((machine, path, route), lines) in zip(flat, curves.items(), strict=True):
        where = lines[0].fit.series.way
        heading = f"{route} ({where.start} to {where.end})"
        axes.set_title(f"{machine}, {path}: {heading}" if several else heading)
        for line in lines:
            # Each kind of copy has the same look in every panel.
            _draw(axes, line, scale, places[line.label])
        style.log_axes(axes, "size", label)
        style.byte_axis(axes)
    _legend(figure, flat, list(labels), columns)
    return figure


def _legend(figure: Figure, panels: Sequence[Axes], labels: Sequence[str], columns: int) -> None:
    """Add a legend below all panels: lines in the order of drawing, then explanations."""
    handles = {
        label: handle
        for axes in panels
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    order = [*labels, *(label for label in handles if label not in labels)]
    figure.legend(
        [handles[label] for label in order], order, loc="outside lower center", ncols=columns
    )


def _draw(axes: Axes, line: Drawn, scale: Scale, at: int) -> None:
    series, colour = line.fit.series, style.colour(at)
    medians = [median_of(samples) for samples in series.samples.values()]
    values = scale(series.sizes, np.array([median.value for median in medians]))
    ends = np.transpose([median.ends or 2 * (median.value,) for median in medians])
    scaled = [scale(series.sizes, end) for end in ends]
    marks = {"label": line.label, "ms": 3.5, "mfc": "none"}
    style.points(axes, series.sizes, values, scaled, at, **marks)
    for curve in line.fit.curves:
        _curve(axes, curve, scale, colour, "--" if curve is line.fit.unaligned else "-")
    if line.fit.unaligned is not None:
        axes.plot([], [], "--", color=colour, label=f"the same, no multiple of {ALIGNMENT} B")


def _curve(axes: Axes, curve: TransferFit, scale: Scale, colour: str, dashes: str) -> None:
    jumps = [p for p in dict.fromkeys(curve.breakpoints) if curve.breakpoints.count(p) > 1]
    edges = [curve.bytes[0], *jumps, curve.bytes[1]]
    for begin, end in itertools.pairwise(edges):
        # The upper piece begins just above a jump.
        sizes = np.geomspace(begin * (1 + 1e-9) if begin in jumps else begin, end, style.POINTS)
        axes.plot(sizes, scale(sizes, curve.seconds(sizes)), dashes, lw=1, color=colour)
    points = np.array(list(dict.fromkeys(curve.breakpoints)))
    if points.size:
        at = scale(points, curve.seconds(points))
        axes.plot(points, at, "|", ms=12, mew=1.2, color=colour)


@style.styled
def contention_matrix(contention: Contention, title: str) -> Figure:
    """Draw the slowdown of each copy (row) beside another (column)."""
    matrix, names = contention.factors(), [f"{start}>{end}" for start, end in contention.copies]
    timed = [not bool(np.isnan(row).all()) for row in matrix]
    matrix, rows = matrix[timed], list(itertools.compress(names, timed))
    width = max(style.ONE_COLUMN, 0.45 * len(names) + 1.6)
    height = max(2.5, 0.34 * len(rows) + 1.6)
    figure, axes = style.one(title, width=width, height=height)
    top = max(1.25, float(np.nanmax(matrix)))
    image = axes.imshow(matrix, cmap="cividis", vmin=1, vmax=top, aspect="auto")
    for (row, column), factor in np.ndenumerate(matrix):
        if not np.isnan(factor):
            dark = factor < (1 + top) / 2
            axes.text(
                column,
                row,
                f"{factor:.2f}",
                ha="center",
                va="center",
                fontsize="small",
                color="white" if dark else "black",
                fontweight="bold" if factor > DISTURBED else "normal",
            )
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xlabel("beside")
    axes.set_ylabel("timed copy")
    figure.colorbar(image, ax=axes, label="times as long as alone")
    return figure


@style.styled
def launch_costs(data: Dataset, title: str) -> Figure:
    """Draw the time of one launch by method, number of launches together and arguments."""
    samples: dict[str, list[float]] = {}
    for launch in sorted(
        data.launches, key=lambda x: (_METHODS[x.method], x.count, x.arguments or 0)
    ):
        samples.setdefault(_launch_label(launch), []).extend(
            s / launch.count for s in launch.seconds
        )
    figure, axes = style.one(title, width=5.1, height=0.25 * len(samples) + 0.9)
    medians = [median_of(seconds) for seconds in samples.values()]
    at = np.arange(len(medians))
    axes.barh(at, [median.value * 1e6 for median in medians], color=style.COLOURS[5], height=0.7)
    for y, median in zip(at, medians, strict=True):
        low, high = (1e6 * end for end in median.ends or 2 * (median.value,))
        axes.plot([low, high], [y, y], color="black", lw=1.5)
        axes.annotate(
            f"{median.value * 1e6:.3g} us",
            (high, y),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )
    axes.set_yticks(at, list(samples))
    axes.invert_yaxis()
    axes.margins(x=0.16)
    axes.set_xlim(left=0)
    axes.set_xlabel("time of one launch, us")
    axes.grid(axis="x", alpha=0.3)
    return figure


def _launch_label(launch: Launch) -> str:
    words: list[str] = [launch.method]
    if launch.count > 1:
        words.append(f"{launch.count} together")
    if launch.arguments:
        words.append(f"{launch.arguments} argument{'s' if launch.arguments > 1 else ''}")
    return ", ".join(words)


@style.styled
def overlaps(data: Dataset, title: str) -> Figure:
    """Draw the times of copies and a kernel that start together, between serial and perfect
    overlap."""
    pairs = overlap_efficiencies(data)
    labels = [
        f"{pair.label}\n{pair.device}, {style.binary(pair.bytes, 0)}\n{100 * pair.efficiency:.0f} %"
        for pair in pairs
    ]
    width = max(3.7, 1.1 * len(pairs) + 1.0)
    figure, axes = style.one(title, width=width, height=3.0)
    at = np.arange(len(pairs))
    bars = (
        ("one after the other", [sum(pair.parts_alone) for pair in pairs], style.COLOURS[7]),
        ("together", [pair.seconds for pair in pairs], style.COLOURS[0]),
        (
            "the longest alone (perfect)",
            [max(pair.parts_alone) for pair in pairs],
            style.COLOURS[2],
        ),
    )
    for i, (label, values, colour) in enumerate(bars):
        axes.bar(at + 0.27 * (i - 1), np.array(values) * 1e3, 0.25, color=colour, label=label)
    axes.set_xticks(at, labels)
    axes.set_ylabel("ms")
    axes.grid(axis="y", alpha=0.3)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


@style.styled
def remote_costs(
    rows: Sequence[tuple[str, str, float, tuple[float, float] | None]], title: str, caption: str
) -> Figure:
    """Draw the ratios of L, 1/B and t_kernel on remote paths to native, one mark per path.

    Args:
        rows: quantity, path, remote over native, and its interval.
    """
    quantities = list(dict.fromkeys(what for what, *_ in rows))
    paths = list(dict.fromkeys(path for _, path, *_ in rows))
    height = 0.2 * len(quantities) + 0.9
    figure, axes = style.one(title, caption, width=COSTS_WIDTH, height=height)
    for at, path in enumerate(paths):
        own = [(quantities.index(row[0]), *row[2:]) for row in rows if row[1] == path]
        places, ratios = [place for place, *_ in own], [ratio for _, ratio, _ in own]
        axes.plot(ratios, places, **style.look(at) | {"ls": "none", "ms": 5}, label=path)
        for place, _, ends in own:
            if ends is not None:
                axes.hlines(place, *ends, color=style.COLOURS[at], lw=0.9)
    axes.axvline(1, color="black", lw=0.8)
    axes.set_xscale("log")
    style.plain_minor_ticks(axes)
    style.si_axis(axes.xaxis)
    least, most = min(row[2] for row in rows), max(row[2] for row in rows)
    ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if least / 2 <= t <= most * 2]
    if len(ticks) >= 2:
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks(range(len(quantities)), quantities)
    axes.invert_yaxis()
    axes.margins(y=0.08)
    axes.set_xlabel("remote over native")
    style.grid(axes)
    figure.legend(loc="outside right center")
    return figure
