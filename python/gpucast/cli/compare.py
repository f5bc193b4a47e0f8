"""``gpucast compare`` and ``validate``: a model beside another, or beside measurements."""

from __future__ import annotations

from gpucast.cli import options
from gpucast.cli.options import argument, with_options
from gpucast.cli.output import load, print_json, print_marked, say, tell_cells
from gpucast.data.selection import ANY, StepSelection
from gpucast.util.number_lists import counts, sizes
from gpucast.util.tables import Column, print_rows
from gpucast.util.units import change, duration, number, percent, whole_percent


def command(
    native: str = argument("Model file of the first path."),
    remote: str = argument("Model file of the second path."),
    n: str = options.SIZES,
    gpus: str | None = options.GPUS,
    interval: options.Interval = options.INTERVAL,
    explain: bool = options.EXPLAIN,
    json: bool = options.JSON,
) -> None:
    """Compare the forecasts of two models."""
    from gpucast.answers.comparison import compare
    from gpucast.model.files import load_model

    models = load_model(native), load_model(remote)
    chosen, shared = sizes(n), sorted(set.intersection(*(set(m.usual_counts) for m in models)))
    gpu_counts = counts(gpus) if gpus is not None else shared or [1]
    result = compare(*models, chosen, gpu_counts, interval)
    for model in models:
        tell_cells(model, chosen, gpu_counts, explain=explain)
    if json:
        print_json(result)
        return
    a, b = result["first"], result["second"]
    print_marked(
        result["ratio"],
        [
            Column("n", "n", number),
            Column("GPUs", "gpus"),
            Column(a, "first", duration),
            Column(b, "second", duration),
            Column(f"{b} / {a}", "ratio", ".3f"),
            Column(
                options.INTERVALS[interval], lambda row: "{low:.3f} ... {high:.3f}".format(**row)
            ),
            Column(f"P({a} faster)", "probability_first_faster", whole_percent),
        ],
    )
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
