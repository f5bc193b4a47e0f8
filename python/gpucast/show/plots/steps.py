"""Plots of measured steps and models of them: the paper's figures 2, 3 and 4 for any data.

The paper (Setoguchi & Narumi) shows Gflops against the number of GPUs for few and many particles
(2), step time against n, measured and modelled (3), and shares of T_gpu, T_cpu and T_com against
the number of GPUs at n = 1000 (4). Axes and quantities here are the same; the numbers are those of
the given data, never the paper's.

Every function draws into a new matplotlib Figure and returns it; ``style.save`` writes it. Measured
values are points, models are lines, 90 % intervals are bands, and dashed lines are extrapolated;
``plots.style`` defines the rest.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import truediv
from typing import TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from gpucast.answers.remote_cost import Beside
from gpucast.errors import InputError
from gpucast.model.asked import spaced
from gpucast.model.fitted import Model
from gpucast.model.forecasts import Forecasts
from gpucast.show.plots import style
from gpucast.show.plots.step_series import Point, Series
from gpucast.util.units import gpus_in_words, plain

Array = NDArray[np.float64]
T = TypeVar("T", bound=float)

SMALL_N = 1000
SIZES_DRAWN = 5
COUNTS_DRAWN = 4
EVERY_COUNT = 512
"""Lines against N have a point for each GPU count up to this many."""
PALE = 0.5
EACH_N, EACH_COUNT = "a line for each n (-n)", "a line for each GPU count (--gpus)"
_POINTS_READ = "Points: medians measured (bars: 95 % intervals or rounding)."
_LINES_READ = "Lines: model, 90 % band; dashed: extrapolated."


def reading(series: Sequence[Series]) -> str:
    """Explain the points and lines of a figure of these series."""
    points = any(own.steps for own in series)
    lines = any(own.model is not None for own in series)
    parts = (_POINTS_READ if points else "", _LINES_READ if lines else "")
    return " ".join(filter(None, parts))


def reading_of_shares(series: Sequence[Series]) -> str:
    """Explain bars of shares, and why two adjacent ones differ."""
    timed = any(own.phases for own in series)
    modelled = any(own.model_of_parts is not None for own in series)
    if not timed:
        return "Bars: model; pale: extrapolated."
    if not modelled:
        return "Framed bars: phases that the program timed."
    return (
        "Left, framed: phases that the program timed, of their sum. Right: model, which shares out "
        "the whole step by how it grows with n and N, so that they differ; pale: extrapolated."
    )


@dataclass(frozen=True)
class Asked:
    """The series to draw, and the n and GPU counts chosen of them; None: as many as suit."""

    series: Sequence[Series]
    n: Sequence[float] | None = None
    gpus: Sequence[int] | None = None

    @property
    def sizes(self) -> Sequence[float]:
        """The n to draw."""
        return self.n or sizes_of(self.series)

    @property
    def counts(self) -> Sequence[int]:
        """The GPU counts to draw."""
        return self.gpus or counts_of(self.series)


@dataclass(frozen=True)
class Drawing:
    """A figure that can be drawn.

    Attributes:
        name: the name of its file, without an ending.
        draw: draws it, given series, ``chosen`` values, title and caption.
        reading: explains how to read it, for its caption.
    """

    name: str
    title: str
    draw: Callable[..., Figure]
    chosen: Sequence[float]
    reading: Callable[[Sequence[Series]], str] = reading


def sizes_of(series: Sequence[Series]) -> list[float]:
    """Choose n to draw: spread evenly over the measured ones, including the nearest to 1000."""
    measured = sorted({n for own in series for n in own.sizes})
    if not measured:
        low, high = _range(series)
        spread = np.geomspace(low, high, SIZES_DRAWN)
        measured = sorted({plain(float(f"{n:.1g}")) for n in spread} | {SMALL_N})
    # Prefer sizes that all series have, so that panels can be compared.
    common = [n for n in measured if all(n in own.sizes for own in series if own.sizes)]
    known = common if len(common) >= 3 else measured
    small = nearest(known, SMALL_N)
    at = np.geomspace(known[0], known[-1], SIZES_DRAWN)
    chosen = {nearest(known, float(n)) for n in at[1:]}
    return sorted(chosen | {small, measured[-1]})


def counts_of(series: Sequence[Series]) -> list[int]:
    """Choose GPU counts to draw: the measured ones, or powers of two."""
    measured = sorted({count for own in series for count in own.counts})
    if not measured:
        most = max(own.domain[1][1] for own in series)
        measured = [2**i for i in range(most.bit_length())]
    if len(measured) <= COUNTS_DRAWN:
        return measured
    at = np.geomspace(measured[0], measured[-1], COUNTS_DRAWN)
    return sorted({nearest(measured, float(count)) for count in at})


def small_n(series: Sequence[Series]) -> float:
    """Return the n of the paper's figure 4: 1000, or the nearest measured one."""
    measured = [n for own in series for n in own.sizes]
    return nearest(measured, SMALL_N) if measured else SMALL_N


def size_word(series: Sequence[Series]) -> str:
    """Return what n counts, if all series state the same, such as ``atoms``."""
    units = {own.unit for own in series}
    unit = units.pop() if len(units) == 1 else None
    return unit or "things (n)"


def nearest(values: Sequence[T], to: float) -> T:
    """Return the value that is closest in the logarithm."""
    return min(values, key=lambda value: abs(np.log(value / to)))


def _range(series: Sequence[Series]) -> tuple[float, float]:
    ends = [own.domain[0] for own in series]
    return min(low for low, _ in ends), max(high for _, high in ends)


def gpu_range(series: Sequence[Series]) -> Array:
    """Return GPU counts from 1 to the most measured or fitted, or to 8 if only one GPU was.

    If these are too many, return the measured ones and as many others as a line needs.
    """
    most = max(own.domain[1][1] for own in series)
    if most <= EVERY_COUNT:
        return np.arange(1.0, max(most, 8 if most == 1 else most) + 1)
    measured = [float(count) for own in series for count in own.counts]
    return np.unique([*np.round(np.geomspace(1, most, style.POINTS)), *measured])


# --- figure 2 --------------------------------------------------------------------------------


@style.styled
def gflops(
    series: Sequence[Series], sizes: Sequence[float], title: str, caption: str = ""
) -> Figure:
    """Draw Gflops against the number of GPUs, one line per n, one panel per path (figure 2).

    The panels below show them relative to the fewest GPUs, so that their trend is visible.
    """
    gpus = gpu_range(series)
    figure, rows = style.panels(
        2, len(series), title, caption, height=1.75, sharex=True, sharey="row"
    )
    for upper, lower, path in zip(*rows, series, strict=True):
        for at, n in enumerate(sizes):
            own = {gpus: p for (size, gpus), p in path.points.items() if size == n}
            lines = forecasts_at(path.model, np.full(gpus.size, float(n)), gpus)
            if lines is not None:
                rates = np.array(
                    [
                        [path.workload.gflops(float(n), s) for s in seconds]
                        for seconds in (lines.seconds, lines.high, lines.low)
                    ]
                )
                first = int(np.flatnonzero(gpus == min(own, default=1))[0])
                draw_line(upper, gpus, rates, lines.extrapolated, at)
                draw_line(lower, gpus, rates / rates[0, first], lines.extrapolated, at)
            draw_points(upper, own, at, partial(path.workload.gflops, float(n)))
            if own:
                draw_points(lower, own, at, partial(truediv, own[min(own)].seconds))
        upper.set_yscale("log")
        style.plain_minor_ticks(upper)
        style.si_axis(upper.yaxis)
        lower.axhline(1, color="black", lw=0.6)
        lower.set_ylim(bottom=0)
        style.gpus_axis(lower, gpus)
        for axes in (upper, lower):
            axes.margins(x=0.06)
            style.grid(axes)
        upper.set_title(path.label)
    rows[0][0].set_ylabel(f"Gflops ({series[0].workload.operations:.0f} flops a pair)")
    rows[1][0].set_ylabel("Gflops over fewest GPUs'")
    key(figure, [(f"n = {n:,}", at) for at, n in enumerate(sizes)], series)
    return figure


# --- figure 3 --------------------------------------------------------------------------------


@style.styled
def step_times(
    series: Sequence[Series],
    counts: Sequence[int],
    title: str,
    caption: str = "",
    span: tuple[float, float] | None = None,
) -> Figure:
    """Draw step time against n, one line per GPU count, one panel per path (figure 3).

    ``span``: least and greatest n of the lines; by default the measured or fitted range.
    """
    figure, grid_ = style.several(len(series), 3, title, caption, sharex=True, sharey=True)
    for axes, own in zip(grid_, series, strict=True):
        for at, count in enumerate(counts):
            _step_time(axes, own, count, span or _range(series), at)
        _step_time_axes(axes, series)
        axes.set_title(own.label)
    _slopes(grid_[0], (1, 2) if all(own.has_work for own in series) else (1,))
    grid_[0].set_ylabel("time of a step")
    key(figure, [(f"N = {count}", at) for at, count in enumerate(counts)], series)
    return figure


def _step_time(axes: Axes, series: Series, count: int, span: tuple[float, float], at: int) -> None:
    n = spaced(*span, style.POINTS)
    line = forecasts_at(series.model, n, np.full(n.size, float(count)))
    if line is not None:
        draw_line(axes, n, np.array([line.seconds, line.low, line.high]), line.extrapolated, at)
    own = {size: p for (size, gpus), p in series.points.items() if gpus == count}
    draw_points(axes, own, at, lambda p: p)


def _step_time_axes(axes: Axes, series: Sequence[Series]) -> None:
    style.log_axes(axes, size_label(series), "")
    style.si_axis(axes.yaxis, "s")
    style.si_axis(axes.xaxis)


def size_label(series: Sequence[Series]) -> str:
    """Return the label of an axis of n."""
    units = {own.unit for own in series}
    return f"n, {size_word(series)}" if units != {None} else "n"


def _slopes(axes: Axes, exponents: Sequence[int]) -> None:
    """Draw reference slopes for growth with n and with n^2 at the bottom."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    starts = (0.30, 0.62) if len(exponents) > 1 else (0.70,)
    for exponent, start in zip(exponents, starts, strict=True):
        n = np.array([left * (right / left) ** start, left * (right / left) ** (start + 0.18)])
        at = bottom * (top / bottom) ** 0.06
        axes.plot(n, at * (n / n[0]) ** exponent, color="#777777", lw=0.8, zorder=1)
        axes.annotate(
            "~ n" if exponent == 1 else "~ n²",
            (n[1], at * (n[1] / n[0]) ** exponent),
            xytext=(3, -2),
            textcoords="offset points",
            fontsize=6.5,
            color="#555555",
        )
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)


# --- figure 4 --------------------------------------------------------------------------------


@style.styled
def shares(
    series: Sequence[Series], sizes: Sequence[float], title: str, caption: str = ""
) -> Figure:
    """Draw stacked shares of T_gpu, T_cpu and T_com against N, one panel per path and n (figure 4);
    see ``reading_of_shares``.

    Raises:
        InputError: there is neither a model nor a timed phase for these n.
    """
    figure, grid_ = style.several(len(series) * len(sizes), 3, title, caption, sharey=True)
    drawn = [
        _shares(axes, own, n, several=len(sizes) > 1)
        for axes, (own, n) in zip(grid_, itertools.product(series, sizes), strict=True)
    ]
    if not any(drawn):
        raise InputError(f"neither phases nor a model of n = {sizes[0]} are there")
    grid_[0].set_ylabel("share of the step")
    handles = [Patch(fc=c, hatch=h, ec="white", label=t) for t, (c, h) in style.TERMS.items()]
    figure.legend(handles=handles, loc="outside right center")
    return figure


def _shares(axes: Axes, series: Series, n: float, *, several: bool) -> bool:
    """Draw one panel; return whether it shows anything. ``several``: panels differ in n."""
    timed = {gpus: p for (size, gpus), p in series.phases.items() if size == n}
    counts = np.array(sorted(timed), dtype=np.float64) if timed else gpu_range([series])
    forecasts = forecasts_at(series.model_of_parts, np.full(counts.size, float(n)), counts)
    width, shift = (0.4, 0.21) if timed and series.model_of_parts is not None else (0.7, 0.0)
    if timed:
        terms = {
            term: np.array([timed[int(count)][term] for count in counts]) for term in style.TERMS
        }
        _stack(axes, counts - shift, width, terms)
        axes.bar(counts - shift, 100, width, fill=False, edgecolor="black", lw=0.9)
    if forecasts is not None:
        terms = {"T_gpu": forecasts.t_gpu, "T_cpu": forecasts.t_cpu, "T_com": forecasts.t_com}
        _stack(axes, counts + shift, width, terms, forecasts.extrapolated)
    style.gpus_axis(axes, counts)
    axes.set_ylim(0, 100)
    axes.yaxis.set_major_formatter(PercentFormatter(decimals=0))
    axes.set_title(f"{series.label}, n = {n:,}" if several else series.label)
    return bool(timed) or forecasts is not None


def _stack(
    axes: Axes,
    at: Array,
    width: float,
    terms: dict[str, Array],
    pale: NDArray[np.bool_] | None = None,
) -> None:
    total, bottom = np.sum(list(terms.values()), axis=0), np.zeros(at.size)
    for name, seconds in terms.items():
        colour, hatch = style.TERMS[name]
        share = 100 * seconds / total
        bars = axes.bar(
            at, share, width, bottom, color=colour, hatch=hatch, edgecolor="white", lw=0.3
        )
        for bar in np.array(bars.patches)[pale] if pale is not None else ():
            bar.set_alpha(PALE)
        bottom += share


# --- native and remote --------------------------------------------------------------------


@style.styled
def extra_time(
    series: Sequence[Series], counts: Sequence[int], title: str, caption: str = ""
) -> Figure:
    """Draw the extra time of steps on each path relative to the first against n, one line per N.

    Raises:
        InputError: there is only one path.
    """
    first, *others = series
    if not others:
        raise InputError("steps or models of two paths are needed to set them side by side")
    figure, grid_ = style.several(len(others), 3, title, caption, sharex=True, sharey=True)
    for axes, other in zip(grid_, others, strict=True):
        # Outside the range of both models, the line would compare extrapolations.
        low = max(path.domain[0][0] for path in (first, other))
        high = max(low, min(path.domain[0][1] for path in (first, other)))
        n = spaced(low, high, style.POINTS)
        for at, count in enumerate(counts):
            _ratio_line(axes, first.model, other.model, n, count, at)
            own = {
                size: _ratio(point, first.points[size, gpus])
                for (size, gpus), point in other.points.items()
                if gpus == count and (size, gpus) in first.points
            }
            draw_points(axes, own, at, lambda p: 100 * (p - 1))
        axes.axhline(0, color="black", lw=0.6)
        percent_axes(axes, size_label(series))
        axes.set_title(f"{other.label} beside {first.label}")
    grid_[0].set_ylabel("extra time of a step")
    key(figure, [(f"N = {count}", at) for at, count in enumerate(counts)], series)
    return figure


@style.styled
def extra_cost(paths: Beside, title: str, caption: str) -> Figure:
    """Draw the extra time of another path relative to the first (%) against n, one panel per GPU
    count: measured (points) and forecast with 90 % intervals (line and band)."""
    counts = sorted({gpus for _, gpus in paths.cells})
    figure, flat = style.several(
        len(counts), 2, title, caption, height=1.75, sharex=True, sharey=True
    )
    for axes, count in zip(flat, counts, strict=True):
        n, rows = paths.of_gpus(count)
        forecast = 100 * (paths.forecasts[:, rows] / paths.first[rows] - 1)
        style.band(axes, n, forecast[1], forecast[2], 0)
        axes.plot(n, forecast[0], color=style.COLOURS[0])
        axes.plot(n, 100 * paths.extra[rows], "o", mfc="white", mew=0.8, color=style.COLOURS[1])
        axes.axhline(0, color="black", lw=0.6)
        percent_axes(axes)
        axes.set_title(gpus_in_words(count))
        axes.set_xlabel("n, particles" if axes in flat[-2:] else "")
        axes.set_ylabel("extra time of a step" if axes in flat[::2] else "")
    return figure


def percent_axes(axes: Axes, label: str = "n, particles") -> None:
    """Label axes of percent against n."""
    axes.set_xscale("log")
    style.plain_minor_ticks(axes)
    style.si_axis(axes.xaxis)
    axes.set_xlabel(label)
    axes.yaxis.set_major_formatter(PercentFormatter(decimals=0))
    style.grid(axes)


def _ratio(point: Point, base: Point) -> Point:
    return Point(point.seconds / base.seconds, point.low / base.high, point.high / base.low)


def _ratio_line(
    axes: Axes, first: Model | None, other: Model | None, n: Array, count: int, at: int
) -> None:
    gpus = np.full(n.size, float(count))
    base, remote = forecasts_at(first, n, gpus), forecasts_at(other, n, gpus)
    if base is None or remote is None:
        return
    ratio = remote.seconds / base.seconds
    # The two fits are independent, and so are their log errors.
    half = np.exp(
        np.hypot(np.log(base.mean_high / base.seconds), np.log(remote.mean_high / remote.seconds))
    )
    percent = 100 * (np.array([ratio, ratio / half, ratio * half]) - 1)
    draw_line(axes, n, percent, base.extrapolated | remote.extrapolated, at)


# --- common parts -------------------------------------------------------------------------


def forecasts_at(model: Model | None, n: Array, gpus: Array) -> Forecasts | None:
    """Return forecasts of cells; None without a model, or if it knows nothing of some counts."""
    if model is None:
        return None
    try:
        return model.forecasts(n, gpus)
    except InputError:
        return None


def draw_line(axes: Axes, x: Array, y: Array, outside: NDArray[np.bool_], at: int) -> None:
    """Draw a line with its band; ``y``: values and both ends of the band, (3, x)."""
    style.band(axes, x, y[1], y[2], at)
    axes.plot(x, y[0], "--", lw=0.8, color=style.COLOURS[at])
    if not outside.all():
        axes.plot(np.where(outside, np.nan, x), y[0], "-", color=style.COLOURS[at])


def draw_points(
    axes: Axes, own: Mapping[T, Point], at: int, scale: Callable[[float], float]
) -> None:
    """Draw points at their keys, with the intervals of their values scaled."""
    if not own:
        return
    values = np.array([[scale(s) for s in (p.seconds, p.low, p.high)] for p in own.values()]).T
    style.points(axes, list(own), values[0], values[1:], at)


def key(figure: Figure, entries: Sequence[tuple[str, int]], series: Sequence[Series]) -> None:
    """Add a legend of the lines and marks that the figure of these series has."""
    lines = any(own.model is not None for own in series)
    points = any(own.points for own in series)
    kind = {"ls": "-" if lines else "none"} | ({} if points else {"marker": ""})
    handles = style.handles((label, style.look(at) | kind) for label, at in entries)
    figure.legend(handles=handles, loc="outside right center")
