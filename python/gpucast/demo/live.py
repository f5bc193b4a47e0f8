"""This machine, measured now: CPU threads that act as GPUs."""

from __future__ import annotations

import os
from pathlib import Path

from gpucast.data.loading import load
from gpucast.demo.shell import command, heading, save
from gpucast.model.files import load_model
from gpucast.plots import steps
from gpucast.plots.step_series import series_of

MOST_THREADS = 4
"""More would not make it any clearer."""

SERIES = ("--schedules", "star-serial", "--kernels", "tuned")


def this_machine(folder: Path) -> None:
    """Transfers and steps within a budget; larger sizes forecast, then measured."""
    threads = min(len(os.sched_getaffinity(0)), MOST_THREADS)
    counts = "1" if threads == 1 else f"1-{threads}"
    heading(f"8  This machine, live: {counts} CPU threads that act as GPUs")
    print("No GPU is needed: gpucast measure runs its two programs on the CPU, within 12 seconds.")
    data, unseen = folder / "live.jsonl", folder / "live-unseen.jsonl"
    for file in (data, unseen):
        file.unlink(missing_ok=True)  # gpucast measure would go on with it
    here = ("measure", "--paths", "host", "--gpus", counts, *SERIES)
    command(*here, "--n", "512,1000,1728,2744,4096", "--budget", "12s", "-o", str(data))
    model = folder / "live.json"
    command("fit", str(data), "-o", str(model), "--force")

    heading("9  Are larger systems as forecast? And how many threads should they get?")
    command(
        *(*here, "--n", "5832,8000", "--no-transfers", "--cell-time", "0.5s"),
        *("-o", str(unseen)),
    )
    command("validate", str(model), str(unseen))
    command("predict", str(model), "-n", "64,1000,8000,100000", "--gpus", counts, "--best")
    series = series_of(load(str(data), str(unseen)), [load_model(model)])
    title = "gpucast-mdapp on this machine's CPU threads"
    figure = steps.step_times(series, range(1, threads + 1), title, span=(256, 20000))
    save(figure, folder / "live-step-time.png")
