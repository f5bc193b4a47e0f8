"""The three parts of the demo, and functions that show and run commands."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
from importlib import resources
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import gpucast as gc
from gpucast.answers.remote_cost import TENTH, Beside, beside, break_even
from gpucast.answers.scaling import strong
from gpucast.cli.app import run
from gpucast.data.loading import load
from gpucast.data.selection import StepSelection
from gpucast.data.steps import medians_of
from gpucast.errors import GpucastError
from gpucast.model.files import load_model
from gpucast.show.plots import scaling, steps, style
from gpucast.show.plots.step_series import series_of
from gpucast.util.tables import print_table
from gpucast.util.units import change, duration

TABLE, LATER, PLAN = "water.csv", "water-larger.csv", "water-plan.yaml"

DATA = "h200-x4"
KIND = StepSelection(schedule="star-serial", kernel="claret", memory="pageable")
SHOWN = ((1000, 1), (8000, 4), (110592, 1), (110592, 4))
"""Sizes and GPU counts that the table shows."""

MOST_THREADS = 4
"""Most CPU threads of the demo; more would not make it clearer."""

SERIES = ("--schedules", "star-serial", "--kernels", "tuned")


def heading(text: str) -> None:
    """Print the title of a part."""
    print(f"\n== {text} ==")


def command(*arguments: str, only: str = "", first: int = 0, last: int = 0) -> None:
    """Show a command line, run it as the shell would, and stop the demo if it fails.

    ``only``, ``first``, ``last``: show only output lines that begin with a text, or the first or
    last of them, like ``grep``, ``head`` and ``tail``. Empty lines are left out.
    """
    pipe = f" | grep '^{only}'" * bool(only)
    pipe += f" | head -{first}" * bool(first) + f" | tail -{last}" * bool(last)
    print(f"$ gpucast {shlex.join(arguments)}{pipe}", flush=True)
    answer = io.StringIO()
    with contextlib.redirect_stdout(answer):
        status = run(arguments)
    lines = [line for line in answer.getvalue().splitlines() if line.startswith(only)]
    for line in lines[: first or None][-last:]:
        if line:
            print(line)
    sys.stdout.flush()
    if status != 0:
        raise GpucastError(f"gpucast {arguments[0]} ended with exit status {status}")


def save(figure: Figure, name: str) -> None:
    """Write a plot and print its name."""
    style.save(figure, Path(name), force=True)
    print(f"wrote {name}")


def how_many_gpus() -> None:
    """Show the way from a spreadsheet of runs on up to 32 GPUs to answers for 128."""
    heading("1  Your program: from runs on up to 32 GPUs to a plan for 128")
    print(
        "Published: water by LAMMPS with a neural potential on A100 (roitberg-group/lammps-ani);\n"
        "runs on 1 to 32 GPUs are in water.csv, on 48 to 128, never fitted, in water-larger.csv."
    )
    for name in (TABLE, LATER, PLAN):
        Path(name).write_bytes(resources.files("gpucast.demo").joinpath(name).read_bytes())
    named = ("--program", "LAMMPS", "--timestep", "0.5fs")
    command("import", TABLE, *named, "-o", "water.jsonl", "--force", only=TABLE)
    command("fit", "water.jsonl", "-o", "water.json", "--force", only="error of")
    command("validate", "water.json", LATER, only="error: ")
    counts = "1,2,4,8,16,32,64,128"
    command("predict", "water.json", "-n", "1e5,1e7,1e8", "--gpus", counts, "--best", first=7)
    print(f"10 million atoms for 10 ns within 10 days, at 2.50 an hour and GPU ({PLAN}):")
    command("plan", PLAN, "water.json", first=7)
    _draw()


def _draw() -> None:
    model = load_model("water.json")
    fitted, later = (medians_of(gc.load(name).steps) for name in ("water.jsonl", LATER))
    n, gpus = (np.array(column, dtype=np.float64) for column in zip(*later, strict=True))
    error = np.abs(model.forecasts(n, gpus).seconds / np.array(list(later.values())) - 1)
    lines = []
    for size in sorted({size for size, _ in (*fitted, *later)}):
        known, own = (
            {gpus: time for (m, gpus), time in cells.items() if m == size}
            for cells in (fitted, later)
        )
        lines.append(scaling.line(strong(model, size, [*(known or own)]), later=own))
    figure = scaling.figure(
        lines,
        ["time"],
        title="Step times of LAMMPS (neural potential, water) on A100",
        caption=f"Fitted on up to 32 GPUs; the {error.size} cells beyond are missed by "
        f"{100 * np.median(error):.1f} % in the median (roitberg-group/lammps-ani).",
        size=(5.2, 3.2),
    )
    save(figure, "forecast.png")


def native_or_remote() -> None:
    """Fit native steps, forecast remote ones without measuring any, and compare."""
    heading("2  The same GPUs, native or over a network? gpucast's own MD program on four H200")
    print(
        "Fitted: native steps. Forecast: remote ones, from what copies and launches take there\n"
        "(skeletons: steps without their work). Remote: four servers of one host, loopback TCP."
    )
    kind = [word for name, value in KIND.chosen.items() for word in (f"--{name}", str(value))]
    command(
        *("fit", DATA, "--path", "native", *kind, "-o", "native.json", "--force"),
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


def _tell(paths: Beside) -> None:
    """Print some cells, and the n from which one remote GPU is nearly as fast as a native one."""
    print_table(
        ["n", "GPUs", "native", "remote", "extra", "forecast", "error"],
        [
            [
                *paths.cells[i],
                *(duration(paths.first[i]), duration(paths.second[i]), change(paths.extra[i])),
                *(duration(paths.expected[i]), change(paths.error[i])),
            ]
            for i in map(paths.cells.index, SHOWN)
        ],
        "rrrrrrr",
    )
    n, at = paths.of_gpus(1)
    measured, forecast = (
        _size(break_even(n, extra[at]), n) for extra in (paths.extra, paths.expected_extra)
    )
    print(
        f"One remote GPU takes less than {100 * TENTH:.0f} % more from n = {measured} on, "
        f"as forecast: {forecast}."
    )


def _size(size: float | None, measured: np.ndarray) -> str:
    """Format a break-even size with three digits, within the measured sizes."""
    return f"> {measured[-1]:.0f}" if size is None else f"{float(f'{size:.3g}'):.0f}"


def this_machine() -> None:
    """Measure transfers and steps within a budget, then forecast larger sizes and measure them."""
    threads = min(len(os.sched_getaffinity(0)), MOST_THREADS)
    counts = "1" if threads == 1 else f"1-{threads}"
    heading(f"3  This machine, now: {counts} CPU threads that act as GPUs, measured for 12 seconds")
    data, unseen = Path("live.jsonl"), Path("live-unseen.jsonl")
    for file in (data, unseen):
        file.unlink(missing_ok=True)  # gpucast measure would continue it
    here = ("measure", "--paths", "host", "--gpus", counts, *SERIES, "--quiet")
    command(*here, "--n", "512..4096:5", "--budget", "12s", "-o", str(data), only="host", last=1)
    command("fit", str(data), "-o", "live.json", "--force", only="error of")
    print("Are larger systems as forecast? And how many threads should they get?")
    command(
        *(*here, "--n", "5832,8000", "--no-transfers", "--max-time", "0.5s"),
        *("-o", str(unseen)),
        only="host",
        last=1,
    )
    command("validate", "live.json", str(unseen), only="error: ")
    command("predict", "live.json", "-n", "8000,100000", "--gpus", counts, "--best", first=4)
    series = series_of(load(str(data), str(unseen)), [load_model("live.json")])
    title = "gpucast-mdapp on this machine's CPU threads"
    figure = steps.step_times(series, range(1, threads + 1), title, span=(256, 20000))
    save(figure, "live-step-time.png")
