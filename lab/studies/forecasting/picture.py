"""The picture: how many left-out cells are forecast how well, by forecaster and split."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from forecasting.page import FORECASTERS
from forecasting.scores import OWN
from forecasting.splits import HELD_OUT
from gpucast.show.plots.style import COLOURS

ENDS = (1e-3, 1.0)
"""Errors that are shown; smaller and larger ones count at the edge."""


def shares(rows: pd.DataFrame, dataset: str) -> Figure:
    """Share of the cells whose relative error is at most the abscissa; a panel a split."""
    splits = [split for split in HELD_OUT if (rows.split == split).any()]
    figure = Figure(figsize=(3.2 * len(splits), 3.2), layout="constrained")
    figure.suptitle(f"{dataset}: how many forecasts come how near", fontsize="medium")
    panels = figure.subplots(1, len(splits), sharey=True, squeeze=False)[0]
    drawn = [name for name in FORECASTERS if name in rows and rows[name].notna().any()]
    for axes, split in zip(panels, splits, strict=True):
        left_out = rows[(rows.split == split) & ~rows.trained]
        for colour, name in zip(COLOURS, drawn, strict=False):
            error = (left_out[name] / left_out.measured - 1).abs().fillna(np.inf)
            share = np.arange(1, len(error) + 1) / len(error)
            axes.step(
                np.sort(error.clip(*ENDS)), share, where="post", color=colour,
                label=FORECASTERS[name], lw=2.4 if name == OWN else 1.2,
            )  # fmt: skip
        axes.set(xscale="log", xlim=ENDS, ylim=(0, 1), xlabel="error of a cell")
        axes.set_title(f"{split} ({len(left_out)} cells)", fontsize="small")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:g} %"))
        axes.grid(which="major", alpha=0.3)
    panels[0].yaxis.set_major_formatter(PercentFormatter(1))
    panels[0].set_ylabel("cells with at most this error")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(drawn), frameon=False)
    return figure
