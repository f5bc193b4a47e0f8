"""Another program's table of step times: a forecast, its check, the best count, a deadline."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np

import gpucast as gc
from gpucast.data.steps import medians_of
from gpucast.demo.shell import command, heading, save
from gpucast.model.files import load_model
from gpucast.plots import held_out

TABLE, LATER, PLAN = "water.csv", "water-larger.csv", "water-plan.yaml"


def how_many_gpus() -> None:
    """From a spreadsheet of runs on up to 32 GPUs to answers for 128."""
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
    command("predict", "water.json", "-n", "1e5,1e7,1e8", "--gpus", counts, "--best")
    print(f"10 million atoms for 10 ns within 10 days, at 2.50 an hour and GPU ({PLAN}):")
    command("plan", PLAN, "water.json", first=7)
    _draw()


def _draw() -> None:
    """What was known, what was forecast, what came."""
    model = load_model("water.json")
    fitted, later = (medians_of(gc.load(name).steps) for name in ("water.jsonl", LATER))
    n, gpus = (np.array(column, dtype=np.float64) for column in zip(*later, strict=True))
    error = np.abs(model.forecasts(n, gpus).seconds / np.array(list(later.values())) - 1)
    figure = held_out.against_counts(
        model,
        fitted,
        later,
        "Step times of LAMMPS (neural potential, water) on A100",
        f"Fitted on up to 32 GPUs; the {error.size} cells beyond are missed by "
        f"{100 * np.median(error):.1f} % in the median (roitberg-group/lammps-ani).",
    )
    save(figure, "forecast.png")
