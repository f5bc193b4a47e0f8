"""How accurately is the energy of a step measured, and forecast outside the fitted cells?

    .venv/bin/python lab/studies/energy.py -o docs/results/energy.md [DATA...]

First the counter is compared with the integral of sampled power (notes of the dataset, by
lab/gpu.sh energy); then each size of each program on each GPU is held out, and its joules are
forecast from the others: by gpucast, and by two models of power times gpucast's forecast time.
Exits with status 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import gpucast
from gpucast.data.dataset import Dataset
from gpucast.data.selection import StepSelection
from gpucast.data.steps import data_of, groups_of
from gpucast.model.fitted import Model
from gpucast.model.intervals import Array
from gpucast.util import files
from gpucast.util.processes import spread
from pages import missed, percent, table, written

COUNTED, FORECAST, COVERED = 0.03, 0.06, (0.85, 0.95)
"""Targets: the counter's error, median errors, coverage."""

NEAR = 1.05
FORECASTERS = {
    "gpucast": "gpucast",
    "constant": "one power for all sizes",
    "idle_active": "idle and active power, by d ln T / d ln n",
}
PLACES = {"last": "the largest", "mid": "one between", "first": "the smallest"}


def counted(data: Dataset) -> pd.DataFrame:
    """A row for each run of 10 s: joules of the counter, and their error against sampled power."""
    rows = pd.DataFrame(
        {"machine": note.machine, **row}
        for note in data.notes
        if note.about and "checked" in note.about
        for row in note.about["checked"]  # type: ignore[attr-defined]
    )
    return rows.assign(error=rows.counter / rows.instant - 1)


def energies(data: Dataset) -> dict[float, tuple[float, float]]:
    """Mean time (s) and energy (J) of a step by size, over its visits."""
    frame = pd.DataFrame(
        {"n": s.n, "seconds": np.mean(s.seconds), "joules": s.joules}
        for s in data.steps
        if s.joules is not None
    )
    means = np.exp(np.log(frame.set_index("n")).groupby("n").mean())
    return {float(n): (row.seconds, row.joules) for n, row in means.iterrows()}


def growth(model: Model, n: Array) -> Array:
    """d ln T / d ln n, from 0 to 1: the share of a step that grows with the size."""
    one = np.ones(n.size)
    above, below = model.forecasts(n * NEAR, one), model.forecasts(n / NEAR, one)
    return np.clip(np.log(above.seconds / below.seconds) / (2 * np.log(NEAR)), 0, 1)


def left_out(data: Dataset, group: StepSelection, n: float, place: str) -> dict[str, object]:
    """Forecast the joules of a size from the other sizes."""
    whole = data_of(data, group)
    known = energies(whole)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gpucast.fit(whole.where(lambda step: step.n != n), model="scaling")
        forecasts = model.forecasts([n], [1.0])
        (joules, low, high) = (float(ends[0]) for ends in model.joules(forecasts).values())
        sizes = np.array([size for size in known if size != n])
        watts = np.array([known[size][1] / known[size][0] for size in sizes])
        share = growth(model, np.append(sizes, n))
    rows = np.column_stack([1 - share, share])
    idle_active = np.linalg.lstsq(rows[:-1] / watts[:, np.newaxis], np.ones(sizes.size), rcond=None)
    seconds, true = float(forecasts.seconds[0]), known[n][1]
    return {
        "machine": group.machine, "program": group.program or "gpucast-mdapp", "n": n,
        "place": place, "measured": true, "gpucast": joules / true - 1,
        "constant": seconds * np.exp(np.mean(np.log(watts))) / true - 1,
        "idle_active": seconds * float(rows[-1] @ idle_active[0]) / true - 1,
        "time": seconds / known[n][0] - 1, "covered": low <= true <= high,
        "width": np.sqrt(high / low) - 1,
    }  # fmt: skip


def forecast(data: Dataset, jobs: int) -> pd.DataFrame:
    """A row for each held-out size."""
    tasks = []
    for group in groups_of(data):
        sizes = sorted(energies(data_of(data, group)))
        for i, n in enumerate(sizes if len(sizes) > 2 else ()):
            place = "last" if i == len(sizes) - 1 else "mid" if i else "first"
            tasks.append(partial(left_out, data, group, n, place))
    return pd.DataFrame(spread(tasks, jobs))


def page(command: str, checks: pd.DataFrame, rows: pd.DataFrame) -> tuple[str, bool]:
    """The page, and whether all targets are reached."""
    beyond = rows[rows.place == "last"]
    covered, errors = float(rows.covered.mean()), rows.gpucast.abs()
    medians = {place: float(errors[rows.place == place].median()) for place in PLACES}
    medians["all"] = float(errors.median())
    worst = float(checks.error.abs().max())
    reached = {
        "counted": worst <= COUNTED,
        **{place: median <= FORECAST for place, median in medians.items()},
        "covered": COVERED[0] <= covered <= COVERED[1],
    }
    of_counter = table(
        ["GPU", "program", "n", "J, counter", "J, sampled power", "counter is", "longest tick"],
        [
            [row.machine, row.program, f"{row.n:,}", f"{row.counter:.1f}", f"{row.instant:.1f}",
             f"{100 * row.error:+.2f} %", f"{1000 * row.tick:.0f} ms"]
            for row in checks.itertuples()
        ],
        left=2,
    )  # fmt: skip
    of_errors = table(
        ["left out", "cells", *FORECASTERS.values(), "(the time alone)", "covered"],
        [
            [words, len(part), *(percent(part[key].abs().median()) for key in FORECASTERS),
             percent(part.time.abs().median()), percent(part.covered.mean())]
            for place, words in PLACES.items()
            for part in [rows[rows.place == place]]
        ],
    )  # fmt: skip
    of_programs = table(
        ["program", "GPU", "largest n", "J a step", "gpucast", "90 % interval", "constant", "time"],
        [
            [row.program, row.machine, f"{row.n:,.0f}", f"{row.measured:.4g}",
             f"{100 * row.gpucast:+.1f} %", f"{100 * row.width:.0f} %",
             f"{100 * row.constant:+.0f} %", f"{100 * row.time:+.1f} %"]
            for row in beyond.sort_values(["program", "machine"]).itertuples()
        ],
        left=2,
    )  # fmt: skip
    outside = pd.read_csv(Path(__file__).with_name("measured_energy.csv"))
    apart = outside.joules / outside.counter_joules - 1
    of_outside = table(
        ["program", "n", "GPUs", "s of steps", "of run", "J recorded", "+-", "J known", "off"],
        [
            [row.program, f"{row.n:,}", row.gpus, row.step_seconds, row.run_seconds, row.joules,
             percent(row.joules_uncertainty), row.counter_joules, f"{100 * off:+.1f} %"]
            for row, off in zip(outside.itertuples(), apart, strict=True)
        ],
    )  # fmt: skip
    text = written(
        Path(__file__).with_suffix(".md.jinja"), command=command, of_counter=of_counter,
        of_errors=of_errors, of_programs=of_programs, of_outside=of_outside,
        outside=percent(apart.abs().median()), furthest=percent(apart.abs().max()),
        runs=len(checks), cells=len(rows),
        counted=missed(percent(worst), reached["counted"]),
        median=missed(percent(medians["last"]), reached["last"]),
        below=missed(percent(medians["first"]), reached["first"]),
        all=missed(percent(medians["all"]), reached["all"]),
        covered=missed(percent(covered), reached["covered"]),
    )  # fmt: skip
    return text, all(reached.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="*", default=["data/measured/h100-h200.jsonl"])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    data = gpucast.load(*options.data)
    command = f"lab/studies/energy.py -o {options.output}"
    text, reached = page(command, counted(data), forecast(data, options.jobs))
    files.write_text(options.output, text, force=True)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
