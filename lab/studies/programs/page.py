"""The page of results."""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import jinja2
import numpy as np

from forecasting.markdown import missed, percent, table
from programs.series import BUNDLED
from programs.splits import FOUR_TIMES, LARGER_SIZES, MOST_GPUS
from programs.study import EXTRA_P, GPUCAST, METHODS, Outcome
from programs.summing import TARGETS, Sum

HERE = Path(__file__).parent
FAR_OFF = 0.1
"""Splits with a larger median error are listed with the reason."""

FEW = 4
"""Cells that forms of two or three coefficients go through anyhow."""

MANY = 16
"""Cells of four sizes on four counts, which the documentation asks for."""

KINDS = (MOST_GPUS, FOUR_TIMES, LARGER_SIZES)


def groups_of(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """The outcomes in the groups that are held against the targets, without empty ones."""
    found = {
        "all": [*outcomes],
        "bundled tables": [o for o in outcomes if o.table in BUNDLED],
        "other tables": [o for o in outcomes if o.table not in BUNDLED],
        "programs of the priors": [o for o in outcomes if o.tuned],
        "programs not of the priors": [o for o in outcomes if not o.tuned],
        **{kind: [o for o in outcomes if o.kind == kind] for kind in KINDS},
    }
    return {name: each for name, each in found.items() if each}


def by_training(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """The outcomes by how many cells they were trained on, without empty groups."""
    ends = [(3, FEW), (FEW + 1, 8), (9, MANY - 1), (MANY, None)]
    found = {
        f"{least} to {most} cells" if most else f"{least} cells or more": [
            o for o in outcomes if least <= o.trained <= (most or o.trained)
        ]
        for least, most in ends
    }
    return {f"trained on {name}": each for name, each in found.items() if each}


def page(outcomes: Sequence[Outcome], command: str, picture: str, numbers: str) -> str:
    """The page in Markdown. ``picture``, ``numbers``: files beside it."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    groups = {name: Sum(each) for name, each in groups_of(outcomes).items()}
    trained = {name: Sum(each) for name, each in by_training(outcomes).items()}
    far = [(o, why) for o, why in _explained(outcomes) if why]
    found = environment.get_template("page.md.jinja").render(
        summary=summary(outcomes),
        command=command,
        picture=picture,
        targets=table(["", "target", *groups], _targets(groups)),
        methods=table(["median of medians / share at most 5 %", "splits", *METHODS],
                      _methods(groups | trained)),
        ways=table(["Extra-P with", "splits", "median of medians", "gpucast is nearer in"],
                   _ways(outcomes)),
        far_count=len(far),
        far=table(["why", "splits", "median errors", "tables"], _by_reason(far), 1),
        numbers=numbers,
        reached=sum(t.reached(groups["all"]) for t in TARGETS),
        total=len(TARGETS),
        seconds=[o.seconds for o in outcomes],
        trained=[o.trained for o in outcomes],
        single=sum(len(o.cells) == 1 for o in outcomes),
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
    many = Sum([o for o in outcomes if o.trained >= MANY])
    trained = (
        f"Trained on {MANY} cells or more ({len(many.outcomes)} splits) it is "
        f"{percent(many.median())}, Extra-P's {percent(many.median(EXTRA_P))}. "
    )
    return (
        f"{len(outcomes)} splits of {series} series, {s.cells} times left out and forecast. "
        f"The median error of the typical split is **{percent(s.median())}**; it is at most 5 % "
        f"in {percent(s.small())} of the splits. {trained if many.outcomes else ''}"
        f"{percent(s.coverage)} of the times lie in their 90 % interval. "
        f"gpucast is nearer than Extra-P in {better} of {of} splits and more than twice as far "
        f"off in {s.twice_as_bad}. The best GPU count is right for {percent(s.hits)} of the "
        f"sizes, and following the forecast costs {percent(s.mean_regret)} of time on average."
    )


def splits_csv(outcomes: Sequence[Outcome]) -> str:
    """A row a split: shares of 1, empty where there is none."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    figures_of = ["median", "p95", "maximum", "coverage", "best_right", "best_of", "regret"]
    rows.writerow(
        ["series", "bundled", "split", "trained_on", "left_out", *figures_of, *METHODS[1:], "why"]
    )
    for outcome, why in _explained(outcomes):
        own = outcome.verdicts[GPUCAST]
        figures: list[float | int | None] = [None] * 7
        if own is not None:
            figures = [
                own.median, own.p95, own.largest, _mean(own.covered), own.hits, len(own.regrets),
                _mean(own.regrets),
            ]  # fmt: skip
        theirs = [v.median if (v := outcome.verdicts.get(m)) else None for m in METHODS[1:]]
        rows.writerow([
            outcome.series, "yes" if outcome.table in BUNDLED else "no", outcome.kind,
            outcome.trained, len(outcome.cells),
            *("" if each is None else f"{each:.4g}" for each in (*figures, *theirs)), why,
        ])  # fmt: skip
    return text.getvalue()


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _targets(groups: Mapping[str, Sum]) -> Iterator[list[str]]:
    yield ["splits", "", *(str(len(s.outcomes)) for s in groups.values())]
    for target in TARGETS:
        figures = [missed(target.figure(s), target.reached(s)) for s in groups.values()]
        yield [target.what, target.bound, *figures]


def _methods(groups: Mapping[str, Sum]) -> Iterator[list[str]]:
    for name, s in groups.items():
        yield [
            name,
            str(len(s.outcomes)),
            *(f"{percent(s.median(m))} / {percent(s.small(m))}" for m in METHODS),
        ]


def _ways(outcomes: Sequence[Outcome]) -> Iterator[list[str]]:
    for way in dict.fromkeys(way for outcome in outcomes for way in outcome.ways):
        pairs = [
            (own.median, theirs)
            for o in outcomes
            if (own := o.verdicts[GPUCAST]) and (theirs := o.ways.get(way)) is not None
        ]
        median = float(np.median([theirs for _, theirs in pairs])) if pairs else None
        nearer = sum(own < theirs for own, theirs in pairs)
        yield [way, str(len(pairs)), percent(median), f"{nearer} of {len(pairs)}"]


def _explained(outcomes: Sequence[Outcome]) -> Iterator[tuple[Outcome, str]]:
    """Each outcome with the reason why it is far off; empty where it is not."""
    reasons = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))["reasons"]
    for outcome in outcomes:
        own = outcome.verdicts[GPUCAST]
        yield outcome, _reason(outcome, reasons) if own and own.median > FAR_OFF else ""


def _by_reason(far: Sequence[tuple[Outcome, str]]) -> Iterator[list[str]]:
    """A row a reason that explains several splits, the most frequent first."""
    found: dict[str, list[Outcome]] = {}
    for outcome, why in far:
        found.setdefault(why, []).append(outcome)
    for why, members in sorted(found.items(), key=lambda each: -len(each[1])):
        if len(members) > 1:
            errors = sorted(own.median for o in members if (own := o.verdicts[GPUCAST]))
            tables = ", ".join(dict.fromkeys(o.table for o in members))
            ends = dict.fromkeys(percent(each) for each in (errors[0], errors[-1]))
            yield [why, str(len(members)), " to ".join(ends), tables]


def _reason(outcome: Outcome, reasons: Sequence[Mapping[str, str]]) -> str:
    """The first reason whose words are all in the series' name and whose kind is the split's."""
    for each in reasons:
        fits = all(word in outcome.series for word in each["series"].split(" & "))
        if fits and each.get("split", outcome.kind) == outcome.kind:
            return each["why"]
    if outcome.counts == 1 and outcome.kind == MOST_GPUS:
        return "trained on one GPU count, which says nothing of another"
    if outcome.trained <= FEW:
        return f"{outcome.trained} cells, which several forms go through"
    return "not known"
