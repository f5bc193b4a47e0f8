"""``gpucast validate``: a model against measurements that it has not seen."""

from __future__ import annotations

from typing import Annotated

import typer

from gpucast.cli import options, remarks
from gpucast.cli.output import print_json, print_marked, say
from gpucast.data.selection import ANY, StepSelection
from gpucast.util.units import change, duration, number, percent


@options.with_selection
def command(
    model: Annotated[str, typer.Argument(help="Model file.")],
    data: options.Data,
    selection: StepSelection = ANY,
    interval: options.Interval = "now",
    explain: options.Explain = False,
    json: options.Json = False,
) -> None:
    """Held-out error, best-count hits, regret and interval coverage."""
    from gpucast.cli.loading import load
    from gpucast.forecast.validation import validate
    from gpucast.model.files import load_model

    loaded = load_model(model)
    result = validate(loaded, load(*data), selection, interval)
    remarks.of_cells(loaded, explain=explain)
    if json:
        print_json(result)
        return
    cells = result["cells"]
    print_marked(
        ["n", "GPUs", "measured", "forecast", "error", f"in {options.INTERVALS[interval]}"],
        [
            [
                *(number(cell["n"]), cell["gpus"]),
                *(duration(cell[key]) for key in ("measured", "predicted")),
                change(cell["relative_error"], 1),
                "yes" if cell["covered"] else "no",
            ]
            for cell in cells
        ],
        [cell["extrapolated"] for cell in cells],
        "rrrrrl",
    )
    say(
        f"\nerror: median {percent(result['median_relative_error'])}, 95th percentile "
        f"{percent(result['p95_relative_error'])}, maximum {percent(result['max_relative_error'])}"
        f"; {percent(result['coverage'], 0)} of cells in their {options.INTERVALS[interval]}"
    )
    if result["best_total"]:
        say(
            f"best GPU count right for {result['best_hits']} of {result['best_total']} n; regret "
            f"{percent(result['mean_regret'])} on average, at most {percent(result['max_regret'])}"
        )
