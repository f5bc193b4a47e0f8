"""The report in Markdown, made of an outcome."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from forecasting.markdown import missed, percent, table
from forecasting.outcome import Outcome
from forecasting.results import APART, BreakEven, Result, bounds, judge
from forecasting.splits import LEFT_OUT, QUARTER

TITLES = {
    "gpus": "More GPUs than were trained on",
    "sizes": "More particles than were trained on",
    "random": "Cells left out at random",
}
FORECASTERS = {
    "gpucast": "gpucast",
    "paper": "paper's form, gpucast",
    "scipy": "paper's form, scipy",
    "extrap": "Extra-P 4.2.5",
}


def report(outcome: Outcome, images: Mapping[str, str]) -> str:
    """The whole page; ``images``: titles by path relative to it."""
    parts = [
        f"# How good forecasts are: {outcome.about.data}",
        summary(outcome),
        made_from(outcome),
        overview(outcome),
        *(f"![{title}]({path})" for path, title in images.items()),
    ]
    for at, kind in enumerate(TITLES, start=1):
        parts += held_out(outcome, at, kind)
    return "\n\n".join([*parts, *quarter(outcome), *what_if(outcome), *findings(outcome)]) + "\n"


# --- a result in tables ----------------------------------------------------------------------


def shown(kind: str, found: Result) -> dict[str, str]:
    """A result's figures by the columns of tables, bold where they miss their target."""
    verdict = judge(kind, found)
    if found.refused is not None:
        none = missed("none", verdict.get("median"))
        return defaultdict(lambda: "-", model=f"none: {found.refused}", pair=none, targets="missed")
    worst = max(found.cells, key=lambda cell: abs(cell["relative_error"]))
    figures = {
        "median": percent(found.median_relative_error),
        "p95": percent(found.p95_relative_error),
        "best count": f"{found.best_hits} of {found.best_total}",
        "mean regret": percent(found.mean_regret),
        "coverage": percent(found.coverage),
    }
    marked = {name: missed(text, verdict.get(name)) for name, text in figures.items()}
    largest = percent(found.max_relative_error)
    return marked | {
        "model": ", ".join(dict.fromkeys(found.models)),
        "cells": f"{len(found.cells)}",
        "maximum": largest,
        "maximum (n, N)": f"{largest} ({worst['n']:,}, {worst['gpus']})",
        "maximum regret": percent(found.max_regret),
        "targets": mark(verdict),
        "pair": f"{marked['median']} / {marked['p95']}",
    }


def mark(verdict: Mapping[str, bool]) -> str:
    """Which targets are missed."""
    wrong = [figure for figure, reached in verdict.items() if not reached]
    return f"missed: {', '.join(wrong)}" if wrong else "reached" if verdict else "-"


# --- the beginning ---------------------------------------------------------------------------


def summary(outcome: Outcome) -> str:
    """One paragraph."""
    reached, total = outcome.counted()
    sentences = [f"**{reached} of {total} targets are reached.**"]
    for kind, words in (
        ("gpus", "Step times on more GPUs than were trained on"),
        ("sizes", "Times of more particles than were trained on"),
        ("random", "Times of cells left out at random"),
    ):
        of_groups = _usable(outcome, kind)
        if of_groups:
            sentences.append(f"{words} are forecast {_spread(of_groups)}.")
        if kind == "gpus":
            sentences += [*_rival_sentence(outcome), *_count_sentence(of_groups)]
    remote = {name: each for name, each in outcome.what_if.items() if each.refused is None}
    if remote:
        sentences.append(
            "Remote steps, from native steps and the remote path's microbenchmarks alone, are "
            f"forecast {_spread(remote)}."
        )
    return " ".join(sentences)


def _usable(outcome: Outcome, kind: str) -> dict[str, Result]:
    own = {name: each["gpucast"] for name, each in outcome.held_out[kind].items()}
    return {name: each for name, each in own.items() if each.refused is None}


def _spread(results: Mapping[str, Result]) -> str:
    """Over groups: error of the typical and of the worst, and coverage of all their cells."""
    errors = {name: each.median_relative_error or 0.0 for name, each in results.items()}
    worst = max(errors, key=lambda name: errors[name])
    covered = [cell["covered"] for each in results.values() for cell in each.cells]
    coverage = f"{percent(float(np.mean(covered)))} of all cells in their 90 % interval"
    if len(errors) == 1:
        return f"with a median error of {percent(errors[worst])}, {coverage}"
    typical = float(np.median(list(errors.values())))
    return (
        f"with a median error of {percent(typical)} in the typical group, "
        f"{percent(errors[worst])} in the worst ({worst}), {coverage}"
    )


def _rival_sentence(outcome: Outcome) -> Iterator[str]:
    groups = [
        [group[name].median_relative_error for name in FORECASTERS]
        for group in outcome.held_out["gpus"].values()
        if all(name in group and group[name].refused is None for name in FORECASTERS)
    ]
    if groups:
        typical = dict(zip(FORECASTERS, np.median(groups, axis=0), strict=True))
        yield (
            f"On the same cells Extra-P's error is {percent(typical['extrap'])}, that of the "
            f"paper's form {percent(typical['scipy'])} fitted with scipy and "
            f"{percent(typical['paper'])} fitted with gpucast."
        )


def _count_sentence(of_groups: Mapping[str, Result]) -> Iterator[str]:
    total = sum(each.best_total for each in of_groups.values())
    if total:
        right = sum(each.best_hits for each in of_groups.values())
        yield f"The best GPU count is right for {right} of {total} sizes."


def made_from(outcome: Outcome) -> str:
    """Data, machine, command, and how to read the tables."""
    about, settings = outcome.about, outcome.about.settings
    machines = "; ".join(
        f"`{each['id']}`: {each['gpus']}"
        + (f", {each['cpu_cores']} cores of {each['cpu']}" if each["cpu_cores"] else "")
        + (f", {each['driver']}" if each["driver"] else "")
        for each in about.machines
    )
    cells = sum(outcome.cells.values())
    return f"""\
Made by `{about.command}`; no number on this page comes from elsewhere.

- **Data**: {about.data}, {cells:,} cells (n, GPU count) in {len(outcome.cells)} groups, \
{about.samples:,} steps timed.
- **Machine**: {machines}.
- **Group**: steps of one path, schedule, kernel and host memory. Each is fitted alone \
(`gpucast.fit`, which chooses the model by cross-validation within what it is given), with its \
path's transfers and launches.
- **Error**: of the forecast relative to the median of a cell's measured steps. Median, 95th \
percentile (p95) and maximum are over the cells that were left out.
- **Best count**: for how many n the GPU count with the least forecast time is the one with the \
least measured time, among all counts measured; counts trained on enter with their fitted times. \
**Regret**: the time lost by following the forecast.
- **Coverage**: share of the left-out cells in their 90 % interval.
- Training uses at most {settings.samples} samples of a record (evenly spaced quantiles) and \
{settings.replicates} bootstrap replicates; what is drawn at random is drawn {settings.seeds} \
times.
- **Bold** figures miss their target."""


def overview(outcome: Outcome) -> str:
    """One line a group."""
    rows = []
    for name, cells in outcome.cells.items():
        of_kinds = {kind: groups.get(name, {}) for kind, groups in outcome.held_out.items()}
        found = {kind: each.get("gpucast") for kind, each in of_kinds.items()}
        found["what_if"] = outcome.what_if.get(name)
        pairs = [shown(kind, each)["pair"] if each else "-" for kind, each in found.items()]
        reached, total = outcome.counted(name)
        rows.append([name, cells, *pairs, f"{reached} of {total}"])
    headers = [
        "group: median / p95 of errors", "cells", "more GPUs", "larger n", "random cells",
        "from native steps", "targets reached",
    ]  # fmt: skip
    return table(headers, rows)


# --- tables 1 to 3 ---------------------------------------------------------------------------


def held_out(outcome: Outcome, at: int, kind: str) -> list[str]:
    """gpucast's table and the others'."""
    groups = outcome.held_out[kind]
    if not groups:
        return [f"## {at}. {TITLES[kind]}", "Nothing was measured that this could be tried on."]
    target = f"Targets: {bounds(kind)}." if bounds(kind) else "No target is set."
    columns = ["model", "cells", "median", "p95", "maximum (n, N)", "best count", "mean regret",
               "maximum regret", "coverage", "targets"]  # fmt: skip
    headers = ["group", *columns]
    headers[7:9] = ["regret, mean", "maximum"]
    own = {name: shown(kind, each["gpucast"]) for name, each in groups.items()}
    return [
        f"## {at}. {TITLES[kind]}",
        f"{_how(outcome, kind)} {target}",
        table(headers, [[name, *(each[c] for c in columns)] for name, each in own.items()], 2),
        "The same cells by others: median / p95 / maximum error.",
        _others(groups, _errors),
        "The same, best counts right, and mean / maximum regret.",
        _others(groups, _choices),
    ]


def _how(outcome: Outcome, kind: str) -> str:
    about, settings = outcome.about, outcome.about.settings
    cells = [cell for each in _usable(outcome, kind).values() for cell in each.cells]
    counts = ", ".join(map(str, sorted({cell["gpus"] for cell in cells})))
    trained = (
        f"{about.earlier} alone"
        if about.earlier
        else ("up to half of the largest GPU count, all n")
    )
    return {
        "gpus": f"Trained on {trained}; held against N = {counts}.",
        "sizes": f"Trained on n <= {settings.largest_n:,}, all GPU counts; held against larger n.",
        "random": f"{percent(LEFT_OUT)} of the cells left out, {settings.seeds} times; cells and "
        "sizes of all times counted together.",
    }[kind]


def _others(groups: Mapping[str, Mapping[str, Result]], text: Callable[[Result], str]) -> str:
    names = [each for each in FORECASTERS if any(each in group for group in groups.values())]
    return table(
        ["group", *(FORECASTERS[each] for each in names)],
        [
            [name, *(text(group[each]) if each in group else "-" for each in names)]
            for name, group in groups.items()
        ],
    )


def _errors(found: Result) -> str:
    figures = shown("", found)
    return "none" if found.refused is not None else f"{figures['pair']} / {figures['maximum']}"


def _choices(found: Result) -> str:
    if found.hit_share is None:
        return "none"
    regrets = f"{percent(found.mean_regret)} / {percent(found.max_regret)}"
    return f"{percent(found.hit_share)}, {regrets}"


# --- table 4 ---------------------------------------------------------------------------------


def quarter(outcome: Outcome) -> list[str]:
    """A quarter of the cells: chosen by design, at random; and all."""
    rows = []
    for name, each in outcome.quarter.items():
        verdict = judge("quarter", each) if each.refused is None else {}
        ratios = {f"design / {other}": each.ratio(other) for other in ("all", "random")}
        rows.append(
            [
                name,
                *(_pair(choice) for choice in (each.design, each.random, each.all)),
                *(missed("-" if x is None else f"{x:.2f}", verdict.get(key))
                  for key, x in ratios.items()),
                mark(verdict),
            ]
        )  # fmt: skip
    refused = {each.refused for each in outcome.quarter.values() if each.refused is not None}
    times = outcome.about.settings.seeds
    return [
        "## 4. A quarter of the cells",
        f"{percent(QUARTER)} of the cells are trained on: chosen by the design of `gpucast "
        f"measure` (every cell at the same price), or at random ({times} times). Median / p95 of "
        "errors over the cells not chosen; all cells: how a fit of all of them fits those that the "
        f"design did not choose. Targets for p95: {bounds('quarter')}.",
        *(f"No design: {reason}." for reason in sorted(refused)),
        table(
            ["group", "design", "random", "all cells", "design / all", "design / random",
             "targets"],
            rows,
        ),
    ]  # fmt: skip


def _pair(found: Result | None) -> str:
    return "-" if found is None or found.refused is not None else shown("", found)["pair"]


# --- table 5 ---------------------------------------------------------------------------------


def what_if(outcome: Outcome) -> list[str]:
    """Remote from native."""
    title = "## 5. Remote GPUs, from native steps"
    if not outcome.what_if:
        return [title, "No steps were measured over two paths."]
    columns = ["model", "cells", "median", "p95", "maximum (n, N)", "coverage", "targets"]
    own = {name: shown("what_if", each) for name, each in outcome.what_if.items()}
    return [
        title,
        "`gpucast.what_if`: the model of all native steps with the remote path's communication, "
        "from its skeletons where there are some, else from its transfers and launches, held "
        "against the remote steps, none of which it has seen. "
        f"Targets: {bounds('what_if')}.",
        table(
            ["group", "native model", *columns[1:]],
            [[name, *(each[column] for column in columns)] for name, each in own.items()],
            left=2,
        ),
        "From which n on does a remote step take less than 10 % longer than a native one? "
        "Measured and forecast times are interpolated between the same sizes; the smallest of "
        "them stands where every size does.",
        table(
            ["group", "N", "measured", "forecast", "error", "extra at the largest n, measured",
             "forecast"],
            [
                [name, *_break_even(row)]
                for name, each in outcome.what_if.items()
                for row in each.break_even
            ],
        ),
    ]  # fmt: skip


def _break_even(each: BreakEven) -> list[object]:
    agree = each.measured is None and each.forecast is None
    apart = "agree" if agree else "differ"
    if each.relative_error is not None:
        apart = f"{100 * each.relative_error:+.0f} %"
    return [
        each.gpus,
        *(f"beyond {each.largest_n:,}" if n is None else f"{n:,.0f}"
          for n in (each.measured, each.forecast)),
        missed(apart, each.apart <= APART),
        *(percent(each.extra_at_largest[key]) for key in ("measured", "forecast")),
    ]  # fmt: skip


# --- table 6 ---------------------------------------------------------------------------------


def findings(outcome: Outcome) -> list[str]:
    """The paper's findings."""
    parts = [
        "## 6. The paper's findings",
        table(
            ["finding", "on these data"],
            [[each.brief, each.verdict] for each in outcome.findings],
            left=2,
        ),
    ]
    for each in outcome.findings:
        if each.rows:
            parts += [f"**{each.statement}**", table(each.headers, each.rows)]
    return parts
