"""Style of all figures: colours, marks, sizes and file formats.

Colours are those of Okabe & Ito (jfly.uni-koeln.de/color), which colour-blind readers can
distinguish; marker or hatch is a second channel. Widths are those of a journal: one column of 85
mm, or two; text is 6 to 8 points at that width. matplotlib's global state is not changed
permanently.
"""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FixedLocator, FuncFormatter, NullFormatter, NullLocator
from numpy.typing import ArrayLike

from gpucast.errors import InputError
from gpucast.util.files import write_bytes

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
MARKERS = "os^DvPX*"
TERMS = {"T_gpu": (COLOURS[0], ""), "T_cpu": (COLOURS[4], "...."), "T_com": (COLOURS[1], "////")}
"""Colour and hatch of the three terms of a step."""

ONE_COLUMN = 3.35
TWO_COLUMNS = 6.9
"""Widths of figures, inches: 85 and 175 mm."""

POINTS = 200
"""Number of points of a curve."""

PANEL_HEIGHT = 2.5
BAND_ALPHA = 0.2
"""Opacity of a band of uncertainty."""

_SHOWN_DPI = 210.0
"""Resolution of figures in notebooks (dpi): one column is 700 pixels wide. Files use ``_DPI``."""

STYLE: dict[Any, Any] = {
    "figure.dpi": _SHOWN_DPI,
    "font.family": "DejaVu Sans",
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "figure.titlesize": 8.5,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "legend.frameon": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.5,
    "patch.linewidth": 0.5,
    "hatch.linewidth": 0.5,
    # Embedded TrueType fonts keep text as text.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "path",
    # Makes files of equal figures identical.
    "svg.hashsalt": "gpucast",
}

_DPI = 300
_FILES: dict[str, dict[str, Any]] = {
    "pdf": {"metadata": {"CreationDate": None}},
    "svg": {"metadata": {"Date": None}},
    # Takes two thirds of the time of the default level, for a tenth more bytes.
    "png": {"pil_kwargs": {"compress_level": 3}},
}
"""Options of each format: files have no dates, so that they are reproducible."""
_ROUNDING = 1e-9
_LETTER = 0.57
"""Mean ratio of width to height of letters of DejaVu Sans."""

styled = matplotlib.rc_context(STYLE)
"""Decorator that makes a drawing function use the style."""


@styled
def render(figure: Figure, kind: str) -> bytes:
    """Return a figure as the content of a file: ``png``, ``pdf``, ``svg``, ...

    The layout is computed only once, because it takes as long as writing a file.
    """
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.execute(figure)
        figure.set_layout_engine("none")
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=_DPI, **_FILES.get(kind, {}))
    return buffer.getvalue()


def one(
    title: str, caption: str = "", *, width: float = ONE_COLUMN, height: float = PANEL_HEIGHT
) -> tuple[Figure, Axes]:
    """Make a figure with one panel."""
    figure, ((axes,),) = panels(1, 1, title, caption, width=width, height=height)
    return figure, axes


def several(
    count: int, columns: int, title: str, caption: str = "", **how: Any
) -> tuple[Figure, list[Axes]]:
    """Make a figure of ``count`` panels in rows of ``columns``; ``how``: as for ``panels``."""
    columns = min(count, columns)
    figure, rows = panels(-(-count // columns), columns, title, caption, **how)
    flat = [axes for row in rows for axes in row]
    for axes in flat[count:]:
        axes.set_visible(False)
    return figure, flat[:count]


def panels(
    rows: int,
    columns: int,
    title: str,
    caption: str = "",
    *,
    width: float | None = None,
    height: float = PANEL_HEIGHT,
    sharex: bool = False,
    sharey: bool | Literal["row"] = False,
) -> tuple[Figure, list[list[Axes]]]:
    """Make a figure of panels under one title, with a caption in small print below.

    Args:
        caption: how to read it, and the source of the numbers.
        width: width of the figure (in); by default a journal column per column of panels, at most
            two.
        height: height of a row of panels (in).
    """
    width = width or min(columns, 2) * (TWO_COLUMNS / 2 if columns > 1 else ONE_COLUMN)
    heading, footing = wrapped(title, width, 8.5), wrapped(caption, width, 6)
    lines = 0.14 * (heading.count("\n") + 1) if title else 0.0
    lines += 0.1 * (footing.count("\n") + 1) if caption else 0.0
    figure = Figure(figsize=(width, rows * height + lines), layout="constrained")
    if title:
        figure.suptitle(heading)
    if caption:
        figure.supxlabel(footing, x=0.01, ha="left", fontsize=6, color="#444444")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey)
    return figure, [list(row) for row in grid]


def wrapped(text: str, width: float, size: float) -> str:
    """Wrap text to lines that fit a width (in) at a font size (points)."""
    return textwrap.fill(text, max(20, int(width * 72 / (size * _LETTER))))


def marker(at: int) -> str:
    """Return the marker of an index. Colours and markers repeat after the eighth, markers shifted
    by one."""
    return MARKERS[(at + at // len(COLOURS)) % len(MARKERS)]


def colour(at: int) -> str:
    """Return the colour of an index."""
    return COLOURS[at % len(COLOURS)]


def look(at: int) -> dict[str, Any]:
    """Return the look of an index: open marks in its colour. Later marks are smaller, so that marks
    at the same place are all visible."""
    size = max(2.0, 6.0 - 1.2 * at)
    return {"marker": marker(at), "ms": size, "mfc": "white", "mew": 0.8, "color": colour(at)}


def band(axes: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, at: int) -> None:
    """Draw a band of uncertainty."""
    axes.fill_between(x, low, high, color=colour(at), alpha=BAND_ALPHA, lw=0)


def points(
    axes: Axes, x: ArrayLike, values: ArrayLike, ends: ArrayLike, at: int, **more: Any
) -> None:
    """Draw measured values with the ends of their intervals in any order, (2, points)."""
    middle, (low, high) = np.asarray(values), np.sort(ends, axis=0)
    bars = np.maximum([middle - low, high - middle], 0)
    axes.errorbar(x, middle, bars, lw=0, elinewidth=0.8, **look(at) | more)


def handles(entries: Iterable[tuple[str, dict[str, Any]]]) -> list[Line2D]:
    """Return legend handles for pairs of a label and a look."""
    return [Line2D([], [], label=label, **kind) for label, kind in entries]


def log_axes(axes: Axes, x: str, y: str) -> None:
    """Make both axes logarithmic and label them."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    plain_minor_ticks(axes)
    grid(axes)


def plain_minor_ticks(axes: Axes) -> None:
    """Remove labels of minor ticks, which matplotlib adds to short logarithmic axes. A later call
    of ``si_axis`` adds a few again."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())


def grid(axes: Axes) -> None:
    """Draw grid lines of both axes behind the data."""
    axes.grid(which="major", alpha=0.35)


def si_axis(axis: Axis, unit: str = "") -> None:
    """Label an axis with SI prefixes, for a unit or plain numbers."""
    sep = " " if unit else ""
    axis.set_major_formatter(EngFormatter(unit, places=0, sep=sep))
    axis.set_minor_formatter(_BetweenPowers(unit, places=0, sep=sep))


_SHORT = np.log10(5)


class _BetweenPowers(EngFormatter):
    """Labels 2 and 5 times a power of ten on a logarithmic axis that shows too few powers of ten,
    and all ticks of one that shows less than a factor of 5."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        axis = self.axis
        if not isinstance(axis, Axis) or axis.get_scale() != "log" or x <= 0:
            return ""
        low, high = np.log10(np.sort(axis.get_view_interval()))
        if high - low < _SHORT:
            return EngFormatter(self.unit, sep=self.sep)(x, pos)
        powers = np.floor(high + _ROUNDING) - np.ceil(low - _ROUNDING) + 1
        # A vertical axis has more room for labels.
        enough = 2 if isinstance(axis, XAxis) else 3
        leading = round(10 ** (np.log10(x) - np.floor(np.log10(x) + _ROUNDING)))
        return super().__call__(x, pos) if powers < enough and leading in (2, 5) else ""


def gpus_axis(axes: Axes, counts: np.ndarray) -> None:
    """Label whole numbers of GPUs, as many as are readable."""
    every = max(1, -(-counts.size // 8))
    axes.set_xticks(counts[::every])
    axes.set_xlabel("N, GPUs")


def only_ticks(
    axis: Axis,
    ticks: Sequence[float],
    text: Callable[[float, int], str] = lambda value, _: f"{value:g}",
) -> None:
    """Give an axis these ticks and no others."""
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(text))


def byte_axis(axes: Axes) -> None:
    """Label a logarithmic x axis of bytes in binary units."""
    only_ticks(axes.xaxis, [2.0**power for power in range(0, 41, 5)], binary)
    axes.tick_params(axis="x", labelrotation=30)


def binary(value: float, _position: int) -> str:
    """Format bytes in binary units, for labels of an axis."""
    for unit, power in (("G", 30), ("M", 20), ("k", 10)):
        if value >= 2**power:
            return f"{value / 2**power:.3g} {unit}iB".replace("kiB", "KiB")
    return f"{value:.3g} B"


def save(figure: Figure, path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Write a figure in the format of the path's ending, completely or not at all.

    Raises:
        InputError: the ending's format is not known, or the file cannot be written.
    """
    kind = os.path.splitext(os.fspath(path))[1].lstrip(".").lower() or "png"
    known = figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise InputError(f"{kind!r} is no format; it is one of {', '.join(known)}", file=path)
    write_bytes(path, render(figure, kind), force=force)
