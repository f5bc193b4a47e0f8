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


def this_machine() -> None:
    """Transfers and steps within a budget; larger sizes forecast, then measured."""
    threads = min(len(os.sched_getaffinity(0)), MOST_THREADS)
    counts = "1" if threads == 1 else f"1-{threads}"
    heading(f"3  This machine, now: {counts} CPU threads that act as GPUs, measured for 12 seconds")
    data, unseen = Path("live.jsonl"), Path("live-unseen.jsonl")
    for file in (data, unseen):
        file.unlink(missing_ok=True)  # gpucast measure would go on with it
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
    command("predict", "live.json", "-n", "8000,100000", "--gpus", counts, "--best")
    series = series_of(load(str(data), str(unseen)), [load_model("live.json")])
    title = "gpucast-mdapp on this machine's CPU threads"
    figure = steps.step_times(series, range(1, threads + 1), title, span=(256, 20000))
    save(figure, "live-step-time.png")
