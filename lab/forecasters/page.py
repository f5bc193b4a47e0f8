"""The page of results, its picture and the table of splits."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lab.forecasters.series import BUNDLED
from lab.forecasters.splits import FOUR_TIMES, LARGER_SIZES, MOST_GPUS
from lab.forecasters.study import EXTRA_P, GPUCAST
from lab.forecasters.summing import SMALL, TARGETS, Sum
from lab.studies.pages import draw_shares, missed, percent, table, written

HERE = Path(__file__).parent
FAR_OFF = 0.1
"""Splits with a larger median error are listed with the reason."""

FEW = 4
"""Cells that forms of two or three coefficients fit exactly or nearly."""

MANY = 16
"""Cells of four sizes on four counts, which the documentation recommends."""

ENDS = (1e-3, 3.0)
"""Errors that are shown; smaller and larger ones count at the edge."""


def by_kind(splits: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Groups of splits that are judged separately, without empty ones."""
    unseen = splits[~splits.tuned]
    groups = {
        "unseen": unseen,
        **{kind: unseen[unseen.split == kind] for kind in (MOST_GPUS, FOUR_TIMES, LARGER_SIZES)},
        **{f"{least} to {most} cells": unseen[unseen.trained.between(least, most)]
           for least, most in ((3, FEW), (FEW + 1, 8), (9, MANY - 1))},
        f"{MANY} cells or more": unseen[unseen.trained >= MANY],
        "seen": splits[splits.tuned],
    }  # fmt: skip
    return {name: group for name, group in groups.items() if len(group)}


def by(forecaster: str, splits: pd.DataFrame) -> Sum:
    """The summary of one forecaster's splits."""
    return Sum(splits[splits.forecaster == forecaster])


def page(splits: pd.DataFrame, command: str, picture: str, numbers: str) -> str:
    """The page in Markdown. ``picture``, ``numbers``: files in its folder."""
    own = splits[splits.forecaster == GPUCAST]
    groups = by_kind(splits)
    sums = {name: by(GPUCAST, group) for name, group in groups.items()}
    unseen = splits[~splits.tuned]
    families = {name: unseen[unseen.family == name] for name in sorted({*unseen.family})}
    why = reasons_of(own)
    return written(
        HERE / "page.md.jinja",
        summary=summary(splits),
        command=command,
        picture=picture,
        targets=table(["", "target", *groups], _targets(sums)),
        ranking=table(*ranking(unseen)),
        errors=table(["median of medians / share at most 5 %", *groups], _across(
            groups, lambda s: f"{percent(s.median)} / {percent(s.small)}")),
        intervals=table(["in the interval / interval score", *groups], _across(
            groups, lambda s: f"{percent(s.coverage)} / {_number(s.interval_score)}")),
        families=table(["unseen tables of", "splits", "median error", "in the 90 % interval",
                        EXTRA_P], _families(families)),
        far_count=int((why != "").sum()),
        far=table(["why", "splits", "median errors", "tables"], _by_reason(own, why)),
        numbers=numbers,
        reached=sum(t.reached(by(GPUCAST, unseen)) for t in TARGETS),
        total=len(TARGETS),
        seconds=own.elapsed.dropna().to_list() or [float("nan")],
        trained=own.trained.to_list(),
        single=int((own[~own.tuned]["cells"] == 1).sum()),
        blind=int(((own.counts == 1) & (own.split == MOST_GPUS)).sum()),
        refused=list(own[own.refused != ""].itertuples()),
    )  # fmt: skip


def picture(splits: pd.DataFrame) -> Figure:
    """Share of the splits whose median error is at most the abscissa, a line for each
    forecaster."""
    sums = {name: by(name, splits) for name in forecasters(splits)}
    label = {name: f"{name}: {own.small:.0%}" for name, own in sums.items()}
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.subplots()
    axes.set_title("How many forecasts come how near", fontsize="medium")
    errors = {label[name]: own.medians for name, own in sums.items()}
    draw_shares(axes, errors, label[GPUCAST], ENDS)
    axes.axvline(SMALL, color="#000000", lw=0.8, ls=":")
    axes.set_xlabel("median error of a split, of cells that were not fitted")
    axes.set_ylabel("splits with at most this error")
    axes.legend(title="within 5 %", frameon=False, loc="upper left", fontsize="small")
    return figure


def summary(splits: pd.DataFrame) -> str:
    """The main results in a paragraph."""
    unseen, seen = (splits[splits.tuned == tuned] for tuned in (False, True))
    s, tuned, extra_p = by(GPUCAST, unseen), by(GPUCAST, seen), by(EXTRA_P, unseen)
    text = (
        f"{s.splits} splits of {unseen.series.nunique()} series in {unseen.family.nunique()} "
        f"families of programs, {s.cells} times left out and forecast, whose tables took no part "
        f"when priors were chosen (**unseen**): the median error of the typical split is "
        f"**{percent(s.median)}** (Extra-P, the best of six ways in hindsight: "
        f"{percent(extra_p.median)}), and **{percent(s.coverage)}** of the times lie in their "
        f"90 % interval. gpucast is nearer than Extra-P in {extra_p.farther[0]} of "
        f"{extra_p.farther[1]} splits and more than twice as far off in {s.twice[0]}; "
        f"{percent(s.lost)} of the times are off by a factor of two and outside their interval. "
        f"The best GPU count is right for {percent(s.hits)} of the sizes, and following the "
        f"forecast loses {percent(s.mean_regret)} of time on average."
    )
    if tuned.splits:
        text += (
            f" On the {tuned.splits} splits of tables that priors were chosen on (**seen**) the "
            f"figures are {percent(tuned.median)} and {percent(tuned.coverage)}."
        )
    return text


def forecasters(splits: pd.DataFrame) -> list[str]:
    """Names of the forecasters; gpucast and Extra-P's best way are first."""
    names = {*splits.forecaster}
    return [n for n in dict.fromkeys((GPUCAST, EXTRA_P, *splits.forecaster)) if n in names]


def ranking(splits: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table of the forecasters, the nearest first."""
    header = ["forecaster", "splits with a forecast", "median of medians", "at most 5 %",
              "gpucast is nearer in", "twice as far off as Extra-P's best", "in the 90 % interval",
              "interval score"]  # fmt: skip
    sums = {name: by(name, splits) for name in forecasters(splits)}
    nearest = sorted(sums.items(), key=lambda pair: (pair[1].medians.median(), -pair[1].small))
    return header, [
        [name, f"{s.answered} of {s.splits}", percent(s.median), percent(s.small),
         f"{s.farther[0]} of {s.farther[1]}", f"{s.twice[0]} of {s.twice[1]}",
         percent(s.coverage), _number(s.interval_score)]
        for name, s in nearest
    ]  # fmt: skip


def splits_csv(splits: pd.DataFrame) -> str:
    """A row for each split: shares of 1, empty if there is none."""
    own = splits[splits.forecaster == GPUCAST]
    keys = ["series", "split"]
    medians = splits.pivot(index=keys, columns="forecaster", values="median")
    others = [name for name in forecasters(splits) if name != GPUCAST]
    columns = {
        "series": own.series, "bundled": own.table.isin(BUNDLED).map({True: "yes", False: "no"}),
        "split": own.split, "trained_on": own.trained, "left_out": own["cells"],
        "median": own["median"], "p95": own.p95, "maximum": own.errors.map(max),
        "coverage": own.coverage, "best_right": own.hits, "best_of": own.total,
        "regret": own.regret, "why": reasons_of(own),
    }  # fmt: skip
    table = pd.DataFrame(columns).merge(medians[others], left_on=keys, right_index=True, how="left")
    return table.to_csv(index=False, float_format="%.4g")


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3g}"


def _targets(groups: Mapping[str, Sum]) -> Iterator[list[str]]:
    yield ["splits", "", *(str(s.splits) for s in groups.values())]
    for target in TARGETS:
        figures = [missed(target.figure(s), target.reached(s)) for s in groups.values()]
        yield [target.what, target.bound, *figures]


def _across(
    groups: Mapping[str, pd.DataFrame], figures: Callable[[Sum], str]
) -> Iterator[list[object]]:
    """A row for each forecaster that has figures, a column for each group."""
    for name in forecasters(pd.concat(groups.values())):
        shown = [figures(by(name, group)) for group in groups.values()]
        if {*shown} != {"- / -"}:
            yield [name, *shown]


def _families(groups: Mapping[str, pd.DataFrame]) -> Iterator[list[object]]:
    for name, group in groups.items():
        s = by(GPUCAST, group)
        figures = (s.median, s.coverage, by(EXTRA_P, group).median)
        yield [name, s.splits, *(percent(figure) for figure in figures)]


def _by_reason(splits: pd.DataFrame, why: pd.Series) -> Iterator[list[object]]:
    """A row for each reason that explains several splits, the most frequent first."""
    groups = splits[why != ""].groupby(why[why != ""], sort=False)
    for reason, members in sorted(groups, key=lambda group: -len(group[1])):
        if len(members) > 1:
            ends = dict.fromkeys(map(percent, (members["median"].min(), members["median"].max())))
            yield [reason, len(members), " to ".join(ends), ", ".join(members.table.unique())]


def reasons_of(splits: pd.DataFrame) -> pd.Series:
    """The reason why a split is far off; empty if it is not."""
    reasons = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))["reasons"]
    far = splits["median"] > FAR_OFF
    return pd.Series(
        [
            _reason(split, reasons) if off else ""
            for off, split in zip(far, splits.itertuples(), strict=True)
        ],
        index=splits.index,
        dtype=str,
    )


def _reason(split: Any, reasons: Sequence[Mapping[str, str]]) -> str:
    """The first reason whose words are all in the series' name and whose kind is the split's."""
    for reason in reasons:
        fits = all(word in split.series for word in reason["series"].split(" & "))
        if fits and reason.get("split", split.split) == split.split:
            return reason["why"]
    if split.counts == 1 and split.split == MOST_GPUS:
        return "trained on one GPU count, which says nothing of another"
    if split.trained <= FEW:
        return f"{split.trained} cells, which several forms go through"
    return "not known"
