"""Plots a step's slowdown against native over round trip and bandwidth of the network."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.patheffects import AbstractPathEffect, withStroke

from gpucast.paths.traced.maps import LEVELS, NetworkMap
from gpucast.show.plots import style
from gpucast.util.units import duration

SHADES = LinearSegmentedColormap.from_list(
    "longer", ["#FFFFFF", style.COLOURS[5], style.COLOURS[0], "#002A45"]
)
"""White is native speed; darker is slower."""
LEAST_RANGE = 2.0
"""Least slowdown that the darkest shade stands for."""
_HEIGHT = 2.7
_OUTLINE: list[AbstractPathEffect] = [withStroke(linewidth=1.8, foreground="white")]
_LEAST_ROOM = 0.06
"""Free space that a label needs, as a share of the map; a line without such space has no label."""
_TICKS_APART = 0.06
_TRIPS = (5, 10, 20, 50, 100, 200, 500, 1000)
_RATES = (1, 2, 5, 10, 25, 50, 100, 200, 400)


@style.styled
def network_map(map_: NetworkMap) -> Figure:
    """Draw the map, with contour lines and marks for the measured path and a given network."""
    caption = (
        f"A step takes {duration(map_.native)} natively, as recorded. All else is forecast from "
        f"that trace: on path {map_.path}, whose software was measured, with a network of this "
        "round trip and bandwidth between the hosts"
        + (
            f"; with none but the path's own {map_.measured[1]:.3g} times as long."
            if map_.measured[0] is None
            else "."
        )
    )
    figure, axes = style.one(map_.sentence, caption, height=_HEIGHT)
    trips, rates = map_.round_trips * 1e6, map_.bandwidths * 8 / 1e9
    most = max(LEAST_RANGE, float(map_.ratios.max()))
    mesh = axes.pcolormesh(
        trips, rates, np.maximum(map_.ratios, 1.0), norm=LogNorm(1, most), cmap=SHADES,
        shading="gouraud", rasterized=True,
    )  # fmt: skip
    _scales(axes, trips, rates)
    _lines(axes, map_, trips, rates)
    _legend(axes, _marks(map_, trips, rates))
    bar = figure.colorbar(mesh, ax=axes, fraction=0.05, pad=0.02)
    style.only_ticks(bar.ax.yaxis, _ticks(most))
    bar.set_label("times as long as natively")
    bar.outline.set_linewidth(0.4)
    return figure


def _scales(axes: Axes, trips: np.ndarray, rates: np.ndarray) -> None:
    axes.set(xscale="log", yscale="log", xlim=trips[[0, -1]], ylim=rates[[0, -1]])
    axes.set_xlabel("round trip that the network adds, us")
    axes.set_ylabel("bandwidth each way, Gb/s")
    for axis, ticks in ((axes.xaxis, _TRIPS), (axes.yaxis, _RATES)):
        style.only_ticks(axis, ticks)


def _lines(axes: Axes, map_: NetworkMap, trips: np.ndarray, rates: np.ndarray) -> None:
    levels = [level for level in LEVELS if map_.ratios.min() < level < map_.ratios.max()]
    if not levels:
        return
    drawn = axes.contour(
        trips, rates, map_.ratios, levels=levels, colors="black",
        linewidths=[1.4 if level == map_.summary_level else 0.7 for level in levels],
    )  # fmt: skip
    corner = np.log([trips[0], rates[0]])
    size = np.log([trips[-1], rates[-1]]) - corner
    taken = [(np.log(mark[:2]) - corner) / size for mark in _marks(map_, trips, rates)]
    places = []
    for path in drawn.get_paths():
        at = (np.log(np.asarray(path.vertices).reshape(-1, 2)) - corner) / size
        # Distances to the border, and to labels and marks.
        room = np.minimum(at, 1 - at).min(axis=1)
        for place in taken:
            room = np.minimum(room, np.hypot(*(at - place).T))
        best = int(np.argmax(room)) if len(at) else -1
        if best >= 0 and room[best] >= _LEAST_ROOM:
            taken.append(at[best])
            places.append(tuple(np.exp(corner + at[best] * size)))
    labels = axes.clabel(
        drawn, fmt=lambda level: f"{level:g}×", fontsize=7, inline_spacing=3, manual=places
    )
    for label in labels:
        label.set_path_effects(_OUTLINE)


def _marks(
    map_: NetworkMap, trips: np.ndarray, rates: np.ndarray
) -> list[tuple[float, float, str, str]]:
    """Return place (us, Gb/s), mark and text of the measured path and of a given network."""
    marks = []
    bandwidth, ratio = map_.measured
    if bandwidth is not None:
        # The measured path has no added round trip: its mark is at the left border.
        rate = float(np.clip(bandwidth * 8 / 1e9, *rates[[0, -1]]))
        marks.append((float(trips[0]), rate, "<", f"own network: {ratio:.3g}×"))
    if map_.asked is not None:
        network, ratio = map_.asked
        x, y = network.round_trip * 1e6, network.bandwidth * 8 / 1e9
        if trips[0] <= x <= trips[-1] and rates[0] <= y <= rates[-1]:
            words = f"{y:.4g} Gb/s, {duration(network.round_trip)}: {ratio:.3g}×"
            marks.append((x, y, "o", words))
    return marks


def _legend(axes: Axes, marks: list[tuple[float, float, str, str]]) -> None:
    for x, y, mark, words in marks:
        axes.plot(
            x, y, mark, color=style.COLOURS[1], markeredgecolor="white", markeredgewidth=0.6,
            markersize=6, clip_on=False, zorder=5, label=words,
        )  # fmt: skip
    if marks:
        axes.legend(
            loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, borderaxespad=0.1,
            handletextpad=0.1, columnspacing=1.0,
        ).set_in_layout(False)  # fmt: skip
        # An empty title reserves the height of the legend.
        axes.set_title(" ")


def _ticks(most: float) -> list[float]:
    ticks = [1.0]
    for level in LEVELS:
        if level <= most and np.log(level / ticks[-1]) > _TICKS_APART * np.log(most):
            ticks.append(level)
    return ticks
