"""Four H200: native, or remote over TCP? Remote steps are forecast, then held to the measured."""

from __future__ import annotations

import numpy as np

from gpucast.data.loading import load
from gpucast.data.selection import StepSelection
from gpucast.data.steps import medians_of
from gpucast.demo.shell import command, heading, save
from gpucast.forecast.remote_cost import TENTH, Beside, beside, break_even
from gpucast.model.files import load_model
from gpucast.plots import steps
from gpucast.util.tables import print_table
from gpucast.util.units import change, duration

DATA = "h200-x4"
KIND = StepSelection(schedule="star-serial", kernel="claret", memory="pageable")
SHOWN = ((1000, 1), (8000, 4), (110592, 1), (110592, 4))
"""Sizes and GPU counts of the table."""


def native_or_remote() -> None:
    """Fit native steps, forecast remote ones without any of them, and compare."""
    heading("2  The same GPUs, native or over a network? gpucast's own MD program on four H200")
    print(
        "Fitted: native steps. Forecast: remote ones, from what copies and launches cost there\n"
        "(skeletons: steps without their work). Remote: four servers of one host, loopback TCP."
    )
    of_kind = [word for name, value in KIND.chosen.items() for word in (f"--{name}", str(value))]
    command(
        *("fit", DATA, "--path", "native", *of_kind, "-o", "native.json", "--force"),
        only="error of",
    )
    command(
        *("what-if", "native.json", "--transfers", DATA, "--path", "remote"),
        *("--memory", str(KIND.memory), "-o", "remote.json", "--force"),
        only="Model written",
    )
    command("validate", "remote.json", DATA, "--path", "remote", only="error: ")
    data = load(DATA)
    paths = beside(
        medians_of(data.select(KIND, path="native").steps),
        medians_of(data.select(KIND, path="remote").steps),
        load_model("native.json"),
        load_model("remote.json"),
    )
    _tell(paths)
    title = "What a step takes longer on remote GPUs (star-serial, claret, four H200)"
    caption = (
        "Points: measured, four servers on the same host by loopback TCP. Line and band: forecast "
        "from native steps and the remote path's skeletons, 90 % interval."
    )
    save(steps.extra_cost(paths, title, caption), "native-remote.png")
    sizes = f"{min(n for n, _ in paths.cells)}..{max(n for n, _ in paths.cells)}"
    command(
        *("report", "native.json", "remote.json", "--data", DATA, "-n", sizes),
        *("-o", "report.html", "--force"),
    )


def _tell(found: Beside) -> None:
    """Some cells side by side; from which n on remote GPUs are nearly as good, on one GPU."""
    print_table(
        ["n", "GPUs", "native", "remote", "extra", "forecast", "error"],
        [
            [
                *found.cells[i],
                *(duration(found.first[i]), duration(found.second[i]), change(found.extra[i])),
                *(duration(found.expected[i]), change(found.error[i])),
            ]
            for i in map(found.cells.index, SHOWN)
        ],
        "rrrrrrr",
    )
    n, at = found.of_gpus(1)
    measured, forecast = (
        _size(break_even(n, extra[at]), n) for extra in (found.extra, found.expected_extra)
    )
    print(
        f"One remote GPU costs less than {100 * TENTH:.0f} % extra from n = {measured} on, "
        f"as forecast: {forecast}."
    )


def _size(size: float | None, measured: np.ndarray) -> str:
    """A break-even size, to three digits, within the sizes that were measured."""
    return f"> {measured[-1]:.0f}" if size is None else f"{float(f'{size:.3g}'):.0f}"
