"""``gpucast predict``: step times of (n, N) that nobody has run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gpucast.answers.throughput import NONE, Throughput, columns_of
from gpucast.cli import options, predict_sharing
from gpucast.cli.options import argument, flag, option, with_options
from gpucast.cli.output import DOUBTED, print_json, print_marked, say, tell_forecasts
from gpucast.cli.predict_sharing import span
from gpucast.errors import InputError
from gpucast.util import JsonObject, files
from gpucast.util.gpu_shares import parted
from gpucast.util.number_lists import LARGEST_COUNT, counts, sizes
from gpucast.util.tables import Column, print_rows
from gpucast.util.units import duration, gpus_in_words, number, ranges, whole_percent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpucast.answers.doubts import BestDoubt, Doubt
    from gpucast.answers.scaling import Sensible
    from gpucast.measure.design.next_cells import Advice, Ask
    from gpucast.model.energy import Grid
    from gpucast.model.fitted import Model
    from gpucast.model.forecasts import Best, Forecasts
    from gpucast.model.intervals import Interval

MOST_LISTED = 8


@dataclass(frozen=True)
class Question:
    """What is asked of each model: sizes, GPU counts (None: the model's usual ones), instances."""

    n: list[float]
    gpus: list[float] | None
    instances: list[int]
    interval: Interval
    best_only: bool
    next_cells: bool
    efficiency: float
    within: float
    grid: Grid
    per_gpu: bool
    throughput: Throughput


@dataclass
class Answer:
    """What a model answers: rows as JSON and CSV have them, and what to know to believe them."""

    model: Model
    forecast: list[JsonObject]
    best: list[Best]
    sensible: list[Sensible]
    caveats: list[str]
    doubt: Doubt | BestDoubt | None
    next: tuple[Ask, Advice] | None = None
    together: list[JsonObject] = field(default_factory=list)
    least_energy: list[JsonObject] = field(default_factory=list)


@with_options
def command(
    *,
    models: list[str] = argument("Model files (gpucast fit DATA -o MODEL.json)."),
    n: str = options.SIZES,
    gpus: str | None = option(
        "GPU counts: 1-4,8. Default: 1-8; of programs that are not ours up to the most measured. "
        "1/4: four instances at once on one GPU, beside the counts given."
    ),
    best_only: bool = flag(
        "--best", "Only the GPU counts for each n: the sensible one, the fastest, the cheapest."
    ),
    efficiency: float = options.EFFICIENCY,
    interval: options.Interval = options.INTERVAL,
    next_cells: bool = flag(
        "--next", "What to measure next, so that this answer becomes surer soonest."
    ),
    within: float = option(
        "Factor between the ends of the 90 % interval of the expected time from which on a "
        "forecast is marked with ?, and the one cell named that would settle it.",
        default=2.0,
        metavar="FACTOR",
    ),
    grid_co2: float | None = options.GRID_CO2,
    energy_price: str | None = options.ENERGY_PRICE,
    size_of: Literal["all", "gpu"] = options.SIZE_OF,
    throughput: Throughput = NONE,
    output: Path | None = option(
        "Also write the rows as CSV; times in seconds.", "-o", "--output", metavar="FILE.csv"
    ),
    force: bool = options.FORCE,
    explain: bool = options.EXPLAIN,
    json: bool = options.JSON,
) -> None:
    """Forecast step times (90 % interval of one measurement), and the best GPU count for each n."""
    from gpucast.model.energy import Grid
    from gpucast.model.files import load_model
    from gpucast.model.intervals import Interval

    if output is not None:
        if output.suffix != ".csv":
            message = "a file that ends in .csv is written; of JSON: --json >FILE"
            raise InputError(message, file=output)
        files.check_output(output, force=force)
    instances, whole = parted(gpus) if gpus is not None else ([], "")
    for wanted, name in ((best_only, "--best"), (next_cells, "--next")):
        if instances and wanted:
            message = "knows whole GPU counts only: leave it out, or 1/k out of --gpus"
            raise InputError(message, field=name)
    if size_of == "gpu" and (instances or (best_only and next_cells)):
        message = f"gpu does not go with {'1/k in --gpus' if instances else '--next --best'}"
        raise InputError(message, field="--size-of")
    given = None if gpus is None else counts(whole) if whole or not instances else [1.0]
    if not 1 < within < math.inf:
        raise InputError(f"{within:g} is no factor above 1", field="--within")
    question = Question(
        sizes(n),
        given,
        instances,
        Interval(interval),
        best_only,
        next_cells,
        efficiency,
        within,
        Grid.stated(energy_price, grid_co2),
        size_of == "gpu",
        throughput,
    )
    answers = [_answer(model, question) for model in [load_model(path) for path in models]]
    if output is not None:
        files.write_text(output, _as_csv(answers, best_only=best_only), force=force)
    if json:
        print_json(_content(answers, question))
    else:
        _print(answers, question)
    for answer in answers:
        tell_forecasts(answer.model, answer.caveats, explain=explain)


def _answer(model: Model, question: Question) -> Answer:
    from gpucast.answers import doubts
    from gpucast.answers.caveats import caveats
    from gpucast.answers.scaling import sensible_count
    from gpucast.model.asked import outer
    from gpucast.model.energy import least_energy
    from gpucast.model.intervals import Interval

    question.grid.check(model)
    n, interval = question.n, question.interval
    gpus = question.gpus or [float(count) for count in model.usual_counts]
    if len(n) * len(gpus) > LARGEST_COUNT:
        raise InputError(
            f"{len(n)} sizes on {len(gpus)} GPU counts are more than {LARGEST_COUNT} forecasts; "
            "ask for fewer",
            field="n",
        )
    sizes_, counts_ = outer(n, gpus)
    per_gpu = question.per_gpu
    forecasts = model.forecasts(sizes_ * counts_ if per_gpu else sizes_, counts_, interval)
    choosing = not per_gpu and (question.best_only or model.unshared is None)
    best = model.best_counts(n, gpus, interval) if choosing else []
    sensible = [
        sensible_count(model, size, gpus, question.efficiency, interval, per_gpu=question.per_gpu)
        for size in (n if question.best_only else ())
    ]
    # What a model misses of what it was fitted to shows in the narrowest interval.
    known = caveats(
        model,
        forecasts.n,
        forecasts.gpus,
        forecasts if interval is Interval.now else None,
        within=None,
    )
    if question.best_only and choosing:
        doubt: Doubt | BestDoubt | None = doubts.of_best(model, best, gpus)
    else:
        doubt = doubts.widest(model, forecasts, question.within)
    marked = doubts.doubtful(model, forecasts, question.within)
    rows = _rows(model, forecasts, marked, question)
    answer = Answer(model, rows, best, sensible, known, doubt)
    if choosing:
        least = least_energy(model, n, gpus, interval)
        answer.least_energy = [row | question.grid.of(row["joules"]) for row in least]
    if question.instances:
        answer.together = predict_sharing.rows_of(model, forecasts, n, question.instances, interval)
    if question.next_cells:
        from gpucast.answers.advice import for_question
        from gpucast.measure.design.next_cells import Ask

        asked = forecasts.n, forecasts.gpus
        ask = Ask.best_count(n, gpus) if question.best_only else Ask.forecasts(*asked)
        advice = for_question(model, ask)
        answer.next = None if advice is None else (ask, advice)
    return answer


def _rows(
    model: Model, forecasts: Forecasts, doubtful: NDArray[np.bool_], question: Question
) -> list[JsonObject]:
    """A row a cell; None where something is not known."""
    from gpucast.model import rates

    of_energy = model.joules(forecasts)
    if of_energy:
        of_energy |= question.grid.of(of_energy["joules"])
    columns = {
        **forecasts.columns(),
        **rates.columns(model, forecasts, per_gpu=question.per_gpu),
        **question.throughput.columns(forecasts.n, forecasts.gpus, forecasts.seconds),
        "doubtful": doubtful,
        **of_energy,
    }
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        {"model": model.name}
        | {key: None if x != x else x for key, x in zip(columns, row, strict=True)}
        for row in rows
    ]


def _content(answers: Sequence[Answer], question: Question) -> JsonObject:
    from gpucast.answers.doubts import as_json

    names = [(answer, {"model": answer.model.name}) for answer in answers]
    content = {
        "interval": str(question.interval),
        "per_gpu": question.per_gpu,
        "forecast": [row for answer in answers for row in answer.forecast],
        "best": [row for answer in answers for row in answer.best],
        "sensible": [row for answer in answers for row in answer.sensible],
        "caveats": [name | {"text": text} for answer, name in names for text in answer.caveats],
        "doubts": [
            name | as_json(answer.doubt) for answer, name in names if answer.doubt is not None
        ],
        "updated": [
            name | {"text": factors.words}
            for answer, name in names
            if (factors := answer.model.machine_factors) is not None
        ],
    }
    if any(answer.least_energy for answer in answers):
        content["least_energy"] = [row for answer in answers for row in answer.least_energy]
    if question.instances:
        content["instances"] = [row for answer in answers for row in answer.together]
    if question.next_cells:
        content["next"] = [name | _next_in_json(answer) for answer, name in names]
    return content


def _next_in_json(answer: Answer) -> JsonObject:
    """``before`` and ``after``: half-width of the 90 % interval of the expected time, root mean
    square over what was asked; with --best, what a wrong best count loses on average, relative."""
    if answer.next is None:
        return {"cells": [], "before": None, "after": None}
    _, advice = answer.next
    cells = [{"n": cell.n, "gpus": cell.gpus} for cell in advice.cells]
    return {"cells": cells, "before": advice.before, "after": advice.after}


def _as_csv(answers: Sequence[Answer], *, best_only: bool) -> str:
    """The rows of the table, in the columns of the JSON answer."""
    from gpucast.util.tables import csv_text

    rows = [
        row
        for answer in answers
        for row in (answer.together or (answer.best if best_only else answer.forecast))
    ]
    columns = list(dict.fromkeys(name for row in rows for name in row))

    def cell(value: object) -> object:
        # Several counts as a list that the options take.
        return ",".join(map(str, value)) if isinstance(value, list | tuple) else value

    return csv_text(columns, ([cell(row.get(name)) for name in columns] for row in rows))


def _print(answers: Sequence[Answer], question: Question) -> None:
    """A table for models of each kind, then the best counts of all; or one of instances."""
    if question.instances:
        predict_sharing.show(
            [row for answer in answers for row in answer.together], question.interval
        )
    else:
        kinds: dict[tuple[bool, str | None, bool], list[Answer]] = {}
        for answer in answers:
            model = answer.model
            kind = (model.knows_parts, model.unit, model.timestep is None)
            kinds.setdefault(kind, []).append(answer)
        for same_kind in () if question.best_only else kinds.values():
            _print_forecasts(same_kind, question)
            _print_doubts(same_kind)
            print()
        if question.best_only:
            _print_sensible(answers, question)
        if any(answer.best for answer in answers):
            _print_best(answers)
        if question.best_only:
            _print_doubts(answers)
        _print_energy(answers, question)
    if question.next_cells:
        from gpucast.answers.advice import in_words

        print()
        for answer in answers:
            words = "nothing to propose" if answer.next is None else in_words(*answer.next)
            say(f"{answer.model.name}: {words}")


def _print_forecasts(answers: Sequence[Answer], question: Question) -> None:
    """A line a forecast, what was measured beside it; then parts and Gflops of our own programs,
    rate and efficiency of others."""
    rows = [row for answer in answers for row in answer.forecast]
    own = answers[0].model.knows_parts
    parts = own or all(answer.model.timed_parts for answer in answers)
    shares = [_share("GPU", "t_gpu"), _share("CPU", "t_cpu"), _share("com", "t_com")]
    if own:
        works = [answer.model.workload for answer in answers]
        rows = [
            row | {"gflops": work.gflops(row["n"], row["seconds"])}
            for answer, work in zip(answers, works, strict=True)
            for row in answer.forecast
        ]
        speeds = [*shares, Column("Gflops", "gflops", ".4g")]
    else:
        # Where only one count is asked about, each model has a reference of its own.
        references = {row["reference_gpus"] for row in rows}
        named = f" (N_ref = {references.pop():g})" if len(references) == 1 else ""
        speeds = [
            *([] if question.throughput.units else [Column(*_speed(answers), ".4g")]),
            Column(f"efficiency{named}", "efficiency", whole_percent),
            *([] if named else [Column("N_ref", "reference_gpus", "g")]),
            *(shares if parts else []),
        ]
    print_marked(
        rows,
        [
            Column("model", "model"),
            Column("n" if own else _size_word(answers), "n", number),
            Column("GPUs", "gpus"),
            Column("step time", "seconds", duration),
            Column(options.INTERVALS[question.interval], span),
            Column("measured", "measured", duration, optional=True),
            *speeds,
            *columns_of(rows[0] if rows else {}, question.throughput.unit),
        ],
    )


def _print_doubts(answers: Sequence[Answer]) -> None:
    for answer in answers:
        if answer.doubt is not None:
            say(f"{DOUBTED} {answer.model.name}: {answer.doubt}")


def _share(word: str, key: str) -> Column:
    return Column(word, lambda row: row[key] / row["seconds"], whole_percent)


def _print_sensible(answers: Sequence[Answer], question: Question) -> None:
    """A line an n: the most GPUs that are efficient enough, and those of fewest GPU hours."""
    from gpucast.answers.scaling import hedged

    rows = [row for answer in answers for row in answer.sensible]
    print_marked(
        rows,
        [
            Column("model", "model"),
            Column(_size_word(answers) + " a GPU" * question.per_gpu, "n", number),
            Column("sensible GPUs", "gpus"),
            Column("step time", "seconds", duration),
            Column("efficiency", "efficiency", whole_percent),
            Column("N_ref", "reference_gpus"),
            Column("probability", "probability", whole_percent),
            Column("cheapest GPUs", "cheapest"),
        ],
    )
    say(
        f"sensible: the most with an efficiency of {whole_percent(rows[0]['threshold'])} or more "
        "(--efficiency), and how probable that is; cheapest: fewest GPU hours"
    )
    for row in rows:
        if words := hedged(row):
            say(f"{row['model']}: n = {number(row['n'])}, {gpus_in_words(row['gpus'])}: {words}")
    print()


def _print_best(answers: Sequence[Answer]) -> None:
    from gpucast.model.rates import ns_per_day

    speed, key = _speed(answers)
    rows = [
        {
            **row,
            "steps_per_second": 1 / row["seconds"],
            "ns_per_day": float(ns_per_day(answer.model.timestep, row["seconds"])),
        }
        for answer in answers
        for row in answer.best
    ]
    print_marked(
        rows,
        [
            Column("model", "model"),
            Column(_size_word(answers), "n", number),
            Column("best GPUs", "gpus"),
            Column("step time", _best_time, side="r"),
            *([Column(speed, key, ".4g")] if speed else []),
            Column("probability", "probability", whole_percent),
            Column("within 2 %", lambda row: _counts(row["within_2_percent"])),
        ],
    )


def _size_word(answers: Sequence[Answer]) -> str:
    """What n counts, where all say the same."""
    units = {answer.model.unit for answer in answers}
    return units.pop() or "n" if len(units) == 1 else "n"


def _speed(answers: Sequence[Answer]) -> tuple[str, str]:
    """The rate that suits, and its key: none for our own programs, whose steps mean little."""
    if any(answer.model.knows_parts for answer in answers):
        return "", ""
    if all(answer.model.timestep is not None for answer in answers):
        return "ns/day", "ns_per_day"
    return "steps/s", "steps_per_second"


def _print_energy(answers: Sequence[Answer], question: Question) -> None:
    """A line a forecast of energy, then the counts of least; nothing where none was measured."""
    least = [row for answer in answers for row in answer.least_energy]
    rows = [row for answer in answers for row in answer.forecast if "joules" in row]
    rows = least if question.best_only else rows
    if not rows:
        return
    price = " ".join(filter(None, ("price", question.grid.currency)))
    say("\nEnergy of a step (GPUs only: the host's is not measured), of a million steps:\n")
    print_rows(
        rows,
        [
            Column("model", "model"),
            Column(_size_word(answers), "n", number),
            Column("GPUs of least energy" if question.best_only else "GPUs", "gpus"),
            Column("W a GPU", lambda row: row["joules"] / (row["gpus"] * row["seconds"]), ".3g"),
            Column("J a step", "joules", ".4g"),
            Column("90 %", lambda row: f"{row['joules_low']:.4g} ... {row['joules_high']:.4g}"),
            *(
                Column(heading, _of_a_million(key), ".4g", optional=True)
                for heading, key in (("kWh", "kwh"), (price, "energy_cost"), ("kg CO2", "co2_kg"))
            ),
        ],
    )
    for row in least:
        saved = 1 - row["joules"] / row["fastest_joules"]
        if saved >= 0.005:
            many = "1 GPU takes" if row["gpus"] == 1 else f"{row['gpus']} GPUs take"
            say(
                f"{row['model']}, n = {number(row['n'])}: {many} {whole_percent(saved)} less than "
                f"the fastest, {row['fastest_gpus']}"
            )


def _of_a_million(key: str) -> Callable[[JsonObject], float | None]:
    return lambda row: 1e6 * row[key] if key in row else None


def _best_time(row: JsonObject) -> str:
    """A cell's time, and whether it is the measured one of the two that forecasts show."""
    return f"{duration(row['seconds'])}{' (measured)' if row['measured'] else ''}"


def _counts(values: Sequence[int]) -> str:
    return ranges(values) if len(values) > MOST_LISTED else ", ".join(map(str, values))
