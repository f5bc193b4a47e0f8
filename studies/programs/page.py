"""The page of results."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import jinja2
import numpy as np

from forecasting.markdown import missed, percent, table
from programs.series import BUNDLED
from programs.splits import FOUR_TIMES, LARGER_SIZES, MOST_GPUS
from programs.study import GPUCAST, METHODS, Outcome
from programs.summing import TARGETS, Sum

HERE = Path(__file__).parent
FAR_OFF = 0.1
"""Splits with a larger median error are listed with the reason."""

KINDS = (MOST_GPUS, FOUR_TIMES, LARGER_SIZES)


def groups_of(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """The outcomes in the groups that are summed up apart, without empty ones."""
    found = {
        "all": [*outcomes],
        "bundled tables": [o for o in outcomes if o.table in BUNDLED],
        "other tables": [o for o in outcomes if o.table not in BUNDLED],
        "programs that priors were chosen on": [o for o in outcomes if o.tuned],
        "programs never looked at": [o for o in outcomes if not o.tuned],
        **{kind: [o for o in outcomes if o.kind == kind] for kind in KINDS},
    }
    return {name: each for name, each in found.items() if each}


def page(outcomes: Sequence[Outcome], command: str, picture: str) -> str:
    """The page in Markdown."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    groups = {name: Sum(each) for name, each in groups_of(outcomes).items()}
    reasons = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))["reasons"]
    own = [o for o in outcomes if o.table in BUNDLED]
    others = [o for o in outcomes if o.table not in BUNDLED]
    found = environment.get_template("page.md.jinja").render(
        summary=summary(outcomes),
        command=command,
        picture=picture,
        targets=table(["", "target", *groups], _targets(groups)),
        methods=table(["median of medians / share at most 5 %", *METHODS], _methods(groups)),
        far=table(["series", "split", "trained on", "median", "coverage", "why"],
                  _far(outcomes, reasons), 2),
        reached=sum(t.reached(groups["all"]) for t in TARGETS),
        total=len(TARGETS),
        own=results(own),
        others=results(others),
        has_others=bool(others),
        seconds=[o.seconds for o in outcomes],
        trained=[o.trained for o in outcomes],
        blind=sum(o.counts == 1 and o.kind == MOST_GPUS for o in outcomes),
        refused=[o for o in outcomes if o.refused],
        percent=percent,
    )  # fmt: skip
    return found.rstrip("\n") + "\n"


def summary(outcomes: Sequence[Outcome]) -> str:
    """What a reader wants to know first."""
    s = Sum(outcomes)
    better, of = s.better
    series = len({o.series for o in outcomes})
    return (
        f"{len(outcomes)} splits of {series} series, {s.cells} times left out and forecast. "
        f"The median error of the typical split is **{percent(s.median())}**; it is at most 5 % "
        f"in {percent(s.small())} of the splits. "
        f"{percent(s.coverage)} of the times lie in their 90 % interval. "
        f"gpucast is nearer than Extra-P in {better} of {of} splits and more than twice as far "
        f"off in {s.twice_as_bad}. The best GPU count is right for {percent(s.hits)} of the "
        f"sizes, and following the forecast costs {percent(s.mean_regret)} of time on average."
    )


def results(outcomes: Sequence[Outcome]) -> str:
    """A row a split."""
    headers = ["series", "split", "trained on", "left out", "median", "p95", "maximum",
               "coverage", "best count", "regret", *METHODS[1:]]  # fmt: skip
    return table(headers, map(_row, outcomes), 2)


def _row(outcome: Outcome) -> list[object]:
    own = outcome.verdicts[GPUCAST]
    others = [percent(v.median) if (v := outcome.verdicts.get(m)) else "-" for m in METHODS[1:]]
    about = [outcome.series, outcome.kind, outcome.trained, len(outcome.cells)]
    if own is None:
        return [*about, "-", "-", "-", "-", "-", "-", *others]
    return [
        *about, f"**{percent(own.median)}**", percent(own.p95), percent(own.largest),
        percent(float(np.mean(own.covered))) if own.covered else "-",
        f"{own.hits} of {len(own.regrets)}" if own.regrets else "-",
        percent(float(np.mean(own.regrets))) if own.regrets else "-", *others,
    ]  # fmt: skip


def _targets(groups: Mapping[str, Sum]) -> Iterator[list[str]]:
    yield ["splits", "", *(str(len(s.outcomes)) for s in groups.values())]
    for target in TARGETS:
        figures = [missed(target.figure(s), target.reached(s)) for s in groups.values()]
        yield [target.what, target.bound, *figures]


def _methods(groups: Mapping[str, Sum]) -> Iterator[list[str]]:
    for name, s in groups.items():
        yield [name, *(f"{percent(s.median(m))} / {percent(s.small(m))}" for m in METHODS)]


def _far(outcomes: Sequence[Outcome], reasons: Sequence[Mapping[str, str]]) -> Iterator[list[str]]:
    for outcome in outcomes:
        own = outcome.verdicts[GPUCAST]
        if own is not None and own.median > FAR_OFF:
            covered = percent(float(np.mean(own.covered))) if own.covered else "-"
            yield [outcome.series, outcome.kind, f"{outcome.trained} cells",
                   percent(own.median), covered, _reason(outcome, reasons)]  # fmt: skip


def _reason(outcome: Outcome, reasons: Sequence[Mapping[str, str]]) -> str:
    """The first reason whose words are all in the series' name and whose kind is the split's."""
    for each in reasons:
        fits = all(word in outcome.series for word in each["series"].split(" & "))
        if fits and each.get("split", outcome.kind) == outcome.kind:
            return each["why"]
    if outcome.counts == 1 and outcome.kind == MOST_GPUS:
        return "trained on one GPU count, which says nothing of another"
    return "not known"
