"""Plots of measured steps and models of them, as one would put them in a report.

Every function draws into a new matplotlib Figure and returns it; ``style.save`` writes it. They
look as ``plots.style`` says; measured values are points, models are lines, 90 % intervals are
bands, and dashed lines are extrapolation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gpucast.data.dataset import Dataset
from gpucast.data.selection import alike
from gpucast.forecast.remote_cost import TENTH, Beside
from gpucast.model.fitted import Model, outer
from gpucast.plots import style
from gpucast.plots.style import TERMS, colours, log_axes, measured_points, one, styled

Array = NDArray[np.float64]


@styled
def step_time(
    model: Model, data: Dataset | None, gpus: Sequence[int], n: Array, title: str
) -> Figure:
    """Step time against n, a line a GPU count; points are the cells of ``data``."""
    figure, axes = one(title)
    for colour, count in zip(colours(len(gpus)), gpus, strict=True):
        _line_with_band(axes, model, n, float(count), colour, f"N = {count}")
        _measured(axes, data, model, count, colour)
    log_axes(axes, "n, particles", "seconds a step")
    axes.legend()
    return figure


@styled
def gflops(
    model: Model, data: Dataset | None, n: Sequence[float], gpus: Array, title: str
) -> Figure:
    """Gflops against the number of GPUs, a line an n (the paper's figure 2)."""
    figure, axes = one(title)
    for colour, size in zip(colours(len(n)), n, strict=True):
        found = model.forecasts(np.full(gpus.size, size), gpus)
        rates = [model.workload.gflops(size, s) for s in found.seconds]
        axes.fill_between(
            gpus,
            [model.workload.gflops(size, s) for s in found.high],
            [model.workload.gflops(size, s) for s in found.low],
            color=colour,
            alpha=0.2,
            lw=0,
        )
        axes.plot(gpus, rates, marker=".", color=colour, label=f"n = {size:,.0f}")
        if data is not None:
            for step in _steps(data, model):
                if step.n == size:
                    median = float(np.median(step.seconds))
                    rate = model.workload.gflops(size, median)
                    axes.plot(step.gpus, rate, "o", ms=6, mfc="none", color=colour)
    axes.set_xlabel("GPUs")
    axes.set_ylabel(f"Gflops ({model.workload.operations:.0f} a pair)")
    axes.set_yscale("log")
    axes.set_xticks(gpus)
    axes.grid(which="major", alpha=0.3)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper")
    return figure


@styled
def term_shares(model: Model, n: Sequence[float], gpus: Array, title: str) -> Figure:
    """Stacked shares of the three terms against the number of GPUs (the paper's figure 4)."""
    figure, (panels,) = style.panels(1, len(n), title, sharey=True, height=2.9)
    for axes, size in zip(panels, n, strict=True):
        found = model.forecasts(np.full(gpus.size, size), gpus)
        bottom = np.zeros(gpus.size)
        for (name, (colour, hatch)), part in zip(
            TERMS.items(), (found.t_gpu, found.t_cpu, found.t_com), strict=True
        ):
            share = 100 * part / found.seconds
            axes.bar(
                gpus, share, 0.8, bottom, color=colour, hatch=hatch, edgecolor="white", label=name
            )
            bottom += share
        axes.set_title(f"n = {size:,.0f}")
        axes.set_xlabel("GPUs")
        axes.set_xticks(gpus)
        axes.set_ylim(0, 100)
    panels[0].set_ylabel("share of the step, %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


@styled
def step_time_of_paths(
    models: Sequence[tuple[str, Model]], data: Dataset, n: Array, title: str
) -> Figure:
    """Step time on one GPU against n, a line a model, with the steps each is about."""
    figure, axes = one(title)
    for colour, (label, model) in zip(colours(len(models)), models, strict=True):
        _line_with_band(axes, model, n, 1.0, colour, label)
        _measured(axes, data, model, 1, colour)
    log_axes(axes, "n, particles", "seconds a step")
    axes.legend()
    return figure


@styled
def extra_cost(panels: Sequence[tuple[str, Beside]], gpus: Sequence[int], title: str) -> Figure:
    """What another path costs beyond the first (%) against n, a line a GPU count, a panel each:
    measured (points), and as it was forecast (dashed)."""
    figure, (all_axes,) = style.panels(1, len(panels), title, sharey=True, height=2.9)
    for axes, (label, found) in zip(all_axes, panels, strict=True):
        for colour, count in zip(colours(len(gpus)), gpus, strict=True):
            n, at = found.of_gpus(count)
            axes.plot(n, 100 * found.extra[at], "o-", color=colour, label=f"N = {count}")
            axes.plot(n, 100 * found.expected_extra[at], "--", lw=1, color=colour)
        axes.axhline(100 * TENTH, color="#999999", lw=1)
        axes.set_xscale("log")
        axes.set_xlabel("n, particles")
        axes.set_title(label)
        axes.grid(which="major", alpha=0.3)
    all_axes[0].set_ylabel("extra time of a step, %")
    all_axes[0].plot([], [], "--", lw=1, color="#000000", label="forecast")
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center",
                  ncols=len(gpus) + 1)  # fmt: skip
    return figure


def _line_with_band(
    axes: Axes, model: Model, n: Array, gpus: float, colour: str, label: str
) -> None:
    found = model.forecasts(*outer(n, gpus))
    axes.fill_between(n, found.low, found.high, color=colour, alpha=0.15, lw=0)
    inside = ~found.extrapolated
    # Solid where fitted, dashed where not; the dashed line runs on below the solid one.
    axes.plot(n, found.seconds, color=colour, ls="--", lw=1, label=None if inside.any() else label)
    if inside.any():
        axes.plot(n[inside], found.seconds[inside], color=colour, label=label)


def _measured(axes: Axes, data: Dataset | None, model: Model, gpus: int, colour: str) -> None:
    if data is None:
        return
    cells = [
        (float(step.n), float(np.median(step.seconds)), step.uncertainty or 0.0)
        for step in _steps(data, model)
        if step.gpus == gpus
    ]
    if cells:
        n, seconds, rounding = (list(column) for column in zip(*cells, strict=True))
        measured_points(axes, n, seconds, rounding, colour)


def _steps(data: Dataset, model: Model) -> list[Any]:
    about = model.data
    wanted = (about.forecast_path, about.schedule, about.kernel)
    steps = [step for step in data.steps if (step.path, step.schedule, step.kernel) == wanted]
    return alike(steps, model.selection, data.name)
