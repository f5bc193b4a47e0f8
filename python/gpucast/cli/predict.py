"""``gpucast predict``: step times of (n, N) that nobody has run."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gpucast.cli import options
from gpucast.cli.numbers import counts, sizes
from gpucast.cli.output import print_json, print_table, warn
from gpucast.cli.words import duration, percent

Models = Annotated[list[str], typer.Argument(help="Model files (gpucast fit DATA -o MODEL.json).")]


def command(
    models: Models, n: options.Sizes, gpus: options.Gpus = "1-8", json: options.Json = False
) -> None:
    """Forecast step times, and the best GPU count for each n."""
    from gpucast.models import Model, load_model, outer

    particles, gpu_counts = sizes(n), counts(gpus)
    loaded: list[Model] = [load_model(path) for path in models]
    forecast: list[dict[str, Any]] = []
    best: list[dict[str, Any]] = []
    for model in loaded:
        found = model.forecasts(*outer(particles, gpu_counts))
        for i in range(found.n.size):
            forecast.append(
                {
                    "model": model.name,
                    "n": int(found.n[i]),
                    "gpus": int(found.gpus[i]),
                    **{
                        key: float(getattr(found, key)[i])
                        for key in (
                            *("seconds", "low", "high", "mean_low", "mean_high"),
                            *("t_gpu", "t_cpu", "t_com"),
                        )
                    },
                    "extrapolated": bool(found.extrapolated[i]),
                }
            )
        best += model.best_counts(particles, gpu_counts)
        for text in model.warnings:
            warn(f"{model.name}: {text}")
    if json:
        print_json({"forecast": forecast, "best": best})
        return
    print_forecast(forecast)
    print()
    print_best(best)


def print_forecast(rows: list[dict[str, Any]]) -> None:
    """A line a forecast; * marks extrapolation."""
    print_table(
        ["model", "n", "GPUs", "step time", "90 % interval", "GPU", "CPU", "com", "Gflops", ""],
        [
            [
                row["model"],
                row["n"],
                row["gpus"],
                duration(row["seconds"]),
                f"{duration(row['low'])} ... {duration(row['high'])}",
                percent(row["t_gpu"] / row["seconds"], 0),
                percent(row["t_cpu"] / row["seconds"], 0),
                percent(row["t_com"] / row["seconds"], 0),
                f"{_gflops(row):.4g}",
                "*" if row["extrapolated"] else "",
            ]
            for row in rows
        ],
        "lrrrlrrrrl",
    )
    if any(row["extrapolated"] for row in rows):
        print("* outside the n or GPU counts that were fitted")


def print_best(rows: list[dict[str, Any]]) -> None:
    """A line an n."""
    print_table(
        ["model", "n", "best GPUs", "step time", "probability", "within 2 %"],
        [
            [
                row["model"],
                row["n"],
                row["gpus"],
                duration(row["seconds"]),
                percent(row["probability"], 0),
                ", ".join(map(str, row["within_2_percent"])),
            ]
            for row in rows
        ],
        "lrrrrl",
    )


def _gflops(row: dict[str, Any]) -> float:
    from gpucast import _core

    return _core.gflops(row["n"], row["seconds"])
