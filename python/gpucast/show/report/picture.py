"""Coordinates for the template's SVG picture of step time against n, which needs no script.

A script draws the page's charts; this picture is for readers without scripts. Loading a plotting
library would take longer than making the whole report.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpucast.util import JsonObject

Array = NDArray[np.float64]

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 60, 20, 40

LABEL = 14
MOST_POINTS = 120
MOST_LINES = 8


def picture(model: JsonObject, counts: Sequence[int]) -> JsonObject:
    """Return coordinates of the curves of some GPU counts, measured cells, and decades.

    Args:
        model: a model of the report's content.
        counts: GPU counts to draw, at most eight.

    Returns:
        ``width``, ``height``, ``lines`` [{gpus, points, label}], ``dots`` [(x, y)], ``columns``
        [(x, label)], ``rows`` [(y, seconds)], ``frame`` (left, top, right, bottom).
    """
    drawn = [curve for curve in model["curves"] if curve["gpus"] in counts][:MOST_LINES]
    n = np.array(drawn[0]["n"], dtype=np.float64)
    times = np.concatenate([curve["seconds"] for curve in drawn])
    measured = [cell["measured"] for cell in model["cells"]]
    ends = np.log10([n[0], n[-1]])
    heights = np.log10([min([*times, *measured]) / 1.2, max([*times, *measured]) * 1.2])

    def x(at: ArrayLike) -> Array:
        share = (np.log10(at) - ends[0]) / (ends[1] - ends[0])
        return np.asarray(np.round(LEFT + share * (WIDTH - LEFT - RIGHT), 1))

    def y(seconds: ArrayLike) -> Array:
        share = (np.log10(seconds) - heights[0]) / (heights[1] - heights[0])
        return np.asarray(np.round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1))

    labels = _apart([float(y(curve["seconds"][-1])) for curve in drawn])
    low, high = 10 ** heights[0], 10 ** heights[1]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "frame": (LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM),
        "lines": [
            {
                "gpus": curve["gpus"],
                "points": _points(x(curve["n"]), y(curve["seconds"])),
                "label": label,
            }
            for curve, label in zip(drawn, labels, strict=True)
        ],
        "dots": [
            (float(x(cell["n"])), float(y(cell["measured"])))
            for cell in model["cells"]
            if n[0] <= cell["n"] <= n[-1] and cell["gpus"] in counts
        ],
        "columns": [(float(x(size)), f"{size:,.0f}") for size in decades(n[0], n[-1])],
        "rows": [(float(y(seconds)), seconds) for seconds in decades(low, high)],
    }


def _apart(places: list[float]) -> list[float]:
    """Return heights of labels, moved down if they would overlap."""
    placed, lowest = np.array(places), -np.inf
    for i in np.argsort(places, kind="stable"):
        lowest = placed[i] = max(lowest + LABEL, placed[i])
    return [float(height) for height in placed]


def _points(x: Array, y: Array) -> str:
    every = max(1, x.size // MOST_POINTS)
    kept = [*range(0, x.size - 1, every), x.size - 1]
    return " ".join(f"{x[i]:g},{y[i]:g}" for i in kept)


def decades(low: float, high: float) -> list[float]:
    """Return the powers of ten in a range."""
    powers = range(int(np.ceil(np.log10(low))), int(np.floor(np.log10(high))) + 1)
    return [float(f"1e{power}") for power in powers]
