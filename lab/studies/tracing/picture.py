"""The picture: forecast over measured, a mark a cell."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from gpucast.show.plots import style


@style.styled
def picture(rows: pd.DataFrame) -> Figure:
    """A panel a path, a colour and mark a program; 20 % to either side is shaded."""
    paths = list(dict.fromkeys(rows.path))
    figure = Figure(figsize=(style.TWO_COLUMNS, 3.4), layout="constrained")
    panels = figure.subplots(1, len(paths), sharex=True, sharey=True, squeeze=False)[0]
    both = rows[["measured", "forecast"]].to_numpy() * 1e6
    ends = (both.min() / 1.3, both.max() * 1.3)
    looks = list(zip(style.COLOURS, style.MARKERS, strict=True))
    for axes, path in zip(panels, paths, strict=True):
        axes.plot(ends, ends, color="black", lw=0.6)
        axes.fill_between(
            ends, [0.8 * each for each in ends], [1.2 * each for each in ends],
            color="black", alpha=0.08, lw=0,
        )  # fmt: skip
        for (colour, mark), (program, own) in zip(looks, rows.groupby("program"), strict=False):
            here = own[own.path == path]
            below, above = here.forecast - here.low, here.high - here.forecast
            axes.errorbar(
                here.measured * 1e6, here.forecast * 1e6,
                yerr=[below.clip(lower=0) * 1e6, above.clip(lower=0) * 1e6],
                fmt=mark, color=colour, elinewidth=0.7, label=program,
            )  # fmt: skip
        axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends, title=path)
        axes.set_xlabel("measured step (µs)")
        axes.grid(which="major", alpha=0.3)
    panels[0].set_ylabel("forecast from a native trace (µs)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center")
    return figure
