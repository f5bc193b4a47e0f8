"""The report in Markdown, made of an outcome."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from forecasting.markdown import missed, percent, table
from forecasting.outcome import Outcome
from forecasting.results import APART, BreakEven, Quarter, Result, bounds, judge
from forecasting.splits import LEFT_OUT, QUARTER

PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    undefined=StrictUndefined,
)
PAGES.globals["percent"] = percent
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
    page = PAGES.get_template("page.md.jinja")
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
        table=table, bounds=bounds, own=own, others=others,
        errors=_errors, choices=_choices,
    )  # fmt: skip


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


def summary(outcome: Outcome) -> str:
    """One paragraph, summary.md.jinja filled in."""
    reached, total = outcome.counted()
    of_kinds = {kind: _over_groups(_usable(outcome, kind)) for kind in TITLES}
    rivals = [
        [group[name].median_relative_error for name in FORECASTERS]
        for group in outcome.held_out["gpus"].values()
        if all(name in group and group[name].refused is None for name in FORECASTERS)
    ]
    remote = {name: each for name, each in outcome.what_if.items() if each.refused is None}
    return (
        PAGES.get_template("summary.md.jinja")
        .render(
            reached=reached,
            total=total,
            **of_kinds,
            rivals=rivals and dict(zip(FORECASTERS, np.median(rivals, axis=0), strict=True)),
            remote=_over_groups(remote),
        )
        .rstrip()
    )


def _usable(outcome: Outcome, kind: str) -> dict[str, Result]:
    own = {name: each["gpucast"] for name, each in outcome.held_out[kind].items()}
    return {name: each for name, each in own.items() if each.refused is None}


def _over_groups(results: Mapping[str, Result]) -> dict[str, object]:
    """Error of the typical and of the worst group, coverage of all cells, and best counts."""
    if not results:
        return {}
    errors = {name: each.median_relative_error or 0.0 for name, each in results.items()}
    worst = max(errors, key=lambda name: errors[name])
    return {
        "groups": len(errors),
        "typical": float(np.median(list(errors.values()))),
        "worst": worst,
        "largest": errors[worst],
        "covered": np.mean([cell["covered"] for each in results.values() for cell in each.cells]),
        "hits": sum(each.best_hits for each in results.values()),
        "counts": sum(each.best_total for each in results.values()),
    }


def overview(outcome: Outcome) -> Iterator[list[object]]:
    """One line a group."""
    for name, cells in outcome.cells.items():
        of_kinds = {kind: groups.get(name, {}) for kind, groups in outcome.held_out.items()}
        found = {kind: each.get("gpucast") for kind, each in of_kinds.items()}
        found["what_if"] = outcome.what_if.get(name)
        pairs = [shown(kind, each)["pair"] if each else "-" for kind, each in found.items()]
        reached, total = outcome.counted(name)
        yield [name, cells, *pairs, f"{reached} of {total}"]


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
