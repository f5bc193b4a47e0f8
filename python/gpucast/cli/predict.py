"""``gpucast predict``: step times of (n, N) that nobody has run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpucast.cli import options, predict_sharing, remarks
from gpucast.cli.output import print_json, print_marked, say
from gpucast.errors import InputError
from gpucast.util import JsonObject, files
from gpucast.util.gpu_shares import parted
from gpucast.util.number_lists import LARGEST_COUNT, counts, sizes
from gpucast.util.units import duration, number, percent, ranges

if TYPE_CHECKING:
    from gpucast.design.next_cells import Advice, Ask
    from gpucast.model.forecaster import Array, Best, Forecaster, Forecasts

MOST_LISTED = 8

Models = Annotated[list[str], typer.Argument(help="Model files (gpucast fit DATA -o MODEL.json).")]


@dataclass
class Answer:
    """What is said of a model: rows of JSON, and what to know to believe them."""

    model: Forecaster
    forecast: list[JsonObject]
    best: list[Best]
    caveats: list[str]
    next: tuple[Ask, Advice] | None = None
    together: list[JsonObject] = field(default_factory=list)


def command(
    models: Models,
    n: options.Sizes,
    gpus: Annotated[
        str | None,
        typer.Option(
            help="GPU counts: 1-4,8. Default: 1-8; of programs that are not ours up to the most "
            "measured. 1/4: four instances at once on one GPU, beside the counts given.",
            show_default=False,
        ),
    ] = None,
    best_only: Annotated[
        bool, typer.Option("--best", help="Only the best GPU count for each n.")
    ] = False,
    interval: options.Interval = "now",
    next_cells: Annotated[
        bool,
        typer.Option(
            "--next", help="What to measure next, so that this answer becomes surer soonest."
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE.csv",
            help="Also write the rows as CSV; times in seconds.",
            show_default=False,
        ),
    ] = None,
    force: options.Force = False,
    explain: options.Explain = False,
    json: options.Json = False,
) -> None:
    """Forecast step times (90 % interval of one measurement), and the best GPU count for each n."""
    from gpucast.forecast.caveats import caveats
    from gpucast.model.files import load_model
    from gpucast.model.forecaster import outer
    from gpucast.model.intervals import Interval

    if output is not None:
        _check(output, force=force)
    of = Interval(interval)
    wanted = sizes(n)
    instances, whole = parted(gpus) if gpus is not None else ([], "")
    for asked_for, name in ((best_only, "--best"), (next_cells, "--next")):
        if instances and asked_for:
            message = "knows whole GPU counts only: leave it out, or 1/k out of --gpus"
            raise InputError(message, field=name)
    given = None if gpus is None else counts(whole) if whole or not instances else [1.0]
    answers: list[Answer] = []
    loaded = [load_model(path) for path in models]
    for model in loaded:
        gpu_counts = given or [float(count) for count in model.usual_counts]
        if len(wanted) * len(gpu_counts) > LARGEST_COUNT:
            raise InputError(
                f"{len(wanted)} sizes on {len(gpu_counts)} GPU counts are more than "
                f"{LARGEST_COUNT} forecasts; ask for fewer",
                field="n",
            )
        found = model.forecasts(*outer(wanted, gpu_counts), of)
        choosing = best_only or model.unshared is None
        best = model.best_counts(wanted, gpu_counts, of) if choosing else []
        # What a model misses of what it was fitted to shows in the narrowest interval.
        said = caveats(model, found.n, found.gpus, found if of is Interval.now else None)
        answers.append(Answer(model, _rows(model, found), best, said))
        if instances:
            answers[-1].together = predict_sharing.rows_of(model, found, wanted, instances, of)
        if next_cells:
            asked = (wanted, gpu_counts) if best_only else (found.n, found.gpus)
            answers[-1].next = _next(model, *asked, best_only=best_only)
    if output is not None:
        files.write_text(output, _as_csv(answers, best_only=best_only), force=force)
    if json:
        print_json(
            {
                "interval": interval,
                "forecast": [row for each in answers for row in each.forecast],
                "best": [row for each in answers for row in each.best],
                "caveats": [
                    {"model": each.model.name, "text": text}
                    for each in answers
                    for text in each.caveats
                ],
                "updated": [
                    {"model": model.name, "text": model.machine_factors.words}
                    for model in loaded
                    if model.machine_factors is not None
                ],
            }
            | ({"instances": [r for each in answers for r in each.together]} if instances else {})
            | ({"next": [_next_in_json(each) for each in answers]} if next_cells else {})
        )
    else:
        if instances:
            predict_sharing.show([row for each in answers for row in each.together], interval)
        else:
            _print(answers, best_only=best_only, interval=interval)
        if next_cells:
            _print_next(answers)
    for each in answers:
        remarks.of_forecasts(each.model, each.caveats, explain=explain)


def _check(output: Path, *, force: bool) -> None:
    if output.suffix != ".csv":
        raise InputError("a file that ends in .csv is written; of JSON: --json >FILE", file=output)
    files.check_output(output, force=force)


def _as_csv(answers: Sequence[Answer], *, best_only: bool) -> str:
    """What the table shows, in the columns of the JSON answer."""
    from gpucast.data.formats import csv_writer

    rows: list[Mapping[str, object]] = [
        row
        for each in answers
        for row in (each.together or (each.best if best_only else each.forecast))
    ]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return csv_writer.write(columns, ([_cell(row.get(name)) for name in columns] for row in rows))


def _cell(value: object) -> object:
    """Of several counts, a list as the options take it."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value


def _next(
    model: Forecaster,
    n: Sequence[float] | Array,
    gpus: Sequence[float] | Array,
    *,
    best_only: bool,
) -> tuple[Ask, Advice] | None:
    """What is asked, and what to measure for it; None where nothing can be proposed."""
    from gpucast.design.next_cells import Ask
    from gpucast.report.advice import for_question

    ask = Ask.best_count(n, gpus) if best_only else Ask.forecasts(n, gpus)
    found = for_question(model, ask)
    return None if found is None else (ask, found)


def _next_in_json(answer: Answer) -> JsonObject:
    """``before`` and ``after``: half-width of the 90 % interval of the expected time, root mean
    square over what was asked; with --best, what a wrong best count costs on average, relative."""
    if answer.next is None:
        return {"model": answer.model.name, "cells": [], "before": None, "after": None}
    _, found = answer.next
    return {
        "model": answer.model.name,
        "cells": [{"n": each.n, "gpus": each.gpus} for each in found.cells],
        "before": found.before,
        "after": found.after,
    }


def _print_next(answers: Sequence[Answer]) -> None:
    from gpucast.report.advice import in_words

    print()
    for each in answers:
        said = "nothing to propose" if each.next is None else in_words(*each.next)
        say(f"{each.model.name}: {said}")


def _rows(model: Forecaster, found: Forecasts) -> list[JsonObject]:
    """A row a cell; None where something is not known."""
    from gpucast.model import rates

    columns = {**found.columns(), **rates.columns(model, found)}
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        {"model": model.name}
        | {key: None if x != x else x for key, x in zip(columns, row, strict=True)}
        for row in rows
    ]


def _print(answers: Sequence[Answer], *, best_only: bool, interval: str) -> None:
    """A table of all models that say alike what they forecast, then the best counts of all."""
    kinds: dict[tuple[bool, str | None, bool], list[Answer]] = {}
    for each in answers:
        model = each.model
        kind = (model.knows_parts, model.unit, model.timestep is None)
        kinds.setdefault(kind, []).append(each)
    for (has_parts, *_), alike in () if best_only else kinds.items():
        table = _print_parts if has_parts else _print_rates
        table(alike, options.INTERVALS[interval])
        print()
    if any(each.best for each in answers):
        _print_best(answers)


def _print_parts(answers: Sequence[Answer], interval: str) -> None:
    """A line a forecast with its parts and Gflops, and what was measured."""
    from gpucast.model.fitted import own

    rows = [
        (own(each.model, "it has no Gflops").workload, row)
        for each in answers
        for row in each.forecast
    ]
    timed = any(row["measured"] is not None for _, row in rows)
    print_marked(
        [
            *("model", "n", "GPUs", "step time", interval),
            *(("measured",) if timed else ()),
            *("GPU", "CPU", "com", "Gflops"),
        ],
        [
            [
                *(row["model"], number(row["n"]), row["gpus"], duration(row["seconds"])),
                f"{duration(row['low'])} ... {duration(row['high'])}",
                *((_or_none(row["measured"]),) if timed else ()),
                *(percent(row[key] / row["seconds"], 0) for key in ("t_gpu", "t_cpu", "t_com")),
                f"{workload.gflops(row['n'], row['seconds']):.4g}",
            ]
            for workload, row in rows
        ],
        [row["extrapolated"] for _, row in rows],
        f"lrrrl{'r' * timed}rrrr",
    )


def _print_rates(answers: Sequence[Answer], interval: str) -> None:
    """A line a forecast with its rate and efficiency, and what was measured."""
    rows = [row for each in answers for row in each.forecast]
    timed = any(row["measured"] is not None for row in rows)
    parts = ("t_gpu", "t_cpu", "t_com") if all(a.model.timed_parts for a in answers) else ()
    speed, key = _speed(answers)
    # Where only one count is asked about, each model has a reference of its own.
    references = {row["reference_gpus"] for row in rows}
    named = f" (N_ref = {references.pop():g})" if len(references) == 1 else ""
    print_marked(
        [
            *("model", _size_word(answers), "GPUs", "step time", interval),
            *(("measured",) if timed else ()),
            *(speed, f"efficiency{named}", *(() if named else ("N_ref",))),
            *(("GPU", "CPU", "com") if parts else ()),
        ],
        [
            [
                *(row["model"], number(row["n"]), row["gpus"], duration(row["seconds"])),
                f"{duration(row['low'])} ... {duration(row['high'])}",
                *((_or_none(row["measured"]),) if timed else ()),
                *(f"{row[key]:.4g}", percent(row["efficiency"], 0)),
                *(() if named else (f"{row['reference_gpus']:g}",)),
                *(percent(row[part] / row["seconds"], 0) for part in parts),
            ]
            for row in rows
        ],
        [row["extrapolated"] for row in rows],
        f"lrrrl{'r' * timed}rr{'' if named else 'r'}{'r' * len(parts)}",
    )


def _print_best(answers: Sequence[Answer]) -> None:
    """A line an n."""
    speed, key = _speed(answers)
    print_marked(
        [
            *("model", _size_word(answers), "best GPUs", "step time"),
            *((speed,) if speed else ()),
            *("probability", "within 2 %"),
        ],
        [
            [
                *(row["model"], number(row["n"]), row["gpus"], _best_time(row)),
                *((_rate(each.model, row["seconds"], key),) if speed else ()),
                percent(row["probability"], 0),
                _counts(row["within_2_percent"]),
            ]
            for each in answers
            for row in each.best
        ],
        [row["extrapolated"] for each in answers for row in each.best],
        f"lrrr{'r' if speed else ''}rl",
    )


def _size_word(answers: Sequence[Answer]) -> str:
    """What n counts, where all say the same."""
    units = {each.model.unit for each in answers}
    return units.pop() or "n" if len(units) == 1 else "n"


def _speed(answers: Sequence[Answer]) -> tuple[str, str]:
    """The rate that suits, and its key: none for our own programs, whose steps mean little."""
    if any(each.model.knows_parts for each in answers):
        return "", ""
    if all(each.model.timestep is not None for each in answers):
        return "ns/day", "ns_per_day"
    return "steps/s", "steps_per_second"


def _rate(model: Forecaster, seconds: float, key: str) -> str:
    from gpucast.model.rates import ns_per_day

    rate = 1 / seconds if key != "ns_per_day" else float(ns_per_day(model.timestep, seconds))
    return f"{rate:.4g}"


def _best_time(row: Best) -> str:
    """Of two times that a table of forecasts has of a cell, forecast and measured, which it is."""
    return f"{duration(row['seconds'])}{' (measured)' if row['measured'] else ''}"


def _or_none(seconds: float | None) -> str | None:
    return None if seconds is None else duration(seconds)


def _counts(values: Sequence[int]) -> str:
    """GPU counts; many of them as ranges."""
    return ranges(values) if len(values) > MOST_LISTED else ", ".join(map(str, values))
