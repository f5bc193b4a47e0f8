"""The picture: how many splits are forecast how well, by method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from gpucast.show.plots.style import COLOURS
from programs.study import GPUCAST, METHODS, Outcome
from programs.summing import SMALL, Sum

ENDS = (1e-3, 3.0)
"""Errors that are shown; smaller and larger ones count at the edge."""


def shares(outcomes: Sequence[Outcome]) -> Figure:
    """Share of the splits whose median error is at most the abscissa, a line a method."""
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.subplots()
    axes.set_title("How many forecasts come how near", fontsize="medium")
    for colour, method in zip(COLOURS, METHODS, strict=False):
        errors = np.sort(np.clip(Sum(outcomes).medians(method), *ENDS))
        share = np.arange(1, errors.size + 1) / errors.size
        own = method == GPUCAST
        axes.step(
            errors,
            share,
            where="post",
            label=f"{method}: {Sum(outcomes).small(method):.0%}",
            color=colour,
            lw=2.4 if own else 1.2,
            zorder=3 if own else 2,
        )
    axes.axvline(SMALL, color="#000000", lw=0.8, ls=":")
    axes.set(xscale="log", xlim=ENDS, ylim=(0, 1))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:g} %"))
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set_xlabel("median error of a split, of cells that were not fitted")
    axes.set_ylabel("splits with at most this error")
    axes.grid(which="major", alpha=0.3)
    axes.legend(title="within 5 %", frameon=False, loc="upper left", fontsize="small")
    return figure
