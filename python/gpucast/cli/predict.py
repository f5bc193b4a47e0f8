"""``gpucast predict``: step times of (n, N) that nobody has run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gpucast.cli import options
from gpucast.cli.output import print_json, print_marked, warn_of
from gpucast.cli.parsing import counts, sizes
from gpucast.util import JsonObject
from gpucast.util.units import duration, number, percent

if TYPE_CHECKING:
    from gpucast.model.forecaster import Best

Models = Annotated[list[str], typer.Argument(help="Model files (gpucast fit DATA -o MODEL.json).")]

_TIMES = ("seconds", "low", "high", "mean_low", "mean_high", "t_gpu", "t_cpu", "t_com")


def command(
    models: Models,
    n: options.Sizes,
    gpus: options.Gpus = "1-8",
    best_only: Annotated[
        bool, typer.Option("--best", help="Only the best GPU count for each n.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Forecast step times (90 % interval of one measurement), and the best GPU count for each n."""
    from gpucast.model.files import load_model
    from gpucast.model.fitted import Model
    from gpucast.model.forecaster import outer

    particles, gpu_counts = sizes(n), counts(gpus)
    loaded = [load_model(path) for path in models]
    forecast: list[JsonObject] = []
    best: list[Best] = []
    rates: list[float] = []
    for model in loaded:
        found = model.forecasts(*outer(particles, gpu_counts))
        gflops = model.workload.gflops if isinstance(model, Model) else lambda *_: math.nan
        rates += map(gflops, found.n.tolist(), found.seconds.tolist())
        columns = found.columns()
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        forecast += [{"model": model.name, **dict(zip(columns, row, strict=True))} for row in rows]
        best += model.best_counts(particles, gpu_counts)
        warn_of(model)
    if json:
        print_json({"forecast": forecast, "best": best})
        return
    if not best_only:
        _print_forecast(forecast, rates)
        print()
    _print_best(best)


def _print_forecast(rows: list[JsonObject], rates: Sequence[float]) -> None:
    """A line a forecast with its Gflops."""
    print_marked(
        ["model", "n", "GPUs", "step time", "90 % interval", "GPU", "CPU", "com", "Gflops"],
        [
            [
                *(row["model"], number(row["n"]), row["gpus"], duration(row["seconds"])),
                f"{duration(row['low'])} ... {duration(row['high'])}",
                *(percent(row[key] / row["seconds"], 0) for key in ("t_gpu", "t_cpu", "t_com")),
                "-" if math.isnan(rate) else f"{rate:.4g}",
            ]
            for row, rate in zip(rows, rates, strict=True)
        ],
        [row["extrapolated"] for row in rows],
        "lrrrlrrrr",
    )


def _print_best(rows: list[Best]) -> None:
    """A line an n."""
    print_marked(
        ["model", "n", "best GPUs", "step time", "probability", "within 2 %"],
        [
            [
                *(row["model"], number(row["n"]), row["gpus"], duration(row["seconds"])),
                percent(row["probability"], 0),
                ", ".join(map(str, row["within_2_percent"])),
            ]
            for row in rows
        ],
        [row["extrapolated"] for row in rows],
        "lrrrrl",
    )
