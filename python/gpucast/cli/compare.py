"""``gpucast compare`` and ``validate``: a model beside another, or beside measurements."""

from __future__ import annotations

from typing import Literal

from gpucast.cli import options
from gpucast.cli.options import argument, option, with_options
from gpucast.cli.output import load, print_json, print_marked, say, tell_cells
from gpucast.data.selection import ANY, StepSelection
from gpucast.util import JsonObject
from gpucast.util.number_lists import counts, sizes
from gpucast.util.tables import Column, print_rows
from gpucast.util.units import change, duration, number, percent, whole_percent


def command(
    native: str = argument("Model file of the first path."),
    remote: str = argument("Model file of the second path."),
    n: str = options.SIZES,
    gpus: str | None = options.GPUS,
    interval: options.Interval = options.INTERVAL,
    size_of: Literal["all", "gpu"] = options.SIZE_OF,
    units: str | None = option(
        "Rates instead of times: what a step takes for each of n: samples, or tokens=4096.",
        metavar="NAME[=COUNT]",
    ),
    explain: bool = options.EXPLAIN,
    json: bool = options.JSON,
) -> None:
    """Compare the forecasts of two models."""
    from gpucast.answers.comparison import compare
    from gpucast.answers.throughput import rounded, units_of
    from gpucast.model.files import load_model

    models = load_model(native), load_model(remote)
    chosen, shared = sizes(n), sorted(set.intersection(*(set(m.usual_counts) for m in models)))
    gpu_counts = counts(gpus) if gpus is not None else shared or [1]
    named, count = units_of(units, "--units") if units else ("", 1.0)
    per_gpu = size_of == "gpu"
    result = compare(*models, chosen, gpu_counts, interval, per_gpu=per_gpu)
    cells = [(n * gpus if per_gpu else n, gpus) for n in chosen for gpus in gpu_counts]
    for model in models:
        tell_cells(model, cells, explain=explain)
    rows: list[JsonObject] = [
        row | {f"{key}_per_second": row["n"] * count / row[key] for key in ("first", "second")}
        for row in result["ratio"]
    ]
    if json:
        print_json({**result, "ratio": rows} if units else result)
        return
    a, b = result["first"], result["second"]
    speeds = [
        Column(f"{name}, {named}/s", f"{key}_per_second", rounded)
        if units
        else Column(name, key, duration)
        for key, name in (("first", a), ("second", b))
    ]
    print_marked(
        rows,
        [
            Column("n", "n", number),
            Column("GPUs", "gpus"),
            *speeds,
            Column(f"{b} / {a}", "ratio", ".3f"),
            Column(
                options.INTERVALS[interval], lambda row: "{low:.3f} ... {high:.3f}".format(**row)
            ),
            Column(f"P({a} faster)", "probability_first_faster", whole_percent),
        ],
    )
    if per_gpu:
        return
    print()
    print_rows(
        result["best"],
        [
            Column("n", "n", number),
            Column(f"best of {a}", lambda row: row["first"]["gpus"]),
            Column("step time", lambda row: row["first"]["seconds"], duration),
            Column(f"best of {b}", lambda row: row["second"]["gpus"]),
            Column("step time", lambda row: row["second"]["seconds"], duration),
            Column("ratio", "ratio", ".3f"),
        ],
    )


@with_options
def validate(
    model: str = argument("Model file."),
    data: list[str] = options.DATA,
    selection: StepSelection = ANY,
    interval: options.Interval = options.INTERVAL,
    explain: bool = options.EXPLAIN,
    json: bool = options.JSON,
) -> None:
    """Held-out error, best-count hits, regret and interval coverage."""
    from gpucast.answers.validation import validate
    from gpucast.model.files import load_model

    loaded = load_model(model)
    result = validate(loaded, load(*data), selection, interval)
    tell_cells(loaded, explain=explain)
    if json:
        print_json(result)
        return
    print_marked(
        result["cells"],
        [
            Column("n", "n", number),
            Column("GPUs", "gpus"),
            Column("measured", "measured", duration),
            Column("forecast", "predicted", duration),
            Column("error", "relative_error", lambda error: change(error, 1)),
            Column(
                f"in {options.INTERVALS[interval]}", lambda row: "yes" if row["covered"] else "no"
            ),
        ],
    )
    say(
        f"\nerror: median {percent(result['median_relative_error'])}, 95th percentile "
        f"{percent(result['p95_relative_error'])}, maximum {percent(result['max_relative_error'])}"
        f"; {whole_percent(result['coverage'])} of cells in their {options.INTERVALS[interval]}"
    )
    if result["best_total"]:
        say(
            f"best GPU count right for {result['best_hits']} of {result['best_total']} n; regret "
            f"{percent(result['mean_regret'])} on average, at most {percent(result['max_regret'])}"
        )
