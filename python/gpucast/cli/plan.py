"""``gpucast plan``: which GPUs each job should get, what a deadline costs, how many jobs fit.

For people in tables of at most a hundred columns.
"""

from __future__ import annotations

import json as json_module
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gpucast.answers.throughput import rounded
from gpucast.cli import options
from gpucast.cli.options import argument, option
from gpucast.cli.output import EXTRAPOLATED, MARK, print_json, say, tell_forecasts
from gpucast.util import JsonObject
from gpucast.util.gpu_shares import share_text
from gpucast.util.tables import Column, print_rows
from gpucast.util.units import change, duration, long_duration, long_interval, number
from gpucast.util.units import whole_percent as percent

MOST_FRONTS = 12
"""Jobs up to which every front is printed; of more, --json and -o have them."""

MOST_OPTIONS = 12
"""Options of a front that are printed, beside what the job should get; of more, --json and -o have
the rest."""

MOST_NEVER = 3
"""Jobs that no GPU count lets be in time and that are named."""

_NAME = 16

_KINDS = {
    "fastest": "fastest",
    "cheapest": "cheapest",
    "fewest_gpu_hours": "fewest GPU h",
    "least_energy": "least energy",
    "advised": "in time",
}

_INTERVALS = {
    "now": "90 % intervals, now",
    "later": "90 % intervals",
    "machine": "90 % intervals, other machines",
}


def command(
    plan: str = argument("Machines, prices and jobs (docs/plan.md).", metavar="PLAN.yaml"),
    models: list[str] | None = argument(
        "Models, each named for its machine (native.json: native); may stand in the plan.",
        None,
        metavar="MODEL.json",
    ),
    interval: options.Interval | None = option(
        "What intervals and probabilities are of: times now, later on these machines, or on other "
        "machines of the kind. Default: the plan's interval, else later."
    ),
    output: Path | None = option("Also write the whole answer here, as JSON.", "-o", "--output"),
    force: bool = options.FORCE,
    explain: bool = options.EXPLAIN,
    json: bool = options.JSON,
) -> None:
    """Fastest and cheapest GPU counts of jobs, native or remote; deadlines; how many jobs fit."""
    from gpucast.answers.planning.plan import plan_request
    from gpucast.answers.planning.reading import read
    from gpucast.model.intervals import Interval
    from gpucast.util import files

    if output is not None:
        files.check_output(output, force=force)
    request = read(plan, {Path(path).stem: path for path in models or ()})
    if interval is not None:
        request.interval = Interval(interval)
    content = plan_request(request).content
    if output is not None:
        text = json_module.dumps(content, ensure_ascii=False, allow_nan=False)
        files.write_text(output, text + "\n", force=force)
    if json:
        print_json(content)
    else:
        show(content)
    models_by_name = {machine.forecaster.name: machine.forecaster for machine in request.machines}
    for name, model in models_by_name.items():
        texts = [caveat["text"] for caveat in content["caveats"] if caveat["model"] == name]
        tell_forecasts(model, texts, explain=explain)


def show(content: JsonObject) -> None:
    """Print all of it."""
    for part in (_purchase, _choices, _buying, _others, _fronts, _capacity, _mix):
        if content["jobs"]:
            part(content)
    _iso_sizes(content)
    if _extrapolates(content):
        say(f"\n{EXTRAPOLATED}")


def _purchase(content: JsonObject) -> None:
    purchase = content["purchase"]
    if purchase is None:
        return
    name, copies = _short(purchase["machine"]), content["mix"]["copies"]
    gpus, fewest = purchase["gpus"] or purchase["most"], purchase["fewest"]
    many = f"{gpus} GPU is" if gpus == 1 else f"{gpus} GPUs are"
    all_of_them = "the simulation" if copies == 1 else f"all {copies} simulations"
    sure = percent(content["probability"])
    enough = f"{many} enough for {all_of_them} to be in time with {sure}"
    if purchase["gpus"] is None:
        say(f"{name}: not even {enough}.")
        _never(content)
    else:
        machine = next(m for m in content["machines"] if m["name"] == purchase["machine"])
        per_host = machine["gpus_per_host"] or 1
        hosts = f" in hosts of {per_host}" if gpus % per_host == 0 and per_host > 1 else ""
        say(f"{name}: {enough}, of {purchase['least']} to {purchase['most']}{hosts}.")
        if fewest < gpus and purchase["fewest_cost"] is not None:
            say(
                f"{fewest} would be, but with {gpus} jobs cost less: "
                f"{_money(content['mix']['cost'])} {content['currency']}, not "
                f"{_money(purchase['fewest_cost'])}."
            )
    say(f"What follows is with {gpus}.\n")


def _never(content: JsonObject) -> None:
    """The jobs that are not in time on any count, and whether more GPUs could help them."""
    purchase, sure = content["purchase"], percent(content["probability"])
    fastest = {job["name"]: job["fastest"] for job in content["jobs"]}
    for job in purchase["never_in_time"][:MOST_NEVER]:
        option = fastest[job["job"]]
        alone = f"{_where(option)}, takes {long_duration(option['seconds'])}"
        may = job["gpus"] == purchase["most"]
        more = f"More than {purchase['most']} for one run might."
        say(
            f"{_short(job['job'])}: in time with {sure} on no count; the fastest, {alone}. "
            f"{more if may else 'More GPUs do not help it.'}"
        )
    left = len(purchase["never_in_time"]) - MOST_NEVER
    if left > 0:
        say(f"So it is with {left} more {'job' if left == 1 else 'jobs'}.")


def _choices(content: JsonObject) -> None:
    unpriced, jobs = content["unpriced"], content["jobs"]
    intervals, currency = _INTERVALS[content["interval"]], content["currency"]
    say(f"What each job should get ({intervals}; prices in {currency})\n")
    # Where all speeds are known, that is what people compare.
    rates = all(job["fastest"]["ns_per_day"] is not None for job in jobs)
    through = all(job["unit"] for job in jobs)
    print_rows(
        [
            {"job": job["name"] if kind == "fastest" else "", "kind": words} | job[kind]
            for job in jobs
            for kind, words in _KINDS.items()
            if job.get(kind) and (kind != "advised" or job["meets_deadline"] is not None)
        ],
        [
            Column("job", "job", _short),
            Column("", "kind"),
            Column("GPUs", _where),
            _SPEED if rates else _through(jobs) if through else _STEP,
            Column("time", "seconds", long_duration),
            Column("interval", lambda option: long_interval(option["low"], option["high"])),
            *([_HOURS] if unpriced else []),
            _COST,
            *_ENERGY,
            Column("P", lambda option: option.get("probability"), percent),
            _IN_TIME,
            MARK,
        ],
    )
    best = "that of fewest GPU hours" if unpriced else "the cheapest"
    say(f"\nP: of being the fastest or {best} of all; options as good as one another share it.")
    if unpriced:
        say(
            f"{', '.join(map(_short, unpriced))}: without a price above 0, so GPU hours are "
            "compared and costs are not; state price_per_gpu_hour."
        )
    for names in content["same_model"]:
        say(f"One model for {', '.join(map(_short, names))}: their steps are taken to be the same.")
    _deadlines(content)


def _deadlines(content: JsonObject) -> None:
    sure = percent(content["probability"])
    for job in content["jobs"]:
        name, limit = _short(job["name"]), f"{job['ns_per_day'] or 0:g} ns a day"
        if job["deadline"] is not None:
            limit = long_duration(job["deadline"])
        if job["meets_deadline"] and job["deadline_cost"] is not None:
            say(f"{name}: {limit} costs {_money(job['deadline_cost'])} more than no deadline.")
        elif job["meets_deadline"] is False:
            best = percent(job["advised"]["probability_in_time"])
            say(f"{name}: nothing is done in {limit} with {sure}; shown is the likeliest, {best}.")
        if (faster := job["over_budget"]) is not None:
            what = f"{faster['machine']} x {faster['gpus']}"
            takes = f"takes {long_duration(faster['seconds'])} and costs {_money(faster['cost'])}"
            kept = f"the budget of {_money(job['budget'])} is not kept with {sure}"
            say(f"{name}: left out is {what}, which {takes}: {kept}.")


def _buying(content: JsonObject) -> None:
    """From how many GPU hours a year on buying pays."""
    if not content["buying"]:
        return
    say(f"\nGPU hours a year from which buying pays ({content['currency']})\n")
    print_rows(
        content["buying"],
        [
            Column("buy", "machine", _short),
            Column("GPUs", "gpus"),
            Column("a GPU h", "cost_per_gpu_hour", _money),
            Column("rent", "beside", _short),
            Column("for the same", "rent_per_gpu_hour", _money),
            Column("pays from", "pays_from", _hours),
            Column("90 %", lambda row: f"{_hours(row['low'])} ... {_hours(row['high'])}", side="l"),
            Column("planned", "gpu_hours_a_year", _hours),
            Column("P pays", "probability", percent),
        ],
    )
    say("\nfor the same: the rent for the work of a GPU hour of the machine that is bought.")


def _others(content: JsonObject) -> None:
    priced = not content["unpriced"]
    rows = [{**other, "job": job["name"]} for job in content["jobs"] for other in job["others"]]
    if not rows:
        return
    cheapest = ", and the cheapest of each" if priced else ""
    say(f"\nBeside {content['baseline']}: the fastest of each{cheapest}\n")
    print_rows(
        rows,
        [
            Column("job", "job", _short),
            Column("on", "machine", _short),
            *_extra("time", "seconds", "faster"),
            *(_extra("cost", "cost", "cheaper") if priced else []),
        ],
    )


def _extra(heading: str, what: str, less: str) -> list[Column]:
    """What an option takes more, the interval of that, and the probability that it takes less."""

    def interval(other: JsonObject) -> str | None:
        low, high = other[f"extra_{what}_low"], other[f"extra_{what}_high"]
        return None if low is None else f"{change(low)} ... {change(high)}"

    return [
        Column(heading, f"extra_{what}", change),
        Column("90 %", interval, side="l"),
        Column(f"P {less}", f"probability_{less}", percent),
    ]


def _fronts(content: JsonObject) -> None:
    unpriced, jobs = content["unpriced"], content["jobs"]
    less = "takes fewer GPU hours" if unpriced else "cheaper"
    say(f"\nWhat less time costs (nothing else is both faster and {less})\n")
    if len(jobs) > MOST_FRONTS:
        say(f"Of {len(jobs)} jobs: --json or -o, key front.")
        return
    rows = [
        {**option, "job": "" if i else job["name"]}
        for job in jobs
        for i, option in enumerate(_some(job))
    ]
    print_rows(
        rows,
        [
            Column("job", "job", _short),
            Column("time", "seconds", long_duration),
            replace(_SPEED, optional=True),
            replace(_through(jobs), optional=True),
            _HOURS,
            Column("lost", _lost, ".3g", optional=True),
            _COST,
            Column("per 10^6", "cost_per_million", _money, optional=True),
            Column("GPUs", _where),
            Column("E (N_ref = 1)", "efficiency", percent),
            Column("of peak", "peak_efficiency", percent, optional=True),
            replace(_IN_TIME, optional=True),
            MARK,
        ],
    )
    if any(_lost(row) for row in rows):
        say("\nlost: of the GPU hours, those of checkpoints, restarts and work done again.")
    if any(row["cost_per_million"] for row in rows):
        units = " or ".join(sorted({job["unit"] for job in jobs if job["unit"]}))
        say(f"\nper 10^6: cost of a million {units}.")
    every = sum(len(job["front"]) for job in jobs)
    if len(rows) < every:
        say(f"\n{every - len(rows)} of {every} options left out: --json or -o, key front.")


def _capacity(content: JsonObject) -> None:
    capacity = content["capacity"]
    if capacity is None:
        return
    say(f"\nHow many copies fit into {long_duration(capacity['window'])}, each job alone\n")

    def where(job: JsonObject) -> str:
        used = [machine for machine in job["machines"] if machine["copies"]]
        return ", ".join(f"{machine['copies']} on {_where(machine)}" for machine in used)

    print_rows(
        capacity["jobs"],
        [
            Column("job", "job", _short),
            Column("copies", "copies"),
            Column(f"with {percent(content['probability'])}", "copies_sure"),
            Column("GPUs a copy", where),
        ],
    )


def _mix(content: JsonObject) -> None:
    mix, capacity = content["mix"], content["capacity"]
    copies, done = mix["copies"], mix["done"]
    together = f"All {copies} simulations together on all GPUs"
    say(f"\n{together if copies > 1 else 'That simulation on the GPUs there are'}\n")
    if capacity is not None:
        sure = f", P = {percent(mix['probability'])}" if mix["probability"] is not None else ""
        window, share = long_duration(capacity["window"]), percent(mix["share"])
        say(f"Within {window}: {done} of {copies} ({share}){sure}.")
    if done:
        without = ", ".join(map(_short, content["unpriced"]))
        without = f" without {without}" if without else ""
        is_done = "is done" if done == 1 else "are done"
        of_them = f", for the {done} that {is_done}" if done < copies else ""
        say(
            f"The schedule found takes {long_duration(mix['makespan'])} and costs "
            f"{_money(mix['cost'])} {content['currency']}{without}{of_them}."
        )
        if (budget := content["budget"]) is not None:
            kept = "keeps" if mix["cost"] <= budget * (1 + 1e-9) else "does not keep"
            say(f"It {kept} the budget of {_money(budget)} {content['currency']}.")
        _late(content)


def _some(job: JsonObject) -> list[JsonObject]:
    """Options of a front that are enough to see what less time costs: ends, between them evenly in
    the logarithm of the time, and what the job should get."""
    front = job["front"]
    if len(front) <= MOST_OPTIONS:
        return list(front)
    seconds = [option["seconds"] for option in front]
    steps = MOST_OPTIONS - 1
    wanted = [seconds[0] * (seconds[-1] / seconds[0]) ** (i / steps) for i in range(steps + 1)]
    kept = {min(range(len(front)), key=lambda at: abs(seconds[at] - time)) for time in wanted}
    kept |= {0, len(front) - 1}
    if job["meets_deadline"] is not None:
        kept |= {at for at, option in enumerate(front) if _where(option) == _where(job["advised"])}
    return [front[at] for at in sorted(kept)]


def _late(content: JsonObject) -> None:
    """How many of the simulations done keep their deadlines; nothing where there are none."""
    if all(job["meets_deadline"] is None for job in content["jobs"]):
        return
    mix, sure = content["mix"], percent(content["probability"])
    late, done, copies = mix["late"], mix["done"], mix["copies"]
    many = "all" if not late else "none" if late == done else str(done - late)
    of_them = "them" if done == copies else f"the {done} that {'is' if done == 1 else 'are'} done"
    if copies == 1:
        say(f"It is {'not ' if late else ''}in time with {sure}.")
    else:
        say(f"In time with {sure}: {many} of {of_them}.")


def _iso_sizes(content: JsonObject) -> None:
    efficient, cheap = content["iso_efficiency"], content["break_even"]
    if efficient is not None:
        _sizes(f"are N GPUs {percent(efficient['efficiency'])} efficient", efficient)
    if cheap is not None:
        longer = percent(cheap["surcharge"])
        _sizes(f"does a step take less than {longer} longer than on {cheap['baseline']}", cheap)


def _sizes(what: str, answer: JsonObject) -> None:
    say(f"\nFrom which n on {what}?\n")
    print_rows(
        [machine | size for machine in answer["machines"] for size in machine["sizes"]],
        [
            Column("on", "machine", _short),
            Column("N", "gpus"),
            Column("n", lambda row: _size(row, "n"), side="r"),
            Column("90 % interval", lambda row: f"{_size(row, 'low')} ... {_size(row, 'high')}"),
            Column("P reached", "probability_reached", percent),
            MARK,
        ],
    )


def _size(row: JsonObject, key: str) -> str:
    n = row[key]
    if n is None:
        return f"> {number(row['largest'])}"
    return f"<= {number(n)}" if n <= row["smallest"] else number(n)


def _where(option: JsonObject) -> str:
    return f"{_short(option['machine'])} x {share_text(option['gpus'], option['instances'])}"


def _money(value: float) -> str:
    return f"{value:.2f}" if value >= 0.995 or value == 0 else f"{value:.3g}"


def _hours(value: float | None) -> str:
    return "never" if value is None else f"{value:.0f}"


def _lost(option: JsonObject) -> float | None:
    """GPU hours of checkpoints, restarts and work done again; None where there are none."""
    return option["checkpoint_hours"] + option["restart_hours"] or None


def _units(jobs: Sequence[JsonObject]) -> str:
    words = {job["unit"] for job in jobs if job["unit"]}
    return words.pop() if len(words) == 1 else "units"


def _through(jobs: Sequence[JsonObject]) -> Column:
    return Column(f"{_units(jobs)}/s", "units_per_second", rounded)


_STEP = Column("a step", "step_seconds", duration)
_SPEED = Column("ns/day", "ns_per_day", ".4g")
_HOURS = Column("GPU h", "gpu_hours", ".4g")
_COST = Column("cost", "cost", _money)
_ENERGY = (
    Column("kWh", lambda option: option.get("kwh"), ".4g", optional=True),
    Column("kg CO2", lambda option: option.get("co2_kg"), ".4g", optional=True),
)
_IN_TIME = Column("P in time", "probability_in_time", percent)


def _short(name: str) -> str:
    return name if len(name) <= _NAME else name[: _NAME - 3] + "..."


def _extrapolates(content: JsonObject) -> bool:
    options = [job[kind] for job in content["jobs"] for kind in _KINDS if job.get(kind)]
    options += [option for job in content["jobs"] for option in job["front"]]
    for key in ("iso_efficiency", "break_even"):
        if content[key] is not None:
            options += [size for machine in content[key]["machines"] for size in machine["sizes"]]
    return any(option["extrapolated"] for option in options)
