"""A plan for people: tables of at most a hundred columns."""

from __future__ import annotations

from gpucast.cli.output import EXTRAPOLATED, say
from gpucast.util import JsonObject
from gpucast.util.gpu_shares import share_text
from gpucast.util.tables import print_table
from gpucast.util.units import change, duration, long_duration, long_interval, number, percent

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
    "advised": "in time",
}

_INTERVALS = {
    "now": "90 % intervals, now",
    "later": "90 % intervals",
    "machine": "90 % intervals, other machines",
}


def show(content: JsonObject) -> None:
    """Print all of it."""
    parts = []
    if content["jobs"]:
        parts += [_purchase, _choices, _others, _fronts, _capacity, _mix]
    parts += [_iso_efficiency, _break_even]
    for part in parts:
        part(content)
    if _extrapolates(content):
        say(f"\n{EXTRAPOLATED}")


def _purchase(content: JsonObject) -> None:
    found = content["purchase"]
    if found is None:
        return
    copies, sure = content["mix"]["copies"], percent(content["probability"], 0)
    gpus, fewest = found["gpus"] or found["most"], found["fewest"]
    many = f"{gpus} GPU is" if gpus == 1 else f"{gpus} GPUs are"
    all_of_them = "the simulation" if copies == 1 else f"all {copies} simulations"
    enough = f"{many} enough for {all_of_them} to be in time with {sure}"
    if found["gpus"] is None:
        say(f"{_short(found['machine'])}: not even {enough}.")
        _never(content)
    else:
        per_host = _machine(content, found["machine"])["gpus_per_host"] or 1
        hosts = f" in hosts of {per_host}" if gpus % per_host == 0 and per_host > 1 else ""
        say(f"{_short(found['machine'])}: {enough}, of {found['least']} to {found['most']}{hosts}.")
        if fewest < gpus and found["fewest_cost"] is not None:
            say(
                f"{fewest} would be, but with {gpus} jobs cost less: "
                f"{_money(content['mix']['cost'])} {content['currency']}, not "
                f"{_money(found['fewest_cost'])}."
            )
    say(f"What follows is with {gpus}.\n")


def _never(content: JsonObject) -> None:
    """The jobs that are not in time on any count, and whether more GPUs could help them."""
    found, sure = content["purchase"], percent(content["probability"], 0)
    fastest = {job["name"]: job["fastest"] for job in content["jobs"]}
    for each in found["never_in_time"][:MOST_NEVER]:
        option = fastest[each["job"]]
        alone = f"{_where(option)}, takes {long_duration(option['seconds'])}"
        helps = "More GPUs do not help it."
        if each["gpus"] == found["most"]:
            helps = f"More than {found['most']} for one run might."
        name = _short(each["job"])
        say(f"{name}: in time with {sure} on no count; the fastest, {alone}. {helps}")
    more = len(found["never_in_time"]) - MOST_NEVER
    if more > 0:
        say(f"So it is with {more} more {'job' if more == 1 else 'jobs'}.")


def _choices(content: JsonObject) -> None:
    unpriced = content["unpriced"]
    intervals, currency = _INTERVALS[content["interval"]], content["currency"]
    say(f"What each job should get ({intervals}; prices in {currency})\n")
    rows = []
    # Where all speeds are known, that is what people compare.
    rates = all(job["fastest"]["ns_per_day"] is not None for job in content["jobs"])
    for job in content["jobs"]:
        for kind, words in _KINDS.items():
            option = job[kind]
            if option is None or (kind == "advised" and job["meets_deadline"] is None):
                continue
            rows.append(
                [
                    _short(job["name"]) if kind == "fastest" else "",
                    words,
                    _where(option),
                    _rate(option["ns_per_day"]) if rates else duration(option["step_seconds"]),
                    long_duration(option["seconds"]),
                    long_interval(option["low"], option["high"]),
                    *((_hours(option),) if unpriced else ()),
                    _money(option["cost"]),
                    percent(option.get("probability"), 0),
                    percent(option["probability_in_time"], 0),
                    "*" if option["extrapolated"] else "",
                ]
            )
    print_table(
        [
            *("job", "", "GPUs", "ns/day" if rates else "a step"),
            *("time", "interval", *(("GPU h",) if unpriced else ())),
            *("cost", "P", "P in time", ""),
        ],
        rows,
        f"lllrrl{'r' if unpriced else ''}rrrl",
    )
    best = "that of fewest GPU hours" if unpriced else "the cheapest"
    say(f"\nP: of being the fastest or {best} of all; options that are alike share it.")
    if unpriced:
        say(
            f"{', '.join(map(_short, unpriced))}: without a price above 0, so GPU hours are "
            "compared and costs are not; state price_per_gpu_hour."
        )
    for names in content["same_model"]:
        say(f"One model for {', '.join(map(_short, names))}: their steps are taken to be alike.")
    _deadlines(content)


def _deadlines(content: JsonObject) -> None:
    for job in content["jobs"]:
        if job["meets_deadline"] is None:
            continue
        name, limit = _short(job["name"]), f"{job['ns_per_day'] or 0:g} ns a day"
        if job["deadline"] is not None:
            limit = long_duration(job["deadline"])
        if job["meets_deadline"]:
            if job["deadline_cost"] is None:
                continue
            say(f"{name}: {limit} costs {_money(job['deadline_cost'])} more than no deadline.")
        else:
            sure = percent(content["probability"], 0)
            best = percent(job["advised"]["probability_in_time"], 0)
            say(f"{name}: nothing is done in {limit} with {sure}; shown is the likeliest, {best}.")


def _others(content: JsonObject) -> None:
    priced = not content["unpriced"]
    rows = [
        [
            _short(job["name"]),
            _short(other["machine"]),
            *_extra(other, "seconds", "faster"),
            *(_extra(other, "cost", "cheaper") if priced else ()),
        ]
        for job in content["jobs"]
        for other in job["others"]
    ]
    if not rows:
        return
    cheapest = ", and the cheapest of each" if priced else ""
    say(f"\nBeside {content['baseline']}: the fastest of each{cheapest}\n")
    costs = ("cost", "90 %", "P cheaper") if priced else ()
    print_table(
        ["job", "on", "time", "90 %", "P faster", *costs], rows, f"llrlr{'rlr' if priced else ''}"
    )


def _fronts(content: JsonObject) -> None:
    unpriced = content["unpriced"]
    less = "takes fewer GPU hours" if unpriced else "cheaper"
    say(f"\nWhat less time costs (nothing else is both faster and {less})\n")
    if len(content["jobs"]) > MOST_FRONTS:
        say(f"Of {len(content['jobs'])} jobs: --json or -o, key front.")
        return
    rates, peak = _any(content, "ns_per_day"), _any(content, "peak_efficiency")
    timed = _any(content, "probability_in_time")
    rows = [
        [
            _short(job["name"]) if i == 0 else "",
            long_duration(option["seconds"]),
            *((_rate(option["ns_per_day"]),) if rates else ()),
            *((_hours(option),) if unpriced else ()),
            _money(option["cost"]),
            _where(option),
            percent(option["efficiency"], 0),
            *((percent(option["peak_efficiency"], 0),) if peak else ()),
            *((percent(option["probability_in_time"], 0),) if timed else ()),
            "*" if option["extrapolated"] else "",
        ]
        for job in content["jobs"]
        for i, option in enumerate(_some(job))
    ]
    print_table(
        [
            *(
                "job",
                "time",
                *(("ns/day",) if rates else ()),
                *(("GPU h",) if unpriced else ()),
                "cost",
                "GPUs",
                "efficiency (N_ref = 1)",
            ),
            *(("of peak",) if peak else ()),
            *(("P in time",) if timed else ()),
            "",
        ],
        rows,
        f"lr{'r' * rates}{'r' if unpriced else ''}rlr{'r' * (peak + timed)}l",
    )
    every = sum(len(job["front"]) for job in content["jobs"])
    if len(rows) < every:
        say(f"\n{every - len(rows)} of {every} options left out: --json or -o, key front.")


def _capacity(content: JsonObject) -> None:
    capacity = content["capacity"]
    if capacity is None:
        return
    sure = percent(content["probability"], 0)
    say(f"\nHow many copies fit into {long_duration(capacity['window'])}, each job alone\n")
    print_table(
        ["job", "copies", f"with {sure}", "GPUs a copy"],
        [
            [
                _short(job["job"]),
                job["copies"],
                job["copies_sure"],
                ", ".join(
                    f"{each['copies']} on {_where(each)}"
                    for each in job["machines"]
                    if each["copies"]
                ),
            ]
            for job in capacity["jobs"]
        ],
        "lrrl",
    )


def _mix(content: JsonObject) -> None:
    mix, capacity = content["mix"], content["capacity"]
    if mix["copies"] > 1:
        say(f"\nAll {mix['copies']} simulations together on all GPUs\n")
    else:
        say("\nThat simulation on the GPUs there are\n")
    copies, done = mix["copies"], mix["done"]
    if capacity is not None:
        sure = mix["probability"]
        say(
            f"Within {long_duration(capacity['window'])}: {done} of {copies} "
            f"({percent(mix['share'], 0)})"
            + (f", P = {percent(sure, 0)}" if sure is not None else "")
            + (f"; no schedule does more than {mix['most_possible']}" if done < copies else "")
            + "."
        )
    if done:
        is_done = "is done" if done == 1 else "are done"
        without = f" without {', '.join(map(_short, content['unpriced']))}"
        without = without if content["unpriced"] else ""
        of_them = f", for the {done} that {is_done}" if done < copies else ""
        say(
            f"The schedule found takes {long_duration(mix['makespan'])} and costs "
            f"{_money(mix['cost'])} {content['currency']}{without}{of_them}."
        )
        _late(content)
    say(f"No schedule of all of them takes less than {long_duration(mix['shortest_possible'])}.")


def _some(job: JsonObject) -> list[JsonObject]:
    """Options of a front that are enough to see what less time costs: ends, between them evenly in
    the logarithm of the time, and what the job should get."""
    front = job["front"]
    if len(front) <= MOST_OPTIONS:
        return list(front)
    seconds = [option["seconds"] for option in front]
    steps = MOST_OPTIONS - 1
    wanted = [seconds[0] * (seconds[-1] / seconds[0]) ** (i / steps) for i in range(steps + 1)]
    kept = {min(range(len(front)), key=lambda at: abs(seconds[at] - each)) for each in wanted}
    kept |= {0, len(front) - 1}
    if job["meets_deadline"] is not None:
        kept |= {at for at, option in enumerate(front) if _where(option) == _where(job["advised"])}
    return [front[at] for at in sorted(kept)]


def _late(content: JsonObject) -> None:
    """How many of the simulations done keep their deadlines; nothing where there are none."""
    if all(job["meets_deadline"] is None for job in content["jobs"]):
        return
    late, done = content["mix"]["late"], content["mix"]["done"]
    sure = percent(content["probability"], 0)
    many = "all" if not late else "none" if late == done else str(done - late)
    if content["mix"]["copies"] == 1:
        say(f"It is {'not ' if late else ''}in time with {sure}.")
    elif done < content["mix"]["copies"]:
        say(f"In time with {sure}: {many} of the {done} that {'is' if done == 1 else 'are'} done.")
    else:
        say(f"In time with {sure}: {many} of them.")


def _any(content: JsonObject, key: str) -> bool:
    """Whether any option knows this."""
    return any(option[key] is not None for job in content["jobs"] for option in job["front"])


def _rate(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}"


def _iso_efficiency(content: JsonObject) -> None:
    if (found := content["iso_efficiency"]) is not None:
        _sizes(f"are N GPUs {percent(found['efficiency'], 0)} efficient", found)


def _break_even(content: JsonObject) -> None:
    if (found := content["break_even"]) is not None:
        longer = percent(found["surcharge"], 0)
        _sizes(f"does a step take less than {longer} longer than on {found['baseline']}", found)


def _sizes(what: str, found: JsonObject) -> None:
    say(f"\nFrom which n on {what}?\n")
    print_table(
        ["on", "N", "n", "90 % interval", "P reached", ""],
        [
            [
                _short(machine["machine"]),
                size["gpus"],
                _size(size["n"], machine),
                f"{_size(size['low'], machine)} ... {_size(size['high'], machine)}",
                percent(size["probability_reached"], 0),
                "*" if size["extrapolated"] else "",
            ]
            for machine in found["machines"]
            for size in machine["sizes"]
        ],
        "lrrlrl",
    )


def _size(n: float | None, looked_at: JsonObject) -> str:
    if n is None:
        return f"> {number(looked_at['largest'])}"
    return f"<= {number(n)}" if n <= looked_at["smallest"] else number(n)


def _where(option: JsonObject) -> str:
    return f"{_short(option['machine'])} x {share_text(option['gpus'], option['instances'])}"


def _hours(option: JsonObject) -> str:
    return f"{option['gpu_hours']:.4g}"


def _money(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:.2f}" if value >= 0.995 or value == 0 else f"{value:.3g}"


def _extra(other: JsonObject, what: str, less: str) -> tuple[str | None, str | None, str | None]:
    """What an option takes more, the interval of that, and the probability that it takes less."""
    middle, low, high = (change(other[f"extra_{what}{end}"]) for end in ("", "_low", "_high"))
    known = None if low is None else f"{low} ... {high}"
    return middle, known, percent(other[f"probability_{less}"], 0)


def _machine(content: JsonObject, name: str) -> JsonObject:
    found: JsonObject = next(each for each in content["machines"] if each["name"] == name)
    return found


def _short(name: str) -> str:
    return name if len(name) <= _NAME else name[: _NAME - 3] + "..."


def _extrapolates(content: JsonObject) -> bool:
    options = [job[kind] for job in content["jobs"] for kind in _KINDS if job[kind] is not None]
    options += [option for job in content["jobs"] for option in job["front"]]
    for key in ("iso_efficiency", "break_even"):
        if content[key] is not None:
            options += [size for each in content[key]["machines"] for size in each["sizes"]]
    return any(option["extrapolated"] for option in options)
