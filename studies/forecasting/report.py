"""The report in Markdown, made of an outcome."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from jinja2 import Environment, StrictUndefined

from forecasting.markdown import missed, percent, table
from forecasting.outcome import Outcome
from forecasting.results import APART, BreakEven, Quarter, Result, bounds, judge
from forecasting.splits import LEFT_OUT, QUARTER

PAGE = Path(__file__).with_name("page.md.jinja")
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
    """The whole page, page.md.jinja filled in; ``images``: titles by path relative to it."""
    counts = {cell["gpus"] for each in _usable(outcome, "gpus").values() for cell in each.cells}
    refused = {each.refused for each in outcome.quarter.values() if each.refused is not None}
    page = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
                       undefined=StrictUndefined).from_string(PAGE.read_text("utf-8"))  # fmt: skip
    return page.render(
        about=outcome.about, settings=outcome.about.settings, outcome=outcome, images=images,
        titles=TITLES, left_out=LEFT_OUT, quarter=QUARTER, counts=sorted(counts),
        summary=summary(outcome), overview=overview(outcome), undesigned=sorted(refused),
        quarters=[_quarter(*each) for each in outcome.quarter.items()],
        remote=own("what_if", {g: {"gpucast": each} for g, each in outcome.what_if.items()},
                   ["model", "cells", "median", "p95", "maximum (n, N)", "coverage", "targets"]),
        break_evens=[[name, *_break_even(row)]
                     for name, each in outcome.what_if.items() for row in each.break_even],
        findings=[[each.brief, each.verdict] for each in outcome.findings],
        table=table, percent=percent, bounds=bounds, own=own, others=others,
        errors=_errors, choices=_choices,
    )  # fmt: skip


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


def overview(outcome: Outcome) -> Iterator[list[object]]:
    """One line a group."""
    for name, cells in outcome.cells.items():
        of_kinds = {kind: groups.get(name, {}) for kind, groups in outcome.held_out.items()}
        found = {kind: each.get("gpucast") for kind, each in of_kinds.items()}
        found["what_if"] = outcome.what_if.get(name)
        pairs = [shown(kind, each)["pair"] if each else "-" for kind, each in found.items()]
        reached, total = outcome.counted(name)
        yield [name, cells, *pairs, f"{reached} of {total}"]


# --- the tables ------------------------------------------------------------------------------

Groups = Mapping[str, Mapping[str, Result]]
"""Results by group and forecaster."""


def own(kind: str, groups: Groups, columns: list[str]) -> list[list[str]]:
    """Rows of gpucast's own forecasts."""
    figures = {name: shown(kind, each["gpucast"]) for name, each in groups.items()}
    return [[name, *(each[column] for column in columns)] for name, each in figures.items()]


def others(groups: Groups, text: Callable[[Result], str]) -> str:
    """A column a forecaster."""
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


def _quarter(name: str, each: Quarter) -> list[str]:
    verdict = judge("quarter", each) if each.refused is None else {}
    ratios = {f"design / {other}": each.ratio(other) for other in ("all", "random")}
    texts = {figure: "-" if x is None else f"{x:.2f}" for figure, x in ratios.items()}
    pairs = [_pair(choice) for choice in (each.design, each.random, each.all)]
    marked = [missed(text, verdict.get(figure)) for figure, text in texts.items()]
    return [name, *pairs, *marked, mark(verdict)]


def _pair(found: Result | None) -> str:
    return "-" if found is None or found.refused is not None else shown("", found)["pair"]


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
