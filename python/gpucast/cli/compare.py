"""``gpucast compare``: native against remote, or any two models."""

from __future__ import annotations

from typing import Annotated

import typer

from gpucast.cli import options, remarks
from gpucast.cli.output import print_json, print_marked
from gpucast.util.number_lists import counts, sizes
from gpucast.util.tables import print_table
from gpucast.util.units import duration, number, percent


def command(
    native: Annotated[str, typer.Argument(help="Model file of the first path.")],
    remote: Annotated[str, typer.Argument(help="Model file of the second path.")],
    n: options.Sizes,
    gpus: options.Gpus = None,
    interval: options.Interval = "now",
    explain: options.Explain = False,
    json: options.Json = False,
) -> None:
    """Compare the forecasts of two models."""
    from gpucast.forecast.comparison import compare
    from gpucast.model.files import load_model

    first, second = load_model(native), load_model(remote)
    chosen, shared = sizes(n), sorted({*first.usual_counts} & {*second.usual_counts}) or [1]
    gpu_counts = counts(gpus) if gpus is not None else shared
    result = compare(first, second, chosen, gpu_counts, interval)
    for model in (first, second):
        remarks.of_cells(model, chosen, gpu_counts, explain=explain)
    if json:
        print_json(result)
        return
    a, b = result["first"], result["second"]
    print_marked(
        ["n", "GPUs", a, b, f"{b} / {a}", options.INTERVALS[interval], f"P({a} faster)"],
        [
            [
                *(number(row["n"]), row["gpus"], duration(row["first"]), duration(row["second"])),
                f"{row['ratio']:.3f}",
                f"{row['low']:.3f} ... {row['high']:.3f}",
                percent(row["probability_first_faster"], 0),
            ]
            for row in result["ratio"]
        ],
        [row["extrapolated"] for row in result["ratio"]],
        "rrrrrlr",
    )
    print()
    print_table(
        ["n", f"best of {a}", "step time", f"best of {b}", "step time", "ratio"],
        [
            [
                *(number(row["n"]), row["first"]["gpus"], duration(row["first"]["seconds"])),
                *(row["second"]["gpus"], duration(row["second"]["seconds"])),
                f"{row['ratio']:.3f}",
            ]
            for row in result["best"]
        ],
        "rrrrrr",
    )
