"""What a copy waits for behind a kernel: the steps in the times that copy_waits.cu measured.

    .venv/bin/python studies/copy_waits.py data/measured/h200-copy-waits.csv [-o PNG]

Of each way to get a kernel's result: the step height q and the offset x_0 of the staircase
c + q ceil((x - x_0) / q) that fits its medians best over kernels of x us, and how far they lie from
it, beside how far they lie from a line c + x. Where the line is nearer, there are no steps.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator
from numpy.typing import NDArray

from gpucast.errors import GpucastError, InputError
from gpucast.plots.style import COLOURS, save
from gpucast.util.tables import print_table

Array = NDArray[np.float64]

COLUMNS = {"what": str, "kernel_us": float, "median_us": float}
FIRST_US = 45.0
"""Shown on the left; longer kernels on the right."""

HEIGHTS = np.arange(4.0, 16.0, 0.02)
OFFSET_STEPS = 100


@dataclass(frozen=True)
class Staircase:
    """Times c + q ceil((x - x_0) / q), us; ``misfit``: mean distance of what was measured."""

    q: float
    x_0: float
    c: float
    misfit: float


def read(path: Path) -> dict[str, tuple[Array, Array]]:
    """Kernel times and medians (us) of each way.

    Raises:
        InputError: the file cannot be read or is no such table.
    """
    try:
        table = pd.read_csv(path, comment="#", dtype=COLUMNS)
    except OSError as error:
        raise InputError(error.strerror or "cannot be read", file=path) from error
    except ValueError as error:
        raise InputError(str(error), file=path) from error
    if list(table.columns) != list(COLUMNS) or table.isna().any(axis=None):
        raise InputError(f"is no table of {','.join(COLUMNS)}", file=path)
    ways = table.groupby("what", sort=False)
    return {what: (of.kernel_us.to_numpy(), of.median_us.to_numpy()) for what, of in ways}


def staircase(x: Array, seconds: Array) -> Staircase:
    """The one that is nearest to the medians; a row an offset, all offsets of a height at once."""
    tried = []
    for q in HEIGHTS:
        x_0 = np.linspace(0.0, q, OFFSET_STEPS, endpoint=False)
        beyond = seconds - q * np.ceil((x - x_0[:, np.newaxis]) / q)
        c = np.median(beyond, axis=1)
        misfit = np.mean(np.abs(beyond - c[:, np.newaxis]), axis=1)
        best = np.argmin(misfit)
        tried.append(Staircase(q, x_0[best], c[best], misfit[best]))
    return min(tried, key=lambda each: each.misfit)


def line_misfit(x: Array, seconds: Array) -> tuple[float, float]:
    """The constant c of c + x, and the mean distance from it."""
    c = float(np.median(seconds - x))
    return c, float(np.mean(np.abs(seconds - x - c)))


def picture(measured: dict[str, tuple[Array, Array]]) -> Figure:
    """What is waited beyond the kernel, over the kernel's time."""
    figure = Figure(figsize=(9.2, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[2, 1])
    figure.suptitle("Host time beyond the kernel's: one H200, copies of 2592 bytes")
    for axes, low, high in ((left, 0.0, FIRST_US), (right, FIRST_US, np.inf)):
        for (what, (x, seconds)), colour in zip(measured.items(), COLOURS, strict=False):
            shown = (low <= x) & (x < high)
            axes.plot(x[shown], (seconds - x)[shown], ".-", lw=1, color=colour, label=what)
        axes.set_xlabel("kernel, us")
        axes.grid(alpha=0.3)
        axes.xaxis.set_major_locator(MultipleLocator(10))
    left.set_ylabel("host time beyond it, us")
    left.set_ylim(bottom=0)
    handles = left.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=len(measured), frameon=False)
    return figure


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("csv", type=Path, help="what copy_waits.cu printed")
    parser.add_argument("-o", "--output", type=Path, help="a picture")
    options = parser.parse_args(arguments)
    try:
        measured = read(options.csv)
        if options.output is not None:
            save(picture(measured), options.output, force=True)
    except GpucastError as error:
        print(f"copy_waits.py: {error}", file=sys.stderr)
        return 2
    print_table(
        ["way", "q, us", "x_0, us", "off the stairs, us", "off a line, us", "line: c, us"],
        [_row(what, *found) for what, found in measured.items()],
        "lrrrrr",
    )
    return 0


def _row(what: str, x: Array, seconds: Array) -> list[object]:
    stairs, (c, off) = staircase(x, seconds), line_misfit(x, seconds)
    steps = [f"{stairs.q:.2f}", f"{stairs.x_0:.2f}"] if stairs.misfit < off else [None, None]
    return [what, *steps, f"{stairs.misfit:.2f}", f"{off:.2f}", f"{c:.2f}"]


if __name__ == "__main__":
    sys.exit(main())
